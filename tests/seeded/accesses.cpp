#include <utility>

#include "tests/seeded/questions.h"
#include "tests/seeded/seeder.h"

namespace tmemlint::seeded {

using ptx::Operand;
using OperandKind = ptx::Operand::Kind;

void AccessFaults::other_lane(uint32_t i) {
  const Operand& address = k_.operand(i, k_.roles(i).address);
  if (address.kind != OperandKind::kAddress || address.base != OperandKind::kRegister) return;
  for (const int64_t lanes : {16, 32}) {
    Mutant& m = start(Kind::kOtherLane, i, text(k_.at(i).opcode_span) + " at lanes +" + std::to_string(lanes));
    shift(m, address, lanes << 16);
    if (lanes == 16 && k_.form(i).lanes == 16) {
      leave_out(m, Verdict::kAllowed, "a shape of 16 lanes stays within the warp's window");
    }
  }
}

void AccessFaults::other_columns(uint32_t i) {
  const ptx::OperandRoles where = k_.roles(i);
  std::vector<uint32_t> addresses{where.address};
  if (k_.op(i) == Op::kMma && where.a != kNone && k_.operand(i, where.a).kind == OperandKind::kAddress)
    addresses.push_back(where.a);
  if (k_.op(i) == Op::kMma && where.scale_a != kNone) addresses.push_back(where.scale_a);
  const std::vector<uint32_t> allocs = k_.all(Op::kAlloc);
  std::vector<int64_t> distances{512};
  if (allocs.size() == 1) {
    const int64_t columns = k_.constant(k_.operand(allocs[0], k_.roles(allocs[0]).columns), allocs[0]).value_or(512);
    if (columns < 512) distances.push_back(columns);
  }
  for (const uint32_t which : addresses) {
    if (which == kNone || which >= k_.at(i).operand_count) continue;
    const Operand& address = k_.operand(i, which);
    if (address.kind != OperandKind::kAddress || address.base != OperandKind::kRegister) continue;
    for (const int64_t by : distances) {
      Mutant& m = start(Kind::kOtherColumn, i,
                        text(k_.at(i).opcode_span) + ": " + text(address.span) + " at columns +" + std::to_string(by));
      shift(m, address, by);
      end(m, Op::kAlloc);
    }
  }
}

void AccessFaults::other_length(uint32_t i) {
  const std::string old = text(k_.at(i).opcode_span);
  const uint16_t num = k_.form(i).num;
  const std::string from = ".x" + std::to_string(num) + ".";
  const size_t at = old.find(from);
  if (num == 0 || at == std::string::npos) return;
  const uint16_t other = num > 1 ? num / 2 : 2;
  Mutant& m = start(Kind::kIllegalShape, i, old + " with x" + std::to_string(other));
  const ptx::Offset begin = k_.at(i).opcode_span.begin + static_cast<ptx::Offset>(at);
  edit(m, {begin, begin + static_cast<ptx::Offset>(from.size()) - 1}, ".x" + std::to_string(other));
  accept(m, {"tmem-instruction-form"});
}

void AccessFaults::illegal_shape(uint32_t i) {
  const auto idesc = k_.idesc(i);
  if (!idesc) return;
  Mutant& m = start(Kind::kIllegalShape, i, "M of the instruction descriptor is illegal");
  const bool scaled = k_.form(i).block_scale;
  const uint32_t other = scaled ? *idesc | 3u << 27 : (*idesc & ~(31u << 24)) | 12u << 24;
  edit(m, k_.operand(i, k_.roles(i).idesc).span, std::to_string(other));
  accept(m, {"tmem-descriptor"});
}

void AccessFaults::other_shape(uint32_t i) {
  const uint32_t before = previous_mma(i);
  if (before == kNone || previous_mma(before) != kNone) return;  // one for each chain: its second
  const auto idesc = k_.idesc(i), first = k_.idesc(before);
  if (!idesc || !first) return;
  const uint32_t n = (*idesc >> 17 & 63) * 8;
  if (n % 64 != 0) return;
  Mutant& m =
      start(Kind::kOtherShape, i, "N = " + std::to_string(n / 2) + " behind an mma with N = " + std::to_string(n));
  edit(m, k_.operand(i, k_.roles(i).idesc).span, std::to_string((*idesc & ~(63u << 17)) | (n / 16) << 17));
  for (uint32_t x = before; x < k_.last() && k_.op(x) != Op::kCommit; ++x) {
    if (k_.op(x) == Op::kMma) end(m, x);
  }
}

void AccessFaults::no_first_write(uint32_t i) {
  const ptx::OperandRoles where = k_.roles(i);
  if (where.enable_input_d == kNone) return;
  const Operand& flag = k_.operand(i, where.enable_input_d);
  const auto known = k_.constant(flag, i);
  if (known && *known != 0) return;
  Mutant& m = start(Kind::kNoFirstWrite, i, "the mma accumulates from the start");
  edit(m, flag.span, "1");
  end(m, Op::kLd);
  for (const uint32_t other : k_.all(Op::kMma)) {
    if (k_.overlap(other, i) != Overlap::kNo) end(m, other);
  }
  for (const uint32_t other : k_.all(Op::kMma)) {
    if (other >= i || !contains(k_.forward(other, nullptr), i)) continue;
    const Overlap overlap = k_.overlap(other, i);
    // A copy in front of a loop runs whenever the loop does: its branch only selects the issuing warp.
    const bool ran = k_.always_before(other, i) || !k_.in_loop(other);
    if (ran && overlap == Overlap::kYes) {
      return leave_out(m, Verdict::kAllowed,
                       "an earlier mma has written the accumulator on every path: a wrong sum, but defined");
    }
    const auto flag_there = k_.constant(k_.operand(other, k_.roles(other).enable_input_d), other);
    if (!k_.in_loop(other) && k_.in_loop(i) && overlap == Overlap::kUnknown && known && flag_there == 0 &&
        k_.idesc(other) == k_.idesc(i)) {
      return leave_out(m, Verdict::kAllowed,
                       "copies of this mma in front of the loop have written every stage of the accumulator");
    }
  }
  for (const uint32_t store : k_.all(Op::kSt)) {
    if (written_by_store(store, i, known.has_value())) {
      return leave_out(m, Verdict::kAllowed, "tcgen05.st has written the accumulator before");
    }
  }
}

void AccessFaults::shift(Mutant& m, const Operand& address, int64_t by) {
  const std::string base = reg_name(address.ref);
  edit(m, address.span, "[" + base + "+" + std::to_string(address.value + by) + "]");
}

// The mma before, on the same accumulator in the same block.
uint32_t AccessFaults::previous_mma(uint32_t i) const {
  for (uint32_t p = i; p > k_.first(); --p) {
    const uint32_t b = p - 1;
    if (k_.op(b) == Op::kMma) return k_.straight_line(b, i) && k_.overlap(b, i) == Overlap::kYes ? b : kNone;
    if (k_.op(b) == Op::kCommit || k_.op(b) == Op::kWait) return kNone;
  }
  return kNone;
}

// Whether the accumulator of an mma has been written by this store of all its warps when the mma runs.
bool AccessFaults::written_by_store(uint32_t store, uint32_t mma, bool constant_flag) const {
  const Columns d = k_.columns(mma)[0], s = k_.columns(store)[0];
  // Another stage than the one that was stored is used as well.
  if (d.base.terms.size() > 1) return false;
  std::vector<std::pair<uint32_t, int64_t>> more = s.base.terms;
  for (const auto& term : d.base.terms) std::erase(more, term);
  if (more.size() + d.base.terms.size() == s.base.terms.size()) {
    if (!contains(k_.forward(store, nullptr), mma)) return false;
    // With eight warps each half stores its part of the columns.
    const int64_t count = more.empty() ? s.count : 2 * s.count;
    return s.base.constant < d.base.constant + d.count && d.base.constant < s.base.constant + count;
  }
  // Warps of other roles know the address by another register. A flag that is not constant says that the mma also
  // sums up: that is the accumulator which was zeroed; one that never accumulates otherwise is not.
  return !k_.in_loop(store) && k_.has_roles() && !constant_flag;
}

}  // namespace tmemlint::seeded
