#include <algorithm>
#include <bit>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/cluster/mbarrier_life.h"
#include "analyzer/cluster/operand_order.h"
#include "analyzer/cluster/remote.h"
#include "analyzer/cluster/tmem_operations.h"

namespace tmemlint::cluster {

using program::Arg;
using ptx::TmemAccess;
using value::Value;

uint32_t AccessOperations::start(const Execution& e) {
  e.warp.knowledge.tick();
  Operation op;
  op.warp = e.warp.index;
  op.id = e.warp.id;
  op.event = e.warp.knowledge.now();
  op.instruction = e.instruction();
  op.first_of_run = op.instruction;
  op.lane = static_cast<uint8_t>(std::countr_zero(e.lanes));
  op.form = e.meaning.form;
  op.lanes = e.lanes;
  return state_.tensor_memory.start(op);
}

void AccessOperations::touch(const Execution& e, uint32_t operation, const TmemAccess& access, const TmemPlace& at,
                             const ptx::MmaShape& shape, uint32_t rank) {
  const ptx::Form& form = e.meaning.form;
  const ptx::ColumnCount count = ptx::columns_of(access, form, shape);
  Rectangle where;
  where.at = at;
  where.columns = count.columns;
  where.certain = count.certain;
  where.half_windows = ptx::half_windows_of(access, form, shape, at.lane, e.warp.id.number);
  where.rank = rank;
  TensorMemory::Kind kind;
  kind.role = access.role;
  kind.reads =
      access.reads == ptx::TmemReads::kYes || (access.reads == ptx::TmemReads::kIfAccumulating && accumulates(e));
  kind.writes = access.writes;
  state_.tensor_memory.touch(e.warp, operation, kind, where, decisions_.decided(), scene_.log);
}

// Whether an mma certainly adds to its accumulator (enable-input-d is true), so that it reads the columns.
bool AccessOperations::accumulates(const Execution& e) {
  const Arg* flag = scene_.arg(e.step, scene_.program.roles[e.step.roles].enable_input_d);
  return flag != nullptr && decisions_.truth_by_parameters(e.machine, e.machine.read(*flag), e.lanes).yes != 0;
}

// How the column that an instruction in a loop touches changes from round to round.
void AccessOperations::note_trend(const Execution& e, const TmemPlace& at) {
  const uint32_t loop = scene_.kernel.graph.blocks[e.warp.groups.front().at.block].loop;
  if (!at.known || !at.based || loop == kNone) return;
  ColumnTrend& c = scene_.footprints.trends[Footprints::key(e.instruction(), e.warp.id.number)];
  const uint32_t round = e.warp.rounds[loop];
  if (c.round != kNone && round > c.round) {
    const auto step = static_cast<int8_t>(at.offset > c.last ? 1 : at.offset < c.last ? -1 : 0);
    if (c.direction == 0) c.direction = step;
    c.comes_back = c.comes_back || step == 0 || step != c.direction;
  }
  c.round = round;
  c.last = at.offset;
}

// --- ld and st ---

Outcome AccessOperations::load_or_store(Execution& e) {
  const ptx::OperandRoles& roles = scene_.program.roles[e.step.roles];
  const ptx::Form& form = e.meaning.form;
  const Arg* address_arg = scene_.arg(e.step, roles.address);
  if (address_arg == nullptr || form.columns == 0) return Done{};
  const Value address = e.machine.read(*address_arg);
  const uint32_t operation = start(e);
  const ptx::Effects& effects = ptx::effects_of(form);
  if (effects.is_store()) {
    e.warp.stores.push_back(operation);
  } else {
    e.warp.loads.add(e.step.loads, operation);
    e.machine.write_unknowns(e.step, e.lanes, value::Uniformity::kLane, e.number);
  }
  const TmemPlace at = place_of(scene_, decisions_, e, address);
  if (!at.known) scene_.log.add_uncertain(e.instruction(), "which columns this touches could not be followed");
  note_trend(e, at);
  StartLanes& seen = scene_.footprints.start_lanes[Footprints::key(e.instruction(), e.warp.id.number)];
  if (at.known) {
    seen.lanes.set(at.lane);
  } else {
    seen.all = false;
  }
  for (const TmemAccess& access : effects.accesses) {
    TmemPlace from = at;
    if (access.offset != nullptr) {
      const Arg* offset_arg = scene_.arg(e.step, roles.*access.offset);
      if (offset_arg == nullptr || !at.known) continue;
      const auto offset = decisions_.number(e.machine, e.machine.read(*offset_arg), e.lanes, 32);
      if (!offset) continue;
      from.column += static_cast<uint32_t>(*offset);
      from.offset += static_cast<int64_t>(*offset);
    }
    touch(e, operation, access, from, {}, e.warp.id.rank);
  }
  scene_.log.add_line(e.warp.id, e.instruction(), [&] {
    return at.known ? "columns " + std::to_string(at.column) + "-" + std::to_string(at.column + form.columns - 1)
                    : std::string();
  });
  return Done{};
}

Outcome AccessOperations::wait_for_loads(Execution& e) {
  e.warp.knowledge.tick();
  e.warp.loads.each(
      [&](uint32_t operation) { state_.tensor_memory.operation(operation).waited = e.warp.knowledge.now(); });
  e.warp.loads.clear();
  scene_.log.add_line(e.warp.id, e.instruction());
  return Done{};
}

Outcome AccessOperations::wait_for_stores(Execution& e) {
  e.warp.knowledge.tick();
  for (uint32_t operation : e.warp.stores) state_.tensor_memory.operation(operation).waited = e.warp.knowledge.now();
  e.warp.stores.clear();
  scene_.log.add_line(e.warp.id, e.instruction());
  return Done{};
}

// --- what one thread issues ---

// An operation of a pair reaches the other CTA, which must have allocated what it touches there.
void AccessOperations::reach_peer(const Execution& e) {
  const uint32_t peer = e.warp.id.rank ^ 1;
  scene_.log.count_decided();
  // Both CTAs of a pair execute the alloc, but not at one time: before one of them reaches the other, some barrier has
  // to join them.
  if (!scene_.knows_cta(e.warp, peer))
    scene_.log.add(EarlyReach{e.site(), peer, state_.tensor_memory.last_alloc(peer)});
  note_pair_issuer(e);
}

void AccessOperations::note_pair_issuer(const Execution& e) {
  const uint32_t rank = e.warp.id.rank;
  const auto [it, fresh] = state_.pair_issuers.try_emplace({e.instruction(), rank / 2}, rank);
  if (!fresh && it->second != rank) scene_.log.add(DoubleIssue{e.site(), it->second});
}

// What an operation reads in shared memory, in its own CTA and of a pair in the peer too. Of a matrix that is not known
// nothing is said.
void AccessOperations::read_operands(Execution& e, uint32_t operation, const std::optional<uint32_t>& idesc) {
  const ptx::OperandRoles& roles = scene_.program.roles[e.step.roles];
  for (const ptx::SharedRead& read : ptx::effects_of(e.meaning.form).shared_reads) {
    const Arg* arg = scene_.arg(e.step, roles.*read.descriptor);
    if (arg == nullptr || (read.unless_in_brackets && arg->address)) continue;
    const auto descriptor = decisions_.number(e.machine, e.machine.read(*arg), e.lanes, 64);
    scene_.log.count(1, descriptor ? 1 : 0);
    if (!descriptor) continue;
    const ptx::MatrixRows rows = ptx::matrix_rows(*descriptor, idesc, e.meaning.form, read.is_b);
    const uint32_t ranks = has_peer(e) ? 2 : 1;
    for (uint32_t n = 0; n < ranks; ++n) {
      read_operand(scene_, e, operation, in_rank(ptx::matrix_start(*descriptor), e.warp.id.rank ^ n), rows);
    }
  }
}

Outcome AccessOperations::single_thread(Execution& e) {
  if (!std::has_single_bit(e.lanes)) {
    scene_.log.add(ManyIssuers{e.site(), e.lanes});
    e.lanes = e.lanes & (~e.lanes + 1);
  }
  const uint32_t op = start(e);
  e.warp.uncommitted.push_back(op);
  const bool pair = has_peer(e);
  if (pair) reach_peer(e);
  const ptx::OperandRoles& roles = scene_.program.roles[e.step.roles];
  const Arg* address_arg = scene_.arg(e.step, roles.address);
  if (address_arg == nullptr) return Done{};
  const TmemPlace d = place_of(scene_, decisions_, e, e.machine.read(*address_arg));
  if (!d.known) scene_.log.add_uncertain(e.instruction(), "which columns this touches could not be followed");
  note_trend(e, d);
  scene_.log.add_line(e.warp.id, e.instruction(),
                      [&] { return d.known ? "columns from " + std::to_string(d.column) : std::string(); });
  Operation& mine = state_.tensor_memory.operation(op);
  mine.d_column = d.known ? d.column : kNone;
  ptx::MmaShape shape;
  if (const Arg* i = scene_.arg(e.step, roles.idesc)) {
    if (const auto idesc = decisions_.number(e.machine, e.machine.read(*i), e.lanes, 32)) {
      mine.idesc = static_cast<uint32_t>(*idesc);
      shape = ptx::mma_shape(*mine.idesc, mine.form);
    }
  }
  read_operands(e, op, mine.idesc);
  for (const TmemAccess& access : ptx::effects_of(e.meaning.form).accesses) {
    const Arg* a = scene_.arg(e.step, roles.*access.address);
    if (a == nullptr || (access.only_in_brackets && !a->address)) continue;
    const TmemPlace at = a == address_arg ? d : place_of(scene_, decisions_, e, e.machine.read(*a));
    touch(e, op, access, at, shape, e.warp.id.rank);
    if (pair) touch(e, op, access, at, shape, e.warp.id.rank ^ 1);
  }
  return Done{};
}

// --- commit ---

// The mbarriers that a commit arrives on: that of its own CTA, or those of the CTAs that a multicast names. Nothing
// where the mask of the multicast is not known; `open` then says so.
std::optional<std::vector<uint32_t>> AccessOperations::commit_targets(const Execution& e, uint32_t target,
                                                                      Outcome* open) {
  if (!e.meaning.form.multicast) return std::vector<uint32_t>{target};
  const Arg* m = scene_.arg(e.step, scene_.program.roles[e.step.roles].mask);
  const auto mask = m == nullptr ? std::nullopt : decisions_.number(e.machine, e.machine.read(*m), e.lanes, 32);
  if (!mask) {
    *open = Unknown{e.instruction(), "which CTAs this commit arrives in is not known"};
    return std::nullopt;
  }
  if (e.meaning.form.cta_group == 2) {
    scene_.log.count_decided();
    scene_.log.add(CommitMask{e.site(), static_cast<uint32_t>(*mask)});
  }
  return in_ranks(target, *mask, scene_.ranks);
}

// Of the commits of a thread before that one, the last one that operations came before.
CommitNumber AccessOperations::last_covering(const Site& site, uint32_t lane, CommitNumber number) const {
  for (auto c = state_.commits.rbegin(); c != state_.commits.rend(); ++c) {
    if (c->commit.warp != site.warp || c->lane != lane) continue;
    --number.number;
    if (c->covers) return number;
  }
  return {number.issuer, 0};
}

Outcome AccessOperations::commit(Execution& e) {
  WarpState& w = e.warp;
  if (!std::has_single_bit(e.lanes)) scene_.log.add(ManyIssuers{e.site(), e.lanes});
  const auto lane = static_cast<unsigned>(std::countr_zero(e.lanes));
  w.knowledge.tick();
  const Arg* address_arg = scene_.arg(e.step, scene_.program.roles[e.step.roles].address);
  if (address_arg == nullptr) return Done{};
  const auto target =
      decisions_.number(e.machine, e.machine.shared_address(*address_arg), e.lanes, 32, Decisions::Pick::kParameters);
  if (!target) return Unknown{e.instruction(), "the mbarrier that this commit arrives on is not known"};
  const CommitNumber number = state_.issuers.next_commit(state_.issuers.of(w.index, lane));
  // A commit tracks what its own thread issued before it (ISA 9.7.16.12).
  bool covers = false;
  std::erase_if(w.uncommitted, [&](uint32_t op) {
    Operation& o = state_.tensor_memory.operation(op);
    if (o.lane != lane || o.form.cta_group != e.meaning.form.cta_group) return false;
    o.commit = number;
    covers = true;
    return true;
  });
  AsyncArrival a;
  a.kind = AsyncArrival::Kind::kCommit;
  a.site = e.site();
  a.warp = w.index;
  a.knowledge = w.knowledge.hand_on_by_commit();
  w.knowledge.lanes().arrive(w.knowledge.now(), 1u << lane, e.instruction());
  a.knowledge.see_commit(number);
  a.commit = covers ? number : last_covering(e.site(), lane, number);
  Outcome open;
  auto targets = commit_targets(e, static_cast<uint32_t>(*target), &open);
  if (!targets) return open;
  a.targets = std::move(*targets);
  if (e.meaning.form.cta_group == 2 && scene_.ranks > 1) note_pair_issuer(e);
  state_.commits.push_back({e.site(), lane, a.targets, covers});
  scene_.footprints.arrivals[e.instruction()].insert(a.targets.begin(), a.targets.end());
  for (uint32_t t : a.targets) {
    const auto reached = reach(scene_, e, t, number);
    if (const auto* unknown = std::get_if<Unknown>(&reached)) return *unknown;
    Mbarrier* b = state_.mbarriers.find(t);
    if (b == nullptr) {
      if (rank_of(t) != w.id.rank) return Done{};
      return Unknown{e.instruction(), "the mbarrier that this commit arrives on was not seen to be initialised"};
    }
    if (rank_of(t) == w.id.rank) check_init(scene_, e, *b);
    b->multicast = b->multicast || e.meaning.form.multicast;
  }
  scene_.log.add_line(w.id, e.instruction());
  state_.under_way.push_back(std::move(a));
  return Done{};
}

}  // namespace tmemlint::cluster
