#include "analyzer/engine.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/cluster/analysis.h"
#include "analyzer/confirmation.h"
#include "rules/context.h"
#include "rules/problems.h"
#include "rules/rule.h"

namespace tmemlint {

namespace {

// The author's line of an instruction.
uint32_t line_of(const rules::Context& context, uint32_t instruction) {
  const report::Place place = context.place(instruction);
  return place.has_source ? place.source.line : place.text->position(place.span.begin).line;
}

std::string nor_to_others(const cluster::UnreachedRegion& region) {
  const size_t more = region.instructions.size() - 1;
  if (more == 0) return "";
  return ", nor to " + std::to_string(more) + " more " + (more == 1 ? "instruction" : "instructions");
}

// What no scenario came to: said at its first instruction, with the branch that would have to go another way.
void report_unreached(rules::Context& context, const cluster::UnreachedRegion& region) {
  const kernel::Graph& graph = context.analysis().kernel->graph;
  const kernel::Block& block = graph.blocks[region.block];
  const bool is_guard = graph.blocks[block.successors[0]].guard_is_taken;
  std::string reason = "no scenario in which all warps are stepped together comes here" + nor_to_others(region);
  if (is_guard) {
    reason += region.way == 0 ? ": its guard never holds" : ": the guard of the exit before it always holds";
  } else {
    reason += ": the branch of line " + std::to_string(line_of(context, block.ender));
    // The first way is the one that takes the branch.
    reason += block.ending == kernel::Ending::kIndexed ? " never goes this way"
              : region.way == 0                        ? " is never taken"
                                                       : " is always taken";
  }
  context.incomplete(region.instructions.front(), reason);
}

void report_incomplete(rules::Context& context) {
  const cluster::Analysis& a = context.analysis();
  for (const kernel::Gap& gap : a.kernel->graph.gaps) context.incomplete(gap.instruction, gap.reason);
  bool stopped = false;
  for (const warp::WarpGraph& w : a.warps) {
    for (const warp::Uncertain& u : w.uncertain) {
      context.incomplete(u.instruction, u.reason);
      stopped = true;
    }
  }
  for (const warp::Uncertain& u : a.joint->uncertain) context.incomplete(u.instruction, u.reason);
  for (const warp::Uncertain& u : context.problems().open) context.incomplete(u.instruction, u.reason);
  for (const cluster::UnreachedRegion& region : a.joint->unreached) report_unreached(context, region);
  // Instructions behind a place where the evaluation stopped were not reached for that reason: that was said already.
  if (stopped || !a.kernel->graph.gaps.empty()) return;
  for (const cluster::UnreachedRegion& region : a.joint->for_others) {
    context.incomplete(region.instructions.front(), "no warp of a CTA of " + std::to_string(a.launch.threads()) +
                                                        " threads was seen to come here" + nor_to_others(region));
  }
}

// Whether parts of the kernel, or of a function that it calls, could not be parsed: its control flow is not known then.
bool is_damaged(const ptx::Module& module, const cluster::Analysis& a) {
  for (uint32_t f : a.kernel->functions) {
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

// The warps of an analysis whose paths rules have blamed, as indices.
std::set<size_t> indices_of(const cluster::FollowedWarps& warps, const std::set<const warp::WarpGraph*>& blamed) {
  std::set<size_t> out;
  for (size_t n = 0; n < warps.size(); ++n) {
    if (blamed.contains(&warps[n])) out.insert(n);
  }
  return out;
}

// What all rules say of an analysis.
report::Results judge(const cluster::Analysis& analysis, const rules::Problems& problems, const ptx::Module& module,
                      const Options& options, std::set<size_t>* blamed) {
  report::Results out;
  rules::Context context(analysis, problems, module.source, out, options.source_of);
  for (const rules::Rule* rule : rules::registry()) {
    if (options.enabled && !options.enabled(rule->id)) continue;
    context.begin(*rule);
    rule->check(context);
    context.end();
  }
  report_incomplete(context);
  *blamed = indices_of(analysis.warps, context.blamed());
  return out;
}

// The same; findings on paths of one warp are confirmed by following the blamed warps more closely.
report::Results judge_closely(const cluster::Analysis& analysis, const rules::Problems& problems,
                              const ptx::Module& module, const Options& options) {
  std::set<size_t> blamed;
  report::Results out = judge(analysis, problems, module, options, &blamed);
  if (blamed.empty()) return out;
  bool changed = false;
  cluster::Analysis closer = analysis;
  closer.warps = cluster::follow_closer(*analysis.kernel, analysis.launch, analysis.warps, blamed, &changed);
  if (!changed) return out;
  out.findings = keep_confirmed(std::move(out.findings), judge(closer, problems, module, options, &blamed));
  return out;
}

// What the analysis of a kernel relied on.
void count_uses(const cluster::Analysis& analysis, const rules::Problems& problems, assumptions::Uses& uses) {
  using assumptions::Id;
  uses.add(analysis.kernel->terms->uses());
  uses.add(analysis.kernel->graph.uses);
  uses.add(problems.uses);
  switch (analysis.launch.block_origin) {
    case kernel::Launch::Origin::kStated:
      break;
    case kernel::Launch::Origin::kMaximum:
      uses.count(Id::kBlockFromMaximum);
      break;
    case kernel::Launch::Origin::kInferred:
      uses.count(Id::kBlockFromBarriers);
      break;
    case kernel::Launch::Origin::kAssumed:
      uses.count(Id::kThreadsOfABlock);
      break;
  }
  if (analysis.launch.shape_is_guess) uses.count(Id::kThreadsAlongX);
  if (analysis.launch.cluster_is_guess() && analysis.launch.ctas() > 1) {
    const bool inferred = analysis.launch.cluster_origin == kernel::Launch::Origin::kInferred;
    uses.count(inferred ? Id::kClusterFromCode : Id::kPairOfCtas);
  }
}

report::KernelStats stats_of(const cluster::Analysis& analysis, const rules::Problems& problems,
                             const ptx::Module& module, uint32_t kernel) {
  report::KernelStats stats;
  stats.file = module.source->path();
  stats.kernel = module.functions[kernel].name;
  stats.asked = analysis.joint->asked + problems.asked;
  stats.decided = analysis.joint->decided;
  stats.scenarios = analysis.joint->scenarios.size();
  stats.stepped = analysis.joint->steps;
  for (const warp::WarpGraph& w : analysis.warps) stats.evaluated += w.steps;
  return stats;
}

// A function whose address is taken and that nothing calls is no part of what the kernel does. Where calls could not be
// followed it may be, but that is said anyway.
void note_uncalled(const cluster::Analysis& analysis, const ptx::Module& module, report::Results& results) {
  if (!analysis.kernel->graph.gaps.empty()) return;
  for (uint32_t f : analysis.uncalled()) {
    results.assumptions.push_back("kernel " + std::string(module.functions[analysis.kernel->function].name) +
                                  ": the address of " + std::string(module.functions[f].name) +
                                  " is taken and nothing calls it; what it does is not looked at");
  }
}

// The stages of one kernel: it is analysed, the rules look at it, what they say of paths is confirmed.
void lint_kernel(const ptx::Module& module, uint32_t kernel, const Options& options, report::Results& results) {
  ++results.summary.kernels;
  const std::optional<kernel::AskedLaunch> asked = asked_launch(module, kernel, options, results);
  if (!asked) return;
  const cluster::Analysis analysis = cluster::analyze(module, kernel, asked->block, asked->cluster);
  if (!analysis.has_tcgen05()) return;
  results.summary.tcgen05 += analysis.kernel->tcgen05.size();
  const rules::Problems problems = rules::find_problems(analysis);
  report::Results said;
  if (!module.errors.empty() && is_damaged(module, analysis)) {
    rules::Context context(analysis, problems, module.source, said, options.source_of);
    context.incomplete(analysis.kernel->tcgen05.front(),
                       "parts of this kernel could not be parsed, so that what it does is not known");
  } else {
    said = judge_closely(analysis, problems, module, options);
    if (options.stats) results.stats.push_back(stats_of(analysis, problems, module, kernel));
    std::string note = kernel::assumption(analysis.launch, module.functions[kernel].name);
    if (!note.empty()) results.assumptions.push_back(std::move(note));
    note_uncalled(analysis, module, results);
  }
  count_uses(analysis, problems, results.assumed);
  std::move(said.findings.begin(), said.findings.end(), std::back_inserter(results.findings));
  std::move(said.incomplete.begin(), said.incomplete.end(), std::back_inserter(results.incomplete));
}

}  // namespace

std::optional<kernel::AskedLaunch> asked_launch(const ptx::Module& module, uint32_t kernel, const Options& options,
                                                report::Results& results) {
  const ptx::Function& function = module.functions[kernel];
  kernel::AskedLaunch asked;
  if (options.launch_of) asked = options.launch_of(function.name).value_or(asked);
  if (!asked.block.given()) asked.block = options.block;
  if (!asked.cluster.given()) asked.cluster = options.cluster;
  if (!asked.block.given() && !asked.cluster.given()) return asked;
  const std::vector<uint32_t> tcgen05 = cluster::tcgen05_instructions(module, kernel::call_tree(module, kernel));
  if (tcgen05.empty()) return asked;
  const bool uses_pairs = std::any_of(tcgen05.begin(), tcgen05.end(), [&](uint32_t i) {
    return ptx::decode(module.opcode(module.instructions[i])).cta_group == 2;
  });
  const std::string why = kernel::contradiction(function, asked, uses_pairs);
  if (why.empty()) return asked;
  report::InputError error;
  error.file = module.source->path();
  error.text = module.source;
  error.span = function.name_span;
  error.message = "kernel " + std::string(function.name) + " cannot be launched with " + why;
  results.errors.push_back(std::move(error));
  return std::nullopt;
}

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
