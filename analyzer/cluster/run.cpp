#include "analyzer/cluster/run.h"

#include <algorithm>
#include <bit>

namespace tmemlint::cluster {

using kernel::Block;
using kernel::Ending;
using program::Action;
using program::Arg;
using program::Meaning;
using value::Op;
using value::TermKind;
using value::Uniformity;
using value::UnknownKind;
using value::Value;
using warp::Truth;
using warp::Waiting;

namespace {

// Kinds of unknowns, as sites of terms.

constexpr uint32_t kQuantum = 20'000;
// Times that warps which poll are let go on because nobody else can.
constexpr unsigned kMostPolls = 1000;
// Times that a policy's wish is refused before it is not followed any more.
constexpr unsigned kMostRefusals = 3;

// Bits of the word that an atomic changes.
unsigned atomic_width(std::string_view opcode) {
  return opcode.ends_with("64") ? 64 : opcode.ends_with("16") ? 16 : opcode.ends_with("128") ? 128 : 32;
}

bool writes_tensor_memory(const Meaning& m) {
  if (m.action != Action::kTcgen05) return false;
  switch (m.form.op) {
    case ptx::Tcgen05::kMma:
    case ptx::Tcgen05::kMmaWs:
    case ptx::Tcgen05::kCp:
    case ptx::Tcgen05::kSt:
      return true;
    default:
      return false;
  }
}

}  // namespace

Ground::Ground(const Analysis& a) : analysis(&a), control(kernel::control_of(a.graph)) {
  for (const program::Step& s : a.program->steps) {
    if (s.instruction >= a.module->instructions.size()) continue;
    const ptx::Opcode& o = a.module->opcode(a.module->instructions[s.instruction]);
    const bool elsewhere = o.root == "mapa" || o.text.find("cluster") != std::string_view::npos ||
                           o.text.find("cta_group::2") != std::string_view::npos;
    uses_cluster = uses_cluster || elsewhere;
  }

  find_global_orders();
  find_loop_ends();
  const kernel::Graph& g = a.graph;
  events_in_.assign(g.blocks.size(), 0);
  guards_writes.assign(g.blocks.size(), false);
  std::vector<bool> writes(g.blocks.size(), false);
  for (uint32_t b = 0; b < g.blocks.size(); ++b) {
    for (uint32_t i = g.blocks[b].first; i < g.blocks[b].last; ++i) {
      const Meaning& m = a.program->meanings[a.module->instructions[i].opcode];
      // What touches Tensor Memory says more about which way is the usual one than a barrier does.
      if (program::is_protocol(m.action)) events_in_[b] += m.action == Action::kTcgen05 ? 16 : 1;
      if (writes_tensor_memory(m)) writes[b] = true;
    }
  }
  for (const kernel::Loop& l : g.loops) {
    std::vector<uint32_t> writers;
    for (uint32_t b = l.head; b < l.end; ++b) {
      for (uint32_t i = g.blocks[b].first; writes[b] && i < g.blocks[b].last; ++i) {
        if (writes_tensor_memory(a.program->meanings[a.module->instructions[i].opcode])) writers.push_back(i);
      }
    }
    if (writers.empty()) continue;
    loop_writers.push_back(std::move(writers));
    for (uint32_t d : control.deciders[l.head]) {
      if (d < l.head || d >= l.end) guards_writes[d] = true;
    }
  }
  writes_ = std::move(writes);
}

// Whether some path from a block to one of `blocks` goes neither through `without` nor through `end`.
bool Ground::leads_to(uint32_t from, uint32_t without, uint32_t end, const std::vector<bool>& blocks) const {
  const kernel::Graph& g = analysis->graph;
  std::vector<bool> seen(g.blocks.size(), false);
  std::vector<uint32_t> work{from};
  while (!work.empty()) {
    const uint32_t b = work.back();
    work.pop_back();
    if (b == end || b == without || seen[b]) continue;
    if (blocks[b]) return true;
    seen[b] = true;
    work.insert(work.end(), g.blocks[b].successors.begin(), g.blocks[b].successors.end());
  }
  return false;
}

namespace {

// What values are computed from, over all of a kernel's paths: registers that loads and the like write, and parameters.
class Origins {
public:
  explicit Origins(const program::Program& program) : program_(program), writers_(program.register_width.size()) {
    for (uint32_t s = 0; s < program.steps.size(); ++s) {
      const program::Step& step = program.steps[s];
      if (step.kind == program::Step::Kind::kUse || step.kind == program::Step::Kind::kOverwrite) continue;
      each(step, true, [&](const Arg& a) { writers_[a.ref].push_back(s); });
    }
  }
  void collect(uint32_t reg, std::set<uint64_t>& out) {
    std::vector<bool> seen(writers_.size(), false);
    std::vector<uint32_t> work{reg};
    while (!work.empty()) {
      const uint32_t r = work.back();
      work.pop_back();
      if (seen[r]) continue;
      seen[r] = true;
      for (const uint32_t s : writers_[r]) {
        const program::Step& step = program_.steps[s];
        if (!computes(step)) {
          out.insert(origin(step, r));
          continue;
        }
        each(step, false, [&](const Arg& a) { work.push_back(a.ref); });
      }
    }
  }

private:
  bool computes(const program::Step& step) const {
    if (step.kind != program::Step::Kind::kInstruction) return true;
    switch (program_.meanings[program_.graph->module->instructions[step.instruction].opcode].action) {
      case Action::kPure:
      case Action::kCompare:
      case Action::kMulAdd:
      case Action::kMove:
      case Action::kConvert:
      case Action::kShuffle:
      case Action::kGeneric:
        return true;
      default:
        return false;
    }
  }
  // Loads of one parameter are one origin.
  uint64_t origin(const program::Step& step, uint32_t reg) const {
    for (unsigned n = step.destinations; n < step.argument_count; ++n) {
      const Arg& a = program_.args[step.first_arg + n];
      if (a.address && a.kind == Arg::Kind::kNumber) return (uint64_t{1} << 63) | a.number;
    }
    return reg;
  }
  template <typename F>
  void each(const program::Step& step, bool written, F&& f) const {
    auto one = [&](const Arg& a, bool is_written) {
      if (a.kind == Arg::Kind::kRegister && (is_written && !a.address) == written) f(a);
    };
    const bool vector_written =
        step.vector_count != 0 && step.destinations > 0 && program_.args[step.first_arg].kind == Arg::Kind::kNone;
    for (unsigned n = 0; n < step.argument_count; ++n) one(program_.args[step.first_arg + n], n < step.destinations);
    for (unsigned n = 0; n < step.vector_count; ++n) one(program_.args[step.vector_first + n], vector_written);
  }

