#include "analyzer/ptx/tcgen05.h"

#include "analyzer/ptx/effects.h"
#include "analyzer/ptx/tcgen05_table.h"

namespace tmemlint::ptx {
namespace {

// Columns and lanes of a load or store; ISA 9.7.16.2.3, with packing 9.7.16.8.2.
void set_footprint(Form& form) {
  unsigned columns_per_num = 0;
  switch (form.shape) {
    case LdStShape::kNone:
      return;
    case LdStShape::k32x32b:
    case LdStShape::k16x32bx2:
      columns_per_num = 1;
      break;
    case LdStShape::k16x64b:
      columns_per_num = 2;
      break;
    case LdStShape::k16x128b:
      columns_per_num = 4;
      break;
    case LdStShape::k16x256b:
      columns_per_num = 8;
      break;
  }
  form.lanes = form.shape == LdStShape::k32x32b ? 32 : 16;
  form.registers = static_cast<uint16_t>(data_registers(form.shape, form.num));
  if (form.registers == 0) return;
  form.columns = static_cast<uint16_t>(columns_per_num * form.num * (form.pack ? 2 : 1));
  if (form.compress) form.registers = static_cast<uint16_t>(form.num / 2);
}

enum class Look : uint8_t { kPlain, kBrackets, kBraces };

Look look_of(const Operand& operand) {
  if (operand.kind == Operand::Kind::kAddress) return Look::kBrackets;
  if (operand.kind == Operand::Kind::kGroup && operand.bracketed) return Look::kBrackets;
  if (operand.kind == Operand::Kind::kVector) return Look::kBraces;
  return Look::kPlain;
}

bool looks_like(const Operand& operand, OperandKind kind) {
  const Look look = look_of(operand);
  switch (kind) {
    case OperandKind::kTmemAddress:
    case OperandKind::kSharedAddress:
      return look == Look::kBrackets;
    case OperandKind::kData:
    case OperandKind::kLaneMask:
    case OperandKind::kSparseMetadata:
      return look == Look::kBraces;
    case OperandKind::kMatrixA:
      return look != Look::kBraces;
    case OperandKind::kTmemBase:
    case OperandKind::kColumns:
    case OperandKind::kRegister32:
    case OperandKind::kImmediate:
    case OperandKind::kDescriptor:
    case OperandKind::kIdesc:
    case OperandKind::kPredicate:
    case OperandKind::kScaleInput:
    case OperandKind::kCtaMask:
      return look == Look::kPlain;
  }
  return false;
}

}  // namespace

// Long because it is one plain switch.
Form decode(const Opcode& opcode) {
  Form form;
  const Name name = name_of(opcode);
  form.op = name.op;
  if (form_of(form.op) == nullptr) return form;
  const Effects& effects = effects_of(form.op);
  form.issue = effects.issue;
  form.completion = effects.completion;
  form.weight_stationary = form.op == Tcgen05::kMmaWs;
  for (size_t i = name.modifiers; i < opcode.modifiers.size(); ++i) {
    const Word* word = find_word(opcode.modifiers[i]);
    if (!word) continue;
    switch (word->cls) {
      case Class::kCtaGroup:
        form.cta_group = static_cast<uint8_t>(word->code);
        break;
      case Class::kShape:
        form.shape = static_cast<LdStShape>(word->code);
        break;
      case Class::kNum:
        form.num = word->code;
        break;
      case Class::kPack:
        form.pack = true;
        break;
      case Class::kCpShape:
        form.cp_shape = static_cast<CpShape>(word->code);
        break;
      case Class::kKind:
        form.kind = static_cast<MmaKind>(word->code);
        break;
      case Class::kSparse:
        form.sparse = true;
        break;
      case Class::kBlockScale:
        form.block_scale = true;
        break;
      case Class::kAshift:
        form.ashift = true;
        break;
      case Class::kScaleVector:
        form.scale_factors = static_cast<uint8_t>(word->code);
        break;
      case Class::kWarps:
      case Class::kMulticast:
        form.multicast = true;
        break;
      case Class::kExclusive:
        form.exclusive = true;
        break;
      case Class::kSpCompress:
        form.compress = true;
        break;
      // What says nothing that the Form holds.
      case Class::kSync:
      case Class::kAligned:
      case Class::kSpace:
      case Class::kType:
      case Class::kReduction:
      case Class::kAbs:
      case Class::kNan:
      case Class::kDstFormat:
      case Class::kSrcFormat:
      case Class::kDown:
      case Class::kCollectorA:
      case Class::kCollectorB:
      case Class::kDecompress:
      case Class::kArrive:
      case Class::kSyncRestrict:
      case Class::kSpPattern:
      case Class::kMetadataType:
        break;
    }
  }
  // .block32, which is also the default, is half as many factors for .kind::mxf8f6f4, whose K is half as large.
  if (form.block_scale && form.scale_factors == 0) {
    if (form.kind == MmaKind::kMxf8f6f4) form.scale_factors = 1;
    if (form.kind == MmaKind::kMxf4 || form.kind == MmaKind::kMxf4nvf4) form.scale_factors = 2;
  }
  set_footprint(form);
  return form;
}

SlotMatch match_operands(const Module& module, const Instruction& instruction, const Opcode& opcode,
                         const InstructionForm& form) {
  SlotMatch match;
  for (uint32_t& operand : match.slot_operand) operand = kNone;
  const Operand* operands = module.operands_of(instruction);
  const uint32_t count = instruction.operand_count;
  uint32_t needed = 0;
  uint64_t taken = 0;  // a bit for each slot that this spelling of the opcode has
  for (size_t i = 0; i < form.operands.size(); ++i) {
    const Slot& slot = form.operands[i];
    if (!holds(slot.when, opcode)) continue;
    taken |= uint64_t{1} << i;
    needed += !slot.optional;
  }
  const auto is_taken = [&](uint32_t slot) { return (taken >> slot & 1) != 0; };

  uint32_t next = 0;
  for (uint32_t i = 0; i < form.operands.size() && next < count; ++i) {
    const Slot& slot = form.operands[i];
    const bool fits = looks_like(operands[next], slot.kind);
    if (!is_taken(i)) {
      // An operand that only another spelling of the opcode takes, unless the next slot is one of the same look.
      uint32_t following = i + 1;
      while (following < form.operands.size() && (form.operands[following].optional || !is_taken(following))) {
        ++following;
      }
      const bool is_next =
          following < form.operands.size() && looks_like(operands[next], form.operands[following].kind);
      if (fits && !is_next && count - next > needed && match.extra == kNone) {
        match.extra = next++;
        match.extra_slot = i;
      }
      continue;
    }
    if (slot.optional) {
      if (fits && count - next > needed) match.slot_operand[i] = next++;
      continue;
    }
    if (!fits && count - next < needed) {
      --needed;
      continue;  // this one is missing
    }
    if (!fits && count - next > needed && next + 1 < count && looks_like(operands[next + 1], slot.kind)) {
      if (match.extra == kNone) match.extra = next;
      ++next;
    }
    match.slot_operand[i] = next++;
    --needed;
  }
  if (next < count && match.extra == kNone) match.extra = next;
  return match;
}

OperandRoles roles(const Module& module, const Instruction& instruction, const Form& form) {
  OperandRoles roles;
  const InstructionForm* table = form_of(form.op);
  if (!table) return roles;
  const SlotMatch match = match_operands(module, instruction, module.opcode(instruction), *table);
  for (size_t i = 0; i < table->operands.size(); ++i) {
    const uint32_t operand = match.slot_operand[i];
    if (operand == kNone) continue;
    switch (table->operands[i].role) {
      case Role::kAddress:
        roles.address = operand;
        break;
      case Role::kColumns:
        roles.columns = operand;
        break;
      case Role::kVector:
        roles.vector = operand;
        break;
      case Role::kReduction:
        roles.reduction = operand;
        break;
      case Role::kHalfOffset:
        roles.half_offset = operand;
        break;
      case Role::kA:
        roles.a = operand;
        break;
      case Role::kB:
        roles.b = operand;
        break;
      case Role::kIdesc:
        roles.idesc = operand;
        break;
      case Role::kMetadata:
        roles.metadata = operand;
        break;
      case Role::kScaleA:
        roles.scale_a = operand;
        break;
      case Role::kScaleB:
        roles.scale_b = operand;
        break;
      case Role::kEnableInputD:
        roles.enable_input_d = operand;
        break;
      case Role::kDisableLanes:
        roles.disable_lanes = operand;
        break;
      case Role::kScaleD:
        roles.scale_d = operand;
        break;
      case Role::kDescriptor:
        roles.descriptor = operand;
        break;
      case Role::kMask:
        roles.mask = operand;
        break;
      case Role::kZeroColumnMask:
        roles.zero_column_mask = operand;
        break;
      case Role::kCompressedMetadata:
        roles.compressed_metadata = operand;
        break;
    }
  }
  return roles;
}

uint32_t column_capacity(std::string_view target, bool exclusive) {
  return exclusive && target.starts_with("sm_107") ? 576 : 512;
}

bool legal_columns(std::string_view target, bool exclusive, int64_t columns) {
  if (columns < 32 || columns > column_capacity(target, exclusive)) return false;
  return exclusive ? columns % 32 == 0 : (columns & (columns - 1)) == 0;
}

}  // namespace tmemlint::ptx
