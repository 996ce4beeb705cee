# Writes OUTPUT, a C++ source that holds every Markdown file of PAGES (a folder). Run at build time with cmake -P.
file(GLOB pages ${PAGES}/*.md)
list(SORT pages)
set(entries "")
foreach(page IN LISTS pages)
  get_filename_component(id ${page} NAME_WE)
  file(READ ${page} text)
  # Compilers limit the length of one literal; adjacent ones are joined, and a page is far below the limit.
  string(APPEND entries "    {\"${id}\", R\"tmemlint_page(${text})tmemlint_page\"},\n")
endforeach()
file(WRITE ${OUTPUT}.new "// Generated from docs/rules by embed_pages.cmake.
#include \"analyzer/cli/pages.h\"

#include <string_view>

namespace tmemlint::cli {
namespace {

struct Page {
  std::string_view rule, text;
};

// The last entry keeps the array from being empty.
constexpr Page kPages[] = {
${entries}    {{}, {}},
};

}  // namespace

std::string_view page_of(std::string_view rule) {
  for (const Page& page : kPages) {
    if (page.rule == rule) return page.text;
  }
  return {};
}

}  // namespace tmemlint::cli
")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
file(REMOVE ${OUTPUT}.new)