  const program::Program& program_;
  std::vector<std::vector<uint32_t>> writers_;  // steps, by register
};

}  // namespace

bool Ground::runs_no_time(uint32_t block, uint8_t way) const {
  if (runs_no_time_.empty()) find_guards();
  return runs_no_time_[block] == way;
}

// A loop is guarded by branches that ask for what decides how often it runs: `if (0 < n)` before a loop that asks
// `i < n` at its end. Any other condition is one of its own.
void Ground::find_guards() const {
  const kernel::Graph& g = analysis->graph;
  const program::Program& program = *analysis->program;
  runs_no_time_.assign(g.blocks.size(), 2);
  if (loop_writers.empty()) return;
  Origins origins(program);
  auto asks = [&](uint32_t b, std::set<uint64_t>& out) {
    if (program.code[b].condition != kNone) origins.collect(program.code[b].condition, out);
  };
  auto note = [&](uint32_t b) {
    const Block& block = g.blocks[b];
    if (block.ending != Ending::kBranch || block.successors.size() != 2 || writes_[b]) return;
    const bool first = leads_to(block.successors[0], b, control.after[b], writes_);
    const bool second = leads_to(block.successors[1], b, control.after[b], writes_);
    if (first != second) runs_no_time_[b] = first ? 1 : 0;
  };
  for (uint32_t n = 0; n < g.loops.size(); ++n) {
    const kernel::Loop& l = g.loops[n];
    if (std::none_of(writes_.begin() + l.head, writes_.begin() + l.end, [](bool w) { return w; })) continue;
    std::set<uint64_t> of_loop;
    for (uint32_t b = l.head; b < l.end; ++b) {
      const std::vector<uint32_t>& next = g.blocks[b].successors;
      if (std::any_of(next.begin(), next.end(), [&](uint32_t s) { return !g.in_loop(s, n); })) asks(b, of_loop);
    }
    if (of_loop.empty()) continue;
    const Block& head = g.blocks[l.head];
    if (head.successors.size() == 2 && g.in_loop(head.successors[0], n) != g.in_loop(head.successors[1], n))
      note(l.head);
    std::vector<uint32_t> work = control.deciders[l.head];
    std::set<uint32_t> seen;
    while (!work.empty()) {
      const uint32_t d = work.back();
      work.pop_back();
      if ((d >= l.head && d < l.end) || !seen.insert(d).second) continue;
      std::set<uint64_t> asked;
      asks(d, asked);
      const bool shares =
          std::any_of(asked.begin(), asked.end(), [&](uint64_t origin) { return of_loop.contains(origin); });
      if (!shares) continue;
      note(d);
      work.insert(work.end(), control.deciders[d].begin(), control.deciders[d].end());
    }
  }
}

// Releases and acquires of words of global memory (memory consistency model of the ISA): by atomics, and by loads and
// stores that say so; by relaxed and volatile ones where the kernel has fences. Many of them are no steps of the
// program, since what global memory holds is not known.
void Ground::find_global_orders() {
  const kernel::Graph& g = analysis->graph;
  const ptx::Module& module = *analysis->module;
  const bool fences = std::any_of(module.opcodes.begin(), module.opcodes.end(), [](const ptx::Opcode& o) {
    return o.root == "membar" || (o.root == "fence" && (o.has("acq_rel") || o.has("sc")));
  });
  std::vector<GlobalOrder> by_opcode(module.opcodes.size());
  GlobalOrder any;
  for (size_t n = 0; n < module.opcodes.size(); ++n) {
    const ptx::Opcode& o = module.opcodes[n];
    const bool atom = o.root == "atom";
    const bool reads = atom || o.root == "ld";
    const bool writes = atom || o.root == "red" || o.root == "st";
    if (!reads && !writes) continue;
    const program::MemorySpace space = analysis->program->meanings[n].space;
    if (space != program::MemorySpace::kGlobal && space != program::MemorySpace::kGeneric) continue;
    const bool both = o.has("acq_rel");
    const bool by_fence = fences && (atom || o.root == "red" || o.has("relaxed") || o.has("volatile"));
    const bool acquires = reads && (both || by_fence || o.has("acquire"));
    by_opcode[n].releases = writes && (both || by_fence || o.has("release"));
    // A generic one may be of shared memory: the step that executes it knows.
    by_opcode[n].acquires = acquires && space == program::MemorySpace::kGlobal;
    any.releases = any.releases || by_opcode[n].releases;
    any.acquires = any.acquires || acquires;
  }
  if (!any.releases || !any.acquires) return;
  std::vector<GlobalOrder> own(g.blocks.size());
  for (uint32_t b = 0; b < g.blocks.size(); ++b) {
    for (uint32_t i = g.blocks[b].first; i < g.blocks[b].last; ++i) {
      const GlobalOrder& order = by_opcode[module.instructions[i].opcode];
      own[b].releases = own[b].releases || order.releases;
      own[b].acquires = own[b].acquires || order.acquires;
    }
  }
  global_orders = own;
  for (uint32_t b = 0; b < g.blocks.size(); ++b) {
    const uint32_t end = analysis->program->code[b].skip_to;
    if (end == kNone) continue;
    std::vector<bool> seen(g.blocks.size(), false);
    std::vector<uint32_t> work = g.blocks[b].successors;
    while (!work.empty()) {
      const uint32_t next = work.back();
      work.pop_back();
      if (next == end || seen[next]) continue;
      seen[next] = true;
      global_orders[b].releases = global_orders[b].releases || own[next].releases;
      global_orders[b].acquires = global_orders[b].acquires || own[next].acquires;
      work.insert(work.end(), g.blocks[next].successors.begin(), g.blocks[next].successors.end());
    }
  }
}

void Ground::find_loop_ends() {
  const kernel::Graph& g = analysis->graph;
  loop_ends.resize(g.loops.size());
  for (uint32_t loop = 0; loop < g.loops.size(); ++loop) {
    const kernel::Loop& l = g.loops[loop];
    auto leaves = [&](uint32_t b) {
      const Block& block = g.blocks[b];
      if (block.ending != Ending::kBranch || block.successors.size() != 2) return false;
      if (g.in_loop(block.successors[0], loop) == g.in_loop(block.successors[1], loop)) return false;
      return control.can_exit[block.successors[0]] && control.can_exit[block.successors[1]];
    };
    // Where a chain of blocks with one way out ends.
    auto end_of_chain = [&](uint32_t b) {
      for (uint32_t steps = l.head; steps < l.end; ++steps) {
        const Block& block = g.blocks[b];
        if (block.successors.size() != 1 || !g.in_loop(block.successors[0], loop) || block.successors[0] == l.head)
          break;
        b = block.successors[0];
      }
      return b;
    };
    LoopEnd& end = loop_ends[loop];
    const uint32_t top = end_of_chain(l.head);
    if (leaves(top)) {
      const Block& block = g.blocks[top];
      end = {top, block.successors[0] != l.head && block.successors[1] != l.head};
      continue;
    }
    for (uint32_t b = l.head; b < l.end; ++b) {
      if (!leaves(b)) continue;
      if (end.block == kNone) end.block = b;
      const Block& block = g.blocks[b];
      const uint32_t stays = block.successors[g.in_loop(block.successors[0], loop) ? 0 : 1];
      const Block& last = g.blocks[end_of_chain(stays)];
      if (stays == l.head || (last.successors.size() == 1 && last.successors[0] == l.head)) {
        end.block = b;
        break;
      }
    }
  }
}

std::array<uint32_t, 2> Ground::events_ahead(uint32_t block) const {
  auto [it, fresh] = ahead_.try_emplace(block);
  if (!fresh) return it->second;
  const kernel::Graph& g = analysis->graph;
  std::array<std::vector<bool>, 2> seen;
  for (size_t side = 0; side < 2; ++side) {
    seen[side].assign(g.blocks.size(), false);
    std::vector<uint32_t> work{g.blocks[block].successors[side]};
    while (!work.empty()) {
      const uint32_t b = work.back();
      work.pop_back();
      if (b == control.after[block] || b == block || seen[side][b]) continue;
      seen[side][b] = true;
      for (uint32_t next : g.blocks[b].successors) work.push_back(next);
    }
  }
  std::array<uint32_t, 2> out{};
  for (uint32_t b = 0; b < g.blocks.size(); ++b) {
    if (seen[0][b] && !seen[1][b]) out[0] += events_in_[b];
    if (seen[1][b] && !seen[0][b]) out[1] += events_in_[b];
  }
  it->second = out;
  return out;
}

Run::Warp::Warp(const Ground& ground, value::Terms& terms, uint32_t r, uint32_t n, size_t warps)
    : machine(*ground.analysis->program, terms, ground.analysis->launch, r, n, {}),
      rank(r),
      number(n),
      known(warps),
      at_fence(warps),
      unfenced(warps),
      rounds(ground.analysis->graph.loops.size(), 0),
      loads(ground.analysis->program->loads.size()) {}

Run::Run(const Ground& ground, const Policy& policy, bool log, uint64_t budget, Joint& all)
    : ground_(ground),
      policy_(policy),
      graph_(ground.analysis->graph),
      program_(*ground.analysis->program),
      terms_(*ground.analysis->terms),
      launch_(ground.analysis->launch),
      all_(all),
      log_events_(log),
      budget_(budget),
      model_(*ground.analysis->terms),
      globals_(*ground.analysis->terms, model_) {
  warps_per_cta_ = launch_.warps();
  // CTAs that never reach each other are all the same.
  ranks_ = ground.uses_cluster ? std::max(1u, launch_.ctas()) : 1;
  facts_.unlimited = true;
  const size_t count = size_t{ranks_} * warps_per_cta_;
  columns_.assign(ranks_, Columns());
  went_.assign(graph_.blocks.size(), 0);
  for (uint32_t r = 0; r < ranks_; ++r) {
    for (uint32_t n = 0; n < warps_per_cta_; ++n) {
      auto w = std::make_unique<Warp>(ground, terms_, r, n, count);
      w->index = static_cast<uint32_t>(warps_.size());
      w->machine.common = this;
      w->machine.serial = &serial_;
      w->machine.replays = ground.analysis->replays.get();
      if (w->machine.existing() == 0) {
        w->state = State::kOver;
      } else {
        w->waiting.push_back({{0, w->machine.existing(), false}, {}, true});
      }
      w->step = program_.code[0].first;
      warps_.push_back(std::move(w));
    }
  }
}

// --- common memory ---

void Run::tick(Warp& w) {
  w.known.tick(w.index);
}

// An arrival of a warp, which may let others go on to what its loads still read.
void Run::release(Warp& w, uint32_t instruction) {
  Release r;
  r.event = w.known.any.event(w.index);
  r.instruction = instruction;
  w.loads.each([&](uint32_t operation) { r.used.emplace_back(operation, operations_[operation].used); });
  w.releases.push_back(std::move(r));
}

// What a warp tells others when it arrives somewhere, and what it learns of those it has waited for.
Knowledge Run::handed_on(const Warp& w) const {
  Knowledge k = w.known;
  k.strict = w.at_fence.strict;
  return k;
}

void Run::told(Warp& w, const Knowledge& k) {
  w.known.any.join(k.any);
  w.known.fenced.join(k.fenced);
  w.unfenced.strict.join(k.strict);
}

// Memory accesses of one step are one event.
void Run::tick_access() {
  if (current_->ticked_step == steps + 1) return;
  current_->ticked_step = steps + 1;
  step_knowledge_ = nullptr;
  tick(*current_);
}

void Run::erase_words(uint32_t begin, uint32_t end) {
  auto at = first_word(begin);
  while (at != words_.end() && at->first < end) {
    if (at->first + at->second.bytes > begin) {
      at = words_.erase(at);
    } else {
      ++at;
    }
  }
}

Value Run::load_shared(uint64_t generic, unsigned bytes, bool polls) {
  const auto address = static_cast<uint32_t>(generic);
  std::vector<warp::Cell> cells;
  bool any = false;
  for (auto at = first_word(address); at != words_.end() && at->first < address + bytes; ++at) {
    Word& word = at->second;
    if (at->first + word.bytes <= address) continue;
    any = true;
    // A release and an acquire of one word order what lies around them (memory consistency model of the ISA).
    if (polls && word.knowledge != nullptr) told(*current_, *word.knowledge);
    if (word.allocation != UINT32_MAX || word.overwrote != UINT32_MAX) {
      tick_access();
      Warp& w = *current_;
      const uint32_t here = instruction_of(w.step);
      ++asked;
      ++decided;
      if (word.warp != w.index && !w.known.any.knows(word.warp, word.event)) {
        const Warp& writer = *warps_[word.warp];
        if (word.overwrote != UINT32_MAX) {
          Sighting& s =
              see(Fault::kSlotOverwritten, writer, word.instruction, allocations_[word.overwrote].instruction);
          s.third = here;
          s.other_warp = w.number;
        } else {
          Sighting& s = see(Fault::kSlotRead, w, here, word.instruction);
          s.other_warp = writer.number;
        }
      }
      word.readers.emplace_back(w.index, w.known.any.event(w.index));
    }
    if (word.known) cells.push_back({at->first, static_cast<uint8_t>(word.bytes), word.value});
  }
  if (!cells.empty() && bytes <= 8) {
    warp::Memory memory;
    memory.replace(std::move(cells));
    if (std::optional<Value> v = memory.load(terms_, address, bytes)) return *v;
  }
  const unsigned width = std::min(64u, bytes * 8);
  if (any)
    return terms_.opaque(value::site_of(UnknownKind::kRunPartial), (++serial_ << 8) | bytes, Uniformity::kWarp, 0,
                         width);
  auto region = regions_.upper_bound(address);
  if (region != regions_.begin()) {
    --region;
    if (address + bytes <= region->second.end) {
      const uint64_t part = (region->second.serial << 24) | (uint64_t{address - region->first} << 8) | bytes;
      return terms_.opaque(value::site_of(UnknownKind::kRunCopied), part, Uniformity::kCta, 0, width);
    }
  }
  if (early_reads_.try_emplace(address, current_->index, current_->known.any.event(current_->index)).second) {
    early_instructions_[address] = instruction_of(current_->step);
  }
  return terms_.opaque(value::site_of(UnknownKind::kRunUnwritten), (uint64_t{address} << 8) | bytes, Uniformity::kCta,
                       0, width);
}

void Run::store_shared(uint64_t generic, unsigned bytes, const Value* value) {
  const auto address = static_cast<uint32_t>(generic);
  tick_access();
  Warp& w = *current_;
  const uint32_t here = instruction_of(w.step);
  Word fresh;
  fresh.bytes = bytes;
  wake_polls();
  fresh.warp = w.index;
  fresh.event = w.known.any.event(w.index);
  fresh.instruction = here;
  ++writes_;
  for (auto at = first_word(address); at != words_.end() && at->first < address + bytes; ++at) {
    Word& word = at->second;
    if (at->first + word.bytes <= address) continue;
    const uint32_t of = word.allocation != UINT32_MAX ? word.allocation : word.overwrote;
    if (of == UINT32_MAX || !allocations_[of].live) continue;
    fresh.overwrote = of;
    if (word.allocation != UINT32_MAX && word.warp != w.index && !w.known.any.knows(word.warp, word.event)) {
      Sighting& s = see(Fault::kSlotOverwritten, w, here, allocations_[of].instruction);
      s.other_warp = warps_[word.warp]->number;
      s.first = 1;
      continue;
    }
    for (const auto& [reader, event] : word.readers) {
      if (reader == w.index || w.known.any.knows(reader, event)) continue;
      Sighting& s = see(Fault::kSlotOverwritten, w, here, allocations_[of].instruction);
      s.other_warp = warps_[reader]->number;
      break;
    }
  }
  if (value != nullptr && bytes <= 8) {
    fresh.known = true;
    fresh.value = *value;
    if (value->constant()) fresh.value.number = value::truncate(value->number, bytes * 8);
  }
  // Data that is another word in each lane need not be kept: what is read where nothing is known is not known.
  auto near = first_word(address);
  const bool touches = near != words_.end() && near->first < address + bytes;
  if (touches) erase_words(address, address + bytes);
  if (fresh.known || touches) {
    if (step_knowledge_ == nullptr) step_knowledge_ = std::make_shared<Knowledge>(handed_on(w));
    fresh.knowledge = step_knowledge_;
    words_[address] = std::move(fresh);
  }
  stored_.set(address, bytes, {w.index, w.known.any.event(w.index), here});
}

// What is stored is another unknown in each lane, at another place: data. Mostly there is no word anywhere near.
void Run::store_data(const value::Value& where, uint32_t lanes, unsigned bytes) {
  const auto span = terms_.span_of(where, lanes);
  const auto low = static_cast<uint32_t>(span.first);
  const auto high = static_cast<uint32_t>(span.second);
  const auto near = first_word(low);
  const value::Lanes& offsets = terms_.offsets(where);
  if (near != words_.end() && near->first < high + bytes) {
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
      const uint64_t address = where.number + offsets[static_cast<size_t>(std::countr_zero(rest))];
      store_shared(static_cast<uint32_t>(address), bytes, nullptr);
    }
    return;
  }
  tick_access();
  wake_polls();
  ++writes_;
  constexpr uint32_t kBytes = LastStores::kBytes;
  const auto number = static_cast<uint32_t>(where.number);
  const LastStore store{current_->index, current_->known.any.event(current_->index), instruction_of(current_->step)};
  for (uint32_t block : ground_.blocks_of(offsets, where.table, lanes, number % kBytes, bytes))
    stored_.set_block(number / kBytes + block, store);
}

