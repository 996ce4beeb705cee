// The worked example of docs/design.md, and the race of docs/how-a-race-is-found.md: what the documents say of a kernel
// at each stage is what the code makes of it. Each stage is written down here the way the document shows it; where the
// two differ, the test prints the right text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/cluster/analysis.h"
#include "analyzer/cluster/kernel_facts.h"
#include "analyzer/cluster/scenario_run.h"
#include "analyzer/engine.h"
#include "analyzer/warp/machine.h"
#include "rules/ordering.h"
#include "rules/problems.h"
#include "tests/files.h"

namespace tmemlint {
namespace {

const std::string kRoot = std::string(TMEMLINT_SOURCE_DIR) + "/";
std::string text_of(const std::string& path) {
  return test::read_file(kRoot + path);
}

// A kernel, everything that is made of it, and the document that speaks of it.
class Documented : public testing::Test {
protected:
  Documented(const std::string& kernel, std::string document)
      : source_(std::make_shared<const ptx::SourceText>(kernel, text_of(kernel))),
        module_(ptx::parse(source_)),
        document_(std::move(document)) {
    cluster::JointSetting setting;
    setting.log = true;
    analysis_ = cluster::analyze(module_, 0, {}, {}, setting);
  }

  void expect_in_document(const std::string& stage) const {
    EXPECT_TRUE(text_of(document_).find(stage) != std::string::npos) << document_ << " does not say:\n" << stage;
  }

  uint32_t line_of(uint32_t instruction) const {
    return module_.source->position(module_.instructions[instruction].span.begin).line;
  }
  // "line 33 tcgen05.ld"
  std::string name(uint32_t instruction) const {
    const ptx::Span span = module_.instructions[instruction].opcode_span;
    std::string out(module_.source->text().substr(span.begin, span.end - span.begin));
    for (const std::string family : {"tcgen05.", "mbarrier."}) {
      if (out.starts_with(family)) out = out.substr(0, out.find('.', family.size()));
    }
    return "line " + std::to_string(line_of(instruction)) + " " + out;
  }
  uint32_t instruction_of(uint32_t step) const { return analysis_.kernel->program->steps[step].instruction; }
  std::string describe(const value::Value& v) const { return analysis_.kernel->terms->describe(v); }

  std::string argument(const program::Arg& a) const {
    std::string out;
    switch (a.kind) {
      case program::Arg::Kind::kNone:
      case program::Arg::Kind::kSink:
        return "-";
      case program::Arg::Kind::kRegister:
        out = "r" + std::to_string(a.ref) + (a.number == 0 ? "" : "+" + std::to_string(a.number));
        break;
      case program::Arg::Kind::kNumber:
        out = std::to_string(a.number);
        break;
      case program::Arg::Kind::kSpecial:
        out = module_.special_registers[a.ref];
        break;
      case program::Arg::Kind::kShared:
        out = "shared+" + std::to_string(a.number);
        break;
    }
    return a.address ? "[" + out + "]" : out;
  }

  // The first pair of accesses that was observed, as the documents show one.
  const cluster::AccessPair& pair() const {
    for (const cluster::Observed& o : analysis_.joint->observed) {
      if (const auto* pair = std::get_if<cluster::AccessPair>(&o.what)) return *pair;
    }
    ADD_FAILURE() << "no pair of accesses was observed";
    static const cluster::AccessPair none;
    return none;
  }
  std::string describe(const cluster::AccessPair& pair) const {
    const auto yes_or_no = [](bool b) { return std::string(b ? "true" : "false"); };
    const auto use = [&](const cluster::TmemUse& u) {
      return name(u.site.instruction) + " in warp " + std::to_string(u.site.warp.number) + ", reads " +
             yes_or_no(u.reads) + ", writes " + yes_or_no(u.writes) + "\n";
    };
    std::string out = "earlier                  " + use(pair.earlier);
    out += "later                    " + use(pair.later);
    out += "order.same_warp          " + yes_or_no(pair.order.same_warp) + "\n";
    out += "order.issued             " + yes_or_no(pair.order.issued) + "\n";
    out += "order.complete           " + yes_or_no(pair.order.complete) + "\n";
    out += "order.pipelined          " + yes_or_no(pair.order.pipelined) + "\n";
    out += "within_cta               " + yes_or_no(pair.within_cta) + "\n";
    out += "earlier_saw_a_write      " + yes_or_no(pair.earlier_saw_a_write) + "\n";
    out += "later_knows_older_write  " + yes_or_no(pair.later_knows_older_write) + "\n";
    return out;
  }
  // What the command prints of the only finding and its related place, without lines of the source.
  std::vector<std::string> printed() const {
    report::Results results;
    lint(source_, Options{}, results);
    EXPECT_EQ(results.findings.size(), 1u);
    const auto position = [](const report::Place& place) {
      const ptx::LineColumn at = place.text->position(place.span.begin);
      const std::string path = place.text->path();
      return path.substr(path.rfind('/') + 1) + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
    };
    std::vector<std::string> out;
    for (const report::Finding& f : results.findings) {
      out.push_back(position(f.place) + ": error: " + f.message + " (warp 0) [" + f.rule + "]\n");
      for (const report::Related& r : f.related) out.push_back(position(r.place) + ": note: " + r.message + "\n");
    }
    return out;
  }

