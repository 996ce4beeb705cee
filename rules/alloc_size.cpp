// tmem-alloc-size: the number of columns that alloc and dealloc ask for (ISA 9.7.16.7.1).
#include <algorithm>

#include "rules/facts.h"

namespace tmemlint::rules {

namespace {

std::string legal(std::string_view target, bool exclusive) {
  if (!exclusive) return "32, 64, 128, 256 or 512";
  return "a multiple of 32 up to " + std::to_string(ptx::column_capacity(target, true));
}

void check_alloc_size(Context& context) {
  const std::string_view target = context.module().target;
  for (const warp::WarpGraph& w : context.warps()) {
    for (const warp::Event& e : w.events) {
      if (e.kind != warp::Event::Kind::kTcgen05) continue;
      const ptx::Form& form = context.form(e);
      if (form.op != ptx::Tcgen05::kAlloc && form.op != ptx::Tcgen05::kDealloc) continue;
      for (int64_t columns : warp::columns_of(context.terms(), context.columns_of(w, e), e.lanes)) {
        if (ptx::legal_columns(target, form.exclusive, columns)) continue;
        Draft d;
        d.at = e.instruction;
        d.message = std::string(context.name(e.instruction)) + " of " + std::to_string(columns) +
                    " columns: the number of columns must be " + legal(target, form.exclusive);
        d.warp = &w;
        d.node = e.node;
        context.report(std::move(d));
      }
    }
  }
}

}  // namespace

extern const Rule kAllocSize;
const Rule kAllocSize = {
    "tmem-alloc-size",
    report::Level::kError,
    "alloc or dealloc of a number of columns that is not 32, 64, 128, 256 or 512.",
    "Round the number of columns up to the next power of two from 32 to 512, in the alloc and in its dealloc.",
    check_alloc_size,
    /*source_only=*/false,
    /*stands_alone=*/true,
};

}  // namespace tmemlint::rules