std::span<const uint32_t> Ground::blocks_of(const value::Lanes& offsets, uint32_t table, uint32_t lanes,
                                            uint32_t within, unsigned bytes) const {
  constexpr uint32_t kBytes = LastStores::kBytes;
  const uint64_t key = (uint64_t{table} << 32) | (bytes << 8) | within;
  auto [known, fresh] = blocks_.try_emplace(key);
  Blocks& of = known->second;
  if (!fresh && of.lanes == lanes) return of.blocks;
  of.lanes = lanes;
  of.blocks.clear();
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const auto address = static_cast<uint32_t>(within + offsets[static_cast<size_t>(std::countr_zero(rest))]);
    // Below the first block the number is a negative one.
    for (int32_t b = static_cast<int32_t>(address) >> 4; b <= static_cast<int32_t>(address + bytes - 1) >> 4; ++b)
      of.blocks.push_back(static_cast<uint32_t>(b));
  }
  static_assert(kBytes == 1u << 4);
  std::sort(of.blocks.begin(), of.blocks.end());
  of.blocks.erase(std::unique(of.blocks.begin(), of.blocks.end()), of.blocks.end());
  return of.blocks;
}

void Run::wake_polls() {
  if (polling_ == 0) return;
  for (const std::unique_ptr<Warp>& other : warps_) {
    if (other->state == State::kPoll) other->state = State::kReady;
  }
  polling_ = 0;
}

Value Run::load_global(const Value& address, unsigned index, unsigned width) {
  Value at = address;
  at.number += uint64_t{index} * width / 8;
  return globals_.read(at, width, current_->index, serial_);
}

// --- stepping ---

void Run::go() {
  while (!stopped_) {
    bool any = false;
    for (const std::unique_ptr<Warp>& w : warps_) {
      any = advance(*w) || any;
      if (stopped_) break;
    }
    if (stopped_ || any) continue;
    if (std::all_of(warps_.begin(), warps_.end(), [](const auto& w) { return w->state == State::kOver; })) {
      complete = true;
      break;
    }
    if (deliver() || let_other_lanes_go_on()) continue;
    // Polls see what they wait for as late as they can.
    const auto polls =
        std::find_if(warps_.begin(), warps_.end(), [](const auto& w) { return w->state == State::kPoll; });
    if (polls != warps_.end() && ++polls_released_ < kMostPolls) {
      for (const std::unique_ptr<Warp>& w : warps_) {
        if (w->state != State::kPoll) continue;
        w->state = State::kReady;
        w->released = true;
      }
      continue;
    }
    stuck();
    break;
  }
  // What was still under way comes in the end.
  if (complete) {
    while (deliver()) {
    }
  }
  finish();
  set_doubtful_apart();
}

// A decision about a term was made: a guess, if it is about more than parameters.
void Run::guessed(uint32_t term) {
  if (term != 0 && model_.of_parameters(term)) return;
  guessed_data = true;
  if (term != 0) globals_.guess(term);
}

// Whether a fault is there whatever the other warps do and in which order.
static bool is_of_one_warp(Fault fault) {
  switch (fault) {
    case Fault::kOutOfBounds:
    case Fault::kAllocSize:
    case Fault::kDeallocAddress:
    case Fault::kDeallocSize:
    case Fault::kForeignDealloc:
    case Fault::kNoRelinquish:
    case Fault::kManyThreads:
    case Fault::kScaleCopyOverlap:
    case Fault::kNoFence:
    case Fault::kPairMask:
      return true;
    default:
      return false;
  }
}

// Where warps go by words of memory that may be one and the same count, guessed to be two, one of them comes to where
// the other one never does: which of their events are ordered means nothing from there on.
void Run::set_doubtful_apart() {
  if (sightings.empty()) return;
  const size_t contradiction = globals_.first_contradiction();
  if (contradiction == SIZE_MAX && followed_ == SIZE_MAX) return;
  std::vector<Sighting> certain;
  for (size_t n = 0; n < sightings.size(); ++n) {
    Sighting& s = sightings[n];
    const bool stands = (n < followed_ && s.guesses <= contradiction) || is_of_one_warp(s.fault);
    (stands ? certain : doubtful).push_back(std::move(s));
  }
  sightings = std::move(certain);
}

bool Run::advance(Warp& w) {
  if (w.state != State::kReady) return false;
  current_ = &w;
  w.machine.facts = std::move(facts_);
  bool progress = false;
  const uint64_t limit = steps + kQuantum;
  while (!stopped_ && w.state == State::kReady && steps < limit) {
    const uint32_t block = w.waiting.front().at.block;
    w.machine.active = w.waiting.front().at.lanes;
    const program::Code& code = program_.code[block];
    while (w.step < code.last && !stopped_) {
      if (const uint32_t straight = program_.steps[w.step].straight; straight != kNone) {
        const program::Straight& s = program_.straights[straight];
        if (w.machine.run(s)) spared += s.last - s.first - 1;
        w.step = s.last;
        steps += s.last - s.first;
      } else {
        if (!run_step(w, w.step)) break;
        ++w.step;
        ++steps;
      }
      progress = true;
    }
    if (stopped_ || w.state != State::kReady || w.step < code.last) break;
    ++steps;
    progress = true;
    const uint64_t tried = model_.attempts;
    leave(w, block);
    work += model_.attempts - tried;
    if (cost() > budget_) {
      over_budget = true;
      stopped_ = true;
    }
  }
  facts_ = std::move(w.machine.facts);
  return progress;
}

// Lanes that branched apart each make progress: while some wait, the others of their warp can go on (independent thread
// scheduling). Returns false when all that is left waits for something that has not changed.
bool Run::let_other_lanes_go_on() {
  const uint64_t now = changes_ + writes_;
  for (const std::unique_ptr<Warp>& w : warps_) {
    if (w->state == State::kReady || w->state == State::kOver || w->state == State::kAlloc || w->waiting.size() < 2)
      continue;
    const auto other = std::find_if(w->waiting.begin() + 1, w->waiting.end(), [&](const Warp::Group& g) {
      return g.parked == State::kReady || g.changes != now;
    });
    if (other == w->waiting.end()) continue;
    Warp::Group next = std::move(*other);
    w->waiting.erase(other);
    Warp::Group front = std::move(w->waiting.front());
    w->waiting.erase(w->waiting.begin());
    front.registers = w->machine.registers;
    front.in_machine = false;
    front.parked = w->state;
    front.step = w->step;
    front.address = w->address;
    front.named = w->named;
    front.named_generation = w->named_generation;
    front.changes = now;
    w->waiting.push_back(std::move(front));
    w->state = State::kReady;
    w->waiting.insert(w->waiting.begin(), std::move(next));
    follow(*w, std::move(w->waiting));
    return true;
  }
  return false;
}

