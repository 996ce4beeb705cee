// What the form and target checks say about PTX text, by line. For tests.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "analyzer/ptx/tcgen05.h"
#include "tests/files.h"

namespace tmemlint::test {

struct Judged {
  std::map<unsigned, std::vector<ptx::FormProblem>> form, target;
  std::map<unsigned, std::string> parse;
  std::set<unsigned> lines() const {
    std::set<unsigned> out;
    for (const auto& [line, problems] : form) out.insert(line);
    for (const auto& [line, problems] : target) out.insert(line);
    for (const auto& [line, message] : parse) out.insert(line);
    return out;
  }
  // Everything said about a line, for a failure's message.
  std::string about(unsigned line) const {
    std::string out;
    if (auto it = parse.find(line); it != parse.end()) out += "parse: " + it->second + "\n";
    if (auto it = form.find(line); it != form.end()) {
      for (const auto& p : it->second) out += "form: " + p.message + "\n";
    }
    if (auto it = target.find(line); it != target.end()) {
      for (const auto& p : it->second) out += "target: " + p.message + "\n";
    }
    return out;
  }
};

inline Judged judge(const std::string& text) {
  Judged out;
  const auto source = std::make_shared<const ptx::SourceText>("test.ptx", text);
  const ptx::Module module = ptx::parse(source);
  for (const auto& error : module.errors) out.parse[source->position(error.span.begin).line] = error.message;
  ptx::LegalOpcodes legal_form;
  ptx::LegalOpcodes legal_target;
  for (const ptx::Function& function : module.functions) {
    for (uint32_t i = function.first_instruction; i < function.last_instruction; ++i) {
      const ptx::Instruction& instruction = module.instructions[i];
      for (auto& problem : ptx::check_form(module, function, instruction, legal_form)) {
        out.form[source->position(problem.span.begin).line].push_back(std::move(problem));
      }
      for (auto& problem : ptx::check_target(module, instruction, legal_target)) {
        out.target[source->position(problem.span.begin).line].push_back(std::move(problem));
      }
    }
  }
  return out;
}

// Rows of a tab-separated file; lines that begin with # are left out.
inline std::vector<std::vector<std::string>> read_table(const std::filesystem::path& path) {
  std::vector<std::vector<std::string>> rows;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> row;
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, '\t');) row.push_back(cell);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace tmemlint::test
