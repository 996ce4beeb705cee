// tmem-lane-window: the lanes of Tensor Memory that a warp may reach with ld and st (ISA 9.7.16.8.1).
#include <bit>
#include <map>

#include "rules/context.h"

namespace tmemlint::rules {

namespace {

std::string range(uint64_t first, uint64_t last) {
  return std::to_string(first) + "-" + std::to_string(last);
}

// What the warps get wrong at one instruction.
struct Wrong {
  uint64_t first = 0, last = 0;  // lanes, of the first warp seen
  const warp::WarpGraph* warp = nullptr;
  uint32_t node = kNone;
  std::vector<const warp::WarpGraph*> warps;
};

// The lanes that the accesses of an event may start at; empty when they are not known.
std::vector<uint64_t> start_lanes(const Context& context, const warp::Event& e) {
  const auto lane = static_cast<unsigned>(std::countr_zero(e.lanes));
  std::vector<uint64_t> out;
  for (const TmemAddress& a : context.tmem_addresses(e.address, e.lanes)) out.push_back(a.lane);
  if (!out.empty()) return out;
  // The lane is the high half; whatever else the address is made of must stay below it.
  const uint64_t number = value::truncate(context.terms().number_in(e.address, lane), 32);
  const uint64_t ones = e.address.base == 0 ? 0 : ~context.terms()[e.address.base].zero_bits;
  if (ones < 0x10000 && (number & 0xffff) + ones < 0x10000) out.push_back(number >> 16);
  return out;
}

void note_beyond(Context& context, const warp::WarpGraph& w, const warp::Event& e, uint64_t start) {
  Draft d;
  d.level = report::Level::kNote;
  d.at = e.instruction;
  d.message = "this address names lane " + std::to_string(start) +
              ", but Tensor Memory has lanes 0-127: the ISA does not say what that means; taken modulo 128";
  d.warp = &w;
  d.node = e.node;
  context.report(std::move(d));
}

void check_lane_window(Context& context) {
  std::map<uint32_t, Wrong> wrong;
  for (const warp::WarpGraph& w : context.warps()) {
    for (const warp::Event& e : w.events) {
      if (e.kind != warp::Event::Kind::kTcgen05) continue;
      const ptx::Form& form = context.form(e);
      const ptx::Effects& effects = ptx::effects_of(form);
      const bool access = effects.is_load() || effects.is_store();
      // Addresses that differ between lanes are another rule's matter.
      if (!access || form.lanes == 0 || !context.terms().uniform(e.address, e.lanes)) continue;
      std::vector<uint64_t> starts = start_lanes(context, e);
      if (starts.empty()) {
        // The joint run has an address for each time that it came here.
        const auto& seen_lanes = context.joint().footprints.start_lanes;
        const auto seen = seen_lanes.find(cluster::Footprints::key(e.instruction, w.warp));
        if (seen != seen_lanes.end() && seen->second.all) {
          for (size_t lane = 0; lane < ptx::kTmemLanes; ++lane) {
            if (seen->second.lanes.test(lane)) starts.push_back(lane);
          }
        }
      }
      if (starts.empty()) context.incomplete(e.instruction, "the lane that this address names could not be followed");
      const uint64_t first = uint64_t{32} * (w.warp % 4);
      for (uint64_t start : starts) {
        // The lane field has more bits than there are lanes. Published kernels of CTA pairs add 128 times the rank to
        // the lane; which lane that is modulo 128 is what counts there, and that they do is a note. Elsewhere it is a
        // warp's number that was not taken modulo 4.
        if (start >= ptx::kTmemLanes && context.analysis().kernel->uses_pairs) {
          note_beyond(context, w, e, start);
          start %= ptx::kTmemLanes;
        }
        const uint64_t last = start + form.lanes - 1;
        if (start >= first && last < first + 32) continue;
        Wrong& x = wrong[e.instruction];
        if (x.warps.empty()) {
          x.first = start;
          x.last = last;
          x.warp = &w;
          x.node = e.node;
        }
        x.warps.push_back(&w);
        break;
      }
    }
  }
  for (const auto& [instruction, x] : wrong) {
    const unsigned first = 32 * (x.warp->warp % 4);
    const std::string message = std::string(context.name(instruction)) + " touches lanes " + range(x.first, x.last) +
                                " in warp " + std::to_string(x.warp->warp) + ", which reaches only lanes " +
                                range(first, first + 31) +
                                " of Tensor Memory: a warp has the 32 lanes of its place in the warpgroup; add "
                                "(32 * (warp % 4)) << 16 to the address";
    for (const warp::WarpGraph* w : x.warps) {
      Draft d;
      d.at = instruction;
      d.message = message;
      d.warp = w;
      d.node = x.node;
      d.rests_on_block = true;
      context.report(std::move(d));
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
    check_lane_window,
    /*source_only=*/false,
    /*stands_alone=*/true,
};

}  // namespace tmemlint::rules
