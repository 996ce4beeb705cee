#include "rules/context.h"

#include <algorithm>
#include <bit>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/ptx/effects.h"

namespace tmemlint::rules {

using report::Level;
using value::Value;

namespace {

constexpr size_t kMostSteps = assumptions::kStepsOfAShownPath;
constexpr unsigned kMostBlocksAhead = assumptions::kBlocksToTheNextLine;

}  // namespace

std::string list_numbers(uint64_t set) {
  std::string out;
  for (unsigned n = 0; n < 64;) {
    if (((set >> n) & 1) == 0) {
      ++n;
      continue;
    }
    unsigned last = n;
    while (last + 1 < 64 && ((set >> (last + 1)) & 1) != 0) ++last;
    if (!out.empty()) out += ", ";
    out += std::to_string(n);
    if (last > n) out += (last == n + 1 ? ", " : "-") + std::to_string(last);
    n = last + 1;
  }
  return out;
}

std::string lanes_text(uint32_t lanes) {
  return (std::popcount(lanes) == 1 ? "lane " : "lanes ") + list_numbers(lanes);
}

std::string_view Context::name(uint32_t instruction) const {
  const ptx::Opcode& o = opcode(instruction);
  if (o.modifiers.empty()) return o.text;
  const auto end = static_cast<size_t>(o.modifiers[0].data() + o.modifiers[0].size() - o.text.data());
  return end <= o.text.size() ? o.text.substr(0, end) : o.text;
}

value::Value Context::columns_of(const warp::WarpGraph& w, const warp::Event& event) const {
  const uint32_t columns = program().roles[program().steps[event.step].roles].columns;
  return columns < event.operand_count ? w.operands_of(event)[columns] : value::Value{};
}

TmemAddress Context::tmem_address(const Value& value, uint32_t lanes) const {
  TmemAddress out;
  if (lanes == 0) return out;
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  const uint64_t number = value::truncate(terms().number_in(value, lane), 32);
  const bool based = value.base != 0 && ((value.without_base >> lane) & 1) == 0;
  const ptx::TmemCell cell = ptx::decode_tmem_address(static_cast<uint32_t>(number));
  out.lane = cell.lane;
  out.column = cell.column;
  if (!based) {
    out.known = true;
    return out;
  }
  for (const value::Terms::Part part : terms().parts(value.base)) {
    if (terms()[part.term].kind != value::TermKind::kAllocation || part.coefficient != 1 || out.allocation != 0)
      return out;
    out.allocation = part.term;
  }
  out.known = true;
  return out;
}

std::vector<TmemAddress> Context::tmem_addresses(const Value& value, uint32_t lanes) const {
  const TmemAddress one = tmem_address(value, lanes);
  if (one.known) return {one};
  if (lanes == 0) return {};
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  Value rest = terms().lane(value, lane);
  uint32_t allocation = 0;
  for (const value::Terms::Part part : terms().parts(rest.base)) {
    if (terms()[part.term].kind == value::TermKind::kAllocation && part.coefficient == 1) allocation = part.term;
  }
  if (allocation != 0) {
    Value base;
    base.base = allocation;
    rest = analysis_.kernel->terms->apply({value::Op::kSub, 32, false, 0}, rest, base);
  }
  std::vector<TmemAddress> out;
  const auto numbers = terms().enumerate(rest, lane, 32);
  if (!numbers) return out;
  for (uint64_t n : *numbers) {
    TmemAddress a;
    a.known = true;
    a.allocation = allocation;
    const ptx::TmemCell cell = ptx::decode_tmem_address(static_cast<uint32_t>(n));
    a.lane = cell.lane;
    a.column = cell.column;
    out.push_back(a);
  }
  return out;
}

bool Context::may_equal(const Value& a, const Value& b) const {
  if (a == b) return true;
  const auto x = terms().enumerate(a, 0, 32);
  const auto y = terms().enumerate(b, 0, 32);
  if (x && y)
    return std::any_of(x->begin(), x->end(), [&](uint64_t n) { return std::binary_search(y->begin(), y->end(), n); });
  // One base and different offsets are different places; other unknowns may be anything.
  return a.base != b.base;
}

report::Place Context::place(At at) const {
  report::Place out;
  out.text = text_;
  if (at.instruction >= module().instructions.size()) {
    out.span = at.span.end > at.span.begin ? at.span : kernel().name_span;
    return out;
  }
  const ptx::Instruction& instruction = module().instructions[at.instruction];
  out.span = at.span.end > at.span.begin ? at.span : instruction.span;
  if (instruction.location == kNone) return out;
  auto position = [&](const ptx::Location& l) {
    report::SourcePosition p;
    if (const std::string* path = module().file_path(l.file)) p.file = *path;
    p.line = l.line;
    p.column = l.column;
    return p;
  };
  const ptx::Location& innermost = module().locations[instruction.location];
  if (innermost.line == 0) return out;
  out.has_source = true;
  out.source = position(innermost);
  uint32_t outer = innermost.inlined_at;
  for (unsigned depth = 0; outer != kNone && depth < assumptions::kInlinedCallsOfAPlace; ++depth) {
    out.inlined_at.push_back(position(module().locations[outer]));
    outer = module().locations[outer].inlined_at;
  }
  return out;
}

// From the innermost call outwards; empty: not known.
std::vector<report::SourcePosition> Context::written_at(const report::Place& place) const {
  if (source_of_) return source_of_(place);
  if (!place.has_source) return {};
  std::vector<report::SourcePosition> out = {place.source};
  out.insert(out.end(), place.inlined_at.begin(), place.inlined_at.end());
  return out;
}

// A branch of compiled code may test the opposite of what its author wrote: where the source is known, the step says
// where the path goes.
report::Related Context::branch_step(uint32_t instruction, uint32_t next, bool holds) const {
  report::Related step;
  step.place = place(instruction);
  step.message = holds ? "taken to hold here" : "taken not to hold here";
  const std::vector<report::SourcePosition> written = written_at(step.place);
  if (written.empty()) return step;
  const report::SourcePosition& from = written.front();
  const std::vector<kernel::Block>& blocks = analysis_.kernel->graph.blocks;
  for (unsigned steps = 0; next != kNone && steps < kMostBlocksAhead; ++steps) {
    const kernel::Block& block = blocks[next];
    // What a compiler moved here from lines above says nothing of the way.
    report::SourcePosition first, below;
    for (uint32_t i = block.first; i < block.last && below.line == 0; ++i) {
      const std::vector<report::SourcePosition> chain = written_at(place(i));
      if (chain.empty()) continue;
      // Where a helper is called, the call is where the path goes.
      const size_t deeper = chain.size() - std::min(chain.size(), written.size());
      const report::SourcePosition& to = chain[deeper];
      if (first.line == 0) first = to;
      if (to.file == from.file && to.line > from.line) below = to;
    }
    if (below.line != 0) first = below;
    if (first.line != 0) {
      step.message = "the path goes from here to line " + std::to_string(first.line);
      if (first.file != from.file) step.message += " of " + first.file.substr(first.file.find_last_of('/') + 1);
      return step;
    }
    next = block.successors.size() == 1 ? block.successors[0] : kNone;
  }
  return step;
}

std::vector<report::Related> Context::path_to(const warp::WarpGraph& warp, uint32_t node) const {
  std::vector<report::Related> out;
  assumptions::Uses& uses = terms().uses();
  for (unsigned steps = 0; node != kNone; ++steps) {
    // The last ones.
    if (steps >= assumptions::kNodesOfAShownPath || out.size() >= kMostSteps) {
      const bool full = out.size() >= kMostSteps;
      uses.count(full ? assumptions::Id::kStepsOfAShownPath : assumptions::Id::kNodesOfAShownPath);
      break;
    }
    const warp::Node& n = warp.nodes[node];
    if (n.decision >= 0 && n.from != kNone) {
      const kernel::Block& block = analysis_.kernel->graph.blocks[warp.nodes[n.from].block];
      uint32_t at = block.ender;
      if (at != kNone && at < module().instructions.size()) {
        out.push_back(branch_step(at, n.block, n.decision != 0));
      } else if (!block.successors.empty()) {
        // The branch in front of a predicated instruction is that instruction's guard.
        at = analysis_.kernel->graph.blocks[block.successors[0]].first;
        if (at < module().instructions.size()) {
          report::Related step;
          step.place = place(at);
          step.message = n.decision != 0 ? "executed here" : "not executed here";
          out.push_back(std::move(step));
        }
      }
    }
    node = n.from;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

std::vector<report::Related> Context::scenario_path(const std::vector<cluster::Decision>& decisions) const {
  std::vector<report::Related> out;
  std::vector<uint32_t> seen;
  // The last decision at each place.
  for (auto d = decisions.rbegin(); d != decisions.rend() && out.size() < kMostSteps; ++d) {
    if (d->instruction >= module().instructions.size()) continue;
    if (std::find(seen.begin(), seen.end(), d->instruction) != seen.end()) continue;
    seen.push_back(d->instruction);
    const std::vector<kernel::Block>& blocks = analysis_.kernel->graph.blocks;
    const auto block = std::find_if(blocks.begin(), blocks.end(), [&](const kernel::Block& b) {
      return b.ender == d->instruction && b.successors.size() == 2;
    });
    out.push_back(
        branch_step(d->instruction, block == blocks.end() ? kNone : block->successors[d->taken ? 0 : 1], d->taken));
  }
  std::reverse(out.begin(), out.end());
  return out;
}

void Context::report(Draft draft) {
  if (!rule_->stands_alone && !analysis_.kernel->graph.gaps.empty()) return;  // said as incomplete
  // Which threads make a warp decides what each of them does.
  const bool of_warp = draft.rests_on_block || draft.warp != nullptr || draft.in_warp;
  if (of_warp && launch().shape_is_guess && draft.level != Level::kNote) {
    terms().uses().count(assumptions::Id::kFindingOnGuessedBlock);
    draft.level = Level::kWarning;
    const ptx::Dimensions& b = launch().block;
    draft.message += ", if its block is " + std::to_string(b.x) + "," + std::to_string(b.y) + "," + std::to_string(b.z);
  }
  if (draft.rests_on_block && launch().block_is_guess() && !launch().shape_is_guess) {
    terms().uses().count(assumptions::Id::kFindingOnGuessedBlock);
    if (draft.level == Level::kError) draft.level = Level::kWarning;
    draft.message += ", if a CTA has " + std::to_string(launch().threads()) + " threads";
  }
  if (draft.warp != nullptr && draft.level != Level::kNote) blamed_.insert(draft.warp);
  std::vector<size_t>& here = merged_at_[draft.at.instruction];
  for (size_t n : here) {
    Merged& m = merged_[n];
    if (m.draft.message != draft.message) continue;
    m.draft.level = std::max(m.draft.level, draft.level);
    if (draft.warp != nullptr) m.warps.push_back(draft.warp->warp);
    if (draft.in_warp) m.warps.push_back(*draft.in_warp);
    return;
  }
  Merged m;
  if (draft.warp != nullptr) m.warps.push_back(draft.warp->warp);
  if (draft.in_warp) m.warps.push_back(*draft.in_warp);
  here.push_back(merged_.size());
  m.draft = std::move(draft);
  merged_.push_back(std::move(m));
}

// One cause can show in hundreds of places, with other numbers in each message: the first ones are said, the others are
// counted.
void Context::fold_floods() {
  constexpr size_t kMost = assumptions::kFindingsAlike;
  auto shape = [](const std::string& message) {
    std::string out;
    for (char c : message) {
      if (c < '0' || c > '9') out += c;
    }
    return out;
  };
  std::map<std::pair<std::string, report::Level>, size_t> counts;
  std::map<std::pair<std::string, report::Level>, size_t> last;
  std::vector<Merged> kept;
  for (Merged& m : merged_) {
    const std::pair key(shape(m.draft.message), m.draft.level);
    const size_t count = ++counts[key];
    if (count > kMost) continue;
    last[key] = kept.size();
    kept.push_back(std::move(m));
  }
  for (const auto& [key, count] : counts) {
    if (count > kMost) {
      terms().uses().count(assumptions::Id::kFindingsAlike, count - kMost);
      kept[last[key]].draft.message +=
          "; and " + std::to_string(count - kMost) + " more findings like this in the kernel";
    }
  }
  merged_ = std::move(kept);
}

void Context::end() {
  fold_floods();
  for (Merged& m : merged_) {
    report::Finding f;
    f.rule = rule_->id;
    f.level = m.draft.level;
    f.message = std::move(m.draft.message);
    f.place = place(m.draft.at);
    for (auto& [at, caption] : m.draft.related) {
      report::Related r;
      r.place = place(at);
      r.message = std::move(caption);
      f.related.push_back(std::move(r));
    }
    const bool in_kernel = m.draft.at.instruction != kNone || m.draft.at.span.end <= m.draft.at.span.begin;
    if (in_kernel) f.kernel = kernel().name;
    std::sort(m.warps.begin(), m.warps.end());
    m.warps.erase(std::unique(m.warps.begin(), m.warps.end()), m.warps.end());
    f.warps = std::move(m.warps);
    if (m.draft.warp != nullptr && m.draft.node != kNone) {
      f.path = path_to(*m.draft.warp, m.draft.node);
    } else {
      f.path = scenario_path(m.draft.decisions);
    }
    results_.findings.push_back(std::move(f));
  }
  merged_.clear();
  merged_at_.clear();
}

void Context::incomplete(uint32_t instruction, std::string reason) {
  report::Incomplete i;
  i.place = place(instruction);
  i.kernel = kernel().name;
  i.reason = std::move(reason);
  if (!said_incomplete_.emplace(i.place.span.begin, i.reason).second) return;
  results_.incomplete.push_back(std::move(i));
}

}  // namespace tmemlint::rules
