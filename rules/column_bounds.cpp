// tmem-column-bounds: an access leaves its allocation (ISA 9.7.16.2, 9.7.16.7).
#include <bit>
#include <optional>

#include "analyzer/assumptions/assumptions.h"
#include "rules/between_warps.h"

namespace tmemlint::rules {

namespace {

// How much what is not known of an address in a lane, its allocation apart, may add to it; nothing if there is no end
// to that.
std::optional<uint64_t> most_added(const value::Terms& terms, const value::Value& address, unsigned lane,
                                   unsigned depth = 0) {
  constexpr unsigned kDeepest = assumptions::kDepthOfABound;
  if (((address.plain >> lane) & 1) != 0) return 0;
  uint64_t all = 0;
  for (const value::Terms::Part part : terms.parts(address.base)) {
    const value::Term& term = terms[part.term];
    if (term.kind == value::TermKind::kAllocation) continue;
    uint64_t most = ~term.zero_bits;
    if (term.kind == value::TermKind::kPure && term.operation.op == value::Op::kAdd && depth < kDeepest) {
      // A sum that other lanes have other parts of.
      most = 0;
      for (const value::Value& arg : term.args) {
        const std::optional<uint64_t> of_arg = most_added(terms, arg, lane, depth + 1);
        if (!of_arg || __builtin_add_overflow(most, *of_arg, &most)) return std::nullopt;
      }
    }
    if (__builtin_mul_overflow(most, part.coefficient, &most) || __builtin_add_overflow(all, most, &all))
      return std::nullopt;
  }
  return all;
}

// Whether that stays small, however often loops go round: the stages of a ring.
bool is_bounded(const value::Terms& terms, const warp::Event& e) {
  constexpr uint64_t kColumns = 0xffff;  // the field of an address (ISA 9.7.16.1)
  const std::optional<uint64_t> most = most_added(terms, e.address, static_cast<unsigned>(std::countr_zero(e.lanes)));
  return most && *most <= kColumns;
}

bool has_bounded_address(const Context& context, const Problem& p) {
  bool any = false;
  for (const warp::WarpGraph& w : context.warps()) {
    if (w.warp != p.warp.number || (w.rank & 1) != (p.warp.rank & 1)) continue;
    for (const warp::Event& e : w.events) {
      if (e.instruction != p.at || e.lanes == 0) continue;
      if (!is_bounded(context.terms(), e) && context.tmem_addresses(e.address, e.lanes).empty()) return false;
      any = true;
    }
  }
  return any;
}

// Whether the column goes on and on with the rounds of the loop that the access stands in.
bool grows(const Context& context, const Problem& p) {
  const auto& courses = context.joint().footprints.courses;
  const auto course = courses.find(cluster::Footprints::key(p.at, p.warp.number));
  const bool comes_back = course != courses.end() && course->second.comes_back;
  return !comes_back && !has_bounded_address(context, p);
}

void check_column_bounds(Context& context) {
  for_each(context, {ProblemKind::kOutOfBounds}, [&](const Problem& p) -> std::optional<Draft> {
    if (chose_rounds(context, p) && grows(context, p)) {
      context.incomplete(p.at,
                         "whether this stays within its allocation: its column grows with the rounds of a loop, and "
                         "how many there are is not known");
      return std::nullopt;
    }
    const auto& access = p.as<cluster::StrayAccess>();
    if (access.alloc == kNone) {
      return draft(p, report::Level::kError,
                   name(context, p.at) + " touches column " + std::to_string(access.column) +
                       ", which belongs to no allocation of this CTA");
    }
    Draft d =
        draft(p, report::Level::kError,
              name(context, p.at) + " touches columns " + columns_text(access.column, access.columns) +
                  " of an allocation of " + std::to_string(access.alloc_columns) + " columns: it runs past the end");
    d.related.emplace_back(access.alloc, "the allocation, of " + std::to_string(access.alloc_columns) + " columns");
    return d;
  });
}

}  // namespace

extern const Rule kColumnBounds;
const Rule kColumnBounds = {
    "tmem-column-bounds",
    report::Level::kError,
    "An access to Tensor Memory leaves the columns of its allocation.",
    "Allocate as many columns as the access needs, or correct its first column.",
    check_column_bounds,
    /*source_only=*/false,
    /*stands_alone=*/true,
};

}  // namespace tmemlint::rules