// A group that waited is the one that runs again.
void Run::resume(Warp& w, Warp::Group group) {
  w.machine.registers = std::move(group.registers);
  w.machine.present = group.at.lanes;
  w.step = group.step;
  w.failed.clear();
  w.state = State::kReady;
  if (group.parked == State::kNamed) {
    w.named = group.named;
    w.named_generation = group.named_generation;
    const NamedBarrier& b = named_[{w.rank, w.named}];
    if (b.generation == w.named_generation) {
      w.state = State::kNamed;
    } else {
      told(w, b.done);
      ++w.step;
    }
  }
  w.waiting.insert(w.waiting.begin(), Warp::Group{group.at, {}, true});
}

// Where a whole warp must come together, lanes that went on alone wait for those that they left behind.
bool Run::converged(Warp& w, uint32_t n) {
  auto waits_here = [&](const Warp::Group& g) { return g.parked == State::kConverge && g.step == n; };
  if (std::none_of(w.waiting.begin(), w.waiting.end(), [](const Warp::Group& g) { return g.parked != State::kReady; }))
    return true;
  for (size_t k = 1; k < w.waiting.size();) {
    Warp::Group& g = w.waiting[k];
    if (!waits_here(g)) {
      ++k;
      continue;
    }
    for (size_t r = 0; r < g.registers.size(); ++r) {
      w.machine.registers[r] =
          terms_.blend(w.machine.active, w.machine.registers[r], g.registers[r],
                       value::site_of(UnknownKind::kRunMixed, ++serial_), 0, program_.register_width[r]);
    }
    w.machine.active |= g.at.lanes;
    w.waiting.front().at.lanes |= g.at.lanes;
    w.machine.present = w.machine.active;
    w.waiting.erase(w.waiting.begin() + static_cast<ptrdiff_t>(k));
  }
  if (w.waiting.size() == 1) return true;
  w.state = State::kConverge;
  return false;
}

// Lanes whose registers are in the machine go to a block, and join the group that waits there.
void Run::go_to(Warp& w, std::vector<Warp::Group>& groups, uint32_t from, uint32_t block, uint32_t lanes) {
  if (lanes == 0) return;
  const Waiting at = warp::waiting_at(graph_, from, block, lanes);
  for (Warp::Group& g : groups) {
    if (g.at.block != at.block || g.at.again != at.again || g.parked != State::kReady) continue;
    if (!g.in_machine) {
      const std::vector<uint32_t>& live = program_.code[block].live_in;
      for (size_t n = 0; n < live.size(); ++n) {
        g.registers[n] =
            terms_.blend(lanes, w.machine.registers[live[n]], g.registers[n],
                         value::site_of(UnknownKind::kRunMixed, ++serial_), 0, program_.register_width[live[n]]);
      }
    }
    g.at.lanes |= lanes;
    return;
  }
  // Those that wait come last.
  auto place = groups.begin();
  while (place != groups.end() && place->parked == State::kReady &&
         warp::running_order(graph_, place->at) <= warp::running_order(graph_, at)) {
    ++place;
  }
  groups.insert(place, Warp::Group{at, {}, true});
}

void Run::follow(Warp& w, std::vector<Warp::Group> groups) {
  w.waiting = std::move(groups);
  if (w.waiting.empty()) {
    w.state = State::kOver;
    return;
  }
  for (size_t n = 1; n < w.waiting.size(); ++n) {
    Warp::Group& g = w.waiting[n];
    if (!g.in_machine) continue;
    const std::vector<uint32_t>& live = program_.code[g.at.block].live_in;
    g.registers.resize(live.size());
    for (size_t k = 0; k < live.size(); ++k) g.registers[k] = w.machine.registers[live[k]];
    g.in_machine = false;
  }
  if (w.waiting.front().parked != State::kReady) {
    Warp::Group front = std::move(w.waiting.front());
    w.waiting.erase(w.waiting.begin());
    resume(w, std::move(front));
    return;
  }
  Warp::Group& front = w.waiting.front();
  if (!front.in_machine) {
    const std::vector<uint32_t>& live = program_.code[front.at.block].live_in;
    for (size_t k = 0; k < live.size(); ++k) w.machine.registers[live[k]] = front.registers[k];
    front.registers.clear();
    front.in_machine = true;
  }
  begin_block(w);
}

// The first group, whose registers are in the machine, comes to its block.
void Run::begin_block(Warp& w) {
  Warp::Group& front = w.waiting.front();
  w.machine.present = front.at.lanes;
  const uint32_t loop = warp::headed(graph_, front.at.block);
  if (loop != kNone) {
    w.rounds[loop] = front.at.again ? w.rounds[loop] + 1 : 0;
    front.at.again = false;
  }
  w.step = program_.code[front.at.block].first;
}

// The block that all of a warp's lanes go to, where nothing has to be decided for that.
uint32_t Run::only_way(Warp& w, uint32_t b) {
  const Block& block = graph_.blocks[b];
  const program::Code& code = program_.code[b];
  if (code.skip_to != kNone) return code.skip_to;
  if (block.ending == Ending::kJump && !block.successors.empty()) return block.successors[0];
  if (block.ending != Ending::kBranch) return kNone;
  const Value p = w.machine.read_register(code.condition);
  if (!p.constant()) return kNone;
  return block.successors[((p.number & 1) != 0) != block.condition_negated ? 0 : 1];
}

bool Run::leave(Warp& w, uint32_t b) {
  const Block& block = graph_.blocks[b];
  if (!ground_.global_orders.empty() && !order_globally(w, b)) return true;
  const uint32_t lanes = w.machine.active;
  if (const uint32_t to = w.waiting.size() == 1 ? only_way(w, b) : kNone; to != kNone) {
    w.waiting.front().at = warp::waiting_at(graph_, b, to, lanes);
    begin_block(w);
    return true;
  }
  std::vector<Warp::Group> rest(std::make_move_iterator(w.waiting.begin() + 1),
                                std::make_move_iterator(w.waiting.end()));
  auto wait = [&](uint32_t to, uint32_t which) { go_to(w, rest, b, to, which); };
  if (program_.code[b].skip_to != kNone) {
    wait(program_.code[b].skip_to, lanes);
    follow(w, std::move(rest));
    return true;
  }
  switch (block.ending) {
    case Ending::kTrap:
      stopped_ = true;
      return false;
    case Ending::kExit:
      lanes_exit(w, lanes, block.ender);
      break;
    case Ending::kJump:
      if (block.successors.empty()) {
        lanes_exit(w, lanes, block.ender);
      } else {
        wait(block.successors[0], lanes);
      }
      break;
    case Ending::kBranch: {
      Value p = w.machine.read_register(program_.code[b].condition);
      if (block.condition_negated) p = terms_.apply({Op::kNot, 1, false, 0}, p);
      Truth t = w.machine.truth_of(p, lanes);
      if (t.unknown != 0 && t.term == 0 && p.base != 0) {
        // Several unknowns decide together: one by one.
        walked_.assign(terms_.size(), false);
        for (const value::Value& v : terms_[p.base].args) decide_truths(w, v.base);
        t = w.machine.truth_of(resolve(terms_, w.machine.facts, p), lanes);
      }
      if (t.unknown != 0) {
        bool unusual = false;
        bool first = choose(w, b, &unusual);
        const bool wish = first;
        if (t.term != 0 && (terms_[t.term].uniformity != Uniformity::kLane || std::has_single_bit(t.unknown))) {
          const bool holds = model_.holds(t.term) == (first != t.inverted);
          Patience& patience = patience_[{b, first}];
          const bool tries = holds || patience.has();
          const bool granted = tries && model_.decide(t.term, first != t.inverted);
          if (tries && !holds) patience.note(granted);
          if (!granted) {
            first = !first;
            model_.decide(t.term, first != t.inverted);
          }
          assume_undecided(terms_, w.machine.facts, t.term, first != t.inverted);
        } else if (t.term != 0) {
          w.machine.facts.set_lanes(t.term, first != t.inverted ? value::kAllLanes : 0);
        }
        wish_came(unusual, first == wish);
        if (stopped_) return false;
        guessed(t.term);
        if (decisions.size() < 200) decisions.push_back({block.ender, first});
        (first ? t.yes : t.no) |= t.unknown;
      }
      if (p.base != 0) note_ways(w, b, t);
      wait(block.successors[0], t.yes);
      wait(block.successors[1], t.no);
      break;
    }
    case Ending::kIndexed: {
      const Value index = w.machine.read_register(program_.code[b].condition);
      uint32_t left = lanes;
      for (uint32_t each = lanes; each != 0; each &= each - 1) {
        const auto l = static_cast<unsigned>(std::countr_zero(each));
        const Value one = terms_.lane(index, l);
        if (one.base != 0) continue;
        const uint64_t n = value::truncate(one.number, 32);
        if (n < block.successors.size()) wait(block.successors[n], 1u << l);
        left &= ~(1u << l);
      }
      if (left != 0) {
        stop(block.ender, "which way this indexed branch goes is not known");
        return false;
      }
      break;
    }
  }
  follow(w, std::move(rest));
  return true;
}

// Which ways a branch on what is not known was gone: of a loop that asks at its top, before its first round.
void Run::note_ways(Warp& w, uint32_t block, const Truth& t) {
  const auto ways = static_cast<uint8_t>((t.yes != 0 ? 1 : 0) | (t.no != 0 ? 2 : 0));
  if ((ways & ~went_[block]) == 0) return;
  const uint32_t loop = warp::headed(graph_, block);
  const std::vector<uint32_t>& next = graph_.blocks[block].successors;
  const bool asks_at_top = loop != kNone && graph_.in_loop(next[0], loop) != graph_.in_loop(next[1], loop);
  if (asks_at_top && w.rounds[loop] != 0) return;
  for (uint8_t way = 0; way < 2; ++way) {
    if (((ways & ~went_[block]) >> way & 1) != 0) ways_.emplace_back(block, way);
  }
  went_[block] |= ways;
}

// A policy that differs from the usual one in nothing that is possible need not be followed to the end.
void Run::wish_came(bool unusual, bool granted) {
  if (!unusual || differs_) return;
  if (granted) {
    differs_ = true;
  } else if (++refused_ >= std::min(kMostRefusals, policy_.occasions)) {
    nothing_new = true;
    stopped_ = true;
  }
}

// Which other numbers of trips would have gone another way; `way` gives the way for a number.
template <typename F>
void Run::note_other_trips(F&& way) {
  for (uint32_t trips : kOtherTrips) {
    if (way(trips) != way(policy_.trips)) ++other_trips[trips];
  }
}

