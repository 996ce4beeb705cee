// What the comments of a labelled kernel ask of the tool, and whether a run agrees with them.
//
//   code;  // expect: tmem-rule            an error or a warning of this rule stands on this line
//   code;  // expect-note: tmem-rule       a note of this rule stands on this line
//   code;  // allow: tmem-rule             an error or a warning that follows from the fault may stand on this line
//   code;  // incomplete: part of it       an incomplete place is on this line, and its reason has these words
//   code;  // flags: -arch=sm_103a         (CUDA sources) compile flags
//
// Several rules are separated by commas, several of these comments follow each other on one line. The first line of a
// kernel has a plain comment that says what the kernel shows.
//
// Whatever is not asked for is a disagreement: an error or a warning without `expect` or `allow` on its line, an
// incomplete place without `incomplete` on its line. Notes that are not asked for are nobody's business. A place in a
// header belongs to the line of the kernel's own file that calls what is there.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/report/finding.h"
#include "rules/rule.h"
#include "tests/files.h"

namespace tmemlint::test {

enum class Asked : uint8_t { kFinding, kNote, kAllowed, kIncomplete, kFlags };

struct Expectation {
  Asked asked;
  uint32_t line;
  std::string text;  // the id of a rule; a part of the reason for kIncomplete; one flag for kFlags
  bool operator==(const Expectation&) const = default;
};

struct Expectations {
  std::vector<Expectation> all;       // in the order of the text
  std::string shows;                  // the plain comment of the first line
  std::vector<std::string> problems;  // comments that mean nothing, such as a misspelt keyword; any is a failure

  std::vector<std::string> texts(Asked asked) const {
    std::vector<std::string> out;
    for (const Expectation& e : all) {
      if (e.asked == asked) out.push_back(e.text);
    }
    return out;
  }
};

inline const std::vector<std::pair<std::string_view, Asked>>& expectation_keywords() {
  static const std::vector<std::pair<std::string_view, Asked>> all = {{"expect", Asked::kFinding},
                                                                      {"expect-note", Asked::kNote},
                                                                      {"allow", Asked::kAllowed},
                                                                      {"incomplete", Asked::kIncomplete},
                                                                      {"flags", Asked::kFlags}};
  return all;
}

inline std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  return text;
}

inline std::vector<std::string> pieces(std::string_view text, std::string_view separator) {
  std::vector<std::string> out;
  for (size_t at = 0; at != std::string_view::npos;) {
    const size_t end = text.find(separator, at);
    out.emplace_back(trimmed(text.substr(at, end == std::string_view::npos ? end : end - at)));
    at = end == std::string_view::npos ? end : end + separator.size();
  }
  return out;
}

// How many letters must be added, removed or replaced to make one word of the other, without regard to case.
inline size_t letters_between(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const bool same =
          std::tolower(static_cast<unsigned char>(a[i])) == std::tolower(static_cast<unsigned char>(b[j]));
      const size_t best = std::min({row[j + 1] + 1, row[j] + 1, diagonal + (same ? 0 : 1)});
      diagonal = row[j + 1];
      row[j + 1] = best;
    }
  }
  return row[b.size()];
}

// Reads one comment, without its slashes. Says whether it is one of those above.
inline bool read_expectation(std::string_view comment, uint32_t line, Expectations& out) {
  const auto problem = [&](const std::string& text) {
    out.problems.push_back("line " + std::to_string(line) + ": " + text);
  };
  const size_t colon = comment.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view word = trimmed(comment.substr(0, colon));
  const std::string_view rest = trimmed(comment.substr(colon + 1));
  for (const auto& [keyword, asked] : expectation_keywords()) {
    if (word != keyword) continue;
    const bool of_rules = asked != Asked::kIncomplete && asked != Asked::kFlags;
    std::vector<std::string> texts = {std::string(rest)};
    if (of_rules) texts = pieces(rest, ",");
    if (asked == Asked::kFlags) texts = pieces(rest, " ");
    for (const std::string& text : texts) {
      if (text.empty()) {
        problem("nothing follows '" + std::string(keyword) + ":'");
      } else if (of_rules && rules::find(text) == nullptr) {
        problem("there is no rule '" + text + "'");
      } else {
        for (const Expectation& e : out.all) {
          const bool for_findings = asked != Asked::kNote && e.asked != Asked::kNote;
          if (e.line == line && e.text == text && (e.asked == asked || (of_rules && for_findings)))
            problem("'" + text + "' is asked for twice");
        }
        out.all.push_back({asked, line, text});
      }
    }
    return true;
  }
  for (const auto& [keyword, asked] : expectation_keywords()) {
    // A letter in four, for words that are likely to begin a plain comment too.
    if (letters_between(word, keyword) <= keyword.size() / 4) {
      problem("'" + std::string(word) + ":' is no keyword, '" + std::string(keyword) + ":' may be meant");
      return true;
    }
  }
  return false;
}

inline Expectations read_expectations(std::string_view text) {
  Expectations out;
  uint32_t line = 0;
  for (const std::string& code : pieces(text, "\n")) {
    ++line;
    const std::vector<std::string> comments = pieces(code, "//");
    for (size_t i = 0; i < comments.size(); ++i) {
      if (i != 0 && read_expectation(comments[i], line, out)) continue;
      if (i != 0 && line == 1 && out.shows.empty()) out.shows = comments[i];
      // Only expectations name rules, so that one that is not understood is not taken for prose.
      const size_t rule = comments[i].find("tmem-");
      if (rule != std::string::npos &&
          (rule == 0 || std::isalnum(static_cast<unsigned char>(comments[i][rule - 1])) == 0))
        out.problems.push_back("line " + std::to_string(line) + ": a rule is named outside of an expectation: '" +
                               comments[i] + "'");
    }
  }
  return out;
}

