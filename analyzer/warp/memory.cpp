#include "analyzer/warp/memory.h"

#include "analyzer/assumptions/assumptions.h"

#include <algorithm>

namespace tmemlint::warp {

using value::Op;
using value::Operation;
using value::Terms;
using value::Value;

namespace {

const std::vector<Cell> kNoCells;

// First cell that ends behind `address`.
auto first_touching(const std::vector<Cell>& cells, uint64_t address) {
  auto at =
      std::lower_bound(cells.begin(), cells.end(), address, [](const Cell& c, uint64_t a) { return c.address < a; });
  while (at != cells.begin() && std::prev(at)->address + std::prev(at)->bytes > address) --at;
  return at;
}

// Values that one cell of shared memory may be seen to hold, over all paths of a warp; of more, the other warps find an
// unknown there.
constexpr size_t kMostRecords = assumptions::kValuesOfAWord;
// Bytes that a cell, or a record, may reach behind its address.
constexpr uint64_t kMostBytes = assumptions::kBytesOfAVector;

}  // namespace

const std::vector<Cell>& Memory::cells() const {
  return cells_ == nullptr ? kNoCells : *cells_;
}

bool Memory::touches(uint64_t address, uint64_t bytes) const {
  auto at = first_touching(cells(), address);
  return at != cells().end() && at->address < address + bytes;
}

std::vector<Cell>& Memory::own_cells() {
  if (cells_ == nullptr) {
    cells_ = std::make_shared<std::vector<Cell>>();
  } else if (cells_.use_count() != 1) {
    cells_ = std::make_shared<std::vector<Cell>>(*cells_);
  }
  return *cells_;
}

void Memory::clobber(uint64_t address, uint64_t bytes) {
  if (!touches(address, bytes)) return;
  std::vector<Cell>& own = own_cells();
  const auto first = first_touching(own, address);
  auto last = first;
  while (last != own.end() && last->address < address + bytes) ++last;
  own.erase(first, last);
}

Value extract(Terms& terms, const Value& value, unsigned from, unsigned offset, unsigned bytes) {
  if (offset == 0 && bytes == from) return value;
  Value v = value;
  if (offset != 0)
    v = terms.apply({Op::kShr, static_cast<uint8_t>(from * 8), false, 0}, v, Value::of(uint64_t{offset} * 8));
  return terms.apply({Op::kZext, static_cast<uint8_t>(bytes * 8), false, bytes * 8}, v);
}

uint32_t Memory::writers(uint64_t address, uint64_t bytes) const {
  uint32_t lanes = 0;
  for (auto at = first_touching(cells(), address); at != cells().end() && at->address < address + bytes; ++at)
    lanes |= at->lanes;
  return lanes;
}

void Memory::store(Terms& terms, uint64_t address, unsigned bytes, const Value& value, uint32_t lanes) {
  Cell cell;
  cell.address = address;
  cell.bytes = static_cast<uint8_t>(bytes);
  cell.lanes = lanes;
  cell.value = value;
  const std::vector<Cell>& now = cells();
  auto first = first_touching(now, address);
  if (first != now.end() && *first == cell) return;
  auto last = first;
  while (last != now.end() && last->address < address + bytes) ++last;
  const auto at = first - now.begin();
  const auto count = last - first;
  // What stands beside the bytes that are written stays.
  std::optional<Cell> before, behind;
  auto rest_of = [&](const Cell& c, uint64_t from, uint64_t to) {
    Cell rest;
    rest.address = from;
    rest.bytes = static_cast<uint8_t>(to - from);
    rest.lanes = c.lanes;
    rest.value = extract(terms, c.value, c.bytes, static_cast<unsigned>(from - c.address), rest.bytes);
    return rest;
  };
  if (count != 0) {
    const Cell& front = *first;
    const Cell& back = *std::prev(last);
    const uint64_t end = address + bytes;
    if (front.address < address && front.bytes <= 8) before = rest_of(front, front.address, address);
    if (back.address + back.bytes > end && back.bytes <= 8) behind = rest_of(back, end, back.address + back.bytes);
  }
  std::vector<Cell>& own = own_cells();
  own.erase(own.begin() + at, own.begin() + at + count);
  auto place = own.begin() + at;
  if (before) place = own.insert(place, *before) + 1;
  place = own.insert(place, cell) + 1;
  if (behind) own.insert(place, *behind);
}

std::vector<Extent> SharedWrites::difference(const SharedWrites& other) const {
  std::vector<Extent> out;
  auto add = [&](uint64_t address, const std::vector<Record>& records) {
    uint64_t bytes = 0;
    for (const Record& r : records) bytes = std::max<uint64_t>(bytes, r.bytes);
    out.push_back({address, address + bytes});
  };
  for (const auto& [address, records] : records_) {
    const auto at = other.records_.find(address);
    if (at == other.records_.end() || at->second != records) add(address, records);
  }
  for (const auto& [address, records] : other.records_) {
    if (!records_.contains(address)) add(address, records);
  }
  return out;
}

bool overlap(const std::vector<Extent>& a, const std::vector<Extent>& b) {
  return std::any_of(a.begin(), a.end(), [&](const Extent& x) {
    return std::any_of(b.begin(), b.end(), [&](const Extent& y) { return x.begin < y.end && y.begin < x.end; });
  });
}

std::optional<Value> Memory::load(Terms& terms, uint64_t address, unsigned bytes) const {
  Value out;
  uint64_t next = address;
  for (auto at = first_touching(cells(), address); at != cells().end() && next < address + bytes; ++at) {
    if (at->address > next) return std::nullopt;
    const auto offset = static_cast<unsigned>(next - at->address);
    const auto take = static_cast<unsigned>(std::min<uint64_t>(at->bytes - offset, address + bytes - next));
    Value piece = extract(terms, at->value, at->bytes, offset, take);
    if (next == address && take == bytes) return piece;
    const Operation shl{Op::kShl, 64, false, 0};
    const Operation either{Op::kOr, 64, false, 0};
    piece = terms.apply(shl, piece, Value::of((next - address) * 8));
    out = next == address ? piece : terms.apply(either, out, piece);
    next += take;
  }
  if (next < address + bytes) return std::nullopt;
  return out;
}

void SharedWrites::add(uint64_t address, const Record& record) {
  std::vector<Record>& list = records_[address];
  if (std::find(list.begin(), list.end(), record) != list.end()) return;
  if (list.size() >= kMostRecords) {
    Record unknown;
    unknown.bytes = record.bytes;
    unknown.unknown = true;
    list.assign(1, unknown);
    return;
  }
  list.push_back(record);
}

std::vector<std::pair<uint64_t, SharedWrites::Record>> SharedWrites::overlapping(uint64_t address,
                                                                                 unsigned bytes) const {
  std::vector<std::pair<uint64_t, Record>> out;
  for (auto at = records_.lower_bound(address < kMostBytes ? 0 : address - kMostBytes);
       at != records_.end() && at->first < address + bytes; ++at) {
    for (const Record& r : at->second) {
      if (at->first + r.bytes > address) out.emplace_back(at->first, r);
    }
  }
  return out;
}

}  // namespace tmemlint::warp