bool Run::choose(Warp& w, uint32_t b, bool* unusual) {
  const Block& block = graph_.blocks[b];
  const uint32_t s0 = block.successors[0];
  const uint32_t s1 = block.successors[1];
  for (uint32_t loop = block.loop; loop != kNone; loop = graph_.loops[loop].parent) {
    const bool in0 = graph_.in_loop(s0, loop);
    const bool in1 = graph_.in_loop(s1, loop);
    if (in0 && in1) break;
    if (in0 == in1) continue;
    // A way that only leads into a trap is not the loop's end.
    if (!ground_.control.can_exit[in0 ? s1 : s0] && ground_.control.can_exit[in0 ? s0 : s1]) return in0;
    const Ground::LoopEnd& end = ground_.loop_ends[loop];
    if (end.block != b) {
      // A break: not taken, unless the loop would never end otherwise.
      ++choices[b];
      const bool flips = policy_.flipped.contains(b);
      if (flips) *unusual = true;
      return in0 != (flips || w.rounds[loop] > std::max(policy_.trips, 2u) + 2);
    }
    chose_trips = true;
    const uint32_t done = w.rounds[loop] + (end.at_top ? 0 : 1);
    *unusual = (done < policy_.trips) != (done < Policy{}.trips);
    note_other_trips([&](uint32_t trips) { return done < trips; });
    return in0 == (done < policy_.trips);
  }
  // What memory holds is not the number that the kernel itself takes for "none yet".
  if (const int8_t none_yet = program_.code[b].none_yet; none_yet >= 0) return none_yet == 1;
  if (ground_.control.can_exit[s0] != ground_.control.can_exit[s1]) {
    const std::array<uint32_t, 2> ahead = ground_.events_ahead(b);
    const bool exit_first = ground_.control.can_exit[s0];
    if (ahead[exit_first ? 1 : 0] == 0) return exit_first;
  }
  const std::array<uint32_t, 2> ahead = ground_.events_ahead(b);
  bool first = ahead[0] > ahead[1];
  if (ground_.guards_writes[b]) {
    chose_trips = true;
    note_other_trips([](uint32_t trips) { return trips == 0; });
    if (policy_.trips == 0) {
      first = !first;
      *unusual = true;
    }
    return first;
  }
  ++choices[b];
  if (policy_.flipped.contains(b)) {
    first = !first;
    *unusual = true;
  }
  // In a loop that has gone round often enough, the way that may lead out of it.
  auto long_enough = [&](uint32_t trips) {
    return block.loop != kNone && w.rounds[block.loop] > std::max(trips, 2u) + 2;
  };
  note_other_trips(long_enough);
  return first != long_enough(policy_.trips);
}

void Run::lanes_exit(Warp& w, uint32_t lanes, uint32_t instruction) {
  w.exited |= lanes;
  w.last_exit = instruction;
  if ((w.exited & w.machine.existing()) == w.machine.existing()) {
    w.state = State::kOver;
    for (auto& [key, b] : named_) {
      if (key.first == w.rank && b.expected == 0 && b.arrived != 0) check_named(key.first, key.second);
    }
    check_cluster();
  }
}

uint32_t Run::threads_left(uint32_t rank) const {
  uint32_t n = 0;
  for (uint32_t k = 0; k < warps_per_cta_; ++k) {
    const Warp& w = *warps_[size_t{rank} * warps_per_cta_ + k];
    if ((w.machine.existing() & ~w.exited) != 0) n += 32;
  }
  return n;
}

void Run::stop(uint32_t instruction, std::string reason) {
  uncertain.push_back({instruction, std::move(reason)});
  stopped_ = true;
}

bool Run::run_step(Warp& w, uint32_t n) {
  const program::Step& step = program_.steps[n];
  if (step.kind == program::Step::Kind::kUse) {
    if (w.loads.empty()) return true;
    uint32_t lanes = w.machine.active;
    if (step.guard != kNone) {
      const Truth guard = w.machine.guard_of(step);
      lanes = guard.yes | guard.unknown;
    }
    w.loads.each_of(program_.load_sets[step.loads], [&](uint32_t operation) { operations_[operation].used |= lanes; });
    return true;
  }
  if (step.kind == program::Step::Kind::kOverwrite) return true;
  if (step.kind == program::Step::Kind::kCopyIn) {
    w.machine.execute(step, n);
    return true;
  }
  const Meaning& m = w.machine.meaning(step);
  switch (m.action) {
    case Action::kTcgen05:
    case Action::kMbarrier:
    case Action::kBarrier:
    case Action::kClusterBarrier:
    case Action::kProxyFence:
    case Action::kAsyncCopy:
      break;
    case Action::kGridDependency:
      return true;
    case Action::kLoad:
      if (m.fresh && !poll(w, n, step, m)) return false;
      w.machine.execute(step, n);
      return true;
    default:
      if (m.atomic != program::Atomic::kNone) return atomic(w, n, step, m);
      w.machine.execute(step, n);
      return true;
  }
  if (w.waiting.size() > 1) {
    const std::string_view text = opcode_text(step.instruction);
    const bool together = text.find(".aligned") != std::string_view::npos || text.starts_with("bar.");
    if (together && !converged(w, n)) return false;
  }
  const Truth guard = w.machine.guard_of(step);
  const uint32_t lanes = guard.yes | guard.unknown;
  if (lanes == 0) return true;
  const bool waits = m.mbarrier == program::Mbarrier::kTestWait || m.mbarrier == program::Mbarrier::kTryWait;
  if (m.action != Action::kTcgen05 && !waits) ++changes_;
  switch (m.action) {
    case Action::kTcgen05:
      return tcgen05(w, n, step, m, lanes);
    case Action::kMbarrier:
      return mbarrier(w, n, step, m, lanes);
    case Action::kBarrier:
      return barrier(w, n, step, m, lanes);
    case Action::kClusterBarrier:
      return cluster_barrier(w, n, m, lanes);
    case Action::kProxyFence:
      proxy_fence(w, n);
      return true;
    default:
      copy(w, n, step, lanes);
      return true;
  }
}

// What a value is in lanes that all have the same; itself where they do not.
Value Run::of_lanes(const Value& value, uint32_t lanes) const {
  if (value.constant() || !terms_.uniform(value, lanes)) return value;
  return terms_.lane(value, static_cast<unsigned>(std::countr_zero(lanes)));
}

// A load that polls a word goes on once; when it comes back to the same place and nobody wrote anything meanwhile, or
// the word is changed by atomics, the warp waits: as long as another one can go on.
bool Run::poll(Warp& w, uint32_t n, const program::Step& step, const Meaning& m) {
  unsigned at = step.argument_count;
  for (unsigned k = 0; k < step.argument_count; ++k) {
    if (program_.args[step.first_arg + k].address) at = k;
  }
  if (at == step.argument_count) return true;
  const Value address =
      of_lanes(w.machine.generic_address(program_.args[step.first_arg + at], m.space), w.machine.active);
  if (!address.constant() || kernel::window_of(address.number) != kernel::kSharedWindow) {
    w.reached_global = true;
    return true;
  }
  const auto word = words_.find(static_cast<uint32_t>(address.number));
  const bool atomic = word != words_.end() && word->second.atomic;
  const bool again = w.polled == std::pair{n, writes_};
  if ((again || atomic) && !w.released) {
    w.state = State::kPoll;
    ++polling_;
    return false;
  }
  w.released = false;
  w.polled = {n, writes_};
  return true;
}

// An atomic on a word of shared or global memory. It is a read and a write that nothing comes between: each of those
// that change a word by turns sees what the one before left there.
bool Run::atomic(Warp& w, uint32_t n, const program::Step& step, const Meaning& m) {
  const Truth guard = w.machine.guard_of(step);
  const uint32_t lanes = guard.yes | guard.unknown;
  if (lanes == 0) return true;
  unsigned at = 0;
  while (at < step.argument_count && !program_.args[step.first_arg + at].address) ++at;
  if (at == step.argument_count) {
    w.machine.execute(step, n);
    return true;
  }
  const bool reads = at != 0 && arg(step, 0)->kind == Arg::Kind::kRegister;
  const Value address = of_lanes(w.machine.generic_address(*arg(step, at), m.space), lanes);
  const unsigned width = arg(step, at + 1) == nullptr ? 32 : atomic_width(opcode_text(step.instruction));
  const bool shared = address.constant() && kernel::window_of(address.number) == kernel::kSharedWindow;
  std::optional<Value> result;
  if (shared) {
    // As a load that polls: once, and again when somebody wrote meanwhile.
    if (reads && w.polled == std::pair{n, writes_} && !w.released) {
      w.state = State::kPoll;
      ++polling_;
      return false;
    }
    w.released = false;
    tick_access();
    Word& word = words_[static_cast<uint32_t>(address.number)];
    if (reads && word.knowledge != nullptr) told(w, *word.knowledge);
    const bool plain = word.known && word.bytes * 8 == width && word.allocation == UINT32_MAX;
    const Value before = word.value;
    if (plain && guard.unknown == 0) result = change(w, step, at, lanes, width, word.value);
    // Who polls what is not known may be told another truth each time.
    if (!word.value.known()) result.reset();
    auto joined = std::make_shared<Knowledge>(handed_on(w));
    if (word.knowledge != nullptr) joined->join(*word.knowledge);
    word.knowledge = std::move(joined);
    word.known = result.has_value();
    word.atomic = !word.known;
    word.warp = w.index;
    word.event = w.known.any.event(w.index);
    if (!word.known || word.value != before) {
      ++writes_;
      wake_polls();
    }
    w.polled = {n, writes_};
  } else {
    w.reached_global = true;
    if (guard.unknown == 0 && address.base != 0 && terms_.uniform(address, lanes) && width <= 64) {
      Value& word = globals_.read(address, width, w.index, serial_);
      result = change(w, step, at, lanes, width, word);
      if (!result) word = w.machine.unknown(n, 0, Uniformity::kCta, width);
    }
  }
  w.machine.execute(step, n);
  if (!reads) return true;
  if (result) w.machine.write(*arg(step, 0), *result, lanes, n);
  if (!result || !result->known()) {
    // No two of these are the same, but what is computed from them may not tell.
    unfollowed_.insert(w.index);
    if (unfollowed_.size() > 1) followed_ = std::min(followed_, sightings.size());
  }
  return true;
}

