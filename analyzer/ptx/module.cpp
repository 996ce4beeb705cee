#include "analyzer/ptx/module.h"

#include <algorithm>
#include <array>

namespace tmemlint::ptx {

namespace {

struct TypeName {
  std::string_view suffix;
  Type type;
  unsigned bits;
};

constexpr std::array kTypes = {
    TypeName{"pred", Type::kPred, 1},  TypeName{"b8", Type::kB8, 8},          TypeName{"u8", Type::kU8, 8},
    TypeName{"s8", Type::kS8, 8},      TypeName{"b16", Type::kB16, 16},       TypeName{"u16", Type::kU16, 16},
    TypeName{"s16", Type::kS16, 16},   TypeName{"f16", Type::kF16, 16},       TypeName{"f16x2", Type::kF16x2, 32},
    TypeName{"bf16", Type::kBf16, 16}, TypeName{"bf16x2", Type::kBf16x2, 32}, TypeName{"b32", Type::kB32, 32},
    TypeName{"u32", Type::kU32, 32},   TypeName{"s32", Type::kS32, 32},       TypeName{"f32", Type::kF32, 32},
    TypeName{"tf32", Type::kTf32, 32}, TypeName{"b64", Type::kB64, 64},       TypeName{"u64", Type::kU64, 64},
    TypeName{"s64", Type::kS64, 64},   TypeName{"f64", Type::kF64, 64},       TypeName{"b128", Type::kB128, 128},
};

constexpr auto kBits = [] {
  std::array<unsigned, static_cast<size_t>(Type::kOther) + 1> bits{};
  for (const TypeName& name : kTypes) bits[static_cast<size_t>(name.type)] = name.bits;
  return bits;
}();

constexpr auto kIntegers = [] {
  std::array<bool, kBits.size()> integers{};
  for (const TypeName& name : kTypes) {
    const char kind = name.suffix[0];
    const bool is_number = name.suffix[1] >= '0' && name.suffix[1] <= '9';  // not "bf16"
    integers[static_cast<size_t>(name.type)] =
        (kind == 'b' || kind == 'u' || kind == 's') && is_number && name.bits <= 64;
  }
  return integers;
}();

// Types that are named in instructions or declarations but that nothing here computes with.
constexpr std::array<std::string_view, 17> kOtherTypes = {
    "texref", "samplerref", "surfref", "e4m3",   "e5m2",   "e4m3x2", "e5m2x2", "e4m3x4", "e5m2x4",
    "e2m1",   "e2m3",       "e3m2",    "e2m1x2", "e2m3x2", "e3m2x2", "ue8m0",  "ue8m0x2"};

}  // namespace

unsigned bits(Type type) {
  return kBits[static_cast<size_t>(type)];
}

bool is_integer_type(Type type) {
  return kIntegers[static_cast<size_t>(type)];
}

Type type_from_suffix(std::string_view suffix) {
  for (const TypeName& name : kTypes) {
    // Most differ in their last letter already: no call for those.
    if (name.suffix.size() == suffix.size() && name.suffix.back() == suffix.back() && name.suffix == suffix)
      return name.type;
  }
  bool is_other = std::find(kOtherTypes.begin(), kOtherTypes.end(), suffix) != kOtherTypes.end();
  return is_other ? Type::kOther : Type::kNone;
}

bool Opcode::has(std::string_view modifier) const {
  return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

std::string Function::register_name(uint32_t index) const {
  if (index >= registers.size()) return "?";
  const auto behind = std::upper_bound(register_names.begin(), register_names.end(), index,
                                       [](uint32_t i, const RegisterNames& names) { return i < names.first; });
  const RegisterNames& names = *std::prev(behind);
  std::string name(names.name);
  if (names.is_range) name += std::to_string(index - names.first);
  return name;
}

const std::string* Module::file_path(uint32_t index) const {
  auto file = std::find_if(files.begin(), files.end(), [index](const SourceFile& f) { return f.index == index; });
  return file == files.end() ? nullptr : &file->path;
}

}  // namespace tmemlint::ptx
