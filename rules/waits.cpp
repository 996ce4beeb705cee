#include "rules/waits.h"

namespace tmemlint::rules {

using warp::Event;

Footprint footprint(const Context& context, const warp::Value& address, uint32_t executing, const ptx::Form& form) {
  Footprint out;
  const TmemAddress a = context.tmem_address(address, executing);
  if (!a.known) return out;
  out.allocation = a.allocation;
  out.lane = a.lane;
  out.column = a.column;
  switch (form.op) {
    case ptx::Tcgen05::kLd:
    case ptx::Tcgen05::kLdRed:
    case ptx::Tcgen05::kSt:
      out.lanes = form.lanes;
      out.columns = form.columns;
      break;
    default:
      // How far the others reach depends on descriptors; their first column is certain.
      out.lanes = 128;
      out.lane = 0;
      out.columns = 1;
  }
  return out;
}

bool overlap(const Footprint& a, const Footprint& b) {
  if (a.columns == 0 || b.columns == 0 || a.allocation != b.allocation) return false;
  return a.lane < b.lane + b.lanes && b.lane < a.lane + a.lanes && a.column < b.column + b.columns &&
         b.column < a.column + a.columns;
}

bool is_arrive(const Context& context, const Event& event) {
  if (event.kind != Event::Kind::kMbarrier) return false;
  switch (context.meaning(event).mbarrier) {
    case warp::Mbarrier::kArrive:
    case warp::Mbarrier::kArriveDrop:
    case warp::Mbarrier::kArriveExpectTx: return true;
    default: return false;
  }
}

bool hands_on(const Context& context, const Event& arrive, bool writers, bool readers) {
  for (const warp::WarpGraph& w : context.warps()) {
    bool touches = false;
    bool waits = false;
    for (const Event& e : w.events) {
      if (e.kind == Event::Kind::kTcgen05) {
        switch (context.form(e).op) {
          case ptx::Tcgen05::kMma:
          case ptx::Tcgen05::kMmaWs: touches = touches || writers || readers; break;
          case ptx::Tcgen05::kCp:
          case ptx::Tcgen05::kShift:
          case ptx::Tcgen05::kDealloc: touches = touches || writers; break;
          default: break;
        }
      } else if (e.kind == Event::Kind::kMbarrier && !waits) {
        const warp::Mbarrier op = context.meaning(e).mbarrier;
        waits = (op == warp::Mbarrier::kTestWait || op == warp::Mbarrier::kTryWait) &&
                context.may_equal(arrive.address, e.address);
      }
      if (touches && waits) return true;
    }
  }
  return false;
}

}  // namespace tmemlint::rules