// What an atomic makes of a word whose value is known, and what it returns. Lanes take their turns in their order.
// Nothing, and the word unchanged, where that is not followed.
std::optional<Value> Run::change(Warp& w, const program::Step& step, unsigned address, uint32_t lanes, unsigned width,
                                 Value& word) {
  const ptx::Opcode& o = graph_.module->opcode(graph_.module->instructions[step.instruction]);
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  const Arg* operand_arg = arg(step, address + 1);
  if (operand_arg == nullptr || o.has("f32") || o.has("f64") || o.has("f16") || o.has("bf16")) return std::nullopt;
  const Value operands = w.machine.read(*operand_arg);
  if (!terms_.uniform(operands, lanes)) return std::nullopt;
  const Value operand = w.machine.of_lane(operands, lane, width);
  const Value old = word;
  const bool alone = std::has_single_bit(lanes);
  const auto bits = static_cast<uint8_t>(width);
  auto set = [&](value::Operation operation, const Value& by) {
    word = terms_.apply(operation, old, by);
    if (word.constant()) word.number = value::truncate(word.number, width);
  };
  if (o.has("add")) {
    value::Lanes turns{};
    uint64_t count = 0;
    for (unsigned l = 0; l < value::kLanes; ++l) turns[l] = ((lanes >> l) & 1) != 0 ? count++ : 0;
    const value::Operation times{Op::kMul, bits, false, 0};
    set({Op::kAdd, bits, false, 0}, terms_.apply(times, operand, Value::of(count)));
    if (alone) return old;
    return terms_.apply({Op::kAdd, bits, false, 0}, old, terms_.apply(times, operand, terms_.from_lanes(turns, width)));
  }
  if (o.has("exch")) {
    word = operand;
  } else if (o.has("and")) {
    set({Op::kAnd, bits, false, 0}, operand);
  } else if (o.has("or")) {
    set({Op::kOr, bits, false, 0}, operand);
  } else if (o.has("xor") && alone) {
    set({Op::kXor, bits, false, 0}, operand);
  } else if (o.has("min") || o.has("max")) {
    const bool is_signed = o.has("s32") || o.has("s64");
    set({o.has("min") ? Op::kMin : Op::kMax, bits, is_signed, 0}, operand);
  } else if (o.has("cas")) {
    const Arg* fresh = arg(step, address + 2);
    if (fresh == nullptr || !old.constant() || !operand.constant()) return std::nullopt;
    if (!terms_.uniform(w.machine.read(*fresh), lanes)) return std::nullopt;
    if (value::truncate(old.number, width) == value::truncate(operand.number, width))
      word = w.machine.of_lane(w.machine.read(*fresh), lane, width);
  } else if (o.has("inc") || o.has("dec")) {
    if (!old.constant() || !operand.constant()) return std::nullopt;
    const uint64_t limit = value::truncate(operand.number, width);
    uint64_t now = value::truncate(old.number, width);
    value::Lanes before{};
    for (unsigned l = 0; l < value::kLanes; ++l) {
      before[l] = now;
      if (((lanes >> l) & 1) == 0) continue;
      if (o.has("inc")) {
        now = now >= limit ? 0 : now + 1;
      } else {
        now = now == 0 || now > limit ? limit : now - 1;
      }
    }
    word = Value::of(now);
    return alone ? old : terms_.from_lanes(before, width);
  } else {
    return std::nullopt;
  }
  if (alone || word == old) return old;
  // What the first lane does, the others change nothing of.
  return terms_.blend(lanes & (~lanes + 1), old, word, value::site_of(UnknownKind::kRunMixed, ++serial_), 0, width);
}

// What a warp does to global memory that orders it with others, at the end of the block that does it. Which word that
// is is not followed: who acquires one learns of every release before, and waits with it as long as others can go on,
// as a poll does. That may take warps to be joined that are not, but never the other way round.
bool Run::order_globally(Warp& w, uint32_t block) {
  const Ground::GlobalOrder& order = ground_.global_orders[block];
  const bool acquires = order.acquires || w.reached_global;
  if (!order.releases && !acquires) return true;
  if (told_globally_.any.size() == 0) told_globally_ = Knowledge(warps_.size());
  if (order.releases) told_globally_.join(handed_on(w));
  // Lanes that branched apart do not wait: the others of their warp go on to where all meet. What they would have
  // learned by waiting is not known then.
  const bool alone = w.waiting.size() == 1;
  if (acquires && !alone) followed_ = std::min(followed_, sightings.size());
  // A loop that does this very often is none that waits for something.
  if (acquires && alone && !w.released && polls_released_ < kMostPolls / 2) {
    w.state = State::kPoll;
    ++polling_;
    return false;
  }
  w.released = false;
  w.reached_global = false;
  if (acquires) told(w, told_globally_);
  return true;
}

void Run::proxy_fence(Warp& w, uint32_t n) {
  // Those that cover shared memory: .async of all spaces and its .shared forms.
  const std::string_view text = opcode_text(instruction_of(n));
  if (text.find("async") == std::string_view::npos || text.ends_with(".global")) return;
  tick(w);
  w.proxy_fences.push_back({w.known.any.event(w.index), w.known.any});
  if (w.proxy_fences.size() > 8) w.proxy_fences.pop_front();
}

std::string_view Run::opcode_text(uint32_t instruction) const {
  return graph_.module->opcode(graph_.module->instructions[instruction]).text;
}

void Run::decide_truths(Warp& w, uint32_t term) {
  if (term == 0 || walked_[term]) return;
  walked_[term] = true;
  const value::Term& t = terms_[term];
  const bool truth = t.width == 1 && t.kind != TermKind::kSum;
  if (truth && t.uniformity == Uniformity::kLane) return;
  if (truth) {
    // What follows from other facts is written down too, where a value that is chosen by it finds it.
    const std::optional<bool> known = decide(terms_, w.machine.facts, term);
    bool holds = known ? *known : model_.holds(term);
    if (!known) {
      const bool wished = policy_.wish && policy_.wish->first == term;
      const bool granted = model_.decide(term, wished ? policy_.wish->second : holds);
      if (wished && granted) holds = policy_.wish->second;
      if (!granted) model_.decide(term, holds);
      if (model_.of_parameters(term)) selections.try_emplace(term, holds);
      if (wished) wish_came(true, granted);
      guessed(term);
    }
    assume(terms_, w.machine.facts, term, holds);
    return;
  }
  // By index: deciding may make terms.
  for (size_t n = 0; n < terms_[term].args.size(); ++n) decide_truths(w, terms_[term].args[n].base);
}

std::optional<uint64_t> Run::pick_number(Warp& w, const Value& value, unsigned width) {
  if (!model_.of_parameters(value.base)) return std::nullopt;
  const uint64_t n = value::truncate(model_.number(value), width);
  const Value same = terms_.apply({Op::kEq, static_cast<uint8_t>(width), false, 0}, value, Value::of(n));
  if (same.base != 0) {
    const Truth t = w.machine.truth_of(same, 1);
    if (t.term != 0) {
      model_.decide(t.term, !t.inverted);
      assume(terms_, w.machine.facts, t.term, !t.inverted);
    }
  }
  return n;
}

std::optional<uint64_t> Run::number(Warp& w, const Value& value, uint32_t lanes, unsigned width, bool pick) {
  const auto l = static_cast<unsigned>(std::countr_zero(lanes));
  Value one = terms_.lane(value, l);
  if (one.base == 0) return value::truncate(one.number, width);
  auto numbers = terms_.enumerate(one, l, width, value::FactsFilter(terms_, w.machine.facts));
  if (!numbers) return pick ? pick_number(w, one, width) : std::nullopt;
  if (numbers->size() > 1) {
    walked_.assign(terms_.size(), false);
    decide_truths(w, one.base);
    one = resolve(terms_, w.machine.facts, one);
    numbers = terms_.enumerate(one, l, width, value::FactsFilter(terms_, w.machine.facts));
  }
  if (numbers && numbers->size() == 1) return numbers->front();
  return pick ? pick_number(w, one, width) : std::nullopt;
}

Sighting& Run::see(Fault fault, const Warp& w, uint32_t at, uint32_t other) {
  static thread_local Sighting ignored;
  const std::array<uint32_t, 4> key = {static_cast<uint32_t>(fault), at, other, w.rank & 1};
  const uint64_t hash = ((uint64_t{at} << 32 | other) * 0x9e3779b97f4a7c15u) ^ (key[0] << 1 | key[3]);
  if (seen_index_.find(hash, [&](uint32_t n) { return seen_[n - 1] == key; }) != 0) return ignored = Sighting{};
  seen_index_.add(hash);
  seen_.push_back(key);
  Sighting s;
  s.fault = fault;
  s.at = at;
  s.other = other;
  s.warp = w.number;
  s.rank = w.rank;
  s.decided = static_cast<uint32_t>(decisions.size());
  s.guesses = static_cast<uint32_t>(globals_.guessed());
  sightings.push_back(std::move(s));
  return sightings.back();
}

// --- barriers ---

Mbarrier* Run::find(uint32_t address) {
  auto it = mbarriers_.find(address);
  return it == mbarriers_.end() || !it->second.live ? nullptr : &it->second;
}

// Whether the phase that a try_wait was too early for is over.
bool Run::is_over(const Warp::Failed& failed) {
  const Mbarrier* b = find(failed.address);
  return b == nullptr || b->phase != failed.phase;
}

void Run::settle(Mbarrier& b) {
  while (b.settled() && b.pending <= 0) {
    b.done.join(b.arriving);
    b.previous = std::move(b.current);
    b.current.clear();
    ++b.phase;
    b.pending += b.count;
    b.expects = false;
    b.copied = false;
    b.seen_from_afar.insert(b.seen_from_afar.end(), b.copied_from_afar.begin(), b.copied_from_afar.end());
    b.copied_from_afar.clear();
    if (b.count == 0) break;
    for (const std::unique_ptr<Warp>& w : warps_) {
      if (w->state == State::kMbarrier && std::any_of(w->failed.begin(), w->failed.end(), [&](const Warp::Failed& f) {
            return find(f.address) == &b && is_over(f);
          }))
        w->state = State::kReady;
    }
  }
}

void Run::arrive(Mbarrier& b, uint32_t count, const Knowledge& knowledge, uint32_t instruction) {
  b.arriving.join(knowledge);
  b.pending -= count;
  b.last_arrive = instruction;
  settle(b);
}

