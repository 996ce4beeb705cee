#include "analyzer/engine.h"

#include <algorithm>

#include "analyzer/cta/analysis.h"
#include "rules/facts.h"
#include "rules/rule.h"

namespace tmemlint {

namespace {

void report_incomplete(rules::Context& context) {
  const cta::Analysis& a = context.analysis();
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
bool is_damaged(const ptx::Module& module, const cta::Analysis& a) {
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

void lint_kernel(const ptx::Module& module, uint32_t kernel, const Options& options, report::Results& results) {
  ++results.summary.kernels;
  const std::unique_ptr<cta::Analysis> analysis = cta::analyze(module, kernel, options.block, options.cluster);
  results.summary.tcgen05 += analysis->tcgen05.size();
  if (analysis->tcgen05.empty()) return;
  rules::Context context(*analysis, module.source, results, options.source_of);
  if (!module.errors.empty() && is_damaged(module, *analysis)) {
    context.incomplete(analysis->tcgen05.front(),
                       "parts of this kernel could not be parsed, so that what it does is not known");
    return;
  }
  for (const rules::Rule* rule : rules::registry()) {
    if (options.enabled && !options.enabled(rule->id)) continue;
    context.begin(*rule);
    rule->check(context);
    context.end();
  }
  report_incomplete(context);
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
