// How a scenario decides what is unknown: branches by its policy, numbers by those that its model has.
#pragma once

#include <cstdint>
#include <optional>

#include "analyzer/cluster/scene.h"

namespace tmemlint::cluster {

class Decisions {
public:
  explicit Decisions(Scene& scene) : scene_(scene), state_(scene.state.decisions) {}

  // What of a value may be given the number that the model has for it: nothing, what is computed from parameters alone,
  // or that and words of global memory. With words it is a guess: not for an address, which is right for few of them.
  enum class Pick : uint8_t { kNothing, kParameters, kWords };
  // A value in a lane as a number of so many bits. Conditions that it is chosen by and that nothing has decided yet are
  // decided the way the model has them.
  std::optional<uint64_t> number(warp::Machine& machine, const value::Value& value, uint32_t lanes, unsigned width,
                                 Pick pick = Pick::kNothing);
  // Decides the conditions that a value is chosen by, and gives what it is then.
  value::Value resolved(warp::Machine& machine, const value::Value& value);
  // The truth of a condition that several unknowns decide together: each of those that are conditions themselves is
  // decided.
  warp::Truth truth_by_parts(warp::Machine& machine, const value::Value& condition, uint32_t lanes);
  // The truth of a condition, with what is not decided of it decided where it is about parameters alone.
  warp::Truth truth_by_parameters(warp::Machine& machine, const value::Value& condition, uint32_t lanes);

  // A branch of a warp's first group that is not known in some lanes: those lanes are sent one way or the other. False
  // where the scenario ends because it would show nothing new.
  bool decide_branch(WarpState& w, warp::Machine& machine, uint32_t block, warp::Truth& t);
  // Decides what the policy wants decided before all else. False where no numbers are found for that.
  bool decide_ahead();
  // Which ways a branch on what is not known went: of a loop that asks at its top, before its first round.
  // `condition`: of the branch.
  void note_ways(const WarpState& w, uint32_t block, const value::Value& condition, const warp::Truth& t);
  TensorMemory::Decided decided() const { return {state_.ways.size(), state_.chose_trips && scene_.policy.trips == 0}; }

private:
  void decide_conditions(warp::Machine& machine, uint32_t term);
  void decide_condition(warp::Machine& machine, uint32_t term);
  std::optional<uint64_t> pick_number(warp::Machine& machine, const value::Value& value, unsigned width, Pick pick);
  std::optional<bool> choose_loop_way(const WarpState& w, uint32_t block, bool* unusual);
  bool choose(const WarpState& w, uint32_t block, const warp::Truth& t, bool* unusual);
  bool take(warp::Machine& machine, uint32_t block, const warp::Truth& t, bool first);
  void note_outcome(bool unusual, bool granted);
  void note_guess(uint32_t term);
  template <typename F>
  void note_other_trips(F&& way);

  Scene& scene_;
  DecisionState& state_;
  std::vector<bool> walked_;  // scratch, by term
};

}  // namespace tmemlint::cluster
