#include "analyzer/cuda/clang/libdevice.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/ADT/Twine.h>
#include <llvm/IR/BasicBlock.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>

namespace tmemlint::cuda {
namespace {

using llvm::Function;
using llvm::Type;
using llvm::Value;
using Builder = llvm::IRBuilder<>;
using Values = llvm::ArrayRef<Value*>;
using Compute = Value* (*)(Builder&, Values);
namespace Intrinsic = llvm::Intrinsic;

unsigned width_of(Value* value) {
  return value->getType()->getScalarSizeInBits();
}

template <Intrinsic::ID Id>
Value* unary(Builder& b, Values v) {
  return b.CreateUnaryIntrinsic(Id, v[0]);
}

template <Intrinsic::ID Id>
Value* binary(Builder& b, Values v) {
  return b.CreateBinaryIntrinsic(Id, v[0], v[1]);
}

// Of the smallest number its own bits, as `abs` in PTX.
Value* absolute(Builder& b, Values v) {
  return b.CreateBinaryIntrinsic(Intrinsic::abs, v[0], b.getFalse());
}

Value* population(Builder& b, Values v) {
  return b.CreateTrunc(b.CreateUnaryIntrinsic(Intrinsic::ctpop, v[0]), b.getInt32Ty());
}

Value* leading_zeros(Builder& b, Values v) {
  return b.CreateTrunc(b.CreateBinaryIntrinsic(Intrinsic::ctlz, v[0], b.getFalse()), b.getInt32Ty());
}

// The first bit that is set, counted from 1; 0 when there is none.
Value* find_first_set(Builder& b, Values v) {
  Value* zeros = b.CreateTrunc(b.CreateBinaryIntrinsic(Intrinsic::cttz, v[0], b.getFalse()), b.getInt32Ty());
  return b.CreateSelect(b.CreateIsNull(v[0]), b.getInt32(0), b.CreateAdd(zeros, b.getInt32(1)));
}

template <bool Signed>
Value* high_product(Builder& b, Values v) {
  Type* wide = b.getIntNTy(2 * width_of(v[0]));
  auto widen = [&](Value* value) { return Signed ? b.CreateSExt(value, wide) : b.CreateZExt(value, wide); };
  return b.CreateTrunc(b.CreateLShr(b.CreateMul(widen(v[0]), widen(v[1])), width_of(v[0])), v[0]->getType());
}

template <bool Signed>
Value* product_of_24_bits(Builder& b, Values v) {
  auto low = [&](Value* value) {
    Value* high = b.CreateShl(value, 8);
    return Signed ? b.CreateAShr(high, 8) : b.CreateLShr(high, 8);
  };
  return b.CreateMul(low(v[0]), low(v[1]));
}

template <bool Signed>
Value* sum_of_difference(Builder& b, Values v) {
  Value* larger = b.CreateBinaryIntrinsic(Signed ? Intrinsic::smax : Intrinsic::umax, v[0], v[1]);
  Value* smaller = b.CreateBinaryIntrinsic(Signed ? Intrinsic::smin : Intrinsic::umin, v[0], v[1]);
  return b.CreateAdd(b.CreateSub(larger, smaller), v[2]);
}

template <bool Signed>
Value* half_difference(Builder& b, Values v) {
  Value* differing = b.CreateXor(v[0], v[1]);
  return Signed ? b.CreateAShr(differing, 1) : b.CreateLShr(differing, 1);
}

// The mean of two numbers, without the overflow of their sum.
template <bool Signed>
Value* mean_rounded_down(Builder& b, Values v) {
  return b.CreateAdd(b.CreateAnd(v[0], v[1]), half_difference<Signed>(b, v));
}

template <bool Signed>
Value* mean_rounded_up(Builder& b, Values v) {
  return b.CreateSub(b.CreateOr(v[0], v[1]), half_difference<Signed>(b, v));
}

// Only three bits of each selector count; the fourth means something else to `prmt`.
Value* byte_permutation(Builder& b, Values v) {
  return b.CreateIntrinsic(Intrinsic::nvvm_prmt, {v[0], v[1], b.CreateAnd(v[2], 0x7777)});
}

Value* integer_bits(Builder& b, Value* real) {
  return b.CreateBitCast(real, b.getIntNTy(width_of(real)));
}

Value* as_integer(Builder& b, Values v) {
  return integer_bits(b, v[0]);
}

Value* as_float(Builder& b, Values v) {
  return b.CreateBitCast(v[0], b.getFloatTy());
}

Value* as_double(Builder& b, Values v) {
  return b.CreateBitCast(v[0], b.getDoubleTy());
}

Value* low_word(Builder& b, Values v) {
  return b.CreateTrunc(integer_bits(b, v[0]), b.getInt32Ty());
}

Value* high_word(Builder& b, Values v) {
  return b.CreateTrunc(b.CreateLShr(integer_bits(b, v[0]), 32), b.getInt32Ty());
}

Value* double_of_words(Builder& b, Values v) {
  Value* high = b.CreateShl(b.CreateZExt(v[0], b.getInt64Ty()), 32);
  return b.CreateBitCast(b.CreateOr(high, b.CreateZExt(v[1], b.getInt64Ty())), b.getDoubleTy());
}

Value* of_half(Builder& b, Values v) {
  return b.CreateFPExt(b.CreateBitCast(v[0], b.getHalfTy()), b.getFloatTy());
}

Value* to_half(Builder& b, Values v) {
  return integer_bits(b, b.CreateFPTrunc(v[0], b.getHalfTy()));
}

Value* sign_bit(Builder& b, Values v) {
  return b.CreateZExtOrTrunc(b.CreateLShr(integer_bits(b, v[0]), width_of(v[0]) - 1), b.getInt32Ty());
}

Value* is_nan(Builder& b, Values v) {
  return b.CreateZExt(b.CreateFCmpUNO(v[0], v[0]), b.getInt32Ty());
}

template <llvm::CmpInst::Predicate ToInfinity>
Value* magnitude_is(Builder& b, Values v) {
  Value* magnitude = b.CreateUnaryIntrinsic(Intrinsic::fabs, v[0]);
  return b.CreateZExt(b.CreateFCmp(ToInfinity, magnitude, llvm::ConstantFP::getInfinity(v[0]->getType())),
                      b.getInt32Ty());
}

Value* fused_multiply_add(Builder& b, Values v) {
  return b.CreateIntrinsic(Intrinsic::fma, {v[0]->getType()}, {v[0], v[1], v[2]});
}

constexpr auto kIsInfinite = llvm::CmpInst::FCMP_OEQ;
constexpr auto kIsFinite = llvm::CmpInst::FCMP_OLT;

// `signature`: the result and the arguments; h, i, l: integers of 16, 32 and 64 bits, f, d: float and double, p: a
// pointer, v: nothing. What is listed for doubles is there for floats, too, with an 'f' at the end of its name.
struct Exact {
  llvm::StringLiteral name;  // without its "__nv_"
  llvm::StringLiteral signature;
  Compute compute;
};

constexpr Exact kExact[] = {
    {"abs", "ii", absolute},
    {"llabs", "ll", absolute},
    {"min", "iii", binary<Intrinsic::smin>},
    {"umin", "iii", binary<Intrinsic::umin>},
    {"llmin", "lll", binary<Intrinsic::smin>},
    {"ullmin", "lll", binary<Intrinsic::umin>},
    {"max", "iii", binary<Intrinsic::smax>},
    {"umax", "iii", binary<Intrinsic::umax>},
    {"llmax", "lll", binary<Intrinsic::smax>},
    {"ullmax", "lll", binary<Intrinsic::umax>},
    {"popc", "ii", population},
    {"popcll", "il", population},
    {"clz", "ii", leading_zeros},
    {"clzll", "il", leading_zeros},
    {"ffs", "ii", find_first_set},
    {"ffsll", "il", find_first_set},
    {"brev", "ii", unary<Intrinsic::bitreverse>},
    {"brevll", "ll", unary<Intrinsic::bitreverse>},
    {"mulhi", "iii", high_product<true>},
    {"umulhi", "iii", high_product<false>},
    {"mul64hi", "lll", high_product<true>},
    {"umul64hi", "lll", high_product<false>},
    {"mul24", "iii", product_of_24_bits<true>},
    {"umul24", "iii", product_of_24_bits<false>},
    {"sad", "iiii", sum_of_difference<true>},
    {"usad", "iiii", sum_of_difference<false>},
    {"hadd", "iii", mean_rounded_down<true>},
    {"uhadd", "iii", mean_rounded_down<false>},
    {"rhadd", "iii", mean_rounded_up<true>},
    {"urhadd", "iii", mean_rounded_up<false>},
    {"byte_perm", "iiii", byte_permutation},
    {"float_as_int", "if", as_integer},
    {"float_as_uint", "if", as_integer},
    {"int_as_float", "fi", as_float},
    {"uint_as_float", "fi", as_float},
    {"double_as_longlong", "ld", as_integer},
    {"longlong_as_double", "dl", as_double},
    {"double2loint", "id", low_word},
    {"double2hiint", "id", high_word},
    {"hiloint2double", "dii", double_of_words},
    {"half2float", "fh", of_half},
    {"float2half_rn", "hf", to_half},
    {"signbitf", "if", sign_bit},
    {"signbitd", "id", sign_bit},
    {"isnanf", "if", is_nan},
    {"isnand", "id", is_nan},
    {"isinff", "if", magnitude_is<kIsInfinite>},
    {"isinfd", "id", magnitude_is<kIsInfinite>},
    {"finitef", "if", magnitude_is<kIsFinite>},
    {"isfinited", "id", magnitude_is<kIsFinite>},
    {"fabs", "dd", unary<Intrinsic::fabs>},
    {"floor", "dd", unary<Intrinsic::floor>},
    {"ceil", "dd", unary<Intrinsic::ceil>},
    {"trunc", "dd", unary<Intrinsic::trunc>},
    {"rint", "dd", unary<Intrinsic::rint>},
    {"nearbyint", "dd", unary<Intrinsic::nearbyint>},
    {"round", "dd", unary<Intrinsic::round>},
    {"fmin", "ddd", binary<Intrinsic::minnum>},
    {"fmax", "ddd", binary<Intrinsic::maxnum>},
    {"copysign", "ddd", binary<Intrinsic::copysign>},
    {"fma", "dddd", fused_multiply_add},
    {"sqrt", "dd", unary<Intrinsic::sqrt>},
};

char letter_of(const Type& type) {
  if (type.isIntegerTy(16)) return 'h';
  if (type.isIntegerTy(32)) return 'i';
  if (type.isIntegerTy(64)) return 'l';
  if (type.isFloatTy()) return 'f';
  if (type.isDoubleTy()) return 'd';
  if (type.isPointerTy()) return 'p';
  return type.isVoidTy() ? 'v' : '?';
}

std::string signature_of(const Function& function) {
  std::string out(1, letter_of(*function.getReturnType()));
  for (const llvm::Argument& argument : function.args()) out += letter_of(*argument.getType());
  return out;
}

// The entry of a table for a function. A source can declare what it likes, so that the name alone says nothing.
template <typename Table>
auto find(const Table& table, llvm::StringRef name, llvm::StringRef signature) -> decltype(std::begin(table)) {
  return llvm::find_if(table, [&](const auto& entry) {
    if (name == entry.name && signature == entry.signature) return true;
    std::string of_floats = entry.signature.str();
    std::replace(of_floats.begin(), of_floats.end(), 'd', 'f');
    return of_floats != entry.signature && name.drop_back() == entry.name && name.back() == 'f' &&
           signature == of_floats;
  });
}

// Operations with a rounding mode have an intrinsic each: float2int_rd is llvm.nvvm.f2i.rm, dadd_rn is
// llvm.nvvm.add.rn.d. Nothing where there is none.
Intrinsic::ID rounding_operation(llvm::StringRef name) {
  const auto [operation, mode] = name.rsplit('_');
  const llvm::StringRef rounding = llvm::StringSwitch<llvm::StringRef>(mode)
                                       .Case("rn", "rn")
                                       .Case("rz", "rz")
                                       .Case("rd", "rm")
                                       .Case("ru", "rp")
                                       .Default("");
  if (rounding.empty()) return Intrinsic::not_intrinsic;
  auto type = [](llvm::StringRef text) {
    return llvm::StringSwitch<llvm::StringRef>(text)
        .Case("int", "i")
        .Case("uint", "ui")
        .Cases({"ll", "ull"}, text)
        .Case("float", "f")
        .Case("double", "d")
        .Default("");
  };
  if (const auto [from, to] = operation.split('2'); !type(from).empty() && !type(to).empty())
    return Intrinsic::lookupIntrinsicID(("llvm.nvvm." + type(from) + "2" + type(to) + "." + rounding).str());
  llvm::StringRef stem, real;
  if (operation == "fma") {
    stem = "fma", real = "d";
  } else if (operation == "fmaf" || operation == "fmaf_ieee") {
    stem = "fma", real = "f";
  } else {
    stem = operation.drop_front(), real = operation.take_front();
  }
  return Intrinsic::lookupIntrinsicID(("llvm.nvvm." + stem + "." + rounding + "." + real).str());
}

Value* computed(llvm::StringRef name, const Function& function, Builder& b, Values arguments) {
  if (const auto* exact = find(kExact, name, signature_of(function)); exact != std::end(kExact))
    return exact->compute(b, arguments);
  const Intrinsic::ID id = rounding_operation(name);
  if (id == Intrinsic::not_intrinsic || Intrinsic::isOverloaded(id) ||
      Intrinsic::getType(b.getContext(), id) != function.getFunctionType())
    return nullptr;
  return b.CreateIntrinsic(id, arguments);
}

// What the pointers among a function's arguments are for: results of the first argument's type, or integers; as many
// numbers as the first argument says; the payload of a NaN.
enum class Pointers : uint8_t { kNone, kReals, kIntegers, kArray, kIgnored };

struct WithPointers {
  llvm::StringLiteral name;
  llvm::StringLiteral signature;  // as in Exact
  Pointers pointers;
};

constexpr WithPointers kWithPointers[] = {
    {"sincos", "vdpp", Pointers::kReals},  {"sincospi", "vdpp", Pointers::kReals},
    {"modf", "ddp", Pointers::kReals},     {"fast_sincosf", "vfpp", Pointers::kReals},
    {"frexp", "ddp", Pointers::kIntegers}, {"remquo", "dddp", Pointers::kIntegers},
    {"norm", "dip", Pointers::kArray},     {"rnorm", "dip", Pointers::kArray},
    {"nan", "dp", Pointers::kIgnored},
};

// Unknown functions, told apart by a number. The PTX for one is a chain of operations on doubles: the analysis does not
// compute with these, but takes two for equal when all that goes in is.
class Unknown {
public:
  Unknown(Builder& builder, Function& function) : b_(builder), function_(function) {}

