// What a run produces: findings, incomplete places, errors of the input, and the counts of the summary line.
// These are plain data: the engine and the rules fill them, the printers (text, JSON, SARIF) read them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/ptx/source.h"

namespace tmemlint::report {

enum class Level : uint8_t { kNote, kWarning, kError };
std::string_view to_string(Level level);

// A position in the author's source that `.loc` gives for a PTX instruction. Columns of 0 mean "not known".
struct SourcePosition {
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;
  bool operator==(const SourcePosition&) const = default;
};

// A place in an input: PTX text, and where it came from.
struct Place {
  std::shared_ptr<const ptx::SourceText> text;  // the PTX file
  ptx::Span span;                               // what the caret underlines
  bool has_source = false;
  SourcePosition source;                   // innermost, valid when has_source
  std::vector<SourcePosition> inlined_at;  // from the innermost call outwards
};

// The author's position of a place and those of the calls that were inlined there, from the innermost outwards; empty
// where it is not known. For inputs whose `.loc` does not say it.
using SourceOf = std::function<std::vector<SourcePosition>(const Place&)>;

struct Related {
  Place place;
  std::string message;  // a caption: "allocated here"
};

// An edit that repairs the finding: the text at `place` is replaced (an empty span: only inserted).
struct Fix {
  Place place;
  std::string text;
};

struct Finding {
  std::string rule;  // "tmem-lane-window"
  Level level = Level::kError;
  std::string message;  // one sentence or two, no trailing full stop needed, no rule id
  Place place;
  std::vector<Related> related;
  std::string kernel;
  std::vector<uint32_t> warps;  // warps of the CTA it concerns, ascending
  std::vector<Related> path;  // how a warp gets there, in execution order (SARIF codeFlow, notes in text); may be empty
  std::vector<Fix> fixes = {};  // all of them together
};

struct Incomplete {
  Place place;
  std::string kernel;
  std::string reason;
};

struct InputError {
  std::string file;
  std::shared_ptr<const ptx::SourceText> text;  // null when the file could not be read
  ptx::Span span;                               // when text is there
  std::string message;
};

struct Summary {
  uint64_t files = 0, kernels = 0, tcgen05 = 0;
  uint64_t error = 0, warning = 0, note = 0, incomplete = 0;
};

// What --stats says of a kernel.
struct KernelStats {
  std::string file, kernel;
  uint64_t asked = 0;  // questions of the joint run: an access against a release, a free or an overwrite of its
                       // columns, a read of an address slot, a round of a barrier
  uint64_t decided = 0;
  uint64_t scenarios = 0;
  uint64_t stepped = 0;    // warp-instructions, over all scenarios
  uint64_t evaluated = 0;  // warp-instructions of the evaluation of each warp along all its paths
};

struct Results {
  std::vector<KernelStats> stats;
  std::vector<Finding> findings;
  std::vector<Incomplete> incomplete;
  std::vector<InputError> errors;
  std::vector<std::string> assumptions;  // "kernel k: no block size is stated; 128 threads assumed (give --block)"
  std::vector<std::string> notices;      // about the report rather than the kernels: "source not shown: …"
  assumptions::Uses assumed;             // how often each assumption and limit was relied on
  Summary summary;
};

// Puts findings in their printed order (file, offset, rule, …) and removes duplicates: the same rule, place and message
// in one kernel are one finding whose warps are united. Recounts the summary's levels and incomplete places.
void finish(Results& results);

}  // namespace tmemlint::report
