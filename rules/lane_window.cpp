// tmem-lane-window: the lanes of Tensor Memory that a warp may reach with ld and st (ISA 9.7.16.8.1).
#include <bit>

#include "rules/facts.h"

namespace tmemlint::rules {

namespace {

std::string range(unsigned first, unsigned last) { return std::to_string(first) + "-" + std::to_string(last); }

void check_access(Context& context, const warp::WarpGraph& w, const warp::Event& e) {
  const ptx::Form& form = context.form(e);
  if (form.lanes == 0 || !context.terms().uniform(e.address, e.lanes)) return;  // another rule's matter
  const auto lane = static_cast<unsigned>(std::countr_zero(e.lanes));
  std::vector<uint64_t> numbers;
  const TmemAddress a = context.tmem_address(e.address, e.lanes);
  if (a.known) {
    numbers.push_back(a.lane);
  } else {
    // The lane is the high half; whatever else the address is made of must stay below it.
    const uint64_t base_ones = e.address.base == 0 ? 0 : ~context.terms()[e.address.base].zero_bits;
    if (base_ones < 0x10000 && (context.terms().number_in(e.address, lane) & 0xffff) + base_ones < 0x10000) {
      numbers.push_back(warp::truncate(context.terms().number_in(e.address, lane), 32) >> 16);
    } else if (auto listed = context.terms().enumerate(e.address, lane, 32)) {
      for (uint64_t n : *listed) numbers.push_back(n >> 16);
    }
  }
  if (numbers.empty()) {
    context.incomplete(e.instruction, "the lane that this address names could not be followed");
    return;
  }
  const unsigned first = 32 * (w.warp % 4);
  for (uint64_t start : numbers) {
    const uint64_t last = start + form.lanes - 1;
    if (start >= first && last < first + 32) continue;
    Draft d;
    d.at = e.instruction;
    d.message = std::string(context.name(e.instruction)) + " touches lanes " + range(static_cast<unsigned>(start), static_cast<unsigned>(last)) +
                " of Tensor Memory, but a warp reaches only the 32 lanes of its place in the warpgroup: warp " +
                std::to_string(w.warp) + " may use lanes " + range(first, first + 31) + "; add 32*(warp % 4) << 16 to the address";
    d.warp = &w;
    d.node = e.node;
    d.rests_on_block = true;
    context.report(std::move(d));
    return;
  }
}

void check(Context& context) {
  for (const warp::WarpGraph& w : context.warps()) {
    for (const warp::Event& e : w.events) {
      if (e.kind != warp::Event::Kind::kTcgen05) continue;
      const ptx::Tcgen05 op = context.form(e).op;
      if (op == ptx::Tcgen05::kLd || op == ptx::Tcgen05::kLdRed || op == ptx::Tcgen05::kSt) check_access(context, w, e);
    }
  }
}

}  // namespace

extern const Rule kLaneWindow;
const Rule kLaneWindow = {
    "tmem-lane-window",
    report::Level::kError,
    "ld or st of lanes that the executing warp cannot reach.",
    "Add the warp's window, 32*(warp % 4), to the lane field (bits 31-16) of the address.",
    check,
};

}  // namespace tmemlint::rules