  void start(uint64_t number) { state_ = b_.getInt64(number); }

  void take(Value* value) {
    if (value->getType()->isFloatingPointTy()) value = integer_bits(b_, value);
    Type* word = b_.getInt64Ty();
    auto* operation =
        llvm::InlineAsm::get(llvm::FunctionType::get(word, {word, word}, false),
                             "fma.rn.f64 $0, $1, $2, $1; // " + function_.getName().str(), "=l,l,l", false);
    llvm::CallInst* call = b_.CreateCall(operation, {state_, b_.CreateZExt(value, word)});
    call->setDoesNotAccessMemory();
    call->setDoesNotThrow();
    state_ = call;
  }

  // All that stands in an array.
  void take(Value* array, Value* size, Type* element) {
    auto block = [&] { return llvm::BasicBlock::Create(b_.getContext(), "", &function_); };
    llvm::BasicBlock *before = b_.GetInsertBlock(), *check = block(), *body = block(), *after = block();
    b_.CreateBr(check);
    b_.SetInsertPoint(check);
    llvm::PHINode* index = b_.CreatePHI(size->getType(), 2);
    llvm::PHINode* state = b_.CreatePHI(state_->getType(), 2);
    index->addIncoming(llvm::ConstantInt::get(size->getType(), 0), before);
    state->addIncoming(state_, before);
    b_.CreateCondBr(b_.CreateICmpSLT(index, size), body, after);
    b_.SetInsertPoint(body);
    state_ = state;
    take(b_.CreateLoad(element, b_.CreateGEP(element, array, index)));
    index->addIncoming(b_.CreateAdd(index, llvm::ConstantInt::get(size->getType(), 1)), body);
    state->addIncoming(state_, body);
    b_.CreateBr(check);
    b_.SetInsertPoint(after);
    state_ = state;
  }

