// The barriers around tcgen05: every form that the protocol is written in is legal, and every change of one qualifier
// or operand gets the verdict of ptxas, where that is installed.
#include <gtest/gtest.h>

#include "tests/ptxas_oracle.h"

namespace tmemlint::test {
namespace {

using namespace tmemlint::ptx;

constexpr const char* kLegal[] = {
    "mbarrier.init.shared::cta.b64 [%r1], 1",
    "mbarrier.init.shared.b64 [mbar], %r2",
    "mbarrier.init.b64 [%rd1], 1",
    "mbarrier.inval.shared::cta.b64 [%r1]",
    "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], %r2",
    "mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%r1], 64",
    "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r1], 64",
    "mbarrier.arrive.shared::cta.b64 %rd1, [%r1]",
    "mbarrier.arrive.shared::cta.b64 _, [%r1], 2",
    "mbarrier.arrive.release.cta.shared::cta.b64 %rd1, [%r1]",
    "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%r1]",
    "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1], %r2",
    "mbarrier.arrive.expect_tx.shared::cta.b64 %rd1, [%r1], 64",
    "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r1], %r2",
    "mbarrier.arrive.noComplete.shared::cta.b64 %rd1, [%r1], 1",
    "mbarrier.arrive_drop.shared::cta.b64 %rd1, [%r1]",
    "mbarrier.test_wait.shared::cta.b64 %p1, [%r1], %rd2",
    "mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r1], %r2",
    "mbarrier.test_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r1], 1",
    "mbarrier.try_wait.shared::cta.b64 %p1, [%r1], %rd2",
    "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2",
    "mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 %p1, [%r1], 0, %r3",
    "barrier.cluster.arrive",
    "barrier.cluster.arrive.release.aligned",
    "barrier.cluster.arrive.relaxed.aligned",
    "barrier.cluster.wait",
    "barrier.cluster.wait.acquire.aligned",
    "bar.sync 0",
    "bar.sync %r1, %r2",
    "bar.sync 1, 128",
    "bar.arrive 1, 64",
    "bar.warp.sync 0xffffffff",
    "barrier.sync 0",
    "barrier.sync.aligned 1, 64",
    "barrier.cta.sync 1",
    "barrier.cta.arrive.aligned 1, 64",
    "elect.sync %r1|%p1, 0xffffffff",
    "elect.sync _|%p1, %r2",
    "fence.mbarrier_init.release.cluster",
    "fence.proxy.async",
    "fence.proxy.async.shared::cta",
    "fence.proxy.async.global",
    "fence.acq_rel.cluster",
    "fence.sc.cta",
    "setmaxnreg.inc.sync.aligned.u32 240",
    "setmaxnreg.dec.sync.aligned.u32 24",
};

// Also legal, and too far from the protocol for more.
constexpr const char* kAlsoLegal[] = {
    "mbarrier.pending_count.b64 %r1, %rd1",
    "mbarrier.arrive.noComplete.b64 _, [%rd1], %r1",
    "mbarrier.arrive_drop.expect_tx.relaxed.cluster.shared::cluster.b64 _, [%r1], 8",
    "bar.red.popc.u32 %r1, 0, %p1",
    "barrier.cta.red.and.pred.aligned %p1, 1, 64, %p2",
    "barrier.cta.sync.aligned %r1",
    "bar.cta.sync 0, 64",
    "bar.cta.arrive 0, 64",
    "fence.proxy.alias",
    "fence.proxy.async.shared::cluster",
    "fence.proxy.tensormap::generic.release.gpu",
    "fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128",
    "fence.acquire.sync_restrict::shared::cluster.cluster",
    "fence.release.sync_restrict::shared::cta.cluster",
    "fence.acq_rel.gpu",
    "fence.sc.sys",
};

constexpr const char* kModifiers[] = {
    "aligned", "sync", "relaxed", "acquire", "release",    "acq_rel",       "sc",          "cta",
    "cluster", "gpu",  "sys",     "shared",  "global",     "b32",           "shared::cta", "shared::cluster",
    "b64",     "u32",  "parity",  "proxy",   "noComplete", "mbarrier_init", "async",       "expect_tx"};
constexpr const char* kOperands[] = {"%r1", "%rd1", "%p1", "%h1", "%f1", "[%r1]", "[%rd1]", "[mbar]", "[mbar+4]",
                                     "0",   "1",    "2",   "33",  "-1",  "{%r1}", "mbar",   "1.5"};

struct Parts {
  std::vector<std::string> opcode, operands;
  std::string text() const {
    std::string out;
    for (const std::string& word : opcode) out += (out.empty() ? "" : ".") + word;
    for (size_t i = 0; i < operands.size(); ++i) out += (i == 0 ? " " : ", ") + operands[i];
    return out + ";";
  }
};

Parts parts_of(const std::string& line) {
  Parts out;
  std::istringstream opcode(line.substr(0, line.find(' ')));
  for (std::string word; std::getline(opcode, word, '.');) out.opcode.push_back(word);
  if (line.find(' ') == std::string::npos) return out;
  std::istringstream operands(line.substr(line.find(' ')));
  for (std::string operand; std::getline(operands, operand, ',');) out.operands.push_back(operand.substr(1));
  return out;
}

std::vector<std::string> legal_lines() {
  std::vector<std::string> out;
  for (const char* line : kLegal) out.push_back(std::string(line) + ";");
  for (const char* line : kAlsoLegal) out.push_back(std::string(line) + ";");
  return out;
}

TEST(SyncForm, LegalOnesAreQuiet) {
  const std::vector<std::string> lines = legal_lines();
  const Judged judged = judge(kernel(lines, "sm_100a", "9.0"));
  for (unsigned line : judged.lines()) ADD_FAILURE() << lines.at(line - kFirstLine) << "\n" << judged.about(line);
}

TEST(SyncForm, SaysWhatIsLegal) {
  const std::pair<const char*, const char*> table[] = {
      {"mbarrier.frob.b64 [%r1];", "`mbarrier.frob` is no instruction of PTX"},
      {"mbarrier.init.shared::cta.b64.b64 [%r1], 1;", "`.b64` is written twice"},
      {"mbarrier.init.gpu.b64 [%r1], 1;", "`mbarrier.init` takes no `.gpu`"},
      {"mbarrier.arrive.shared.shared::cta.b64 _, [%r1];", "takes one of `.shared` and `.shared::cta`"},
      {"mbarrier.init.b64 [%r1];", "`mbarrier.init` takes 2 operands; here are 1"},
      {"mbarrier.arrive.expect_tx.b64 _, [%r1];", "`mbarrier.arrive.expect_tx` takes 3 operands"},
      {"mbarrier.try_wait.parity.b64 %p1, [%r1];", "takes 3 or 4 operands; here are 2"},
      {"mbarrier.try_wait.parity.b64 %r1, [%r1], 0;", "is a predicate for the result"},
      {"mbarrier.try_wait.parity.b64 %p1, %r1, 0;", "is the mbarrier's address in brackets"},
      {"mbarrier.arrive.cta.b64 _, [%r1];", "with a scope needs the semantics"},
      {"barrier.cluster.wait.acquire.cta;", "takes no `.cta`"},
      {"barrier.cluster.arrive 0;", "takes no operand; here are 1"},
      {"elect.sync _|%p1;", "`elect.sync d|p, membermask`"},
  };
  for (const auto& [line, message] : table) {
    const Judged judged = judge(kernel({line}, "sm_100a", "9.0"));
    EXPECT_NE(judged.about(kFirstLine).find(message), std::string::npos) << line << "\n" << judged.about(kFirstLine);
  }
  // A later version may have more.
  EXPECT_TRUE(judge(kernel({"mbarrier.frob.b64 [%r1];"}, "sm_100a", "9.4")).lines().empty());
}

TEST(SyncForm, ChangesAgreeWithPtxas) {
  if (const std::string why = no_ptxas(); !why.empty()) GTEST_SKIP() << why;
  std::vector<Change> changes;
  for (const std::string& line : legal_lines()) {
    changes.push_back({line, "as it is", line.substr(0, line.find_first_of(" ;"))});
  }
  for (const char* line : kLegal) {
    const Parts legal = parts_of(line);
    const std::string name = legal.opcode.size() > 1 ? legal.opcode[0] + "." + legal.opcode[1] : legal.opcode[0];
    const auto add = [&](const Parts& parts, const std::string& what) {
      changes.push_back({parts.text(), what, name});
    };
    for (size_t i = 1; i < legal.opcode.size(); ++i) {
      Parts changed = legal;
      changed.opcode.erase(changed.opcode.begin() + static_cast<ptrdiff_t>(i));
      add(changed, "drop ." + legal.opcode[i]);
      changed = legal;
      for (const char* word : kModifiers) {
        changed.opcode[i] = word;
        add(changed, "replace ." + legal.opcode[i] + " by ." + word);
      }
    }
    for (const char* word : kModifiers) {
      Parts changed = legal;
      changed.opcode.push_back(word);
      add(changed, std::string("add .") + word);
    }
    for (size_t i = 0; i < legal.operands.size(); ++i) {
      Parts changed = legal;
      for (const char* operand : kOperands) {
        changed.operands[i] = operand;
        add(changed, std::string("operand ") + operand);
      }
      changed.operands.erase(changed.operands.begin() + static_cast<ptrdiff_t>(i));
      add(changed, "operand missing");
    }
    Parts more = legal;
    more.operands.push_back("%r1");
    add(more, "one more operand");
  }
  Differences differences("sync");
  compare(changes, "sm_100a", differences);
  EXPECT_EQ(differences.unused(), "");
  RecordProperty("changes", static_cast<int>(changes.size()));
}

}  // namespace
}  // namespace tmemlint::test