  std::shared_ptr<const ptx::SourceText> source_;
  ptx::Module module_;
  cluster::Analysis analysis_;
  std::string document_;
};

// --- docs/design.md ---

class Example : public Documented {
protected:
  Example() : Documented("fixtures/cases/example-handoff-bad.ptx", "docs/design.md") {}
};

TEST_F(Example, Text) {
  // The document shows the kernel as it is, without the comments at its top and the one on the line that is reported.
  std::string kernel(source_->text().substr(source_->text().find(".visible")));
  kernel.erase(kernel.find(" // expect"), std::string(" // expect: tmem-handoff-race").size());
  expect_in_document(kernel);
  expect_in_document("one entry of " + std::to_string(module_.instructions.size()) + " instructions");
}

TEST_F(Example, Graph) {
  std::string out;
  const kernel::Graph& graph = analysis_.kernel->graph;
  for (size_t n = 0; n < graph.blocks.size(); ++n) {
    const kernel::Block& b = graph.blocks[n];
    out += "block " + std::to_string(n);
    if (b.first < b.last) {
      out += "  lines " + std::to_string(line_of(b.first)) + "-" + std::to_string(line_of(b.last - 1));
    }
    if (b.ending == kernel::Ending::kExit) out += "  exit";
    if (b.ending == kernel::Ending::kJump) out += "  to " + std::to_string(b.successors[0]);
    if (b.ending == kernel::Ending::kBranch) {
      const bool n0 = b.condition_negated;
      out += "  if " + module_.functions[0].register_name(b.condition) + " to " + std::to_string(b.successors[n0]) +
             ", else to " + std::to_string(b.successors[!n0]);
    }
    out += "\n";
  }
  expect_in_document(out);
}

TEST_F(Example, Steps) {
  std::string out;
  const program::Program& p = *analysis_.kernel->program;
  for (size_t b = 0; b < p.code.size(); ++b) {
    for (uint32_t s = p.code[b].first; s < p.code[b].last; ++s) {
      const program::Step& step = p.steps[s];
      std::string line = "step " + std::to_string(s) + "  block " + std::to_string(b) + "  ";
      if (step.kind == program::Step::Kind::kUse)
        line += "uses the results of load " + std::to_string(step.loads) + ": ";
      line += name(step.instruction) + " ";
      if (!step.is_marker()) {
        for (uint8_t n = 0; n < step.argument_count; ++n) line += " " + argument(p.args[step.first_arg + n]);
      }
      out += line + "\n";
    }
  }
  expect_in_document(out);
}

TEST_F(Example, Values) {
  std::string out;
  const program::Program& p = *analysis_.kernel->program;
  warp::Machine machine(p, *analysis_.kernel->terms, analysis_.launch, 0, 4, {});
  for (uint32_t s = p.code[0].first; s < p.code[0].last; ++s) machine.execute(p.steps[s], s);
  for (uint32_t s = p.code[0].first; s < p.code[0].last; ++s) {
    const program::Arg& to = p.args[p.steps[s].first_arg];
    const value::Value& v = machine.registers[to.ref];
    out += name(p.steps[s].instruction) + "  r" + std::to_string(to.ref) + " = {base " + std::to_string(v.base) +
           ", number " + std::to_string(v.number) + ", table " + std::to_string(v.table) + ", without_base " +
           std::to_string(v.without_base) + "}  " + describe(v) + "\n";
  }
  expect_in_document(out);
}

TEST_F(Example, Events) {
  std::string out;
  for (const warp::WarpGraph& w : analysis_.warps) {
    if (w.warp != 0 && w.warp != 4) continue;
    for (const warp::Event& e : w.events) {
      if (e.instruction == ptx::kNone) continue;
      out += "warp " + std::to_string(w.warp) + "  " + name(e.instruction);
      if (e.address != value::Value{}) out += "  at " + describe(e.address);
      out += "  live " + std::to_string(w.holdings_before(e).live_allocations());
      for (const warp::PendingStore& store : w.stores_before(e))
        out += ", pending store of line " + std::to_string(line_of(instruction_of(store.step)));
      for (const warp::PendingLoad& load : w.loads_before(e))
        out += ", pending load of line " + std::to_string(line_of(instruction_of(load.step)));
      out += "\n";
    }
  }
  expect_in_document(out);
}

TEST_F(Example, Scenario) {
  std::string out;
  for (const cluster::LogLine& l : analysis_.joint->log) {
    if (l.warp.number != 0 && l.warp.number != 4) continue;
    out += "warp " + std::to_string(l.warp.number) + "  " + name(l.instruction) +
           (l.text.empty() ? "" : "  " + l.text) + "\n";
  }
  expect_in_document(out);
  EXPECT_EQ(analysis_.joint->scenarios.size(), 1u);
}

TEST_F(Example, Clocks) {
  const cluster::KernelFacts facts(*analysis_.kernel, analysis_.launch);
  // The scenario up to the block that the load is in: the shortest one that has both operations.
  cluster::Footprints footprints;
  std::optional<cluster::RunState> state;
  for (uint64_t budget = 0; budget < 1000; ++budget) {
    cluster::ScenarioUnderWay scenario(facts, {}, false, footprints);
    scenario.go_on(budget);
    state = scenario.state();
    if (state->tensor_memory.operations().size() == 2) break;
  }
  ASSERT_EQ(state->tensor_memory.operations().size(), 2u);
  std::string out;
  for (const cluster::Operation& o : state->tensor_memory.operations()) {
    out += name(o.instruction) + "  issued as event " + std::to_string(o.event) + " of warp " +
           std::to_string(o.id.number) + ", waited for in its event " + std::to_string(o.waited) + "\n";
  }
  out += "warp 0 knows warp 4 up to its event " + std::to_string(state->warps[0].knowledge.any().event(4)) + "\n";
  expect_in_document(out);
}

TEST_F(Example, Observation) {
  expect_in_document(describe(pair()));
  const cluster::Order& order = pair().order;
  EXPECT_FALSE(order.issued_fenced || order.complete_fenced || order.complete_strict);
  EXPECT_EQ(rules::judge(pair()), (rules::Judgement{rules::Disorder::kUnordered, rules::Blamed::kLater, true}));
  expect_in_document("`{Disorder::kUnordered, Blamed::kLater, true}`");
}

TEST_F(Example, Problem) {
  const rules::Problems problems = rules::find_problems(analysis_);
  ASSERT_EQ(problems.all.size(), 1u);
  const rules::Problem& p = problems.all.front();
  EXPECT_EQ(p.kind, rules::ProblemKind::kUnordered);
  EXPECT_TRUE(p.decisions.empty());
  expect_in_document("kind        ProblemKind::kUnordered\nat          " + name(p.at) + "\nwarp        " +
                     std::to_string(p.warp.number) + "\nother       " + name(p.other) + "\nother_warp  " +
                     std::to_string(p.other_warp.number) + "\n");
}

TEST_F(Example, Finding) {
  for (const std::string& line : printed()) expect_in_document(line);
}

// --- docs/how-a-race-is-found.md ---

class Race : public Documented {
protected:
  Race() : Documented("fixtures/cases/51-elected-arrive-without-join-bad.ptx", "docs/how-a-race-is-found.md") {}
};

TEST_F(Race, IsObservedAsThePageSays) {
  expect_in_document(describe(pair()));
  EXPECT_EQ(pair().first_of_run, pair().earlier.site.instruction);
  EXPECT_EQ(rules::judge(pair()), (rules::Judgement{rules::Disorder::kUnordered, rules::Blamed::kFirstOfRun}));
  expect_in_document("`{Disorder::kUnordered, Blamed::kFirstOfRun}`");
}

TEST_F(Race, IsPrintedAsThePageSays) {
  for (const std::string& line : printed()) expect_in_document(line);
}

TEST_F(Race, ComesAboutInTheScenarioOfThePage) {
  std::string out;
  for (const cluster::LogLine& l : analysis_.joint->log) {
    const uint32_t line = line_of(l.instruction);
    if (l.warp.number < 2 && line >= 55 && line <= 83) {
      out += "warp " + std::to_string(l.warp.number) + "  " + name(l.instruction) +
             (l.text.empty() ? "" : "  " + l.text) + "\n";
    }
  }
  expect_in_document(out);
}

}  // namespace
}  // namespace tmemlint
