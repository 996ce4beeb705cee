// What the Clang front end is asked, and what it answers: plain data, so that neither the command nor the tests need
// LLVM. The front end itself (analyzer/cuda/clang) is a module that is loaded when a CUDA source is given.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tmemlint::cuda {

struct Request {
  std::string file;                      // as the user named it
  std::string directory;                 // where the compile command runs; empty: the current folder
  std::vector<std::string> arguments;    // for Clang, without program and file (see clang_arguments.h)
  std::string cuda_path;                 // empty: no toolkit, the bundled headers serve
  std::vector<std::string> instantiate;  // "kernel<128, 2>": instances of templates that nothing instantiates
  bool standard_prelude = false;         // include common standard headers first (a second try, see missing_headers)
};

// In the author's files. Lines and columns start at 1, columns count bytes; line 0: not known.
struct Position {
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;
  bool operator==(const Position&) const = default;
};

// An inlined call: the function that was inlined, and where it was called.
struct Call {
  std::string function;  // with its template arguments
  Position at;
};

// Where an instruction of the PTX comes from.
struct Origin {
  Position at;
  std::vector<Call> calls;   // from the innermost outwards
  uint32_t statement = kNo;  // Translation::statements, when it is an asm statement
  static constexpr uint32_t kNo = 0xffffffffu;
};

// One asm statement as it was written.
struct AsmStatement {
  std::string text;              // decoded, before operands are substituted
  Position at;                   // of the keyword
  std::vector<Position> pieces;  // where each piece of `text` starts, pieces ending after ';' and '\n'; blanks skipped
};

struct Kernel {
  std::string symbol;  // its name in the PTX
  std::string name;    // as the author would write it, with template arguments
  Position at;
  std::vector<std::string> lost;  // Dropped::symbol of what it reaches
};

// A function whose body could not be taken; what calls it cannot be judged.
struct Dropped {
  std::string symbol;
  std::string name;
  Position at;
  std::string reason;  // what Clang said
  Position reason_at;
  bool is_kernel = false;
};

// What is visible in the source only. The words are those of source_checks.cpp.
struct SourceFact {
  enum class Kind : uint8_t {
    kNotVolatile,         // results, and not volatile: may be removed, merged or moved
    kImplicitlyVolatile,  // no results: volatile by the rules of GCC and Clang, not by NVIDIA's words
    kStaleSlot,           // `other` reads what the alloc wrote, and nothing keeps the compiler from reading earlier
    kLateStore,           // `other` stores shared memory that the statement reads, and nothing keeps it in front
    kNoMemoryClobber,     // an alloc without the clobber, with a compiler barrier behind it
    kEarlyRead,           // a result of the load is read at `other`, before the wait that follows
  };
  Kind kind = Kind::kNotVolatile;
  Origin at;             // the asm statement
  Position instruction;  // the tcgen05 instruction in it
  std::string opcode;    // "tcgen05.ld"
  Origin other;
  std::string kernel;  // Kernel::symbol; empty: not about one kernel
  // What repairs it: `insertion` goes in at this position; line 0: nothing to offer (a macro wrote the statement).
  Position edit;
  std::string insertion;
};

struct Translation {
  std::string failure;  // not empty: nothing else is there
  Position failure_at;

  std::vector<std::string> ptx;  // mostly one; several when kernels had to be translated one by one
  std::vector<Origin> origins;   // `// @tmem N` in front of an asm statement, and line N of each `.loc`, lead here
  std::vector<AsmStatement> statements;
  std::vector<Kernel> kernels;  // those in `ptx`
  std::vector<Dropped> dropped;
  std::vector<SourceFact> facts;
  std::vector<std::string> missing_headers;
  // Templates with tcgen05 statements that nothing instantiates: "kernel template 'gemm' at file:12".
  struct Template {
    std::string name;
    Position at;
  };
  std::vector<Template> uninstantiated;
  uint32_t tcgen05_statements = 0;  // asm statements with tcgen05 instructions that are compiled for the device
  uint32_t other_kernels = 0;       // that have nothing to do with tcgen05; their PTX is not made
  uint32_t errors = 0;              // that Clang reported, in device code or not
  struct Error {
    std::string message;
    Position at;
  };
  std::vector<Error> first_errors;  // no more than anybody reads
  struct RefusedInstance {
    std::string name;    // of Request::instantiate
    std::string reason;  // Clang's
    bool found = false;  // there is such a template, and its body has errors
  };
  std::vector<RefusedInstance> refused_instances;
  std::string first_error;
  Position first_error_at;
  double parse_ms = 0, generate_ms = 0;
};

// The only function that the module exports, as `tmemlint_translate`.
using TranslateFunction = void(const Request&, Translation&);

}  // namespace tmemlint::cuda