bool Run::reaches(Warp& w, uint32_t address, uint32_t instruction, uint32_t commit) {
  const uint32_t rank = rank_of(address);
  if (rank == w.rank) return true;
  if (rank >= ranks_ && launch_.cluster_is_guess()) {
    stop(instruction, "this reaches CTA " + std::to_string(rank) + " of a cluster that was assumed to have " +
                          std::to_string(ranks_) + " CTAs; give --cluster");
    return false;
  }
  ++asked;
  ++decided;
  const Mbarrier* b = find(address);
  if (b == nullptr || !w.known.any.knows(b->init_warp, b->init_event)) {
    see(Fault::kPairStart, w, instruction, b == nullptr ? kNone : b->init).other_rank = rank;
  }
  remote_.push_back({w.index, w.known.any.event(w.index), commit, instruction, rank, address});
  return true;
}

// A test_wait or try_wait; `write` writes its result in some lanes. Lanes may wait for mbarriers of their own.
template <typename F>
bool Run::wait_for(Warp& w, uint32_t n, const Meaning& m, const Value& address_value, const Value& operand,
                   uint32_t lanes, F&& write) {
  const uint32_t here = instruction_of(n);
  struct Group {
    uint32_t lanes, address, parity;
    Mbarrier* barrier;
  };
  std::vector<Group> groups;
  for (uint32_t rest = lanes; rest != 0;) {
    const uint32_t lane = rest & (~rest + 1);
    const bool same = terms_.uniform(address_value, rest) && terms_.uniform(operand, rest);
    const uint32_t group = same ? rest : lane;
    rest &= ~group;
    const auto address = number(w, address_value, lane, 32, true);
    const auto parity = number(w, operand, lane, 32, true);
    if (!address || !parity) {
      stop(here, !address ? "which mbarrier is waited on is not known" : "the phase that is waited for is not known");
      return false;
    }
    const auto at = static_cast<uint32_t>(*address);
    waited.insert(at);
    Mbarrier* b = find(at);
    if (b == nullptr) {
      // Another warp may still do so; nothing orders the two then.
      w.state = State::kInit;
      w.address = at;
      return false;
    }
    groups.push_back({group, at, static_cast<uint32_t>(*parity), b});
  }
  asked += groups.size();
  decided += groups.size();
  const auto has = [](const std::vector<Warp::Failed>& list, const Warp::Failed& one) {
    return std::find(list.begin(), list.end(), one) != list.end();
  };
  for (const Group& g : groups) {
    // One that is asked again after it was complete is no step forward: loops ask several until all are.
    const Warp::Failed now{n, g.address, g.barrier->phase};
    if (!g.barrier->complete(g.parity) || has(w.passed, now)) continue;
    std::erase_if(w.passed, [&](const Warp::Failed& f) { return is_over(f); });
    w.passed.push_back(now);
    w.failed.clear();
  }
  for (const Group& g : groups) {
    Mbarrier& b = *g.barrier;
    if (!b.complete(g.parity)) {
      const Warp::Failed now{n, g.address, b.phase};
      if (has(w.failed, now)) {
        w.state = State::kMbarrier;
        w.address = g.address;
        w.phase = b.phase;
        return false;
      }
      // Of one that has gone on since, it was another phase that failed.
      std::erase_if(w.failed, [&](const Warp::Failed& f) { return is_over(f); });
      w.failed.push_back(now);
      write(Value::of(0), g.lanes);
      continue;
    }
    const bool immediate = b.phase == 0;
    if (!immediate) {
      w.known.any.join(b.done.any);
      w.unfenced.strict.join(b.done.strict);
      if (m.relaxed) {
        w.unfenced.fenced.join(b.done.fenced);
        w.last_relaxed = here;
      } else {
        w.known.fenced.join(b.done.fenced);
      }
      if (b.relaxed_arrive != kNone) w.last_relaxed = m.relaxed ? here : b.relaxed_arrive;
      b.seen = std::max(b.seen, b.phase);
      for (uint32_t r : b.seen_from_afar) remote_[r].observed = true;
      b.seen_from_afar.clear();
    }
    write(Value::of(1), g.lanes);
    add_log(w, here, g.lanes,
            [&] { return std::string("waited for phase " + std::to_string(b.phase == 0 ? 0 : b.phase - 1)); });
  }
  return true;
}

bool Run::mbarrier(Warp& w, uint32_t n, const program::Step& step, const Meaning& m, uint32_t lanes) {
  using program::Mbarrier;
  const uint32_t here = instruction_of(n);
  uint32_t where = kNone;
  for (unsigned k = 0; k < step.argument_count && where == kNone; ++k) {
    if (program_.args[step.first_arg + k].address) where = k;
  }
  if (where == kNone) return true;
  const Value address_value = w.machine.shared_address(program_.args[step.first_arg + where]);
  Value operand;
  const bool has_operand = arg(step, where + 1) != nullptr && arg(step, where + 1)->kind != Arg::Kind::kNone;
  if (has_operand) operand = w.machine.read(*arg(step, where + 1));
  tick(w);

  auto write_result = [&](const Value& v, uint32_t of) {
    for (unsigned d = 0; d < where; ++d) {
      const Arg& a = program_.args[step.first_arg + d];
      if (a.kind == Arg::Kind::kRegister) w.machine.write(a, v, of, n);
    }
  };

  if (m.mbarrier == Mbarrier::kTestWait || m.mbarrier == Mbarrier::kTryWait) {
    return wait_for(w, n, m, address_value, operand, lanes, write_result);
  }
  if (m.mbarrier == Mbarrier::kPendingCount) {
    write_result(w.machine.unknown(n, 0, Uniformity::kWarp, 32), lanes);
    return true;
  }

  // Lanes may name barriers of different CTAs: one group after the other.
  for (uint32_t rest = lanes; rest != 0;) {
    const uint32_t lane = rest & (~rest + 1);
    uint32_t group = lane;
    if (terms_.uniform(address_value, rest) && (!has_operand || terms_.uniform(operand, rest))) group = rest;
    const auto arriving = static_cast<uint32_t>(std::popcount(group));
    const uint32_t before = rest;
    rest &= ~group;
    const auto address = number(w, address_value, lane, 32, true);
    if (!address) {
      stop(here, "which mbarrier this is about is not known");
      return false;
    }
    const auto at = static_cast<uint32_t>(*address);
    if (m.mbarrier == Mbarrier::kInit) {
      const auto count = number(w, operand, lane, 32);
      if (!count || *count == 0) {
        stop(here, "the count that the mbarrier is initialised with is not known");
        return false;
      }
      cluster::Mbarrier b;
      b.live = true;
      b.count = static_cast<uint32_t>(*count);
      b.pending = b.count;
      b.init = here;
      b.init_warp = w.index;
      b.init_event = w.known.any.event(w.index);
      b.arriving = Knowledge(warps_.size());
      b.done = Knowledge(warps_.size());
      mbarriers_[at] = std::move(b);
      for (const std::unique_ptr<Warp>& other : warps_) {
        if (other->state == State::kInit && other->address == at) other->state = State::kReady;
      }
      add_log(w, here, lanes, [&] { return "count " + std::to_string(*count); });
      continue;
    }
    if (rank_of(at) != w.rank && !reaches(w, at, here, 0)) return false;
    cluster::Mbarrier* b = find(at);
    if (b == nullptr) {
      if (m.mbarrier == Mbarrier::kInvalidate) continue;
      if (before == lanes && rank_of(at) == w.rank) {
        w.state = State::kInit;
        w.address = at;
        return false;
      }
      stop(here, "the mbarrier was not seen to be initialised");
      return false;
    }
    if (m.mbarrier == Mbarrier::kInvalidate) {
      b->live = false;
      continue;
    }
    if (m.mbarrier == Mbarrier::kExpectTx || m.mbarrier == Mbarrier::kArriveExpectTx) {
      b->expects = true;
      b->announced = here;
    }
    if (m.mbarrier == Mbarrier::kCompleteTx) {
      b->copied = true;
      settle(*b);
      continue;
    }
    if (m.mbarrier == Mbarrier::kExpectTx) continue;
    if (m.mbarrier == Mbarrier::kAsyncArrive) {
      Arrival a;
      a.kind = Arrival::Kind::kArrive;
      a.targets = {at};
      a.warp = w.index;
      a.instruction = here;
      a.knowledge = handed_on(w);
      a.count = arriving;
      if (opcode_text(here).find("noinc") == std::string_view::npos) b->pending += arriving;
      under_way_.push_back(std::move(a));
      continue;
    }
    uint32_t count = 1;
    if (m.mbarrier != Mbarrier::kArriveExpectTx && has_operand && arg(step, where + 1)->kind != Arg::Kind::kSink) {
      const auto c = number(w, operand, lane, 32);
      if (!c) {
        stop(here, "how many arrivals this is is not known");
        return false;
      }
      count = static_cast<uint32_t>(*c);
    }
    count *= arriving;
    write_result(Value::of(b->phase & 1), lanes);
    Knowledge k = handed_on(w);
    if (m.relaxed) {
      k.fenced = w.at_fence.fenced;
      b->relaxed_arrive = here;
    }
    // An arrival of the next round that does not know of the last one comes too early: the count is too small.
    ++asked;
    ++decided;
    const bool guessed = launch_.cluster_is_guess() && ranks_ > 1;  // how many arrive is not known
    for (const auto& [warp, event] : b->previous) {
      if (guessed) break;
      if (w.known.any.knows(warp, event)) continue;
      Sighting& s = see(Fault::kArrivalCount, w, here, b->init);
      s.first = b->count;
      s.second = int64_t{b->count} + arriving;
      s.third = 1;
      s.other_rank = rank_of(at);
      break;
    }
    if (count > b->pending && b->pending > 0 && !guessed) {
      Sighting& s = see(Fault::kArrivalCount, w, here, b->init);
      s.first = b->count;
      s.second = count;
    }
    b->current.emplace_back(w.index, w.known.any.event(w.index));
    if (m.mbarrier == Mbarrier::kArriveDrop) b->count -= count;
    arrive(*b, count, k, here);
  }
  if (m.mbarrier == Mbarrier::kArrive || m.mbarrier == Mbarrier::kArriveExpectTx ||
      m.mbarrier == Mbarrier::kArriveDrop) {
    release(w, here);
    add_log(w, here, lanes);
  }
  return true;
}

