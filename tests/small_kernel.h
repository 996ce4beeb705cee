// Small kernels inside tests, and what the tool says of them.
//
// A line of a kernel that a test speaks about ends in a mark, `// @name`. What is said is then "error tmem-slot-race
// @read": the level, the rule and the mark of the finding's line. A kernel that the analysis could not follow says
// "incomplete @name".
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/cluster/analysis.h"
#include "analyzer/cluster/joint.h"
#include "analyzer/engine.h"
#include "rules/problems.h"

namespace tmemlint::test {

struct Setting {
  unsigned threads = 128;
  unsigned cluster = 0;  // CTAs, 0: not stated
  std::string target = "sm_100a";
};

// A kernel with parameters out, n and m and everything declared that the pieces below use. In each thread %t is its
// number, %w its warp, %l its lane, %rank its CTA; %w0 to %w5 are true in the warp of that number, %cta0 in the first
// CTA. %n and %m hold the parameters, %a and %b are legal descriptors of the tiles, %id is M = 128, N = 128 of
// .kind::f16, %no is false and %yes true.
inline std::string ptx_kernel(const std::string& body, const Setting& setting = {}) {
  std::string cluster;
  if (setting.cluster != 0)
    cluster = "    .explicitcluster .reqnctapercluster " + std::to_string(setting.cluster) + ",1,1\n";
  return ".version 9.0\n.target " + setting.target + R"(
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 n, .param .u32 m)
    .reqntid )" +
         std::to_string(setting.threads) + ",1,1\n" + cluster + R"({
    .shared .align 16 .b8 slot[32];
    .shared .align 8 .b64 full;
    .shared .align 8 .b64 empty;
    .shared .align 8 .b64 ring[8];
    .shared .align 1024 .b8 tile_a[16384];
    .shared .align 1024 .b8 tile_b[16384];
    .reg .pred %w0, %w1, %w2, %w3, %w4, %w5, %cta0, %first, %no, %yes, %elected, %over, %p<20>;
    .reg .b16 %h<4>;
    .reg .b32 %t, %w, %l, %n, %m, %ta, %tw, %id, %rank, %remote, %r<100>;
    .reg .b64 %out, %a, %b, %d<20>;
    mov.u32 %t, %tid.x;
    shr.u32 %w, %t, 5;
    and.b32 %l, %t, 31;
    mov.u32 %rank, %cluster_ctarank;
    setp.eq.u32 %w0, %w, 0;
    setp.eq.u32 %w1, %w, 1;
    setp.eq.u32 %w2, %w, 2;
    setp.eq.u32 %w3, %w, 3;
    setp.eq.u32 %w4, %w, 4;
    setp.eq.u32 %w5, %w, 5;
    setp.eq.u32 %first, %t, 0;
    setp.eq.u32 %cta0, %rank, 0;
    setp.ne.u32 %no, 0, 0;
    setp.eq.u32 %yes, 0, 0;
    ld.param.u64 %out, [out];
    ld.param.u32 %n, [n];
    ld.param.u32 %m, [m];
    mov.b32 %id, 0x08200490;
    mov.u32 %r90, tile_a;
    bfe.u32 %r90, %r90, 4, 14;
    cvt.u64.u32 %a, %r90;
    or.b64 %a, %a, 0x4000404000010000;
    mov.u32 %r90, tile_b;
    bfe.u32 %r90, %r90, 4, 14;
    cvt.u64.u32 %b, %r90;
    or.b64 %b, %b, 0x4000404000010000;
)" + body +
         "    ret;\n}\n";
}

inline std::string fresh_label() {
  static unsigned number = 0;
  return "L" + std::to_string(number++);
}

// `body` where the predicate holds.
inline std::string where(const std::string& predicate, const std::string& body) {
  const std::string over = fresh_label();
  return "@!" + predicate + " bra " + over + ";\n" + body + over + ":\n";
}

// `body` in one lane of the warps that come here.
inline std::string elected(const std::string& body) {
  const std::string over = fresh_label();
  return "elect.sync _|%elected, 0xffffffff;\n@!%elected bra " + over + ";\n" + body + over +
         ":\nbar.warp.sync 0xffffffff;\n";
}

// A loop that waits for the phase of that parity (a number or a register).
inline std::string wait(const std::string& barrier, const std::string& parity, const std::string& mark = "") {
  const std::string again = fresh_label();
  return again + ": mbarrier.try_wait.parity.shared::cta.b64 %over, [" + barrier + "], " + parity + ";" + mark +
         "\n@!%over bra " + again + ";\ntcgen05.fence::after_thread_sync;\n";
}

inline std::string init(const std::string& barrier, unsigned count, const std::string& mark = "") {
  return "mbarrier.init.shared::cta.b64 [" + barrier + "], " + std::to_string(count) + ";" + mark + "\n";
}

