#include "tests/seeded/seeder.h"

#include "tests/seeded/questions.h"

namespace tmemlint::seeded {

bool Seeder::slice(uint32_t from, uint32_t to, std::vector<uint32_t> needed, std::string& out) const {
  std::vector<uint32_t> copied;
  for (uint32_t i = to; i > from; --i) {
    const uint32_t d = i - 1;
    const std::vector<uint32_t> writes = k_.written(d);
    const bool wanted = std::any_of(writes.begin(), writes.end(), [&](uint32_t r) { return contains(needed, r); });
    if (!wanted) continue;
    const Op op = k_.op(d);
    if (op != Op::kOther || k_.at(d).guard != kNone) return false;
    const ptx::Opcode& o = k_.opcode(d);
    if (o.root == "ld" || o.root == "shfl" || o.root == "atom" || o.root == "tcgen05" || o.root == "vote") return false;
    for (const uint32_t r : k_.read(d)) {
      if (contains(writes, r)) return false;
      if (!contains(needed, r)) needed.push_back(r);
    }
    copied.push_back(d);
  }
  for (auto it = copied.rbegin(); it != copied.rend(); ++it) out += text(*it) + " ";
  // What is defined elsewhere has to be defined before, by one instruction.
  for (const uint32_t r : needed) {
    bool here = false;
    for (const uint32_t d : k_.definitions(r)) here = here || contains(copied, d);
    if (here) continue;
    for (const uint32_t d : k_.definitions(r)) {
      if (d >= from && d < to) return false;
    }
    if (k_.definitions(r).size() == 1 && k_.definitions(r)[0] >= from) return false;
  }
  return true;
}

}  // namespace tmemlint::seeded
