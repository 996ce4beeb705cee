// The rules' pages (docs/rules/<id>.md), carried inside the binary so that --explain and SARIF need no files.
#pragma once

#include <string_view>

namespace tmemlint::cli {

// Markdown; empty when the rule has no page. Defined in a source that embed_pages.cmake generates.
std::string_view page_of(std::string_view rule);

}  // namespace tmemlint::cli