inline std::string join() {
  return "tcgen05.fence::before_thread_sync;\nbar.sync 0;\ntcgen05.fence::after_thread_sync;\n";
}

inline std::string join_cluster() {
  return "tcgen05.fence::before_thread_sync;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
         "tcgen05.fence::after_thread_sync;\n";
}

inline std::string allocate(const std::string& slot, unsigned columns, const std::string& mark = "") {
  return "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [" + slot + "], " + std::to_string(columns) + ";" +
         mark + "\n";
}
inline std::string release(const std::string& address, unsigned columns, const std::string& mark = "") {
  return "tcgen05.dealloc.cta_group::1.sync.aligned.b32 " + address + ", " + std::to_string(columns) + ";" + mark +
         "\n";
}

// Warp 0 makes the mbarriers ready and allocates; %ta is the address in all warps, %tw the same in the warp's own
// lanes.
inline std::string begin(unsigned columns, const std::string& inits = "") {
  std::string out;
  if (!inits.empty()) out += where("%first", inits + "fence.mbarrier_init.release.cluster;\n");
  out += where(
      "%w0", allocate("slot", columns, " // @alloc") + "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n");
  return out + join() +
         "ld.shared.b32 %ta, [slot];\nand.b32 %tw, %w, 3;\nshl.b32 %tw, %tw, 21;\nadd.u32 %tw, %tw, %ta;\n";
}

// All warps join, and warp 0 frees.
inline std::string end(unsigned columns) {
  return join() + where("%w0", release("%ta", columns, " // @dealloc"));
}

inline std::string mma(const std::string& d, const std::string& accumulate, const std::string& mark = "") {
  return "tcgen05.mma.cta_group::1.kind::f16 [" + d + "], %a, %b, %id, " + accumulate + ";" + mark + "\n";
}

inline std::string commit(const std::string& barrier, const std::string& mark = "") {
  return "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [" + barrier + "];" + mark + "\n";
}

inline std::string load(const std::string& address, const std::string& mark = "") {
  return "tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r1,%r2,%r3,%r4}, [" + address + "];" + mark + "\n";
}

inline std::string store(const std::string& address, const std::string& mark = "") {
  return "tcgen05.st.sync.aligned.32x32b.x4.b32 [" + address + "], {%t,%t,%t,%t};" + mark + "\n";
}

const std::string kWaitLoads = "tcgen05.wait::ld.sync.aligned;\n";
const std::string kWaitStores = "tcgen05.wait::st.sync.aligned;\n";

inline std::string mark_at(const report::Place& place) {
  const std::string_view text = place.text->text();
  size_t at = std::min<size_t>(place.span.begin, text.size());
  const size_t begin = text.rfind('\n', at == 0 ? 0 : at - 1) + 1;
  const std::string line(text.substr(begin, text.find('\n', at) - begin));
  const size_t mark = line.find("// @");
  return mark == std::string::npos ? "`" + line + "`" : line.substr(mark + 3);
}

// What is said of a kernel, sorted. Notes only where they are asked for.
inline std::vector<std::string> said(const std::string& text, bool notes = false) {
  report::Results results;
  lint(std::make_shared<const ptx::SourceText>("k.ptx", text), Options{}, results);
  std::vector<std::string> out;
  for (const report::InputError& e : results.errors) out.push_back("cannot be read: " + e.message);
  for (const report::Finding& f : results.findings) {
    if (f.level == report::Level::kNote && !notes) continue;
    const char* level = f.level == report::Level::kError     ? "error "
                        : f.level == report::Level::kWarning ? "warning "
                                                             : "note ";
    out.push_back(level + f.rule + " " + mark_at(f.place));
  }
  for (const report::Incomplete& i : results.incomplete) out.push_back("incomplete " + mark_at(i.place));
  std::sort(out.begin(), out.end());
  return out;
}

// The joint run of a text's one kernel. Its instructions are those of `module`.
struct Joint {
  std::unique_ptr<ptx::Module> module;
  std::unique_ptr<cluster::Analysis> analysis;
  cluster::Joint run;
};

inline Joint joint_of(const std::string& text, const cluster::JointSetting& setting = {}) {
  Joint out;
  out.module = std::make_unique<ptx::Module>(ptx::parse(std::make_shared<const ptx::SourceText>("k.ptx", text)));
  EXPECT_TRUE(out.module->errors.empty());
  out.analysis = std::make_unique<cluster::Analysis>(cluster::analyze(*out.module, 0, {}, {}));
  out.run = cluster::run_jointly(*out.analysis->kernel, out.analysis->launch, out.analysis->warps, setting);
  return out;
}

// What that run showed to be wrong; it points into the run.
inline std::vector<rules::Problem> problems_of(const Joint& joint) {
  return rules::find_problems(joint.run, rules::view_of(*joint.analysis)).all;
}

}  // namespace tmemlint::test
