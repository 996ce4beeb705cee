// tmem-alloc-size: the number of columns that alloc and dealloc ask for (ISA 9.7.16.7.1).
#include <algorithm>
#include <set>

#include "rules/sightings.h"

namespace tmemlint::rules {

namespace {

std::string legal(std::string_view target, bool exclusive) {
  if (!exclusive) return "32, 64, 128, 256 or 512";
  return "a multiple of 32 up to " + std::to_string(ptx::column_capacity(target, true));
}

std::string message(const Context& context, uint32_t instruction, int64_t columns, bool exclusive) {
  return name(context, instruction) + " of " + std::to_string(columns) + " columns: the number of columns must be " +
         legal(context.module().target, exclusive);
}

// An alloc or dealloc as a warp comes to it.
struct Request {
  const warp::WarpGraph* warp;
  const warp::Event* event;
  bool exclusive;
  bool changes;  // from round to round of a loop
  std::vector<int64_t> sizes;
};

std::vector<Request> requests(const Context& context) {
  std::vector<Request> out;
  for (const warp::WarpGraph& w : context.warps()) {
    for (const warp::Event& e : w.events) {
      if (e.kind != warp::Event::Kind::kTcgen05) continue;
      const ptx::Form& form = context.form(e);
      if (form.op != ptx::Tcgen05::kAlloc && form.op != ptx::Tcgen05::kDealloc) continue;
      const value::Value asked = context.columns_of(w, e);
      const bool changes =
          context.terms().loops(asked) != 0 || context.analysis().graph.blocks[e.block].loop != ptx::kNone;
      out.push_back({&w, &e, form.exclusive, changes, warp::columns_of(context.terms(), asked, e.lanes)});
    }
  }
  return out;
}

void check_alloc_size(Context& context) {
  const std::vector<Request> all = requests(context);
  const auto is_legal = [&](const Request& r, int64_t n) {
    return ptx::legal_columns(context.module().target, r.exclusive, n);
  };
  std::set<uint32_t> legal_once;  // instructions that also ask for a legal number
  for (const Request& r : all) {
    if (std::any_of(r.sizes.begin(), r.sizes.end(), [&](int64_t n) { return is_legal(r, n); }))
      legal_once.insert(r.event->instruction);
  }
  std::set<uint32_t> said, doubtful;
  for (const Request& r : all) {
    const uint32_t at = r.event->instruction;
    for (int64_t columns : r.sizes) {
      if (is_legal(r, columns)) continue;
      // The scenarios tell which rounds there really are.
      if (r.changes && legal_once.contains(at)) {
        doubtful.insert(at);
        continue;
      }
      Draft d;
      d.at = at;
      d.message = message(context, at, columns, r.exclusive);
      d.warp = r.warp;
      d.node = r.event->node;
      said.insert(at);
      context.report(std::move(d));
    }
  }
  for_each(context, {cluster::Fault::kAllocSize}, [&](const cluster::Sighting& s) -> std::optional<Draft> {
    doubtful.erase(s.at);
    if (said.contains(s.at)) return std::nullopt;
    if (chose_rounds(context, s)) {
      context.incomplete(s.at,
                         "whether the number of columns is a legal one: it changes with the rounds of a loop, and how "
                         "many there are is not known");
      return std::nullopt;
    }
    return draft(s, report::Level::kError, message(context, s.at, s.first, context.form(s.at).exclusive));
  });
  for (uint32_t i : doubtful) {
    context.incomplete(i, "whether the number of columns is a legal one in each round of the loop");
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
