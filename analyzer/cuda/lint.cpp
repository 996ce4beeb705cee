#include "analyzer/cuda/lint.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <tuple>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/cuda/front_end.h"
#include "analyzer/cuda/nvcc.h"
#include "analyzer/cuda/source_checks.h"
#include "analyzer/cuda/source_map.h"
#include "analyzer/cuda/suppress.h"

namespace tmemlint::cuda {
namespace {

using report::Finding;
using report::Incomplete;
using report::Results;

// The PTX version that goes with a toolkit (12.8: 8.7, 13.0: 9.0); without one, nothing that the ISA has is too new.
std::string ptx_version(const Toolkit& toolkit) {
  if (toolkit.major == 12 && toolkit.minor != 0) return "8." + std::to_string(toolkit.minor - 1);
  if (toolkit.major >= 13) return std::to_string(toolkit.major - 4) + "." + std::to_string(toolkit.minor);
  return "9.4";
}

// Clang writes the version and target that it knows; the rules on both are about those of the user.
std::string with_header(std::string ptx, const std::string& version, const std::string& target) {
  auto replace = [&](std::string_view directive, const std::string& value) {
    const size_t at = ptx.find(directive);
    if (at == std::string::npos || at > 4096) return;
    const size_t begin = at + directive.size();
    ptx.replace(begin, ptx.find('\n', begin) - begin, value);
  };
  replace("\n.version ", version);
  replace("\n.target ", target);
  return ptx;
}

class Mapper {
public:
  Mapper(const Translation* translation, const std::string& file) : translation_(translation), file_(file) {}

  // Findings, incomplete places and errors of the PTX move to the author's lines.
  void move(Results& results) {
    std::vector<Finding> kept;
    for (Finding& finding : results.findings) {
      if (move(finding)) kept.push_back(std::move(finding));
    }
    results.findings = std::move(kept);
    for (Incomplete& incomplete : results.incomplete) {
      const std::string symbol = incomplete.kernel;
      incomplete.kernel = name_of(symbol);
      explain_lost(incomplete.reason);
      incomplete.reason += for_the_call(place(incomplete.place, symbol));
    }
    for (report::InputError& error : results.errors) {
      report::Place at;
      at.text = error.text;
      at.span = error.span;
      place(at, {});
      error.file = file_;
      error.text = at.text;
      error.span = at.span;
      error.message += " (in the PTX of an asm statement)";
    }
    for (std::string& assumption : results.assumptions) rename_kernel(assumption);
  }

  Texts& texts() { return texts_; }

  // What the engine says of lines is about the author's, too.
  Options with_places(Options options) {
    options.source_of = [this](const report::Place& at) {
      const Written w = written(at);
      std::vector<report::SourcePosition> out;
      if (w.at.line != 0) out.push_back({w.at.file, w.at.line, w.at.column});
      for (const Call& call : w.calls) {
        if (call.at.line != 0) out.push_back({call.at.file, call.at.line, call.at.column});
      }
      return out;
    };
    return options;
  }

private:
  Written written(const report::Place& at) {
    return translation_ != nullptr ? written_at(at, *translation_) : written_at_nvcc(at, texts_);
  }

  std::string name_of(const std::string& symbol) const {
    return translation_ != nullptr ? kernel_name(*translation_, symbol) : symbol;
  }

  // The calls that lead there are answered; they become related places where it is a finding.
  std::vector<Call> place(report::Place& at, const std::string& symbol) {
    Written w = written(at);
    if (w.at.line == 0) w.at = fallback(symbol);
    at = texts_.place(w.at);
    return std::move(w.calls);
  }

  // Many places share the asm statement of a helper function: the kernel's own line tells them apart.
  static std::string for_the_call(const std::vector<Call>& calls) {
    for (auto call = calls.rbegin(); call != calls.rend(); ++call) {
      if (call->at.line == 0) continue;
      return ", for the call at " + call->at.file.substr(call->at.file.find_last_of('/') + 1) + ":" +
             std::to_string(call->at.line);
    }
    return {};
  }

