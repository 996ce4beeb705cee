// What a register or cell holds where paths meet with different values: a join term. It is named by the block, the kind
// of path and what is certain about the values, so that the same question gets the same name in every round; and it
// lists the values that it may have as long as they are few.
#pragma once

#include <cstdint>
#include <optional>

#include "analyzer/value/facts.h"
#include "analyzer/warp/evaluate.h"
#include "analyzer/warp/flow.h"
#include "analyzer/warp/path_state.h"
#include "analyzer/warp/rounds.h"

namespace tmemlint::warp {

class Joins {
public:
  Joins(const Setting& setting, const Flow& flow, Rounds& rounds)
      : setting_(setting), flow_(flow), rounds_(rounds), terms_(*setting.terms) {}

  // A state is about to meet others at a block; `times`: how often the loop that it is the head of has been followed.
  void begin(unsigned times) {
    times_ = times;
    listing_changed_ = false;
  }
  // Whether a join lists other values since then.
  bool listing_changed() const { return listing_changed_; }

  // What a place holds that held `a` (when given) or `b`. What differs from lane to lane in the same way in both stays
  // apart from what the paths differ in. `facts`: of the path of `b`.
  Value joined(const MeetingPlace& at, const std::optional<Value>& a, const Value& b, const value::Facts& facts);

  // What holds on both paths. One may know as numbers what the other one knows as a comparison.
  void join_facts(value::Facts& facts, const value::Facts& other);

private:
  // How far the values of a join reach: it is part of what the join is named by, and bounds its bits.
  struct Shape {
    value::Uniformity uniformity = value::Uniformity::kWarp;
    unsigned low_zeros = 0;  // bits at the low end that are 0 in all of them
    enum class Size : uint8_t { kStage, kColumn, kAny } size = Size::kAny;
    bool counter = false;  // they count up from a small number, and never leave its bits
  };
  Shape shape_of(const MeetingPlace& at, const std::optional<Value>& a, const Value& b, const value::Facts& facts,
                 uint64_t which, uint64_t place) const;
  Value joined_base(const MeetingPlace& at, const std::optional<Value>& a, const Value& b, const value::Facts& facts);
  uint32_t term_of(const MeetingPlace& at, const Shape& shape, uint64_t which, uint64_t place);
  void list(uint32_t join, const Value& value, const value::Facts& facts, const MeetingPlace& at);
  std::optional<std::vector<Value>> values_to_list(uint32_t join, const Value& value, const value::Facts& facts,
                                                   const MeetingPlace& at) const;
  void stop_listing(uint32_t join);
  bool counts_up(const Value& value, uint64_t site, uint64_t place, uint64_t bit) const;
  bool is_step(const Value& value, uint64_t bit, uint32_t except = 0) const;
  uint64_t bits_of_all(const Value& value, uint64_t own, const value::Facts& facts, const MeetingPlace& at) const;

  const Setting& setting_;
  const Flow& flow_;
  Rounds& rounds_;
  Terms& terms_;
  unsigned times_ = 0;
  bool listing_changed_ = false;
};

}  // namespace tmemlint::warp
