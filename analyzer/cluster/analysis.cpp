#include "analyzer/cluster/analysis.h"

#include <algorithm>

#include "analyzer/cluster/joint.h"

namespace tmemlint::cluster {

using ptx::Module;

namespace {

// Times that the warps are followed again because another one was seen to write something else to shared memory.
constexpr uint32_t kMaxExchanges = 4;
// Steps that following all warps of a kernel may take.
constexpr uint64_t kKernelSteps = 1'000'000;

bool has_pair_group(const Module& module, const std::vector<uint32_t>& instructions) {
  return std::any_of(instructions.begin(), instructions.end(),
                     [&](uint32_t i) { return ptx::decode(module.opcode(module.instructions[i])).cta_group == 2; });
}

// Whether a warp that frees columns was also seen to leave without having freed what it allocated: on a path that may
// come from putting others together.
bool seems_to_leak(const Analysis& a, const warp::WarpGraph& graph) {
  bool frees = false;
  bool leaves = false;
  for (const warp::Event& e : graph.events) {
    if (e.kind == warp::Event::Kind::kExit) {
      leaves = leaves || graph.holdings_before(e).live_allocations() != 0;
    } else if (e.kind == warp::Event::Kind::kTcgen05) {
      frees =
          frees || a.program->meanings[a.module->instructions[e.instruction].opcode].form.op == ptx::Tcgen05::kDealloc;
    }
  }
  return frees && leaves;
}

warp::Setting setting_for(const Analysis& a, uint32_t rank, uint32_t warp, uint32_t exchange) {
  warp::Setting setting;
  setting.program = a.program.get();
  setting.terms = a.terms.get();
  setting.replays = a.replays.get();
  setting.launch = a.launch;
  setting.rank = rank;
  setting.warp = warp;
  setting.exchange = exchange;
  return setting;
}

// Follows a warp that seems to leak with its paths kept apart; returns the steps that it took.
uint64_t follow_apart(const Analysis& a, warp::WarpGraph& graph, warp::Setting setting) {
  if (!seems_to_leak(a, graph)) return 0;
  setting.decisions_apart = true;
  warp::Evaluation apart = warp::evaluate(setting);
  const uint64_t steps = apart.graph.steps;
  if (apart.graph.uncertain.size() <= graph.uncertain.size()) graph = std::move(apart.graph);
  return steps;
}

// Each warp sees what the others were seen to write so far; one that read a place before another value was found to be
// written to it is followed again.
void follow_warps(Analysis& a) {
  const uint32_t warps = a.launch.warps();
  uint64_t spent = 0;
  const uint32_t ranks = a.launch.ctas() > 1 ? 2 : 1;  // the even and the odd CTA of a pair
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    std::vector<warp::Evaluation> evaluations(warps);
    std::vector<bool> due(warps, true);
    auto setting_of = [&](uint32_t w, uint32_t exchange) {
      warp::Setting setting = setting_for(a, rank, w, exchange);
      setting.step_budget = std::min(setting.step_budget, kKernelSteps - std::min(kKernelSteps, spent) + 1);
      for (uint32_t other = 0; other < warps; ++other) {
        if (other != w) setting.others.push_back(&evaluations[other].writes);
      }
      return setting;
    };
    for (uint32_t exchange = 0; exchange < kMaxExchanges; ++exchange) {
      for (uint32_t w = 0; w < warps; ++w) {
        if (!due[w]) continue;
        due[w] = false;
        warp::Evaluation next = warp::evaluate(setting_of(w, exchange));
        spent += next.graph.steps;
        const std::vector<warp::Extent> changed = next.writes.difference(evaluations[w].writes);
        evaluations[w] = std::move(next);
        if (changed.empty()) continue;
        for (uint32_t other = 0; other < warps; ++other) {
          if (other != w && !due[other]) due[other] = warp::overlap(evaluations[other].reads, changed);
        }
      }
      if (std::find(due.begin(), due.end(), true) == due.end()) break;
    }
    for (uint32_t w = 0; w < warps; ++w) {
      spent += follow_apart(a, evaluations[w].graph, setting_of(w, kMaxExchanges));
    }
    for (warp::Evaluation& e : evaluations) {
      e.graph.writes = std::move(e.writes);
      a.warps.push_back(std::move(e.graph));
    }
  }
}

// How many instructions of the protocol no warp was seen to come to: code for warps that the block does not have.
// `warps`: counted as if there were only the first ones.
size_t events_not_reached(const Analysis& a, size_t warps = SIZE_MAX) {
  const program::Program& program = *a.program;
  size_t count = 0;
  for (size_t s = 0; s < program.steps.size(); ++s) {
    const program::Step& step = program.steps[s];
    if (step.kind != program::Step::Kind::kInstruction) continue;
    if (!program::is_protocol(program.meanings[a.module->instructions[step.instruction].opcode].action)) continue;
    const auto end = a.warps.begin() + static_cast<ptrdiff_t>(std::min(warps, a.warps.size()));
    const bool reached = std::any_of(a.warps.begin(), end,
                                     [&](const warp::WarpGraph& w) { return s < w.reached.size() && w.reached[s]; });
    if (!reached) ++count;
  }
  return count;
}

// Whether what a warp does may depend on how many others there are.
bool asks_for_block(const Analysis& a) {
  const std::vector<std::string_view>& names = a.module->special_registers;
  return std::any_of(a.program->args.begin(), a.program->args.end(), [&](const program::Arg& arg) {
    return arg.kind == program::Arg::Kind::kSpecial &&
           (names[arg.ref].starts_with("%ntid") || names[arg.ref].starts_with("%nwarpid"));
  });
}

void follow_in_block(Analysis& a, uint32_t threads) {
  a.launch.block = {threads, 1, 1};
  a.launch.block_ground = kernel::Launch::Ground::kInferred;
  a.warps.clear();
  follow_warps(a);
}

// Where nothing states the block and some instruction of the protocol is reached by no warp, the smallest block that
// has a warp for all of them is a better guess.
void infer_block(Analysis& a) {
  if (!a.launch.block_is_guess()) return;
  const size_t missing = events_not_reached(a);
  if (missing == 0) return;
  const kernel::Launch first = a.launch;
  std::vector<warp::WarpGraph> as_first = std::move(a.warps);
  auto follow = [&](uint32_t threads) {
    follow_in_block(a, threads);
    return events_not_reached(a);
  };
  // What the largest block has no warp for is not there for another warp.
  size_t fewest = missing;
  for (uint32_t threads : {256u, 512u, 1024u}) {
    if (threads > first.threads() && fewest != 0) fewest = follow(threads);
  }
  if (fewest < missing) {
    // What the large block showed tells which ones need not be tried.
    std::vector<uint32_t> sizes;
    const bool same = !asks_for_block(a) && a.launch.ctas() == 1;
    for (uint32_t threads :
         {160u, 192u, 224u, 256u, 288u, 320u, 352u, 384u, 416u, 448u, 480u, 512u, 640u, 768u, 1024u}) {
      if (threads <= a.launch.threads() && (!same || events_not_reached(a, threads / 32) <= fewest)) {
        sizes.push_back(threads);
      }
    }
    for (uint32_t threads : sizes) {
      if (threads > first.threads() && follow(threads) <= fewest) return;
    }
  }
  a.warps = std::move(as_first);
  a.launch = first;
}

// Where nothing states the block and the warps of the guess wait for others, the next larger block in which they do not
// is a better guess.
void try_larger_blocks(Analysis& a, const JointSetting& setting) {
  if (!a.launch.block_is_guess() || !a.joint->short_of_warps) return;
  const kernel::Launch first = a.launch;
  std::vector<warp::WarpGraph> as_first = std::move(a.warps);
  JointSetting usual = setting;  // says enough of a block, at a part of the cost
  usual.usual_only = true;
  for (uint32_t threads : {160u, 192u, 256u, 288u, 320u, 384u, 512u}) {
    if (threads <= first.threads()) continue;
    follow_in_block(a, threads);
    if (run_jointly(a, usual).short_of_warps) continue;
    a.joint = std::make_shared<const Joint>(run_jointly(a, setting));
    return;
  }
  a.warps = std::move(as_first);
  a.launch = first;
}

}  // namespace

