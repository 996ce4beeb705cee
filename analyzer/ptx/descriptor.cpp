// The fields of instruction and shared-memory descriptors, and what follows from them.
// Long because the fields, what the ISA allows of them and what they mean belong together.
#include "analyzer/ptx/descriptor.h"

#include <algorithm>
#include <span>

#include "analyzer/ptx/tcgen05_table.h"

namespace tmemlint::ptx {
namespace {

using sv = std::string_view;

enum class FieldKind : uint8_t {
  kReserved,
  kNumber,
  kFlag,
  kDType,
  kABType,
  kN,
  kMOf16,
  kMOf128,
  kScaleType,
  kKOf96,
  kShift,
  kAddress,
  kFixed,
  kLboMode,
  kSwizzle,
};

struct FieldRow {
  sv name;
  unsigned lo, hi;
  FieldKind kind;
  bool reserved_before_sm107 = false;  // PTX 9.4 gives it a meaning on sm_107
};

// kind::f16, tf32, f8f6f4, i8 (and ti16 of PTX 9.4)
constexpr FieldRow kPlainFields[] = {
    {"sparsity selector", 0, 1, FieldKind::kNumber},
    {"sparse", 2, 2, FieldKind::kFlag},
    {"saturate", 3, 3, FieldKind::kFlag},
    {"D type", 4, 5, FieldKind::kDType},
    {"reserved", 6, 6, FieldKind::kReserved},
    {"A type", 7, 9, FieldKind::kABType},
    {"B type", 10, 12, FieldKind::kABType},
    {"negate A", 13, 13, FieldKind::kFlag},
    {"negate B", 14, 14, FieldKind::kFlag},
    {"transpose A", 15, 15, FieldKind::kFlag},
    {"transpose B", 16, 16, FieldKind::kFlag},
    {"N", 17, 22, FieldKind::kN},
    {"reserved", 23, 23, FieldKind::kReserved},
    {"M", 24, 28, FieldKind::kMOf16},
    {"K selector", 29, 29, FieldKind::kNumber, true},
    {"maximum shift", 30, 31, FieldKind::kShift},
};
constexpr FieldRow kMxf8f6f4Fields[] = {
    {"reserved", 0, 1, FieldKind::kReserved},
    {"sparse", 2, 2, FieldKind::kFlag},
    {"reserved", 3, 3, FieldKind::kReserved},
    {"scale factor B id", 4, 5, FieldKind::kNumber},
    {"reserved", 6, 6, FieldKind::kReserved},
    {"A type", 7, 9, FieldKind::kABType},
    {"B type", 10, 12, FieldKind::kABType},
    {"negate A", 13, 13, FieldKind::kFlag},
    {"negate B", 14, 14, FieldKind::kFlag},
    {"transpose A", 15, 15, FieldKind::kFlag},
    {"transpose B", 16, 16, FieldKind::kFlag},
    {"N", 17, 22, FieldKind::kN},
    {"scale type", 23, 23, FieldKind::kScaleType},
    {"reserved", 24, 25, FieldKind::kReserved},
    {"scale factor A layout", 26, 26, FieldKind::kNumber, true},
    {"M", 27, 28, FieldKind::kMOf128},
    {"scale factor A id", 29, 30, FieldKind::kNumber},
    {"K selector", 31, 31, FieldKind::kNumber, true},
};
// kind::mxf4, mxf4nvf4
constexpr FieldRow kMxf4Fields[] = {
    {"reserved", 0, 1, FieldKind::kReserved},
    {"sparse", 2, 2, FieldKind::kFlag},
    {"K selector, upper bit", 3, 3, FieldKind::kNumber, true},
    {"scale factor B id", 4, 5, FieldKind::kNumber},
    {"reserved", 6, 6, FieldKind::kReserved},
    {"A type", 7, 9, FieldKind::kABType},
    {"B type", 10, 11, FieldKind::kABType},
    {"sparsity version", 12, 12, FieldKind::kNumber, true},
    {"negate A", 13, 13, FieldKind::kFlag},
    {"negate B", 14, 14, FieldKind::kFlag},
    {"transpose A", 15, 15, FieldKind::kFlag},
    {"transpose B", 16, 16, FieldKind::kFlag},
    {"N", 17, 22, FieldKind::kN},
    {"scale type", 23, 23, FieldKind::kScaleType},
    {"scale type, upper bit", 24, 24, FieldKind::kNumber, true},
    {"reserved", 25, 26, FieldKind::kReserved},
    {"M", 27, 28, FieldKind::kMOf128},
    {"scale factor A id", 29, 30, FieldKind::kNumber},
    {"K selector", 31, 31, FieldKind::kKOf96},
};
constexpr FieldRow kSmemFields[] = {
    {"start address", 0, 13, FieldKind::kAddress},
    {"leading dimension byte offset", 16, 29, FieldKind::kAddress},
    {"stride dimension byte offset", 32, 45, FieldKind::kAddress},
    {"fixed", 46, 48, FieldKind::kFixed},
    {"base offset", 49, 51, FieldKind::kNumber},
    {"leading dimension mode", 52, 52, FieldKind::kLboMode},
    {"fixed", 53, 60, FieldKind::kFixed},
    {"swizzle", 61, 63, FieldKind::kSwizzle},
};

bool is_mx(MmaKind kind) {
  return kind == MmaKind::kMxf8f6f4 || kind == MmaKind::kMxf4 || kind == MmaKind::kMxf4nvf4;
}
bool is_four_bit(MmaKind kind) {
  return kind == MmaKind::kMxf4 || kind == MmaKind::kMxf4nvf4;
}
bool has_f8_types(MmaKind kind) {
  return kind == MmaKind::kF8f6f4 || kind == MmaKind::kMxf8f6f4;
}

std::span<const FieldRow> fields_of(MmaKind kind) {
  switch (kind) {
    case MmaKind::kNone:
      return {};
    case MmaKind::kMxf8f6f4:
      return kMxf8f6f4Fields;
    case MmaKind::kMxf4:
    case MmaKind::kMxf4nvf4:
      return kMxf4Fields;
    case MmaKind::kF16:
    case MmaKind::kTf32:
    case MmaKind::kF8f6f4:
    case MmaKind::kI8:
    case MmaKind::kTi16:
      return kPlainFields;
  }
  return {};
}

uint64_t extract(uint64_t word, unsigned lo, unsigned hi) {
  return (word >> lo) & ((uint64_t{2} << (hi - lo)) - 1);
}

uint64_t field(uint64_t word, std::span<const FieldRow> rows, sv name) {
  const auto row = std::ranges::find(rows, name, &FieldRow::name);
  return row == rows.end() ? 0 : extract(word, row->lo, row->hi);
}

// Empty when the kind has no such type.
sv ab_type(MmaKind kind, uint64_t value) {
  switch (kind) {
    case MmaKind::kF16:
      return value == 0 ? "f16" : value == 1 ? "bf16" : "";
    case MmaKind::kTf32:
      return value == 2 ? "tf32" : "";
    case MmaKind::kI8:
      return value == 0 ? "u8" : value == 1 ? "s8" : "";
    case MmaKind::kF8f6f4:
    case MmaKind::kMxf8f6f4: {
      constexpr sv kTypes[] = {"e4m3", "e5m2", "", "e2m3", "e3m2", "e2m1"};
      return value < std::size(kTypes) ? kTypes[value] : "";
    }
    case MmaKind::kMxf4:
    case MmaKind::kMxf4nvf4:
      return value == 1 ? "e2m1" : "";
    case MmaKind::kTi16:  // which value its one type has is not in the text
    case MmaKind::kNone:
      return "";
  }
  return "";
}
sv ab_types(MmaKind kind) {
  switch (kind) {
    case MmaKind::kF16:
      return "0 (f16) or 1 (bf16)";
    case MmaKind::kTf32:
      return "2 (tf32)";
    case MmaKind::kI8:
      return "0 (u8) or 1 (s8)";
    case MmaKind::kF8f6f4:
    case MmaKind::kMxf8f6f4:
      return "0 (e4m3), 1 (e5m2), 3 (e2m3), 4 (e3m2) or 5 (e2m1)";
    case MmaKind::kMxf4:
    case MmaKind::kMxf4nvf4:
      return "1 (e2m1)";
    case MmaKind::kTi16:
    case MmaKind::kNone:
      break;
  }
  return "";
}

sv d_type(uint64_t value) {
  constexpr sv kTypes[] = {"f16", "f32", "s32", ""};
  return kTypes[value & 3];
}

std::string meaning_of(const FieldRow& row, uint64_t value, MmaKind kind) {
  if (row.reserved_before_sm107) return std::to_string(value) + " (reserved before sm_107)";
  switch (row.kind) {
    case FieldKind::kReserved:
    case FieldKind::kFixed:
      return {};
    case FieldKind::kNumber:
      return std::to_string(value);
    case FieldKind::kFlag:
      return value ? "yes" : "no";
    case FieldKind::kDType:
      return d_type(value).empty() ? "no type" : std::string(d_type(value));
    case FieldKind::kABType:
      return ab_type(kind, value).empty() ? "no type" : std::string(ab_type(kind, value));
    case FieldKind::kN:
      return std::to_string(value * 8);
    case FieldKind::kMOf16:
      return std::to_string(value * 16);
    case FieldKind::kMOf128:
      return std::to_string(value * 128);
    case FieldKind::kScaleType:
      return value ? "ue8m0" : "ue4m3";
    case FieldKind::kKOf96:
      return value ? "96" : "64 (128 if sparse)";
    case FieldKind::kShift:
      return value == 0 ? "0" : std::to_string(4u << value);
    case FieldKind::kAddress:
      return std::to_string(value * 16);
    case FieldKind::kLboMode:
      return value ? "absolute address" : "relative offset";
    case FieldKind::kSwizzle: {
      constexpr sv kModes[] = {"none", "128 bytes, 32-byte atoms", "128 bytes", "", "64 bytes", "", "32 bytes", ""};
      return std::string(kModes[value & 7].empty() ? sv("no mode") : kModes[value & 7]);
    }
  }
  return {};
}

std::string bits_text(unsigned lo, unsigned hi) {
  return lo == hi ? "bit " + std::to_string(lo) : "bits " + std::to_string(lo) + " to " + std::to_string(hi);
}

bool is_107(sv target) {
  return target.starts_with("sm_107");
}

struct Shape {
  unsigned m, n;
};
Shape shape_of(uint32_t idesc, MmaKind kind) {
  const auto rows = fields_of(kind);
  const auto m = static_cast<unsigned>(field(idesc, rows, "M"));
  return {is_mx(kind) ? m * 128 : m * 16, static_cast<unsigned>(field(idesc, rows, "N")) * 8};
}

bool legal_m(unsigned m, const Form& form) {
  if (form.weight_stationary) return m == 32 || m == 64 || m == 128;
  const bool one = form.cta_group != 2, pair = form.cta_group != 1;  // both while unknown
  if (is_mx(form.kind)) return (one && m == 128) || (pair && (m == 256 || (m == 128 && !form.sparse)));
  return (one && (m == 64 || m == 128)) || (pair && (m == 128 || m == 256));
}
std::string legal_m_text(const Form& form) {
  if (form.weight_stationary) return "32, 64 or 128";
  if (is_mx(form.kind)) return form.cta_group == 1 ? "128" : form.cta_group == 2 && form.sparse ? "256" : "128 or 256";
  return form.cta_group == 2 ? "128 or 256" : form.cta_group == 1 ? "64 or 128" : "64, 128 or 256";
}

// Rows of B that one step of N has, and the least N.
unsigned step_of_n(const Form& form, bool transposed_bytes) {
  if (form.cta_group == 2) return form.kind == MmaKind::kI8 || transposed_bytes ? 32 : 16;
  return transposed_bytes ? 16 : 8;
}
bool legal_n(unsigned n, const Form& form, bool transposed_bytes) {
  if (form.weight_stationary) return n == 64 || n == 128 || (n == 256 && !form.sparse);
  const unsigned step = step_of_n(form, transposed_bytes);
  if (n < step || n > 256 || n % step != 0) return false;
  // Integer N goes in steps of 16 above 32.
  return form.kind != MmaKind::kI8 || form.cta_group == 2 || n <= 32 || n % 16 == 0;
}
std::string legal_n_text(const Form& form, bool transposed_bytes) {
  if (form.weight_stationary) return form.sparse ? "64 or 128" : "64, 128 or 256";
  const std::string step = std::to_string(step_of_n(form, transposed_bytes));
  if (form.kind == MmaKind::kI8 && form.cta_group != 2 && !transposed_bytes) {
    return "8, 16, 24, 32 or a multiple of 16 up to 256";
  }
  return "a multiple of " + step + " up to 256";
}

}  // namespace

std::vector<DescriptorField> decode_idesc(uint32_t idesc, MmaKind kind) {
  std::vector<DescriptorField> out;
  for (const FieldRow& row : fields_of(kind)) {
    const uint64_t value = extract(idesc, row.lo, row.hi);
    out.push_back({row.name, row.lo, row.hi, value, meaning_of(row, value, kind)});
  }
  return out;
}

std::vector<DescriptorField> decode_smem_descriptor(uint64_t descriptor) {
  std::vector<DescriptorField> out;
  for (const FieldRow& row : kSmemFields) {
    const uint64_t value = extract(descriptor, row.lo, row.hi);
    out.push_back({row.name, row.lo, row.hi, value, meaning_of(row, value, MmaKind::kNone)});
  }
  return out;
}

namespace {

// What is wrong with one instruction descriptor, field by field.
class IdescJudge {
public:
  IdescJudge(uint32_t idesc, const Form& form, sv target)
      : idesc_(idesc),
        form_(form),
        target_(target),
        rows_(fields_of(form.kind)),
        kind_(kind_text(form.kind)),
        instruction_(kind_ + (form.weight_stationary ? " in mma.ws" : "") +
                     (form.cta_group == 2 ? " in a CTA pair" : "")),
        of_(" of " + instruction_) {}

