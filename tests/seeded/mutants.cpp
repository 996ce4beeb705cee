#include "tests/seeded/mutants.h"

#include "tests/seeded/seeder.h"

namespace tmemlint::seeded {
namespace {

struct Faults {
  Faults(const Kernel& k, std::vector<Mutant>& out)
      : waits(k, out),
        joins(k, out),
        arrivals(k, out),
        allocations(k, out),
        accesses(k, out),
        issue(k, out),
        pairs(k, out) {}
  WaitFaults waits;
  JoinFaults joins;
  ArrivalFaults arrivals;
  AllocationFaults allocations;
  AccessFaults accesses;
  IssueFaults issue;
  PairFaults pairs;
};

void break_instruction(const Kernel& k, uint32_t i, Faults& faults) {
  switch (k.op(i)) {
    case Op::kWaitLd:
      faults.waits.drop_wait_ld(i);
      break;
    case Op::kWaitSt:
      faults.waits.drop_wait_st(i);
      break;
    case Op::kBar:
      faults.joins.drop_barrier(i);
      break;
    case Op::kWait:
      faults.joins.drop_mbarrier_wait(i);
      break;
    case Op::kClusterArrive:
      faults.joins.drop_cluster_barrier(i);
      break;
    case Op::kDealloc:
      faults.allocations.dealloc(i);
      break;
    case Op::kAlloc:
      faults.allocations.alloc(i);
      break;
    case Op::kCommit:
      faults.arrivals.drop_arrival(i, Kind::kDropCommit);
      faults.pairs.pair_mask(i);
      break;
    case Op::kArrive:
      faults.arrivals.drop_arrival(i, Kind::kDropArrive);
      faults.arrivals.early_release(i);
      break;
    case Op::kLd:
    case Op::kSt:
      faults.accesses.other_lane(i);
      faults.accesses.other_columns(i);
      faults.accesses.other_length(i);
      break;
    case Op::kMma:
      faults.accesses.other_columns(i);
      faults.accesses.illegal_shape(i);
      faults.accesses.other_shape(i);
      faults.accesses.no_first_write(i);
      break;
    case Op::kCp:
      faults.accesses.other_columns(i);
      break;
    case Op::kElect:
      faults.issue.drop_election(i);
      break;
    case Op::kProxyFence:
      faults.waits.drop_proxy_fence(i);
      break;
    case Op::kInit:
      faults.arrivals.other_count(i);
      break;
    default:
      break;
  }
  faults.issue.collective(i);
  faults.issue.cta_group(i);
  faults.issue.every_lane(i);
  faults.waits.drop_fence(i);
}

void break_kernel(const Kernel& k, std::vector<Mutant>& out) {
  Faults faults(k, out);
  for (uint32_t i = k.first(); i < k.last(); ++i) break_instruction(k, i, faults);
  faults.pairs.pair_cluster();
  faults.pairs.pair_leader();
}

}  // namespace

std::vector<Mutant> mutants(const ptx::Module& module) {
  std::vector<Mutant> out;
  for (uint32_t f = 0; f < module.functions.size(); ++f) {
    if (module.functions[f].is_entry && module.functions[f].has_body) break_kernel(Kernel(module, f), out);
  }
  return out;
}

std::string mutated(std::string_view text, const Mutant& mutant) {
  std::string out;
  size_t at = 0;
  for (const Edit& edit : mutant.edits) {
    out += text.substr(at, edit.span.begin - at);
    out += edit.text;
    at = edit.span.end;
  }
  out += text.substr(at);
  return out;
}

std::vector<std::string> accepted_rules(const Mutant& mutant) {
  if (!mutant.accepted.empty()) return mutant.accepted;
  std::vector<std::string> out;
  for (const std::string_view rule : info(mutant.kind).accepted) out.emplace_back(rule);
  return out;
}

}  // namespace tmemlint::seeded