  Position fallback(const std::string& symbol) const {
    if (translation_ != nullptr) {
      for (const Kernel& kernel : translation_->kernels) {
        if (kernel.symbol == symbol) return kernel.at;
      }
    }
    return {file_, 1, 1};
  }

  // False for a finding that a comment at one of the calls that lead there silences.
  bool move(Finding& finding) {
    const std::string symbol = finding.kernel;
    finding.kernel = name_of(symbol);
    const std::vector<Call> calls = place(finding.place, symbol);
    for (report::Related& related : finding.related) related.message += for_the_call(place(related.place, symbol));
    for (report::Related& step : finding.path) place(step.place, symbol);
    add_calls(calls, texts_, finding.related);
    return std::none_of(calls.begin(), calls.end(), [&](const Call& call) {
      return call.at.line != 0 && is_suppressed(texts_.place(call.at), finding.rule);
    });
  }

  // "'_Z1fj' is called but its body is not in this file": the reader wants to know why.
  void explain_lost(std::string& reason) const {
    if (translation_ == nullptr) return;
    for (const Dropped& dropped : translation_->dropped) {
      if (dropped.symbol.empty() || reason.find("'" + dropped.symbol + "'") == std::string::npos) continue;
      reason = dropped.name + " is called, and had to be left out: " + dropped.reason + where(dropped.reason_at);
      return;
    }
  }

  void rename_kernel(std::string& text) const {
    if (translation_ == nullptr) return;
    for (const Kernel& kernel : translation_->kernels) {
      const size_t at = text.find(kernel.symbol);
      if (at != std::string::npos) text.replace(at, kernel.symbol.size(), kernel.name);
    }
  }

  static std::string where(const Position& position) {
    return position.line == 0 ? std::string() : " (" + position.file + ":" + std::to_string(position.line) + ")";
  }