  std::vector<std::string> run() {
    fixed_bits();
    operand_types();
    if (!is_mx(form_.kind)) plain_fields();
    if (is_four_bit(form_.kind) && (get("transpose A") || get("transpose B"))) {
      say(kind_ + " cannot transpose A or B (bits 15 and 16)");
    }
    shape();
    if (is_mx(form_.kind)) scale_factors();
    return std::move(out_);
  }

private:
  uint64_t get(sv name) const { return field(idesc_, rows_, name); }
  void say(std::string sentence) { out_.push_back(std::move(sentence)); }

  void fixed_bits() {
    for (const FieldRow& row : rows_) {
      const bool reserved = row.kind == FieldKind::kReserved || (row.reserved_before_sm107 && !is_107(target_));
      if (reserved && extract(idesc_, row.lo, row.hi) != 0) {
        say(bits_text(row.lo, row.hi) + of_ + (row.lo == row.hi ? " is" : " are") + " reserved and must be 0");
      }
    }
    if ((get("sparse") != 0) != form_.sparse) {
      say(form_.sparse ? "bit 2 says dense, but the instruction is `.sp`"
                       : "bit 2 says sparse, but the instruction is not `.sp`");
    }
  }

  void operand_types() {
    if (form_.kind == MmaKind::kTi16) return;  // not in the text
    for (sv name : {sv("A type"), sv("B type")}) {
      const uint64_t value = get(name);
      if (!ab_type(form_.kind, value).empty()) continue;
      say(std::string(name) + " " + std::to_string(value) + " is none" + of_ + "; legal is " +
          std::string(ab_types(form_.kind)));
    }
  }

