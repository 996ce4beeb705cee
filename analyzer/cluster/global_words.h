// Words of global memory as one scenario reads them. What they hold is not known: each is an unknown, the same one for
// every warp that reads it, however the warp computes the address.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/cluster/model.h"
#include "analyzer/value/value.h"

namespace tmemlint::cluster {

constexpr uint32_t kMaxRanks = assumptions::kCtasSteppedTogether;  // CTAs of a cluster that are stepped together
constexpr uint32_t kMaxWarpsPerCta = assumptions::kMostThreadsOfABlock / value::kLanes;

class GlobalWords {
public:
  // What a warp of the cluster reads at an address, with the numbers that the scenario has so far. `serial` counts
  // unknowns.
  value::Value& read(value::Terms& terms, Model& model, const value::Value& address, unsigned width, uint32_t warp,
                     uint64_t& serial);

  // A decision was made about a term: the words that it is computed from are guessed.
  void guess(const Model& model, uint32_t term);
  // How many words have been guessed.
  size_t guessed() const { return guesses_.size(); }
  // How many of them can be guessed before two guesses may contradict each other: a warp goes by one of them that a
  // second warp never reads, and that one by another that the first never reads. Where they are one count, kept in two
  // places, no launch does what the scenario does. SIZE_MAX if there are no such two.
  size_t first_contradiction() const;

private:
  struct Word {
    value::Value address;
    unsigned width = 0;
    value::Value value;
    std::bitset<size_t{kMaxRanks} * kMaxWarpsPerCta> readers;
    bool guessed = false;
  };
  uint32_t find(value::Terms& terms, Model& model, const value::Value& address, unsigned width, uint64_t& serial);
  uint32_t same_place(value::Terms& terms, Model& model, const value::Value& address, unsigned width,
                      const std::vector<uint32_t>& candidates) const;

  std::vector<Word> words_;
  std::map<std::array<uint64_t, 3>, uint32_t> at_;                 // base, number and width of an address -> word
  std::map<std::vector<uint32_t>, std::vector<uint32_t>> behind_;  // by the pointers that the address is made of
  std::unordered_map<uint32_t, uint32_t> of_term_;                 // the unknown -> word
  std::vector<uint32_t> guesses_;                                  // words, in the order in which they were guessed
};

}  // namespace tmemlint::cluster
