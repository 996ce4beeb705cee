#include "analyzer/explain.h"

#include <algorithm>
#include <map>
#include <vector>

#include "analyzer/cluster/analysis.h"
#include "analyzer/cluster/joint.h"
#include "analyzer/ptx/effects.h"
#include "analyzer/report/encoding.h"
#include "rules/problems.h"

namespace tmemlint {

namespace {

// Steps of one warp that are the same but for the lanes and numbers are one line; so is what a loop repeats.
struct Line {
  uint32_t instruction = ptx::kNone;
  std::string text;
  bool operator==(const Line&) const = default;
};

bool can_block(const program::Meaning& m) {
  switch (m.action) {
    case program::Action::kTcgen05:
      return ptx::effects_of(m.form).blocks != ptx::Blocks::kNo;
    case program::Action::kMbarrier:
      return m.mbarrier == program::MbarrierAction::kTryWait || m.mbarrier == program::MbarrierAction::kTestWait;
    case program::Action::kBarrier:
      return m.barrier == program::BarrierAction::kSync || m.barrier == program::BarrierAction::kReduce;
    case program::Action::kClusterBarrier:
      return m.cluster_barrier == program::ClusterBarrier::kWait;
    case program::Action::kNothing:
    case program::Action::kPure:
    case program::Action::kCompare:
    case program::Action::kMulAdd:
    case program::Action::kMove:
    case program::Action::kConvert:
    case program::Action::kToShared:
    case program::Action::kFromShared:
    case program::Action::kMapRank:
    case program::Action::kShuffle:
    case program::Action::kVote:
    case program::Action::kElect:
    case program::Action::kReduce:
    case program::Action::kActiveMask:
    case program::Action::kLoad:
    case program::Action::kStore:
    case program::Action::kGeneric:
    case program::Action::kFresh:
    case program::Action::kProxyFence:
    case program::Action::kReleaseFence:
    case program::Action::kAsyncCopy:
    case program::Action::kGridDependency:
      return false;
  }
  return false;
}

class Explainer {
public:
  Explainer(const ptx::Module& module, const cluster::Analysis& analysis) : module_(module), a_(analysis) {}

  std::string run() {
    heading();
    using Warp = std::pair<uint32_t, uint32_t>;
    std::map<Warp, std::vector<Line>> lines;
    for (uint32_t r = 0; r < std::max(1u, a_.launch.ctas()); ++r) {
      for (uint32_t w = 0; w < a_.launch.warps(); ++w) lines[{r, w}];
    }
    for (const cluster::LogLine& s : a_.joint->log) {
      lines[{s.warp.rank, s.warp.number}].push_back({s.instruction, s.text});
    }
    // Warps with the same steps are one role.
    std::vector<std::pair<std::vector<Line>, std::vector<Warp>>> roles;
    for (const auto& [warp, list] : lines) {
      auto role = std::find_if(roles.begin(), roles.end(),
                               [&, &lines_of_it = list](const auto& r) { return r.first == lines_of_it; });
      if (role == roles.end()) {
        roles.push_back({list, {warp}});
      } else {
        role->second.push_back(warp);
      }
    }
    for (const auto& [list, warps] : roles) print(list, warps);
    return std::move(out_);
  }

private:
  void heading() {
    const kernel::Launch& l = a_.launch;
    out_ += "kernel " +
            report::printable(report::readable_kernel(std::string(module_.functions[a_.kernel->function].name))) + "\n";
    out_ += "  launched with " + std::to_string(l.threads()) + " threads";
    if (l.ctas() > 1) out_ += " in a cluster of " + std::to_string(l.ctas()) + " CTAs";
    out_ += "; the first of " + std::to_string(a_.joint->scenarios.size()) + " scenarios\n";
    // Columns in use, as allocs and deallocs change them.
    uint32_t used = 0;
    uint32_t most = 0;
    for (const cluster::LogLine& s : a_.joint->log) {
      if (s.warp.rank != 0 || s.columns == 0) continue;
      used = static_cast<uint32_t>(static_cast<int64_t>(used) + s.columns);
      most = std::max(most, used);
    }
    uint32_t capacity = ptx::column_capacity(module_.target, false);
    for (const cluster::LogLine& s : a_.joint->log) {
      if (s.columns == 0) continue;
      const ptx::Form& form = a_.kernel->meaning_of(s.instruction).form;
      if (form.exclusive) capacity = std::max(capacity, ptx::column_capacity(module_.target, true));
    }
    out_ += "  at most " + std::to_string(most) + " of " + std::to_string(capacity) + " columns in use" +
            (used != 0 ? ", " + std::to_string(used) + " at the end" : std::string()) + "\n";
  }

