#include "analyzer/cta/joint.h"

#include <algorithm>
#include <set>

#include "analyzer/cta/run.h"

namespace tmemlint::cta {

namespace {

// CTAs of a cluster that are stepped together.
constexpr uint32_t kMaxRanks = 8;
// Branches that are decided the other way, one scenario each.
constexpr size_t kMaxFlips = 8;

class Driver {
 public:
  Driver(const Analysis& analysis, const JointSetting& setting) : setting_(setting), ground_(analysis) {}

  Joint run() {
    Policy usual;
    const Outcome first = scenario(usual);
    if (first.chose_trips) {
      for (uint32_t trips : {1u, 0u, 5u}) {
        Policy p;
        p.trips = trips;
        scenario(p);
      }
    }
    size_t flips = 0;
    for (uint32_t block : first.choices) {
      if (++flips > kMaxFlips) {
        note(ground_.analysis->graph.blocks[block].ender, "more unknown conditions than scenarios that the joint run makes");
        break;
      }
      Policy p;
      p.flipped = {block};
      scenario(p);
    }
    // A commit that nobody ever waits for.
    for (const auto& [target, commit] : commit_targets_) {
      if (waited_.contains(target) || unwaited_.contains(commit)) continue;
      unwaited_.insert(commit);
      Sighting s;
      s.fault = Fault::kCommitUnwaited;
      s.at = commit;
      if (!stopped_) add(std::move(s));
    }
    return std::move(out_);
  }

 private:
  struct Outcome {
    std::set<uint32_t> choices;
    bool chose_trips = false;
  };

  Outcome scenario(const Policy& policy) {
    if (out_.steps > setting_.step_budget) return {};
    Run run(ground_, policy, setting_.log && out_.scenarios == 0, setting_.step_budget - out_.steps + 1);
    run.go();
    ++out_.scenarios;
    out_.steps += run.steps;
    out_.asked += run.asked;
    out_.decided += run.decided;
    if (setting_.log && !run.log.empty()) out_.log = std::move(run.log);
    for (Sighting& s : run.sightings) add(std::move(s));
    for (const warp::Uncertain& u : run.uncertain) {
      note(u.instruction, u.reason);
      ++out_.asked;
    }
    stopped_ = stopped_ || !run.complete;
    commit_targets_.insert(run.commit_targets.begin(), run.commit_targets.end());
    waited_.insert(run.waited.begin(), run.waited.end());
    return {std::move(run.choices), run.chose_trips};
  }

  void add(Sighting s) {
    for (Sighting& other : out_.sightings) {
      if (other.fault != s.fault || other.at != s.at || other.other != s.other) continue;
      // The scenario that is the easier to believe.
      if (other.zero_trips && !s.zero_trips) other = std::move(s);
      return;
    }
    out_.sightings.push_back(std::move(s));
  }

  void note(uint32_t instruction, std::string reason) {
    for (const warp::Uncertain& u : out_.uncertain) {
      if (u.instruction == instruction && u.reason == reason) return;
    }
    out_.uncertain.push_back({instruction, std::move(reason)});
  }

  const JointSetting setting_;
  const Ground ground_;
  Joint out_;
  std::map<uint32_t, uint32_t> commit_targets_;
  std::set<uint32_t> waited_, unwaited_;
  bool stopped_ = false;
};

}  // namespace

Joint run_jointly(const Analysis& analysis, const JointSetting& setting) {
  if (analysis.launch.ctas() > kMaxRanks) {
    Joint out;
    out.uncertain.push_back({analysis.tcgen05.empty() ? kNone : analysis.tcgen05.front(),
                             "clusters of more than " + std::to_string(kMaxRanks) + " CTAs are not stepped together"});
    return out;
  }
  return Driver(analysis, setting).run();
}

}  // namespace tmemlint::cta
