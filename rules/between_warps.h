// What rules between warps share: findings from the problems that the joint run showed.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>

#include "rules/context.h"
#include "rules/problems.h"

namespace tmemlint::rules {

// Reports what `say` makes of each problem of these kinds, if anything.
void for_each(Context& context, std::initializer_list<ProblemKind> kinds,
              const std::function<std::optional<Draft>(const Problem&)>& say);

// A finding at the instruction of the problem, with its warp and the decisions of its scenario.
Draft draft(const Problem& p, report::Level level, std::string message);

// Whether a decision of the scenario was that a loop goes round once more, or no more, though nothing says so.
bool chose_rounds(const Context& context, const Problem& p);

std::string name(const Context& context, uint32_t instruction);
// "warp 3"
std::string warp_text(const cluster::WarpId& warp);
// " of warp 3", " of warp 3 of the other CTA": the problem's other warp, seen from its own; with another lead-in where
// a sentence needs it.
std::string other_warp_text(const Problem& p, std::string_view lead = " of warp ");
// "62-65"
std::string columns_text(int64_t first, int64_t count);

}  // namespace tmemlint::rules