void Run::check_named(uint32_t rank, uint32_t id) {
  NamedBarrier& b = named_[{rank, id}];
  const uint32_t expected = b.expected != 0 ? b.expected : threads_left(rank);
  if (b.arrived < expected || b.arrived == 0) return;
  b.arrived -= expected;
  ++b.generation;
  // Warps that have exited count as arrived: the barrier is complete only after they left.
  for (uint32_t k = 0; b.expected == 0 && k < warps_per_cta_; ++k) {
    const Warp& w = *warps_[size_t{rank} * warps_per_cta_ + k];
    if (w.state == State::kOver) b.arriving.join(w.known);
  }
  b.done = b.arriving;
  if (b.arrived == 0) b.arriving = Knowledge(warps_.size());
  b.expected = 0;
  for (uint32_t k = 0; k < warps_per_cta_; ++k) {
    Warp& w = *warps_[size_t{rank} * warps_per_cta_ + k];
    if (w.state != State::kNamed || w.named != id || w.named_generation == b.generation) continue;
    told(w, b.done);
    w.state = State::kReady;
    ++w.step;
  }
}

bool Run::barrier(Warp& w, uint32_t n, const program::Step& step, const Meaning& m, uint32_t lanes) {
  if (m.barrier == program::Barrier::kWarp) return true;
  const uint32_t here = instruction_of(n);
  const unsigned first = step.destinations;
  const Arg* id_arg = arg(step, first);
  const Arg* count_arg = m.barrier == program::Barrier::kReduce ? nullptr : arg(step, first + 1);
  std::optional<uint64_t> id = id_arg == nullptr ? 0 : number(w, w.machine.read(*id_arg), lanes, 32);
  std::optional<uint64_t> count = count_arg == nullptr ? 0 : number(w, w.machine.read(*count_arg), lanes, 32);
  if (m.barrier == program::Barrier::kReduce && step.argument_count > first + 2u) {
    count = number(w, w.machine.read(*arg(step, first + 1)), lanes, 32);
  }
  if (!id || !count) {
    stop(here, !id ? "which barrier this is is not known" : "for how many threads the barrier is is not known");
    return false;
  }
  tick(w);
  const bool aligned =
      opcode_text(here).starts_with("bar.") || opcode_text(here).find("aligned") != std::string_view::npos;
  NamedBarrier& b = named_[{w.rank, static_cast<uint32_t>(*id)}];
  if (*count != 0) b.expected = static_cast<uint32_t>(*count);
  b.arrived += aligned ? 32 : static_cast<uint32_t>(std::popcount(lanes));
  if (b.arriving.any.size() == 0) b.arriving = Knowledge(warps_.size());
  b.arriving.join(handed_on(w));
  release(w, here);
  add_log(w, here, lanes, [&] { return "barrier " + std::to_string(*id); });
  ++asked;
  ++decided;
  if (m.barrier == program::Barrier::kArrive) {
    check_named(w.rank, static_cast<uint32_t>(*id));
    return true;
  }
  if (m.barrier == program::Barrier::kReduce) {
    const uint64_t part = (uint64_t{w.rank} << 56) | (*id << 40) | b.generation;
    for (unsigned d = 0; d < first; ++d) {
      const Arg& a = program_.args[step.first_arg + d];
      w.machine.write(a,
                      terms_.opaque(value::site_of(UnknownKind::kRunReduced), (part << 4) ^ serial_ << 20,
                                    Uniformity::kCta, 0, a.width),
                      lanes, n);
    }
  }
  w.state = State::kNamed;
  w.named = static_cast<uint32_t>(*id);
  w.named_generation = b.generation;
  check_named(w.rank, w.named);
  if (w.state == State::kReady) {
    --w.step;  // the caller goes on to the next step
    return true;
  }
  return false;
}

void Run::check_cluster() {
  for (const std::unique_ptr<Warp>& w : warps_) {
    if (w->state != State::kOver && w->cluster_phase <= cluster_phase_) return;
  }
  if (std::none_of(warps_.begin(), warps_.end(), [&](const auto& w) { return w->cluster_phase > cluster_phase_; }))
    return;
  ++cluster_phase_;
  for (const std::unique_ptr<Warp>& w : warps_) {
    if (w->state == State::kOver) cluster_arriving_.join(w->known);
  }
  cluster_done_ = cluster_arriving_;
  for (const std::unique_ptr<Warp>& w : warps_) {
    if (w->state == State::kCluster && w->cluster_phase <= cluster_phase_) w->state = State::kReady;
  }
}

bool Run::cluster_barrier(Warp& w, uint32_t n, const Meaning& m, uint32_t lanes) {
  const uint32_t here = instruction_of(n);
  if (m.cluster_barrier == program::ClusterBarrier::kArrive) {
    tick(w);
    if (cluster_arriving_.any.size() == 0) cluster_arriving_ = Knowledge(warps_.size());
    w.cluster_arrived |= lanes;
    Knowledge k = handed_on(w);
    if (m.relaxed) {
      k.fenced = w.at_fence.fenced;
      cluster_relaxed_ = here;
    }
    cluster_arriving_.join(k);
    release(w, here);
    add_log(w, here, lanes);
    if ((w.cluster_arrived | w.exited) == w.machine.existing()) {
      w.cluster_arrived = 0;
      ++w.cluster_phase;
      check_cluster();
    }
    return true;
  }
  ++asked;
  ++decided;
  if (cluster_phase_ < w.cluster_phase) {
    w.state = State::kCluster;
    return false;
  }
  if (cluster_phase_ != 0) {
    told(w, cluster_done_);
    if (cluster_relaxed_ != kNone) w.last_relaxed = cluster_relaxed_;
  }
  return true;
}

void Run::copy(Warp& w, uint32_t n, const program::Step& step, uint32_t lanes) {
  const uint32_t here = instruction_of(n);
  const std::string_view text = opcode_text(here);
  uint32_t first = kNone;
  uint32_t last = kNone;
  for (unsigned k = 0; k < step.argument_count; ++k) {
    if (!program_.args[step.first_arg + k].address) continue;
    if (first == kNone) first = k;
    last = k;
  }
  if (text.find("mbarrier") == std::string_view::npos || first == last || last == kNone) return;
  tick(w);
  const auto target = number(w, w.machine.shared_address(*arg(step, last)), lanes, 32, true);
  if (!target) {
    stop(here, "the mbarrier that this copy completes on is not known");
    return;
  }
  Arrival a;
  a.kind = Arrival::Kind::kCopy;
  a.warp = w.index;
  a.instruction = here;
  a.targets = {static_cast<uint32_t>(*target)};
  const auto written = number(w, w.machine.shared_address(*arg(step, first)), lanes, 32);
  const bool multicast = text.find("multicast::cluster") != std::string_view::npos;
  if (multicast) {
    uint32_t mask = (1u << ranks_) - 1;
    if (text.find("::all") == std::string_view::npos) {
      for (unsigned k = last + 1; k < step.argument_count; ++k) {
        const Arg& candidate = *arg(step, k);
        if (candidate.kind != Arg::Kind::kRegister && candidate.kind != Arg::Kind::kNumber) continue;
        if (const auto value = number(w, w.machine.read(candidate), lanes, 16)) mask = static_cast<uint32_t>(*value);
        break;
      }
    }
    a.targets.clear();
    for (uint32_t r = 0; r < ranks_; ++r) {
      if (((mask >> r) & 1) != 0) a.targets.push_back(in_rank(static_cast<uint32_t>(*target), r));
    }
  }
  if (written) a.written = static_cast<uint32_t>(*written);
  if (text.starts_with("clusterlaunchcontrol")) a.bytes = 16;
  if (text.starts_with("st.async")) {
    a.bytes = 4;
    if (text.find("64") != std::string_view::npos) a.bytes = 8;
    if (text.find(".v2") != std::string_view::npos) a.bytes *= 2;
    if (text.find(".v4") != std::string_view::npos) a.bytes *= 4;
  }
  if (written && !text.starts_with("clusterlaunchcontrol")) {
    // The asynchronous proxy writes these bytes: what ordinary stores left there is gone. How many is in the tensor
    // map.
    stored_.erase(a.written, 2048 * LastStores::kBytes);
  }
  for (uint32_t t : a.targets) {
    const size_t before = remote_.size();
    if (rank_of(t) != w.rank && !reaches(w, t, here, 0)) return;
    a.remotes.push_back(remote_.size() > before ? static_cast<uint32_t>(before) : kNone);
    if (remote_.size() > before) remote_.back().is_copy = true;
    if (Mbarrier* b = find(t)) {
      ++b->under_way;
      b->from_afar = b->from_afar || rank_of(t) != w.rank;
      b->multicast = b->multicast || multicast;
    }
  }
  add_log(w, here, lanes);
  under_way_.push_back(std::move(a));
}

bool Run::deliver() {
  if (under_way_.empty()) return false;
  Arrival a = std::move(under_way_.front());
  under_way_.pop_front();
  ++changes_;
  if (a.bytes != 0 && a.kind == Arrival::Kind::kCopy) {
    const uint64_t serial = ++serial_;
    for (uint32_t t : a.targets) {
      const uint32_t begin = a.targets.size() > 1 ? in_rank(a.written, rank_of(t)) : a.written;
      erase_words(begin, begin + a.bytes);
      regions_[begin] = {begin + a.bytes, serial};
    }
  }
  for (size_t n = 0; n < a.targets.size(); ++n) {
    Mbarrier* b = find(a.targets[n]);
    if (b == nullptr) continue;
    if (n < a.remotes.size() && a.remotes[n] != kNone) b->copied_from_afar.push_back(a.remotes[n]);
    if (a.kind == Arrival::Kind::kCopy) {
      if (b->under_way > 0) --b->under_way;
      b->copied = true;
      settle(*b);
    } else {
      if (a.kind == Arrival::Kind::kArrive) {
        for (const auto& [warp, event] : b->previous) {
          if (a.knowledge.any.knows(warp, event)) continue;
          Sighting& s = see(Fault::kArrivalCount, *warps_[a.warp], a.instruction, b->init);
          s.first = b->count;
          s.third = 1;
          s.other_rank = rank_of(a.targets[n]);
          break;
        }
        b->current.emplace_back(a.warp, a.knowledge.any.event(a.warp));
      }
      arrive(*b, a.count, a.knowledge, a.instruction);
    }
  }
  return true;
}

}  // namespace tmemlint::cluster
