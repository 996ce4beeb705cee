// From places in generated PTX to places in the author's sources.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "analyzer/cuda/translation.h"
#include "analyzer/report/finding.h"

namespace tmemlint::cuda {

// The author's files as texts, each read once. They are read for what is asked about them (NOLINT comments, the lines
// of an asm statement); whether a report shows them is decided where it is printed.
class Texts {
public:
  std::shared_ptr<const ptx::SourceText> of(const std::string& file);
  // The place of a position: from its column to the end of what stands there.
  report::Place place(const Position& position);

private:
  std::map<std::string, std::shared_ptr<const ptx::SourceText>> texts_;
};

// Where a place in the PTX was written: the line inside the asm string where it is one of an asm statement. Calls that
// were inlined are in `calls`.
struct Written {
  Position at;
  std::vector<Call> calls;
};
Written written_at(const report::Place& place, const Translation& translation);

// The same for PTX of nvcc, whose `.loc` names the last line of an asm statement: the line of the instruction in it.
Written written_at_nvcc(const report::Place& place, Texts& texts);

}  // namespace tmemlint::cuda