// What a run said, reduced to what expectations speak of. A line of 0: nowhere in the kernel's own file.
struct SaidFinding {
  std::string rule;
  report::Level level;
  uint32_t line;
};
struct SaidIncomplete {
  std::string reason;
  uint32_t line;
};

inline std::vector<std::string> disagreements(const Expectations& asked, const std::vector<SaidFinding>& findings,
                                              const std::vector<SaidIncomplete>& incomplete) {
  std::vector<std::string> out = asked.problems;
  const auto at = [](uint32_t line) { return " at line " + std::to_string(line); };
  std::set<const Expectation*> found;
  for (const SaidFinding& f : findings) {
    const bool note = f.level == report::Level::kNote;
    bool matched = note;
    for (const Expectation& e : asked.all) {
      const bool speaks_of_it =
          note ? e.asked == Asked::kNote : e.asked == Asked::kFinding || e.asked == Asked::kAllowed;
      if (!speaks_of_it || e.line != f.line || e.text != f.rule) continue;
      found.insert(&e);
      matched = true;
    }
    if (!matched) out.push_back(f.rule + at(f.line) + " is reported, but nothing there expects or allows it");
  }
  for (const SaidIncomplete& i : incomplete) {
    bool matched = false;
    for (const Expectation& e : asked.all) {
      if (e.asked != Asked::kIncomplete || e.line != i.line || i.reason.find(e.text) == std::string::npos) continue;
      found.insert(&e);
      matched = true;
    }
    if (!matched) out.push_back("incomplete" + at(i.line) + ", but nothing there expects it: " + i.reason);
  }
  for (const Expectation& e : asked.all) {
    if (e.asked == Asked::kAllowed || e.asked == Asked::kFlags || found.count(&e) != 0) continue;
    if (e.asked == Asked::kIncomplete) {
      out.push_back("an incomplete place is expected" + at(e.line) + ": " + e.text);
    } else {
      out.push_back(e.text + " is expected" + at(e.line) + (e.asked == Asked::kNote ? ", as a note" : ""));
    }
  }
  return out;
}

// The line of the kernel's own file for a finding: its place, or the innermost call in that file that leads to it.
inline uint32_t line_in(const std::string& path, const report::Finding& f) {
  if (f.place.text->path() == path) return f.place.text->position(f.place.span.begin).line;
  for (const report::Related& r : f.related) {
    if (r.place.text->path() == path && r.message.ends_with(", called here"))
      return r.place.text->position(r.place.span.begin).line;
  }
  return 0;
}

// The same for an incomplete place, whose reason names the call.
inline uint32_t line_in(const std::string& path, const report::Incomplete& i) {
  if (i.place.text->path() == path) return i.place.text->position(i.place.span.begin).line;
  const std::string call = "for the call at " + std::filesystem::path(path).filename().string() + ":";
  const size_t at = i.reason.find(call);
  return at == std::string::npos ? 0 : static_cast<uint32_t>(std::strtoul(&i.reason[at + call.size()], nullptr, 10));
}

inline std::vector<std::string> disagreements(const Expectations& asked, const report::Results& results,
                                              const std::string& path) {
  std::vector<SaidFinding> findings;
  for (const report::Finding& f : results.findings) findings.push_back({f.rule, f.level, line_in(path, f)});
  std::vector<SaidIncomplete> incomplete;
  for (const report::Incomplete& i : results.incomplete) incomplete.push_back({i.reason, line_in(path, i)});
  return disagreements(asked, findings, incomplete);
}

// The labelled kernels of a folder, by file name. One whose name ends in "-bad" must ask for something, any other must
// be quiet: for notes at most, so that an expectation that got lost makes no correct kernel of a bad one.
inline std::map<std::string, Expectations> labelled_kernels(const std::string& folder, const std::string& extension) {
  std::map<std::string, Expectations> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != extension) continue;
    Expectations asked = read_expectations(read_file(entry.path()));
    const bool bad = entry.path().stem().string().ends_with("-bad");
    const bool faults = !asked.texts(Asked::kFinding).empty();
    const bool allowances = !asked.texts(Asked::kAllowed).empty() || !asked.texts(Asked::kIncomplete).empty();
    if (asked.shows.empty()) asked.problems.emplace_back("the first line does not say what the kernel shows");
    if (bad && !faults && asked.texts(Asked::kNote).empty())
      asked.problems.emplace_back("a bad kernel expects nothing");
    if (!bad && (faults || allowances)) asked.problems.emplace_back("a kernel that is not called bad expects a fault");
    out[entry.path().filename().string()] = std::move(asked);
  }
  return out;
}

// Whether a bad kernel that asks for this rule has a corrected twin.
struct Covered {
  bool bad = false, twin = false;
};
inline Covered covered(const std::map<std::string, Expectations>& kernels, std::string_view rule) {
  Covered out;
  for (const auto& [name, asked] : kernels) {
    const bool asks = std::any_of(asked.all.begin(), asked.all.end(), [&](const Expectation& e) {
      return e.text == rule && (e.asked == Asked::kFinding || e.asked == Asked::kNote);
    });
    const size_t at = name.rfind("-bad.");
    if (!asks || at == std::string::npos) continue;
    out.bad = true;
    std::string twin = name;
    out.twin = out.twin || kernels.count(twin.replace(at, 5, "-good.")) != 0;
  }
  return out;
}

// A test with a file's name as its parameter: gtest wants letters and digits.
inline std::string name_of_file(const testing::TestParamInfo<std::string>& info) {
  std::string out = info.param;
  std::replace_if(
      out.begin(), out.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return out;
}

}  // namespace tmemlint::test