  // Of the kinds without block scaling.
  void plain_fields() {
    const uint64_t d = get("D type");
    const bool integer = form_.kind == MmaKind::kI8 || form_.kind == MmaKind::kTi16;
    if (integer ? d != 2 : form_.kind == MmaKind::kTf32 ? d != 1 : d > 1) {
      say("D type " + std::to_string(d) + (d_type(d).empty() ? "" : " (" + std::string(d_type(d)) + ")") + " is none" +
          of_ + "; legal is " +
          (integer                        ? "2 (s32)"
           : form_.kind == MmaKind::kTf32 ? "1 (f32)"
                                          : "0 (f16) or 1 (f32)"));
    }
    if (form_.kind == MmaKind::kF16 && d == 0 && (get("A type") == 1 || get("B type") == 1)) {
      say("D is f16, but A or B is bf16: with a bf16 operand D is f32");
    }
    if (get("saturate") && form_.kind != MmaKind::kI8) say("bit 3 (saturate) is for .kind::i8 only");
    if (form_.sparse && get("sparsity selector") && (form_.kind == MmaKind::kI8 || form_.kind == MmaKind::kF8f6f4)) {
      say("the sparsity selector" + of_ + " must be 0");
    }
    if (form_.kind == MmaKind::kI8 && (get("negate A") || get("negate B"))) {
      say(".kind::i8 cannot negate A or B (bits 13 and 14)");
    }
  }