  const Translation* translation_;
  const std::string& file_;
  Texts texts_;
};

// Template instances and inlined copies show one defect several times.
void merge_copies(std::vector<Finding>& findings) {
  using Key = std::tuple<std::string, std::string, ptx::Offset, std::string>;
  std::map<Key, size_t> first;
  std::vector<Finding> kept;
  constexpr size_t kCopiesShown = assumptions::kCopiesOfASourceFindingShown;
  for (Finding& finding : findings) {
    Key key(finding.rule, finding.place.text ? finding.place.text->path() : "", finding.place.span.begin,
            finding.message);
    const auto [found, added] = first.emplace(std::move(key), kept.size());
    if (added) {
      kept.push_back(std::move(finding));
      continue;
    }
    Finding& into = kept[found->second];
    into.level = std::max(into.level, finding.level);
    into.warps.insert(into.warps.end(), finding.warps.begin(), finding.warps.end());
    if (finding.kernel != into.kernel) finding.related.push_back({into.place, "the same in kernel " + finding.kernel});
    for (report::Related& related : finding.related) {
      const bool known = std::any_of(into.related.begin(), into.related.end(), [&](const report::Related& r) {
        return r.place.text == related.place.text && r.place.span.begin == related.place.span.begin &&
               r.message == related.message;
      });
      if (!known && into.related.size() < kCopiesShown) into.related.push_back(std::move(related));
    }
  }
  findings = std::move(kept);
}

std::string shown(const Position& position) {
  return position.file + ":" + std::to_string(position.line);
}

std::string counted(size_t number, const std::string& what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

// What was not checked, and what to do about it.
class Gaps {
public:
  Gaps(const Translation& translation, const std::string& file, Texts& texts, Results& results)
      : t_(translation), file_(file), texts_(texts), results_(results) {}

  void report() {
    for (const Dropped& dropped : t_.dropped) {
      if (dropped.is_kernel)
        add(dropped.at, dropped.name, "this kernel had to be left out: " + dropped.reason + reason_place(dropped));
    }
    for (const Kernel& kernel : t_.kernels) report_lost(kernel);
    for (const Translation::Template& pattern : t_.uninstantiated) {
      if (pattern.at.file != file_) continue;
      add(pattern.at, pattern.name,
          "nothing instantiates this kernel template, so that nothing of it was checked" + missing() +
              "; give --instantiate '" + pattern.name + "<…>' with its arguments");
    }
    if (results_.summary.tcgen05 == 0) report_none();
  }

private:
  void add(const Position& at, const std::string& kernel, std::string reason) {
    Incomplete incomplete;
    incomplete.place = texts_.place(at.line != 0 ? at : Position{file_, 1, 1});
    incomplete.kernel = kernel;
    incomplete.reason = std::move(reason);
    results_.incomplete.push_back(std::move(incomplete));
  }

  static std::string reason_place(const Dropped& dropped) {
    return dropped.reason_at.line == 0 ? std::string() : " (" + shown(dropped.reason_at) + ")";
  }

  std::string missing() const {
    if (t_.missing_headers.empty()) return {};
    std::string out = "; not found: " + t_.missing_headers.front();
    if (t_.missing_headers.size() > 1) out += " and " + counted(t_.missing_headers.size() - 1, "other header");
    return out;
  }

  // A kernel that calls what was left out, and that shows no tcgen05 of its own: the engine had nothing to say.
  void report_lost(const Kernel& kernel) {
    const bool said = std::any_of(results_.incomplete.begin(), results_.incomplete.end(),
                                  [&](const Incomplete& incomplete) { return incomplete.kernel == kernel.name; });
    if (said) return;
    for (const Dropped& dropped : t_.dropped) {
      if (std::find(kernel.lost.begin(), kernel.lost.end(), dropped.symbol) == kernel.lost.end()) continue;
      add(kernel.at, kernel.name,
          "it calls " + dropped.name + ", which had to be left out: " + dropped.reason + reason_place(dropped));
      return;
    }
  }

  void report_none() {
    if (!results_.incomplete.empty()) return;  // said already why nothing was seen
    if (t_.errors != 0 && t_.other_kernels == 0) {
      add(t_.first_error_at, {},
          "no tcgen05 statement was seen, and Clang reported " + counted(t_.errors, "error") +
              ", the first here: " + t_.first_error + missing());
      return;
    }
    std::string why;
    if (t_.tcgen05_statements != 0) {
      why = counted(t_.tcgen05_statements, "asm statement") +
            " with tcgen05 stand in functions that no kernel of this file calls";
    } else if (!t_.missing_headers.empty()) {
      why = "a header that may declare them was not found: " + t_.missing_headers.front();
    } else {
      why = "the file has none, or its macros turn them off for this target or for Clang (try --via nvcc)";
    }
    results_.assumptions.push_back(file_ + ": no tcgen05 statement was seen in a kernel: " + why);
  }

  const Translation& t_;
  const std::string& file_;
  Texts& texts_;
  Results& results_;
};

void take_over(Results&& from, Results& into) {
  auto append = [](auto& to, auto& what) { std::move(what.begin(), what.end(), std::back_inserter(to)); };
  append(into.findings, from.findings);
  append(into.incomplete, from.incomplete);
  append(into.errors, from.errors);
  append(into.assumptions, from.assumptions);
  into.summary.files += 1;
  into.summary.kernels += from.summary.kernels;
  into.summary.tcgen05 += from.summary.tcgen05;
}

void finish_source(Results& results) {
  merge_copies(results.findings);
  std::erase_if(results.findings, [](const Finding& finding) { return is_suppressed(finding); });
}

// Writes what --keep-ptx asks for. That it cannot be written is an error of the run.
void keep_ptx(const std::vector<std::string_view>& texts, const SourceOptions& options, Results& results) {
  if (options.keep_ptx.empty()) return;
  errno = 0;
  std::ofstream out(options.keep_ptx, std::ios::binary);
  for (const std::string_view text : texts) out << text;
  out.close();  // some file systems report a full disk only here
  if (out) return;
  report::InputError error;
  error.file = options.keep_ptx;
  error.message = "cannot write the PTX here";
  if (errno != 0) error.message += std::string(": ") + std::strerror(errno);
  results.errors.push_back(std::move(error));
}

// What went wrong, when nvcc's PTX cannot be had either; else its findings are in `results`.
std::string lint_by_nvcc(const CompileCommand& command, const AdaptedCommand& adapted,
                         const SourceOptions& source_options, const Options& options, Results& results) {
  std::string problem;
  const auto text = compile_with_nvcc(command, adapted, source_options.toolkit, problem);
  if (!text) return problem;
  keep_ptx({text->text()}, source_options, results);
  Results found;
  Mapper mapper(nullptr, command.file);
  lint(text, mapper.with_places(options), found);
  mapper.move(found);
  finish_source(found);
  if (found.summary.tcgen05 == 0) found.assumptions.push_back(command.file + ": nvcc's PTX has no tcgen05 instruction");
  take_over(std::move(found), results);
  return {};
}

// Why nothing to look at came out, or not all of it, so that another way may do better; empty when there is no reason.
std::string poor(const Translation& t) {
  if (!t.failure.empty()) return "Clang failed: " + t.failure;
  for (const Dropped& dropped : t.dropped) {
    const bool is_called = std::any_of(t.kernels.begin(), t.kernels.end(), [&](const Kernel& k) {
      return std::find(k.lost.begin(), k.lost.end(), dropped.symbol) != k.lost.end();
    });
    if (dropped.is_kernel || is_called) return "Clang cannot take " + dropped.name + ": " + dropped.reason;
  }
  if (t.ptx.empty() && t.errors != 0) return "Clang reported errors and saw no tcgen05 statement: " + t.first_error;
  if (t.ptx.empty() && !t.missing_headers.empty())
    return "Clang saw no tcgen05 statement and misses " + t.missing_headers.front();
  return {};
}

Request request_for(const CompileCommand& command, const AdaptedCommand& adapted, const SourceOptions& options) {
  Request request;
  request.file = command.file;
  request.directory = command.directory;
  request.arguments = adapted.clang;
  request.cuda_path = options.toolkit.path;
  request.instantiate = options.instantiate;
  return request;
}

void fail(const CompileCommand& command, const std::string& message, Results& results) {
  report::InputError error;
  error.file = command.file;
  error.message = message;
  results.errors.push_back(std::move(error));
}

// Whether nvcc found a fault in the author's source, rather than in its own surroundings (no host compiler, or one that
// its headers do not support).
bool blames_source(const std::string& refusal, const Toolkit& toolkit) {
  const bool has_place =
      refusal.find("): error") != std::string::npos || refusal.find(": error: ") != std::string::npos;
  return has_place && (!toolkit.found() || refusal.find(toolkit.path + "/") == std::string::npos);
}

// Errors that left nothing to analyse. Where headers are missing, the errors are what follows from that: the source may
// be good, and it is incomplete.
bool is_unreadable(const Translation& t) {
  return !t.first_errors.empty() && t.kernels.empty() && t.other_kernels == 0 && t.missing_headers.empty();
}

void report_errors(const Translation& t, const CompileCommand& command, Results& results) {
  Texts texts;
  for (const Translation::Error& e : t.first_errors) {
    fail(command, e.message, results);
    if (e.at.line == 0) continue;
    const report::Place place = texts.place(e.at);
    results.errors.back().text = place.text;
    results.errors.back().span = place.span;
  }
}

// The faults of the input as a whole; false when there is nothing else to say about it.
bool report_input(const Translation& t, const CompileCommand& command, const SourceOptions& options,
                  const std::string& refusal, Results& results) {
  for (const Translation::RefusedInstance& refused : t.refused_instances) {
    const std::string message = "--instantiate '" + refused.name + "' is not possible: " + refused.reason;
    if (!refused.found && options.on_unknown_instance) {
      options.on_unknown_instance(refused.name, message);
    } else {
      fail(command, message, results);
    }
  }
  const bool unreadable = is_unreadable(t);
  if (unreadable) {
    report_errors(t, command, results);
  } else if (!refusal.empty()) {
    fail(command, refusal, results);
  }
  return !unreadable || !t.dropped.empty() || !t.uninstantiated.empty();
}

}  // namespace

void lint_translation(const Translation& translation, const std::string& file, const std::string& target,
                      const Toolkit& toolkit, const Options& options, Results& results) {
  Results found;
  Mapper mapper(&translation, file);
  const Options with_places = mapper.with_places(options);
  for (const std::string& ptx : translation.ptx) {
    lint(std::make_shared<const ptx::SourceText>(file + " (PTX)", with_header(ptx, ptx_version(toolkit), target)),
         with_places, found);
  }
  found.summary.kernels += translation.other_kernels;
  mapper.move(found);
  check_source(translation, options, mapper.texts(), found.findings);
  Gaps(translation, file, mapper.texts(), found).report();
  finish_source(found);
  take_over(std::move(found), results);
}

void lint_source(const CompileCommand& command, const SourceOptions& source_options, const Options& options,
                 Results& results) {
  const AdaptedCommand adapted = adapt(command, source_options.toolkit);
  if (!adapted.problem.empty()) {
    fail(command, adapted.problem, results);
    return;
  }
  if (source_options.via == Via::kNvcc) {
    if (const std::string problem = lint_by_nvcc(command, adapted, source_options, options, results); !problem.empty())
      fail(command, problem, results);
    return;
  }
  std::string problem;
  TranslateFunction* translate = clang_front_end(problem);
  if (translate == nullptr) {
    const bool try_nvcc = source_options.via == Via::kAuto && !find_nvcc(command, source_options.toolkit).empty();
    if (try_nvcc && lint_by_nvcc(command, adapted, source_options, options, results).empty()) {
      results.assumptions.push_back(command.file +
                                    ": taken through nvcc, without the rules that only the source shows: " + problem);
      return;
    }
    fail(command, problem, results);
    return;
  }
  Request request = request_for(command, adapted, source_options);
  auto translation = std::make_unique<Translation>();
  translate(request, *translation);
  if (translation->failure.empty() && !translation->missing_headers.empty() && translation->ptx.empty()) {
    // Host code that lacks a library often lacks the standard headers that came with it, and then instantiates nothing.
    request.standard_prelude = true;
    auto again = std::make_unique<Translation>();
    translate(request, *again);
    if (again->failure.empty()) translation = std::move(again);
  }
  std::string refusal;
  if (source_options.via == Via::kAuto && source_options.instantiate.empty()) {
    const std::string why = poor(*translation);
    if (!why.empty()) {
      std::string refused = lint_by_nvcc(command, adapted, source_options, options, results);
      if (refused.empty()) {
        results.assumptions.push_back(
            command.file + ": taken through nvcc, without the rules that only the source shows, since " + why);
        return;
      }
      // Clang has errors and nvcc refuses it, too: nobody compiles this. A missing header says nothing about the rest.
      if (translation->errors != 0 && translation->missing_headers.empty() &&
          blames_source(refused, source_options.toolkit))
        refusal = std::move(refused);
    }
  }
  if (!translation->failure.empty()) {
    fail(command, translation->failure, results);
    return;
  }
  if (!report_input(*translation, command, source_options, refusal, results)) return;
  if (!source_options.keep_ptx.empty()) {
    std::vector<std::string> kept;
    for (const std::string& ptx : translation->ptx)
      kept.push_back(with_header(ptx, ptx_version(source_options.toolkit), adapted.target));
    keep_ptx({kept.begin(), kept.end()}, source_options, results);
  }
  lint_translation(*translation, command.file, adapted.target, source_options.toolkit, options, results);
}

}  // namespace tmemlint::cuda