std::vector<uint32_t> tcgen05_instructions(const Module& module, const std::vector<uint32_t>& functions) {
  std::vector<uint32_t> out;
  for (uint32_t f : functions) {
    const ptx::Function& function = module.functions[f];
    for (uint32_t i = function.first_instruction; i < function.last_instruction; ++i) {
      if (module.opcode(module.instructions[i]).root == "tcgen05") out.push_back(i);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<uint32_t> Analysis::unreached() const {
  std::vector<bool> seen(module->instructions.size(), false);
  for (const warp::WarpGraph& w : warps) {
    for (size_t s = 0; s < w.reached.size(); ++s) {
      if (w.reached[s]) seen[program->steps[s].instruction] = true;
    }
  }
  std::vector<uint32_t> out;
  for (uint32_t i : tcgen05) {
    if (!seen[i]) out.push_back(i);
  }
  return out;
}

namespace {

// Whether some loop changes what a warp has allocated or has pending: only then does it matter which of its times round
// it is.
bool has_loop_of_protocol(const Analysis& a) {
  return std::any_of(a.tcgen05.begin(), a.tcgen05.end(), [&](uint32_t i) {
    switch (a.program->meanings[a.module->instructions[i].opcode].form.op) {
      case ptx::Tcgen05::kMma:
      case ptx::Tcgen05::kMmaWs:
      case ptx::Tcgen05::kCp:
      case ptx::Tcgen05::kShift:
      case ptx::Tcgen05::kCommit:
      case ptx::Tcgen05::kFenceBefore:
      case ptx::Tcgen05::kFenceAfter:
        return false;
      default:
        break;
    }
    return std::any_of(a.graph.blocks.begin(), a.graph.blocks.end(),
                       [&](const kernel::Block& b) { return b.loop != ptx::kNone && i >= b.first && i < b.last; });
  });
}

}  // namespace

bool look_again(Analysis& a, const std::set<const warp::WarpGraph*>& warps) {
  if (!has_loop_of_protocol(a)) return false;
  std::vector<std::pair<size_t, warp::WarpGraph>> closer;
  for (size_t n = 0; n < a.warps.size(); ++n) {
    const warp::WarpGraph& before = a.warps[n];
    if (!warps.contains(&before)) continue;
    warp::Setting setting = setting_for(a, before.rank, before.warp, kMaxExchanges + 1);
    setting.by_rounds = true;
    for (const warp::WarpGraph& other : a.warps) {
      if (other.rank == before.rank && other.warp != before.warp) setting.others.push_back(&other.writes);
    }
    warp::WarpGraph graph = warp::evaluate(setting).graph;
    follow_apart(a, graph, setting);
    if (graph.uncertain.size() > before.uncertain.size()) continue;
    closer.emplace_back(n, std::move(graph));
  }
  for (auto& [n, graph] : closer) {
    graph.writes = std::move(a.warps[n].writes);
    a.warps[n] = std::move(graph);
  }
  return !closer.empty();
}

std::unique_ptr<Analysis> analyze(const Module& module, uint32_t kernel, ptx::Dimensions block, ptx::Dimensions cluster,
                                  const JointSetting& setting) {
  auto a = std::make_unique<Analysis>();
  a->module = &module;
  a->kernel = kernel;
  a->functions = kernel::call_tree(module, kernel);
  a->tcgen05 = tcgen05_instructions(module, a->functions);
  a->uses_pairs = has_pair_group(module, a->tcgen05);
  a->launch = kernel::launch_of(module, module.functions[kernel], block, cluster, a->uses_pairs);
  if (a->tcgen05.empty()) return a;
  a->graph = kernel::build_graph(module, kernel);
  a->program = std::make_unique<program::Program>(program::compile(a->graph));
  a->terms = std::make_unique<value::Terms>();
  a->replays = std::make_unique<warp::Replays>();
  follow_warps(*a);
  infer_block(*a);
  a->joint = std::make_shared<const Joint>(run_jointly(*a, setting));
  try_larger_blocks(*a, setting);
  return a;
}

}  // namespace tmemlint::cluster