  void print(const std::vector<Line>& list, const std::vector<std::pair<uint32_t, uint32_t>>& warps) {
    std::string who;
    for (uint32_t r = 0; r < std::max(1u, a_.launch.ctas()); ++r) {
      std::string numbers;
      for (size_t n = 0; n < warps.size(); ++n) {
        if (warps[n].first != r) continue;
        size_t last = n;
        while (last + 1 < warps.size() && warps[last + 1].first == r &&
               warps[last + 1].second == warps[last].second + 1)
          ++last;
        if (!numbers.empty()) numbers += ", ";
        numbers += std::to_string(warps[n].second);
        if (last != n) numbers += "-" + std::to_string(warps[last].second);
        n = last;
      }
      if (numbers.empty()) continue;
      if (!who.empty()) who += "; ";
      who += (a_.launch.ctas() > 1 ? "CTA " + std::to_string(r) + " " : std::string()) + "warps " + numbers;
    }
    out_ += "\n  " + who + "\n";
    if (list.empty()) out_ += "    nothing of the protocol\n";
    for (size_t n = 0; n < list.size();) {
      const size_t period = repeated(list, n);
      if (period == 0) {
        line(list[n++], "    ");
        continue;
      }
      size_t times = 1;
      while (same(list, n, n + times * period, period)) ++times;
      out_ += "    " + std::to_string(times) + " times:\n";
      for (size_t k = 0; k < period; ++k) line(list[n + k], "      ");
      n += times * period;
    }
  }

  static bool same(const std::vector<Line>& list, size_t a, size_t b, size_t length) {
    if (b + length > list.size()) return false;
    for (size_t k = 0; k < length; ++k) {
      if (list[a + k].instruction != list[b + k].instruction) return false;
    }
    return true;
  }

  // The length of what repeats from here on; 0 when nothing does.
  static size_t repeated(const std::vector<Line>& list, size_t at) {
    for (size_t period = 1; period <= 200 && at + 2 * period <= list.size(); ++period) {
      if (same(list, at, at + period, period)) return period;
    }
    return 0;
  }

  void line(const Line& l, const std::string& indent) {
    if (l.instruction >= module_.instructions.size()) return;
    const ptx::Instruction& i = module_.instructions[l.instruction];
    const ptx::Opcode& o = module_.opcode(i);
    std::string where = std::to_string(module_.source->position(i.span.begin).line);
    if (i.location != ptx::kNone && module_.locations[i.location].line != 0) {
      const ptx::Location* at = &module_.locations[i.location];
      if (const std::string* path = module_.file_path(at->file))
        where += " (" + *path + ":" + std::to_string(at->line) + ")";
    }
    std::string name(o.root);
    for (size_t n = 0; n < o.modifiers.size() && n < 2; ++n) name += "." + std::string(o.modifiers[n]);
    out_ += indent + name;
    if (!l.text.empty()) out_ += ": " + l.text;
    if (can_block(a_.kernel->program->meanings[i.opcode])) out_ += "  [can block]";
    out_ += "  line " + where + "\n";
  }

  const ptx::Module& module_;
  const cluster::Analysis& a_;
  std::string out_;
};

}  // namespace

std::string explain_kernels(const std::shared_ptr<const ptx::SourceText>& text, const Options& options,
                            report::Results& results) {
  const ptx::Module module = ptx::parse(text);
  for (const ptx::Problem& problem : module.errors) {
    results.errors.push_back({text->path(), text, problem.span, problem.message});
  }
  std::string out;
  for (uint32_t f = 0; f < module.functions.size(); ++f) {
    if (!module.functions[f].is_entry || !module.functions[f].has_body) continue;
    cluster::JointSetting setting;
    setting.log = true;
    const auto analysis = cluster::analyze(module, f, options.block, options.cluster, setting);
    if (!analysis.has_tcgen05()) continue;
    if (!out.empty()) out += "\n";
    out += Explainer(module, analysis).run();
    std::vector<warp::Uncertain> open = analysis.joint->uncertain;
    for (warp::Uncertain& u : rules::find_problems(analysis).open) open.push_back(std::move(u));
    for (const warp::Uncertain& u : open) {
      const uint32_t line = u.instruction < module.instructions.size()
                                ? text->position(module.instructions[u.instruction].span.begin).line
                                : 0;
      out += "\n  not decided: line " + std::to_string(line) + ": " + u.reason + "\n";
    }
  }
  return out;
}

}  // namespace tmemlint
