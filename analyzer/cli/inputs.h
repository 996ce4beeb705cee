// From what the command line names to texts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "analyzer/ptx/source.h"
#include "analyzer/report/finding.h"

namespace tmemlint::cli {

// The files to read, in order: folders become the .ptx files below them, sorted; a file that is named twice, by
// whatever path, is there once. What cannot be listed becomes an input error.
std::vector<std::string> expand_inputs(const std::vector<std::string>& names, std::vector<report::InputError>& errors);

// The text of one file ("-" is standard input), or null and an input error.
std::shared_ptr<const ptx::SourceText> read_input(const std::string& name, std::vector<report::InputError>& errors);

// Whether both name the same existing file.
bool same_file(const std::string& a, const std::string& b);

}  // namespace tmemlint::cli
