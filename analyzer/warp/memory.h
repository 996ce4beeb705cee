// Memory as one path of one warp knows it: cells of bytes at known generic addresses.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "analyzer/value/value.h"

namespace tmemlint::warp {

using value::kAllLanes;
using value::Terms;
using value::Value;

struct Cell {
  uint64_t address = 0;
  uint8_t bytes = 4;  // 1 to 8
  Value value;
  // Of private memory: those that have written it; what the others have is nobody's to read.
  uint32_t lanes = kAllLanes;
  bool operator==(const Cell&) const = default;
};

// Cheap to copy: shared until written.
class Memory {
public:
  void store(Terms& terms, uint64_t address, unsigned bytes, const Value& value, uint32_t lanes = kAllLanes);
  // The lanes that have written any of a range.
  uint32_t writers(uint64_t address, uint64_t bytes) const;
  // Something unknown was written to [address, address + bytes).
  void clobber(uint64_t address, uint64_t bytes);
  // What a load of `bytes` bytes finds, when known cells cover it exactly.
  std::optional<Value> load(Terms& terms, uint64_t address, unsigned bytes) const;
  // Whether any cell overlaps the range.
  bool touches(uint64_t address, uint64_t bytes) const;
  const std::vector<Cell>& cells() const;
  bool same(const Memory& other) const { return cells_ == other.cells_; }
  void replace(std::vector<Cell> cells) { cells_ = std::make_shared<std::vector<Cell>>(std::move(cells)); }

private:
  std::vector<Cell>& own_cells();

  std::shared_ptr<std::vector<Cell>> cells_;  // ordered by address, disjoint; not changed while others share them
};

// A range of addresses.
struct Extent {
  uint64_t begin = 0, end = 0;
  bool operator==(const Extent&) const = default;
};

// Whether any extent of one list overlaps one of the other.
bool overlap(const std::vector<Extent>& a, const std::vector<Extent>& b);

// What the warps of a CTA write to shared memory at known addresses, over all their paths: per writer, the values of
// each cell. A value that only one warp can name is marked unknown for the others.
class SharedWrites {
public:
  struct Record {
    uint8_t bytes = 4;
    Value value;
    bool unknown = false;
    bool operator==(const Record&) const = default;
  };
  void add(uint64_t address, const Record& record);
  // Records overlapping the range, with their addresses.
  std::vector<std::pair<uint64_t, Record>> overlapping(uint64_t address, unsigned bytes) const;
  // Where the records are not those of `other`.
  std::vector<Extent> difference(const SharedWrites& other) const;

private:
  std::map<uint64_t, std::vector<Record>> records_;
};

// The bytes [offset, offset + bytes) of a value of `from` bytes, zero-extended.
Value extract(Terms& terms, const Value& value, unsigned from, unsigned offset, unsigned bytes);

}  // namespace tmemlint::warp