  void shape() {
    const std::string is_not_legal = " is not legal for " + instruction_ + (form_.sparse ? ", sparse" : "");
    const Shape shape = shape_of(idesc_, form_.kind);
    if (!legal_m(shape.m, form_)) {
      say("M = " + std::to_string(shape.m) + is_not_legal + "; legal is " + legal_m_text(form_));
    } else if (form_.ashift && shape.m != 128 && shape.m != 256) {
      say("M = " + std::to_string(shape.m) + " is not legal with `.ashift`; legal is 128 or 256");
    }
    // The ISA's text does not say which N .kind::ti16 has. What a pair may have one CTA may have too: it is taken for
    // one while that is unknown.
    if (form_.kind == MmaKind::kTi16) return;
    const bool bytes = form_.kind == MmaKind::kI8 || (has_f8_types(form_.kind) && get("B type") <= 1);
    const bool transposed_bytes = bytes && get("transpose B");
    if (legal_n(shape.n, form_, transposed_bytes)) return;
    say("N = " + std::to_string(shape.n) + is_not_legal +
        (transposed_bytes && !form_.weight_stationary ? ", B of bytes transposed" : "") + "; legal is " +
        legal_n_text(form_, transposed_bytes));
  }

  void scale_factors() {
    const bool ue8m0 = get("scale type") == 1;
    if (form_.kind != MmaKind::kMxf4nvf4 && !ue8m0) {
      say("the scale type" + of_ + " is 1 (ue8m0)");
    } else if (form_.kind == MmaKind::kMxf4nvf4 && !ue8m0 && form_.scale_factors == 2 && !is_107(target_)) {
      say("scales of type ue4m3 need .block16 (.scale_vec::4X); with .block32 (.scale_vec::2X) they are ue8m0");
    }
    const bool wide = is_four_bit(form_.kind) && get("K selector");
    if (wide) {
      if (target_ != "sm_103a" && !is_107(target_)) say("K = 96 (bit 31) exists on sm_103a and sm_107a only");
      if (form_.sparse) say("K = 96 (bit 31) is for dense matrices");
    }
    // How many sub-columns a scale vector takes decides at which it may begin.
    const unsigned factors = wide ? form_.scale_factors / 2u : form_.scale_factors;
    for (sv name : {sv("scale factor A id"), sv("scale factor B id")}) {
      const uint64_t id = get(name);
      if ((factors == 2 && id % 2 != 0) || (factors == 4 && id != 0)) {
        say("the " + std::string(name) + " is " + std::to_string(id) + "; with this scale vector size it is " +
            (factors == 2 ? "0 or 2" : "0"));
      }
    }
  }

