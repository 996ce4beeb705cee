#include "analyzer/engine.h"

#include <algorithm>
#include <iterator>

#include "analyzer/cluster/analysis.h"
#include "rules/facts.h"
#include "rules/rule.h"

namespace tmemlint {

namespace {

void report_incomplete(rules::Context& context) {
  const cluster::Analysis& a = context.analysis();
  for (const kernel::Gap& gap : a.graph.gaps) context.incomplete(gap.instruction, gap.reason);
  if (a.launch.shape_unknown) {
    context.incomplete(a.tcgen05.front(),
                       "which threads make a warp is not known: the kernel reads %tid.y or %tid.z, and nothing states "
                       "its block; give --block X,Y,Z");
  }
  bool stopped = false;
  for (const warp::WarpGraph& w : a.warps) {
    for (const warp::Uncertain& u : w.uncertain) {
      context.incomplete(u.instruction, u.reason);
      stopped = true;
    }
  }
  for (const warp::Uncertain& u : a.joint->uncertain) context.incomplete(u.instruction, u.reason);
  // What lies behind a place where the evaluation stopped is not one more question.
  if (stopped || !a.graph.gaps.empty()) return;
  for (uint32_t i : a.unreached()) {
    context.incomplete(i,
                       "no warp of a CTA of " + std::to_string(a.launch.threads()) + " threads was seen to come here");
  }
}

// Whether what was not understood lies in the kernel or in a function that it calls: its control flow is not known
// then.
bool is_damaged(const ptx::Module& module, const cluster::Analysis& a) {
  for (uint32_t f : a.functions) {
    const ptx::Offset begin = module.functions[f].name_span.begin;
    ptx::Offset end = ~ptx::Offset{0};
    for (const ptx::Function& other : module.functions) {
      if (other.name_span.begin > begin) end = std::min(end, other.name_span.begin);
    }
    for (const ptx::Problem& problem : module.errors) {
      if (problem.span.begin >= begin && problem.span.begin < end) return true;
    }
  }
  return false;
}

// Of the findings from `first` on those that a closer look confirms, no graver than it makes them. What it could not
// follow is not refuted.
void keep_confirmed(report::Results& results, size_t first, const report::Results& closer) {
  auto same_place = [](const report::Place& a, const report::Place& b) {
    return a.text == b.text && a.span.begin == b.span.begin;
  };
  std::vector<report::Finding> kept;
  for (size_t n = first; n < results.findings.size(); ++n) {
    report::Finding& f = results.findings[n];
    const report::Finding* confirmed = nullptr;
    for (const report::Finding& g : closer.findings) {
      if (g.rule != f.rule || !same_place(g.place, f.place)) continue;
      if (g.message == f.message) {
        confirmed = &g;
        break;
      }
      if (confirmed == nullptr || g.level > confirmed->level) confirmed = &g;
    }
    const bool open = std::any_of(closer.incomplete.begin(), closer.incomplete.end(),
                                  [&](const report::Incomplete& i) { return same_place(i.place, f.place); });
    if (confirmed != nullptr && confirmed->level < f.level) {
      kept.push_back(*confirmed);
    } else if (confirmed != nullptr || open) {
      kept.push_back(std::move(f));
    }
  }
  results.findings.resize(first);
  std::move(kept.begin(), kept.end(), std::back_inserter(results.findings));
}

void lint_kernel(const ptx::Module& module, uint32_t kernel, const Options& options, report::Results& results) {
  ++results.summary.kernels;
  const std::unique_ptr<cluster::Analysis> analysis = cluster::analyze(module, kernel, options.block, options.cluster);
  results.summary.tcgen05 += analysis->tcgen05.size();
  if (analysis->tcgen05.empty()) return;
  rules::Context context(*analysis, module.source, results, options.source_of);
  if (!module.errors.empty() && is_damaged(module, *analysis)) {
    context.incomplete(analysis->tcgen05.front(),
                       "parts of this kernel could not be parsed, so that what it does is not known");
    return;
  }
  auto check = [&](rules::Context& of) {
    for (const rules::Rule* rule : rules::registry()) {
      if (options.enabled && !options.enabled(rule->id)) continue;
      of.begin(*rule);
      rule->check(of);
      of.end();
    }
    report_incomplete(of);
  };
  const size_t findings = results.findings.size();
  check(context);
  // What is said of a path is looked at more closely: joining the times round a loop may have made that path.
  if (!context.blamed().empty() && cluster::look_again(*analysis, context.blamed())) {
    report::Results closer;
    rules::Context second(*analysis, module.source, closer, options.source_of);
    check(second);
    keep_confirmed(results, findings, closer);
  }
  if (options.stats) {
    report::KernelStats stats;
    stats.file = module.source->path();
    stats.kernel = module.functions[kernel].name;
    stats.asked = analysis->joint->asked;
    stats.decided = analysis->joint->decided;
    stats.scenarios = analysis->joint->scenarios;
    stats.stepped = analysis->joint->steps;
    for (const warp::WarpGraph& w : analysis->warps) stats.evaluated += w.steps;
    results.stats.push_back(std::move(stats));
  }
  std::string note = kernel::assumption(analysis->launch, module.functions[kernel].name);
  if (!note.empty()) results.assumptions.push_back(std::move(note));
}

}  // namespace

void lint(const std::shared_ptr<const ptx::SourceText>& text, const Options& options, report::Results& results) {
  ++results.summary.files;
  const ptx::Module module = ptx::parse(text);
  for (const ptx::Problem& problem : module.errors) {
    report::InputError error;
    error.file = text->path();
    error.text = text;
    error.span = problem.span;
    error.message = problem.message;
    results.errors.push_back(std::move(error));
  }
  for (uint32_t f = 0; f < module.functions.size(); ++f) {
    if (module.functions[f].is_entry && module.functions[f].has_body) lint_kernel(module, f, options, results);
  }
}

}  // namespace tmemlint
