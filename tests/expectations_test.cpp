// The comments of labelled kernels: what they ask for, what is no such comment, and when a run disagrees with them.
#include "tests/expectations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tmemlint::test {
namespace {

using report::Level;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Expectations, AreReadFromTheEndOfTheirLine) {
  const Expectations e = read_expectations(
      "// shows something: and more\n"
      ".version 9.0\n"
      "  ld;  // expect: tmem-lane-window, tmem-column-bounds\n"
      "  st;  // allow: tmem-handoff-race // expect-note: tmem-missing-fence\r\n"
      "  // a plain comment\n"
      "  mma; // the first one // incomplete: which columns, and why  // flags: -arch=sm_103a -DX");
  EXPECT_THAT(e.problems, IsEmpty());
  EXPECT_EQ(e.shows, "shows something: and more");
  EXPECT_THAT(e.all, ElementsAre(Expectation{Asked::kFinding, 3, "tmem-lane-window"},
                                 Expectation{Asked::kFinding, 3, "tmem-column-bounds"},
                                 Expectation{Asked::kAllowed, 4, "tmem-handoff-race"},
                                 Expectation{Asked::kNote, 4, "tmem-missing-fence"},
                                 Expectation{Asked::kIncomplete, 6, "which columns, and why"},
                                 Expectation{Asked::kFlags, 6, "-arch=sm_103a"}, Expectation{Asked::kFlags, 6, "-DX"}));
  EXPECT_THAT(e.texts(Asked::kFlags), ElementsAre("-arch=sm_103a", "-DX"));
}

TEST(Expectations, AMisspeltKeywordIsAProblem) {
  for (const char* comment :
       {"expects: tmem-lane-window", "Expect: tmem-lane-window", "exect: tmem-lane-window", "alow: tmem-lane-window",
        "allowed: tmem-lane-window", "expect_note: tmem-lane-window", "expect note: tmem-lane-window",
        "expect tmem-lane-window", "tmem-lane-window", "expect; tmem-lane-window", "note: tmem-lane-window",
        "the load, expect: tmem-lane-window", "incomplte: the address", "incomplet: the address", "flag: -DX"}) {
    const Expectations e = read_expectations(std::string("ld;  // ") + comment);
    EXPECT_THAT(e.problems, ElementsAre(HasSubstr("line 1: "))) << comment;
    EXPECT_THAT(e.all, IsEmpty()) << comment;
  }
  EXPECT_THAT(read_expectations("ld;  /* expect: tmem-lane-window */").problems, ElementsAre(HasSubstr("outside")));
}

TEST(Expectations, PlainCommentsAreNone) {
  for (const char* comment : {"the other warp waits", "note: the loop is unrolled", "it is expected to hang",
                              "warp 0: allocates", "https://example.com", "allows more than one"}) {
    const Expectations e = read_expectations(std::string("ld;  // ") + comment);
    EXPECT_THAT(e.problems, IsEmpty()) << comment;
    EXPECT_THAT(e.all, IsEmpty()) << comment;
  }
}

TEST(Expectations, AnUnknownRuleIsAProblem) {
  EXPECT_THAT(read_expectations("\nld;  // expect: tmem-lane-widow").problems,
              ElementsAre("line 2: there is no rule 'tmem-lane-widow'"));
  EXPECT_THAT(read_expectations("ld;  // allow: tmem-lane-window tmem-handoff-race").problems,
              ElementsAre(HasSubstr("no rule")));
  EXPECT_THAT(read_expectations("ld;  // expect-note: lane-window").problems, ElementsAre(HasSubstr("no rule")));
}

TEST(Expectations, NothingAfterTheKeywordIsAProblem) {
  for (const char* keyword : {"expect:", "expect-note:", "allow: ", "incomplete:", "flags:", "expect: tmem-target,"})
    EXPECT_THAT(read_expectations(std::string("ld;  // ") + keyword).problems,
                ElementsAre(HasSubstr("nothing follows")))
        << keyword;
}

TEST(Expectations, WhatIsAskedForTwiceIsAProblem) {
  EXPECT_THAT(read_expectations("ld;  // expect: tmem-target, tmem-target").problems, ElementsAre(HasSubstr("twice")));
  EXPECT_THAT(read_expectations("ld;  // expect: tmem-target // allow: tmem-target").problems,
              ElementsAre(HasSubstr("twice")));
  EXPECT_THAT(read_expectations("ld;  // expect: tmem-missing-fence // expect-note: tmem-missing-fence").problems,
              IsEmpty());
  EXPECT_THAT(read_expectations("ld;  // expect: tmem-target\nld;  // expect: tmem-target").problems, IsEmpty());
}

// What a run with these findings has to say to the expectations of one text.
std::vector<std::string> judge(const std::string& text, const std::vector<SaidFinding>& findings,
                               const std::vector<SaidIncomplete>& incomplete = {}) {
  return disagreements(read_expectations(text), findings, incomplete);
}

