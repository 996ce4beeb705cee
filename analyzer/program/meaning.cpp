#include "analyzer/program/meaning.h"

#include "analyzer/assumptions/assumptions.h"

#include <array>
#include <string_view>

namespace tmemlint::program {

using value::Op;

using ptx::Opcode;
using ptx::Type;

namespace {

bool is_signed(Type t) {
  return t == Type::kS8 || t == Type::kS16 || t == Type::kS32 || t == Type::kS64;
}

bool is_integer(Type t) {
  switch (t) {
    case Type::kB8:
    case Type::kU8:
    case Type::kS8:
    case Type::kB16:
    case Type::kU16:
    case Type::kS16:
    case Type::kB32:
    case Type::kU32:
    case Type::kS32:
    case Type::kB64:
    case Type::kU64:
    case Type::kS64:
    case Type::kPred:
      return true;
    case Type::kNone:
    case Type::kF16:
    case Type::kF16x2:
    case Type::kBf16:
    case Type::kBf16x2:
    case Type::kF32:
    case Type::kTf32:
    case Type::kF64:
    case Type::kB128:
    case Type::kOther:
      return false;
  }
  return false;
}

// The type suffixes of a spelling, in order.
struct Types {
  std::array<Type, assumptions::kTypesOfAnOpcode> list{};
  unsigned count = 0;
  Type first() const { return count > 0 ? list[0] : Type::kNone; }
  Type last() const { return count > 0 ? list[count - 1] : Type::kNone; }
};

Types types_of(const Opcode& opcode) {
  Types out;
  for (std::string_view m : opcode.modifiers) {
    const Type t = ptx::type_from_suffix(m);
    if (t != Type::kNone && out.count < out.list.size()) out.list[out.count++] = t;
  }
  return out;
}

uint8_t width_of(Type t) {
  const unsigned b = ptx::bits(t);
  return static_cast<uint8_t>(b == 0 ? 32 : (b > 64 ? 64 : b));
}

MemorySpace space_of(const Opcode& opcode) {
  for (std::string_view m : opcode.modifiers) {
    if (m == "shared" || m == "shared::cta" || m == "shared::cluster") return MemorySpace::kShared;
    if (m == "local") return MemorySpace::kLocal;
    if (m == "param" || m == "param::entry" || m == "param::func") return MemorySpace::kParam;
    if (m == "const") return MemorySpace::kConst;
    if (m == "global") return MemorySpace::kGlobal;
  }
  return MemorySpace::kGeneric;
}

void pure(Meaning& m, Op op, Type t) {
  m.action = Action::kPure;
  m.operation = {op, width_of(t), is_signed(t), 0};
}

// Comparisons as equality and less-than; false when the operator is not one of integers.
bool compare(Meaning& m, const Opcode& opcode, Type t) {
  m.operation = {Op::kEq, width_of(t), is_signed(t), 0};
  for (std::string_view s : opcode.modifiers) {
    if (s == "eq") return true;
    if (s == "ne") {
      m.invert = true;
      return true;
    }
    const bool unsigned_name = s == "lo" || s == "ls" || s == "hi" || s == "hs";
    if (unsigned_name) m.operation.is_signed = false;
    if (s == "lt" || s == "lo") {
      m.operation.op = Op::kLt;
      return true;
    }
    if (s == "ge" || s == "hs") {
      m.operation.op = Op::kLt;
      m.invert = true;
      return true;
    }
    if (s == "gt" || s == "hi") {
      m.operation.op = Op::kLt;
      m.swap = true;
      return true;
    }
    if (s == "le" || s == "ls") {
      m.operation.op = Op::kLt;
      m.swap = m.invert = true;
      return true;
    }
  }
  return false;
}

struct Simple {
  std::string_view root;
  Op op;
};
constexpr std::array<Simple, 24> kSimple = {
    {{"and", Op::kAnd}, {"or", Op::kOr},       {"xor", Op::kXor},   {"not", Op::kNot},     {"shl", Op::kShl},
     {"shr", Op::kShr}, {"neg", Op::kNeg},     {"abs", Op::kAbs},   {"min", Op::kMin},     {"max", Op::kMax},
     {"div", Op::kDiv}, {"rem", Op::kRem},     {"add", Op::kAdd},   {"sub", Op::kSub},     {"bfe", Op::kBfe},
     {"bfi", Op::kBfi}, {"clz", Op::kClz},     {"brev", Op::kBrev}, {"bfind", Op::kBfind}, {"popc", Op::kPopc},
     {"fns", Op::kFns}, {"selp", Op::kSelect}, {"lop3", Op::kLop3}, {"prmt", Op::kPrmt}}};

bool decode_arithmetic(Meaning& m, const Opcode& opcode, const Types& types) {
  const Type t = types.last();
  for (const Simple& s : kSimple) {
    if (s.root != opcode.root) continue;
    if (opcode.root == "selp") {
      // A selection moves bits, whatever their type.
      m.action = Action::kPure;
      m.operation = {Op::kSelect, width_of(t), false, 0};
      return true;
    }
    if (!is_integer(t) || opcode.has("cc") || opcode.has("sat")) return false;
    if (opcode.root == "prmt" && opcode.modifiers.size() > 1) return false;  // .f4e and the like
    if (opcode.root == "lop3" && opcode.has("BoolOp")) return false;
    pure(m, s.op, t);
    if (opcode.root == "bfind") m.operation.aux = opcode.has("shiftamt") ? 1 : 0;
    if (opcode.root == "clz" || opcode.root == "popc" || opcode.root == "fns" || opcode.root == "brev")
      m.operation.is_signed = false;
    m.is_move_like = s.op == Op::kShl || s.op == Op::kOr;
    return true;
  }
  if (opcode.root == "shf") {
    m.action = Action::kPure;
    m.operation = {Op::kFunnel, 32, false, (opcode.has("r") ? 1u : 0u) + (opcode.has("clamp") ? 2u : 0u)};
    return true;
  }
  if ((opcode.root == "mul" || opcode.root == "mad") && is_integer(t) && !opcode.has("cc") && !opcode.has("sat")) {
    m.action = Action::kMulAdd;
    m.adds = opcode.root == "mad";
    m.operation = {Op::kMul, width_of(t), is_signed(t), 0};
    m.half =
        opcode.has("wide") ? Meaning::Half::kWide : (opcode.has("hi") ? Meaning::Half::kHigh : Meaning::Half::kLow);
    return true;
  }
  return false;
}

bool decode_mbarrier(Meaning& m, const Opcode& opcode) {
  if (opcode.root != "mbarrier" || opcode.modifiers.empty()) return false;
  const std::string_view what = opcode.modifiers[0];
  m.action = Action::kMbarrier;
  m.remote = opcode.has("shared::cluster");
  m.relaxed = opcode.has("relaxed");
  m.cluster_scope = opcode.has("cluster");
  m.destinations = 0;
  if (what == "init") {
    m.mbarrier = MbarrierAction::kInit;
  } else if (what == "inval") {
    m.mbarrier = MbarrierAction::kInvalidate;
  } else if (what == "expect_tx") {
    m.mbarrier = MbarrierAction::kExpectTx;
  } else if (what == "complete_tx") {
    m.mbarrier = MbarrierAction::kCompleteTx;
  } else if (what == "arrive") {
    m.destinations = 1,
    m.mbarrier = opcode.has("expect_tx") ? MbarrierAction::kArriveExpectTx : MbarrierAction::kArrive;
  } else if (what == "arrive_drop") {
    m.destinations = 1, m.mbarrier = MbarrierAction::kArriveDrop;
  } else if (what == "test_wait") {
    m.mbarrier = MbarrierAction::kTestWait, m.destinations = 1;
  } else if (what == "try_wait") {
    m.mbarrier = MbarrierAction::kTryWait, m.destinations = 1;
  } else {
    m.mbarrier = MbarrierAction::kPendingCount, m.destinations = 1;
  }
  return true;
}

bool decode_barrier(Meaning& m, const Opcode& opcode) {
  if (opcode.root != "bar" && opcode.root != "barrier") return false;
  m.destinations = 0;
  m.relaxed = opcode.has("relaxed");
  if (opcode.has("cluster")) {
    m.action = Action::kClusterBarrier;
    m.cluster_barrier = opcode.has("wait") ? ClusterBarrier::kWait : ClusterBarrier::kArrive;
    return true;
  }
  m.action = Action::kBarrier;
  if (opcode.has("warp")) {
    m.barrier = BarrierAction::kWarp;
  } else if (opcode.has("arrive")) {
    m.barrier = BarrierAction::kArrive;
  } else if (opcode.has("red")) {
    m.barrier = BarrierAction::kReduce, m.destinations = 1;
  } else {
    m.barrier = BarrierAction::kSync;
  }
  return true;
}

Copy::Group group_of(const Opcode& opcode) {
  if (opcode.has("commit_group")) return Copy::Group::kCommit;
  if (opcode.has("wait_group")) return Copy::Group::kWait;
  if (opcode.has("wait_all")) return Copy::Group::kWaitAll;
  return Copy::Group::kMember;
}

Copy copy_of(const Opcode& opcode, const Types& types) {
  auto any = [&](std::string_view part) { return opcode.text.find(part) != std::string_view::npos; };
  Copy copy;
  copy.on_mbarrier = any("mbarrier");
  copy.multicast = any("multicast::cluster");
  copy.to_all = any("::all");
  copy.sized = opcode.root == "cp" && any(".bulk") && !any("tensor");
  copy.launch_control = opcode.root == "clusterlaunchcontrol";
  if (copy.launch_control) copy.bytes = 16;
  if (opcode.root == "cp" && !opcode.has("bulk")) copy.group = group_of(opcode);
  if (opcode.root == "st") {
    const unsigned elements = opcode.has("v2") ? 2 : (opcode.has("v4") ? 4 : 1);
    copy.bytes = static_cast<uint8_t>(elements * (ptx::bits(types.last()) == 64 ? 8 : 4));
  }
  return copy;
}

bool decode_asynchronous(Meaning& m, const Opcode& opcode, const Types& types) {
  const std::string_view root = opcode.root;
  if (root == "cp" && opcode.has("mbarrier")) {
    m.action = Action::kMbarrier;
    m.mbarrier = MbarrierAction::kAsyncArrive;
    m.no_increment = opcode.has("noinc");
    m.destinations = 0;
    return true;
  }
  if ((root == "cp" || root == "st" || root == "red") && opcode.has("async")) {
    m.action = Action::kAsyncCopy;
    m.destinations = 0;
    m.copy = copy_of(opcode, types);
    return true;
  }
  if (root == "clusterlaunchcontrol") {
    if (opcode.has("try_cancel")) {
      m.action = Action::kAsyncCopy;
      m.destinations = 0;
      m.copy = copy_of(opcode, types);
    } else {
      m.action = Action::kGeneric;
    }
    return true;
  }
  return false;
}

void decode_atomic(Meaning& m, const Opcode& opcode, Type t) {
  struct Named {
    std::string_view name;
    Atomic atomic;
  };
  static constexpr std::array<Named, 10> kNamed = {{{"add", Atomic::kAdd},
                                                    {"exch", Atomic::kExchange},
                                                    {"and", Atomic::kAnd},
                                                    {"or", Atomic::kOr},
                                                    {"xor", Atomic::kXor},
                                                    {"min", Atomic::kMin},
                                                    {"max", Atomic::kMax},
                                                    {"cas", Atomic::kCompareSwap},
                                                    {"inc", Atomic::kIncrement},
                                                    {"dec", Atomic::kDecrement}}};
  m.space = space_of(opcode);
  m.access_width = ptx::bits(t) == 128 ? 128 : width_of(t);
  m.access_signed = is_signed(t);
  m.atomic = Atomic::kOther;
  if (!is_integer(t)) return;
  for (const Named& n : kNamed) {
    if (!opcode.has(n.name)) continue;
    m.atomic = n.atomic;
    return;
  }
}

bool decode_memory(Meaning& m, const Opcode& opcode, const Types& types) {
  const std::string_view root = opcode.root;
  if (root == "atom" || root == "red") decode_atomic(m, opcode, types.last());
  if (root == "ld" || root == "ldu") {
    m.action = Action::kLoad;
    m.space = space_of(opcode);
    m.access_width = static_cast<uint8_t>(ptx::bits(types.last()) == 128 ? 128 : width_of(types.last()));
    m.access_signed = is_signed(types.last());
    m.fresh = opcode.has("volatile") || opcode.has("acquire") || opcode.has("relaxed") || opcode.has("mmio");
    return true;
  }
  if (root == "st") {
    m.action = Action::kStore;
    m.destinations = 0;
    m.space = space_of(opcode);
    m.access_width = static_cast<uint8_t>(ptx::bits(types.last()) == 128 ? 128 : width_of(types.last()));
    return true;
  }
  if (root == "atom" || root == "ldmatrix" || root == "tex" || root == "tld4" || root == "suld" || root == "sured" ||
      root == "match" || root == "redux" || root == "getctarank" || root == "isspacep" || root == "istypep") {
    if (root == "redux" && is_integer(types.last())) {
      m.action = Action::kReduce;
      m.operation = {opcode.has("add")   ? Op::kAdd
                     : opcode.has("min") ? Op::kMin
                     : opcode.has("max") ? Op::kMax
                     : opcode.has("and") ? Op::kAnd
                     : opcode.has("or")  ? Op::kOr
                                         : Op::kXor,
                     width_of(types.last()), is_signed(types.last()), 0};
      return true;
    }
    // Which lanes have the same value is the same in all of them where they all do.
    const bool any = root == "match" && opcode.has("any");
    m.action = root == "getctarank" || root == "isspacep" || any ? Action::kGeneric : Action::kFresh;
    m.uniform_result = root == "redux" || (root == "match" && opcode.has("all"));
    return true;
  }
  if (root == "stmatrix") {
    m.action = Action::kStore;
    m.destinations = 0;
    m.space = space_of(opcode);
    m.access_width = 128;
    m.address_lanes = opcode.has("x1") ? 8 : opcode.has("x2") ? 16 : 32;
    return true;
  }
  if (root == "red" || root == "sust" || root == "prefetch" || root == "prefetchu" || root == "nanosleep" ||
      root == "membar" || root == "applypriority" || root == "discard" || root == "pmevent" || root == "setmaxnreg" ||
      root == "brkpt" || root == "tensormap" || root == "multimem") {
    m.action = Action::kNothing;
    m.destinations = 0;
    return true;
  }
  return false;
}

bool decode_lanes(Meaning& m, const Opcode& opcode) {
  if (opcode.root == "shfl") {
    m.action = Action::kShuffle;
    m.shuffle = opcode.has("up")     ? Meaning::Shuffle::kUp
                : opcode.has("down") ? Meaning::Shuffle::kDown
                : opcode.has("bfly") ? Meaning::Shuffle::kBfly
                                     : Meaning::Shuffle::kIdx;
    return true;
  }
  if (opcode.root == "vote") {
    m.action = Action::kVote;
    m.vote = opcode.has("ballot") ? Meaning::Vote::kBallot
             : opcode.has("all")  ? Meaning::Vote::kAll
             : opcode.has("uni")  ? Meaning::Vote::kUni
                                  : Meaning::Vote::kAny;
    return true;
  }
  if (opcode.root == "elect") {
    m.action = Action::kElect;
    return true;
  }
  if (opcode.root == "activemask") {
    m.action = Action::kActiveMask;
    return true;
  }
  if (opcode.root == "mapa") {
    m.action = Action::kMapRank;
    m.space = space_of(opcode);
    return true;
  }
  return false;
}

// What a spelling says about order with other threads, whatever else it does.
void decode_order(Meaning& m, const Opcode& opcode) {
  const std::string_view root = opcode.root;
  m.aligned = root == "bar" || opcode.has("aligned");
  // An arrival at a barrier waits for no other lane.
  m.joins_lanes = (m.aligned || opcode.has("sync")) && !opcode.has("arrive");
  m.may_leave_cta = root == "mapa" || opcode.text.find("cluster") != std::string_view::npos ||
                    opcode.text.find("cta_group::2") != std::string_view::npos;
  m.memory_fence = root == "membar" || (root == "fence" && (opcode.has("acq_rel") || opcode.has("sc")));
  const bool atom = root == "atom";
  m.reads_memory = atom || root == "ld";
  m.writes_memory = atom || root == "red" || root == "st";
  if (!m.reads_memory && !m.writes_memory) return;
  m.strong = atom || root == "red" || opcode.has("relaxed") || opcode.has("volatile");
  m.acquires = m.reads_memory && (opcode.has("acq_rel") || opcode.has("acquire"));
  m.releases = m.writes_memory && (opcode.has("acq_rel") || opcode.has("release"));
}

Meaning decode_action(const Opcode& opcode, uint32_t number) {
  Meaning m;
  const std::string_view root = opcode.root;
  const Types types = types_of(opcode);
  if (root == "tcgen05") {
    m.form = ptx::decode(opcode);
    m.action = Action::kTcgen05;
    m.destinations = m.form.op == ptx::Tcgen05::kLd ? 1 : (m.form.op == ptx::Tcgen05::kLdRed ? 2 : 0);
    return m;
  }
  if (decode_mbarrier(m, opcode) || decode_barrier(m, opcode) || decode_asynchronous(m, opcode, types)) return m;
  if (root == "fence") {
    m.destinations = 0;
    m.action = opcode.text.starts_with("fence.proxy") ? Action::kProxyFence : Action::kNothing;
    m.of_own_inits = opcode.has("mbarrier_init");
    const bool wide = opcode.has("cluster") || opcode.has("gpu") || opcode.has("sys");
    const bool releases = opcode.has("release") || opcode.has("acq_rel") || opcode.has("sc");
    if (m.action == Action::kNothing && wide && releases) m.action = Action::kReleaseFence;
    // .async of all spaces and its .shared forms.
    m.fences_shared = m.action == Action::kProxyFence && opcode.text.find("async") != std::string_view::npos &&
                      !opcode.text.ends_with(".global");
    return m;
  }
  if (root == "griddepcontrol") {
    m.action = Action::kGridDependency;
    m.destinations = 0;
    return m;
  }
  if (decode_memory(m, opcode, types) || decode_lanes(m, opcode)) return m;
  if (root == "mov") {
    m.action = Action::kMove;
    m.is_move_like = true;
    m.operation = {Op::kMov, width_of(types.last()), false, 0};
    if (ptx::bits(types.last()) == 128) m.action = Action::kFresh;
    return m;
  }
  if (root == "setp" && is_integer(types.last()) && compare(m, opcode, types.last())) {
    m.action = Action::kCompare;
    m.combine = opcode.has("and")   ? Meaning::Combine::kAnd
                : opcode.has("or")  ? Meaning::Combine::kOr
                : opcode.has("xor") ? Meaning::Combine::kXor
                                    : Meaning::Combine::kNone;
    return m;
  }
  if (root == "cvt") {
    m.action = Action::kGeneric;
    if (types.count == 2 && is_integer(types.list[0]) && is_integer(types.list[1]) && !opcode.has("sat") &&
        !opcode.has("pack")) {
      m.action = Action::kConvert;
      m.operation = {Op::kZext, width_of(types.list[0]), is_signed(types.list[0]), 0};
      m.from_width = width_of(types.list[1]);
      m.from_signed = is_signed(types.list[1]);
      m.is_move_like = true;
      return m;
    }
  }
  if (root == "cvta") {
    const bool to = opcode.has("to");
    m.action =
        space_of(opcode) == MemorySpace::kShared ? (to ? Action::kToShared : Action::kFromShared) : Action::kMove;
    m.operation = {Op::kMov, width_of(types.last()), false, 0};
    return m;
  }
  if (decode_arithmetic(m, opcode, types)) return m;
  m.action = Action::kGeneric;
  m.operation = {Op::kGeneric, width_of(types.count > 0 ? types.first() : Type::kB32), false, number};
  if (opcode.root == "setp" || opcode.root == "testp") m.operation.width = 1;
  // Of floating-point numbers too, bit for bit.
  m.commutative = root == "add" || root == "mul" || root == "min" || root == "max";
  return m;
}

}  // namespace

namespace {

// What the instructions of an action are to those who follow a kernel.
enum class Part : uint8_t {
  kComputes,  // registers from registers, and from nothing else
  kOther,     // registers from other things than registers; memory; nothing at all
  kEvent,     // followed for its own sake
  kProtocol,  // so too, and it acts on Tensor Memory or on the barriers that order it
};

Part part_of(Action action) {
  switch (action) {
    case Action::kPure:
    case Action::kCompare:
    case Action::kMulAdd:
    case Action::kMove:
    case Action::kConvert:
    case Action::kToShared:
    case Action::kFromShared:
      return Part::kComputes;
    case Action::kNothing:
    case Action::kMapRank:
    case Action::kShuffle:
    case Action::kVote:
    case Action::kElect:
    case Action::kReduce:
    case Action::kActiveMask:
    case Action::kLoad:
    case Action::kStore:
    case Action::kGeneric:
    case Action::kFresh:
      return Part::kOther;
    case Action::kProxyFence:
    case Action::kReleaseFence:
    case Action::kGridDependency:
      return Part::kEvent;
    case Action::kTcgen05:
    case Action::kMbarrier:
    case Action::kBarrier:
    case Action::kClusterBarrier:
    case Action::kAsyncCopy:
      return Part::kProtocol;
  }
  return Part::kOther;
}

}  // namespace

bool is_protocol(Action action) {
  return part_of(action) == Part::kProtocol;
}

bool computes_registers(Action action) {
  return part_of(action) == Part::kComputes;
}

bool is_event(const Meaning& m) {
  // Words of shared memory that warps poll.
  if (m.atomic != Atomic::kNone && m.space != MemorySpace::kGlobal) return true;
  if (m.action == Action::kLoad && m.fresh && (m.space == MemorySpace::kShared || m.space == MemorySpace::kGeneric))
    return true;
  const Part part = part_of(m.action);
  return part == Part::kEvent || part == Part::kProtocol;
}

Meaning decode_meaning(const Opcode& opcode, uint32_t number) {
  Meaning m = decode_action(opcode, number);
  decode_order(m, opcode);
  return m;
}

}  // namespace tmemlint::program
