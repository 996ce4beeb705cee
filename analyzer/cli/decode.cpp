#include "analyzer/cli/decode.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/ptx/descriptor.h"
#include "analyzer/ptx/tcgen05_table.h"

namespace tmemlint::cli {
namespace {

std::optional<uint64_t> number_from(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    base = 16;
  }
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string hex(uint64_t value, unsigned digits) {
  std::string out;
  for (; digits > 0; --digits) out += "0123456789abcdef"[(value >> (4 * (digits - 1))) & 15];
  return "0x" + out;
}

std::string lines(const std::vector<ptx::DescriptorField>& fields) {
  std::vector<std::string> bits;
  size_t bits_width = 0, name_width = 0, value_width = 0;
  for (const ptx::DescriptorField& field : fields) {
    bits.push_back(std::to_string(field.lo) + (field.lo == field.hi ? "" : "-" + std::to_string(field.hi)));
    bits_width = std::max(bits_width, bits.back().size());
    name_width = std::max(name_width, field.name.size());
    value_width = std::max(value_width, std::to_string(field.value).size());
  }
  std::string out;
  for (size_t n = 0; n < fields.size(); ++n) {
    const std::string value = std::to_string(fields[n].value);
    std::string line = "  bits " + std::string(bits_width - bits[n].size(), ' ') + bits[n] + "  ";
    (line += fields[n].name).append(name_width - fields[n].name.size() + 2, ' ');
    line.append(value_width - value.size(), ' ') += value;
    if (!fields[n].meaning.empty() && fields[n].meaning != value) line += "  " + fields[n].meaning;
    out += line + '\n';
  }
  return out;
}

// What the checks find on every target: --decode-descriptor is not told any.
template <typename Judge>
std::string illegal(Judge judge) {
  std::vector<std::string> always = judge(ptx::targets().front().name);
  for (const ptx::TargetRow& target : ptx::targets()) {
    const std::vector<std::string> here = judge(target.name);
    std::erase_if(always, [&](const std::string& s) { return std::find(here.begin(), here.end(), s) == here.end(); });
  }
  std::string out;
  for (const std::string& sentence : always) out += "not legal: " + sentence + '\n';
  return out;
}

Decoded decode_idesc(uint64_t value, std::string_view kind_name) {
  if (value > UINT32_MAX) return {{}, "an instruction descriptor has 32 bits; " + hex(value, 16) + " has more"};
  const auto idesc = static_cast<uint32_t>(value);
  const ptx::MmaKind kind = kind_name.empty() ? ptx::MmaKind::kF16 : ptx::kind_from(kind_name);
  if (kind == ptx::MmaKind::kNone) {
    return {{}, "'" + std::string(kind_name) + "' is no kind of mma; it is one of " + ptx::kinds_text()};
  }
  std::string out = "instruction descriptor " + hex(value, 8) + (kind_name.empty() ? " read as " : " of ") +
                    ptx::kind_text(kind) + (kind_name.empty() ? " (--kind names another)\n" : "\n");
  out += lines(ptx::decode_idesc(idesc, kind));
  ptx::Form form;
  form.op = ptx::Tcgen05::kMma;
  form.kind = kind;
  form.sparse = (idesc >> 2 & 1) != 0;
  out += illegal([&](std::string_view target) { return ptx::judge_idesc(idesc, form, target); });
  return {out, {}};
}

Decoded decode_smem(uint64_t value) {
  std::string out = "shared-memory descriptor " + hex(value, 16) + "\n";
  out += lines(ptx::decode_smem_descriptor(value));
  out += illegal([&](std::string_view target) { return ptx::judge_smem_descriptor(value, ~uint64_t{0}, target); });
  return {out, {}};
}

}  // namespace

Decoded decode_descriptor(std::string_view which, std::string_view value, std::string_view kind) {
  if (which != "idesc" && which != "smem") {
    return {
        {},
        "'" + std::string(which) + "' is not idesc (an instruction descriptor) or smem (a shared-memory descriptor)"};
  }
  const std::optional<uint64_t> number = number_from(value);
  if (!number)
    return {{}, "'" + std::string(value) + "' is no number of at most 64 bits, decimal or 0x and hexadecimal"};
  if (which == "idesc") return decode_idesc(*number, kind);
  if (!kind.empty()) return {{}, "--kind is for idesc: a shared-memory descriptor is the same for all kinds"};
  return decode_smem(*number);
}

}  // namespace tmemlint::cli