TEST(Expectations, EveryFindingIsMatchedOnItsLine) {
  const std::string text = "\nld;  // expect: tmem-lane-window\nst;  // allow: tmem-handoff-race\n";
  const SaidFinding window{"tmem-lane-window", Level::kError, 2};
  EXPECT_THAT(judge(text, {window}), IsEmpty());
  EXPECT_THAT(judge(text, {window, window}), IsEmpty());
  EXPECT_THAT(judge(text, {{"tmem-lane-window", Level::kWarning, 2}, {"tmem-handoff-race", Level::kError, 3}}),
              IsEmpty());
  EXPECT_THAT(judge(text, {window, {"tmem-lane-window", Level::kError, 3}}),
              ElementsAre(HasSubstr("tmem-lane-window at line 3 is reported")));
  EXPECT_THAT(judge(text, {window, {"tmem-handoff-race", Level::kWarning, 2}}),
              ElementsAre(HasSubstr("tmem-handoff-race at line 2 is reported")));
  EXPECT_THAT(judge("", {{"tmem-target", Level::kError, 0}}), ElementsAre(HasSubstr("tmem-target at line 0")));
}

TEST(Expectations, EveryExpectationIsFoundOnItsLineAndLevel) {
  const std::string text = "ld;  // expect: tmem-missing-fence\nld;  // expect-note: tmem-uninitialized";
  const SaidFinding fence{"tmem-missing-fence", Level::kError, 1};
  const SaidFinding note{"tmem-uninitialized", Level::kNote, 2};
  EXPECT_THAT(judge(text, {fence, note}), IsEmpty());
  EXPECT_THAT(judge(text, {}), ElementsAre("tmem-missing-fence is expected at line 1",
                                           "tmem-uninitialized is expected at line 2, as a note"));
  EXPECT_THAT(judge(text, {note, {"tmem-missing-fence", Level::kNote, 1}}),
              ElementsAre("tmem-missing-fence is expected at line 1"));
  EXPECT_THAT(judge(text, {fence, {"tmem-uninitialized", Level::kWarning, 2}}),
              ElementsAre(HasSubstr("tmem-uninitialized at line 2 is reported"),
                          "tmem-uninitialized is expected at line 2, as a note"));
}

TEST(Expectations, NotesNeedNotBeAskedForAndAllowancesNotBeUsed) {
  EXPECT_THAT(judge("ld;", {{"tmem-uninitialized", Level::kNote, 1}}), IsEmpty());
  EXPECT_THAT(judge("ld;  // allow: tmem-target", {}), IsEmpty());
}

TEST(Expectations, IncompletePlacesAreMatchedBothWays) {
  const std::string text = "ld;  // incomplete: which columns";
  EXPECT_THAT(judge(text, {}, {{"it is open which columns this touches", 1}}), IsEmpty());
  EXPECT_THAT(judge(text, {}), ElementsAre("an incomplete place is expected at line 1: which columns"));
  EXPECT_THAT(judge(text, {}, {{"which columns", 1}, {"which lane", 1}}), ElementsAre(HasSubstr("which lane")));
  EXPECT_THAT(judge(text, {}, {{"which columns", 1}, {"which columns", 2}}), ElementsAre(HasSubstr("at line 2")));
}

TEST(Expectations, ProblemsAreDisagreements) {
  EXPECT_THAT(judge("ld;  // expcet: tmem-target", {}), ElementsAre(HasSubstr("line 1")));
}

TEST(Expectations, APlaceInAHeaderBelongsToTheCallInTheKernelsFile) {
  const auto header = std::make_shared<const ptx::SourceText>("tiles.cuh", "\n\nfree();\n");
  const auto file =
      std::make_shared<const ptx::SourceText>("k.cu", "call();  // expect: tmem-double-dealloc\nmma();\n");
  const auto place = [](const auto& text, uint32_t begin) {
    report::Place p;
    p.text = text;
    p.span = {begin, begin + 1};
    return p;
  };
  report::Results results;
  report::Finding f;
  f.rule = "tmem-double-dealloc";
  f.place = place(header, 2);
  f.related = {
      {place(file, 41), "freed here"}, {place(header, 0), "in a, called here"}, {place(file, 0), "in b, called here"}};
  results.findings.push_back(f);
  EXPECT_THAT(disagreements(read_expectations(file->text()), results, "k.cu"), IsEmpty());
  results.findings[0].related.pop_back();
  EXPECT_THAT(disagreements(read_expectations(file->text()), results, "k.cu"),
              ElementsAre(HasSubstr("at line 0"), HasSubstr("is expected at line 1")));
  report::Results open;
  open.incomplete.push_back({place(header, 2), "k", "what this frees, for the call at k.cu:2"});
  EXPECT_THAT(disagreements(read_expectations("\nfree();  // incomplete: what this frees"), open, "a/k.cu"), IsEmpty());
}

}  // namespace
}  // namespace tmemlint::test