  uint32_t idesc_;
  const Form& form_;
  sv target_;
  std::span<const FieldRow> rows_;
  std::string kind_, instruction_, of_;
  std::vector<std::string> out_;
};

}  // namespace

std::vector<std::string> judge_idesc(uint32_t idesc, const Form& form, std::string_view target) {
  if (fields_of(form.kind).empty()) return {};
  return IdescJudge(idesc, form, target).run();
}

std::vector<std::string> judge_smem_descriptor(uint64_t descriptor, uint64_t known_mask, std::string_view target) {
  std::vector<std::string> out;
  const auto known = [&](unsigned lo, unsigned hi) {
    return extract(known_mask, lo, hi) == extract(~uint64_t{0}, lo, hi);
  };
  // Also with some of its bits unknown a field can be seen not to be what it must.
  const auto contradicts = [&](unsigned lo, unsigned hi, uint64_t wanted) {
    return ((extract(descriptor, lo, hi) ^ wanted) & extract(known_mask, lo, hi)) != 0;
  };
  if (contradicts(46, 48, 1)) {
    std::string is;
    for (unsigned bit = 48; bit >= 46 && known(46, 48); --bit) is += extract(descriptor, bit, bit) ? '1' : '0';
    out.push_back("bits 46 to 48 must be 0b001" + (is.empty() ? is : "; they are 0b" + is));
  }
  if (contradicts(54, 60, 0)) out.push_back("bits 54 to 60 must be 0");
  if (!is_107(target) && contradicts(53, 53, 0)) out.push_back("bit 53 must be 0");
  const uint64_t swizzle = extract(descriptor, 61, 63);
  const bool swizzle_known = known(61, 63);
  if (swizzle_known && (swizzle == 3 || swizzle == 5 || swizzle == 7)) {
    out.push_back("swizzle mode " + std::to_string(swizzle) +
                  " (bits 61 to 63) is none; legal are 0 (none), 1 (128 bytes with 32-byte atoms), 2 (128 bytes), "
                  "4 (64 bytes) and 6 (32 bytes)");
  }
  if (known(52, 52) && extract(descriptor, 52, 52) == 1) {
    if (target != "sm_103a") {
      out.push_back("bit 52 (leading dimension as an absolute address) exists on sm_103a only");
    } else {
      if (swizzle_known && swizzle != 2) {
        out.push_back("an absolute leading dimension (bit 52) needs the 128-byte swizzle (2); this is " +
                      std::to_string(swizzle));
      }
      if (contradicts(49, 51, 0)) out.push_back("with an absolute leading dimension (bit 52) the base offset is 0");
    }
  }
  return out;
}

std::vector<std::string> judge_operand_layout(uint32_t idesc, const Form& form, bool is_b, uint64_t descriptor,
                                              uint64_t known_mask) {
  std::vector<std::string> out;
  const sv transpose = is_b ? "transpose B" : "transpose A";
  if (is_four_bit(form.kind) || field(idesc, fields_of(form.kind), transpose) == 0) return out;
  const std::string matrix = is_b ? "B" : "A";
  const auto known = [&](unsigned lo, unsigned hi) {
    return extract(known_mask, lo, hi) == extract(~uint64_t{0}, lo, hi);
  };
  const uint64_t swizzle = extract(descriptor, 61, 63);
  if (known(61, 63) && form.kind == MmaKind::kTf32 && swizzle != 1) {
    out.push_back("the instruction descriptor transposes " + matrix +
                  ", which .kind::tf32 does only with swizzle mode 1 "
                  "(128 bytes with 32-byte atoms); this is " +
                  std::to_string(swizzle));
  } else if (known(61, 63) && form.kind != MmaKind::kTf32 && swizzle == 1) {
    out.push_back("the instruction descriptor transposes " + matrix +
                  ", which with swizzle mode 1 (128 bytes with 32-byte "
                  "atoms) only .kind::tf32 does");
  }
  if (known(52, 52) && extract(descriptor, 52, 52) == 1) {
    out.push_back(
        "an absolute leading dimension (bit 52) is for K-major matrices, but the instruction descriptor transposes " +
        matrix);
  }
  return out;
}

std::string kind_text(MmaKind kind) {
  for (const Word& word : words()) {
    if (kind != MmaKind::kNone && word.cls == Class::kKind && word.code == static_cast<uint16_t>(kind)) {
      return "." + std::string(word.text);
    }
  }
  return {};
}

MmaKind kind_from(std::string_view text) {
  if (text.starts_with(".")) text.remove_prefix(1);
  if (!text.starts_with("kind::")) return kind_from("kind::" + std::string(text));
  const Word* word = find_word(text);
  return word && word->cls == Class::kKind ? static_cast<MmaKind>(word->code) : MmaKind::kNone;
}

std::string kinds_text() {
  std::string out;
  for (const Word& word : words()) {
    if (word.cls != Class::kKind) continue;
    (out += out.empty() ? "" : ", ") += word.text.substr(word.text.rfind(':') + 1);
  }
  return out;
}

MmaShape mma_shape(uint32_t idesc, const Form& form) {
  MmaShape out;
  if (form.kind == MmaKind::kNone || form.cta_group == 0) return out;
  const Shape shape = shape_of(idesc, form.kind);
  if (shape.n == 0 || shape.n > 256 || !legal_m(shape.m, form)) return out;
  out.m = shape.m;
  out.n = shape.n;

  switch (shape.m) {
    case 256:
      out.layout = 'A';
      break;
    case 128:
      out.layout = form.cta_group == 1 ? 'D' : form.sparse ? 'C' : 'B';
      break;
    case 64:
      out.layout = form.weight_stationary ? 'E' : 'F';
      break;
    case 32:
      out.layout = 'G';
      break;
    default:
      break;
  }
  switch (out.layout) {
    case 'B':
    case 'E':
      out.d_columns = shape.n / 2;
      break;
    case 'G':
      out.d_columns = shape.n / 4;
      break;
    default:
      out.d_columns = shape.n;
      break;
  }
  out.half_lanes = out.layout == 'C' || out.layout == 'F';

  const auto rows = fields_of(form.kind);
  const bool wide = field(idesc, rows, "K selector") != 0;
  unsigned dense = 0, element_bits = 0;
  switch (form.kind) {
    case MmaKind::kF16:
      dense = 16, element_bits = 16;
      break;
    case MmaKind::kTf32:
      dense = 8, element_bits = 32;
      break;
    case MmaKind::kI8:
      dense = 32, element_bits = 8;
      break;
    case MmaKind::kF8f6f4:
    case MmaKind::kMxf8f6f4:
      dense = wide ? 64 : 32, element_bits = 8;
      break;
    case MmaKind::kMxf4:
    case MmaKind::kMxf4nvf4:
      if (field(idesc, rows, "K selector, upper bit")) return out;  // sm_107: K is 128 or 192
      dense = wide ? 96 : 64, element_bits = 4;
      break;
    case MmaKind::kTi16:
    case MmaKind::kNone:
      return out;  // which of its two K it has is not in the text
  }
  // A sparse A keeps one element of two, so that it takes the same columns at twice the K.
  out.k = form.sparse ? 2 * dense : dense;
  out.a_columns = dense * element_bits / 32;
  return out;
}

MatrixRows matrix_rows(uint64_t descriptor, std::optional<uint32_t> idesc, const Form& form, bool is_b) {
  struct Mode {
    uint32_t number, pitch, swizzle;
  };
  constexpr Mode kModes[] = {{0, 16, 0}, {2, 128, 7}, {4, 64, 3}, {6, 32, 1}};
  const auto mode = std::find_if(std::begin(kModes), std::end(kModes),
                                 [&](const Mode& m) { return m.number == extract(descriptor, 61, 63); });
  MatrixRows out;
  out.start = matrix_start(descriptor);
  if (mode == std::end(kModes)) return out;
  out.pitch = mode->pitch;
  out.swizzle = mode->swizzle;
  out.group = static_cast<uint32_t>(extract(descriptor, 32, 45) << 4);
  if (!idesc) return out;
  const unsigned transposed = is_b ? 16 : 15;
  const bool k_major = is_four_bit(form.kind) || extract(*idesc, transposed, transposed) == 0;
  const bool based = extract(descriptor, 49, 51) != 0;
  if (!k_major || based) return out;
  const MmaShape shape = mma_shape(*idesc, form);
  // The CTAs of a pair have half of the rows each.
  const uint32_t rows = (is_b ? shape.n : shape.m) / (form.cta_group == 2 ? 2 : 1);
  if (rows <= 8 || out.group >= 8 * out.pitch) out.count = rows;
  return out;
}

}  // namespace tmemlint::ptx