  Value* result(Type* type) {
    return b_.CreateBitCast(b_.CreateTrunc(state_, b_.getIntNTy(type->getScalarSizeInBits())), type);
  }

private:
  Builder& b_;
  Function& function_;
  Value* state_ = nullptr;
};

// A declaration of `f(a, b, int* c)` computes two numbers from a and b.
void define_as_unknown(Function& function, Pointers pointers, uint64_t& number) {
  Builder b(llvm::BasicBlock::Create(function.getContext(), "", &function));
  Unknown unknown(b, function);
  auto compute = [&](Type* type) {
    unknown.start(++number);
    for (llvm::Argument& argument : function.args()) {
      if (!argument.getType()->isPointerTy()) {
        unknown.take(&argument);
      } else if (pointers == Pointers::kArray) {
        unknown.take(&argument, function.getArg(0), function.getReturnType());
      } else if (pointers == Pointers::kIgnored) {
        unknown.take(b.getInt64(0));  // or it would be a number that is known
      }
    }
    return unknown.result(type);
  };
  for (llvm::Argument& argument : function.args()) {
    if (!argument.getType()->isPointerTy()) continue;
    if (pointers == Pointers::kReals) b.CreateStore(compute(function.getArg(0)->getType()), &argument);
    if (pointers == Pointers::kIntegers) b.CreateStore(compute(b.getInt32Ty()), &argument);
  }
  if (function.getReturnType()->isVoidTy()) {
    b.CreateRetVoid();
  } else {
    b.CreateRet(compute(function.getReturnType()));
  }
}

}  // namespace

void define_libdevice(llvm::Module& module) {
  uint64_t number = 0;
  for (Function& function : module) {
    llvm::StringRef name = function.getName();
    if (!function.isDeclaration() || function.isVarArg() || !name.consume_front("__nv_") || name.empty()) continue;
    llvm::SmallVector<Value*, 4> arguments(llvm::make_pointer_range(function.args()));
    Builder b(module.getContext());
    auto* body = llvm::BasicBlock::Create(module.getContext(), "", &function);
    b.SetInsertPoint(body);
    if (Value* result = computed(name, function, b, arguments)) {
      b.CreateRet(result);
      continue;
    }
    body->eraseFromParent();
    // One that no version of libdevice is known to have may be of a later one, if it is a function of numbers.
    const std::string signature = signature_of(function);
    if (const auto* known = find(kWithPointers, name, signature); known != std::end(kWithPointers)) {
      define_as_unknown(function, known->pointers, number);
    } else if (signature.size() > 1 && llvm::StringRef(signature).find_first_of("pv?") == llvm::StringRef::npos) {
      define_as_unknown(function, Pointers::kNone, number);
    }
  }
}

}  // namespace tmemlint::cuda
