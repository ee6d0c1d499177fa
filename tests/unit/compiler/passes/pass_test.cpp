// The pass runner: skips, times, verifies and dumps passes, and reports which pass failed.
#include "compiler/passes/pass.h"

#include "sinter/error.h"
#include "sinter/ops.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::pass_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::array<std::string_view, 2> kNames = {"first", "second"};
constexpr std::array<std::string_view, 1> kNeeded = {"second"};

class PassTest : public testing::Test {
 protected:
  PassTest() {
    const Tensor x = graph_.input("x", f32, {8});
    graph_.output("y", exp(x));
  }

  Passes passes() { return Passes(options_, kNames, kNeeded); }

  /// Breaks the graph as a bug could: its output is a node that the graph does not own.
  void break_graph() {
    stray_ = *graph_.data().outputs[0].node;
    graph_.data().outputs[0].node = &stray_;
  }

  Graph graph_{"g"};
  PlanOptions options_;
  Node stray_;
};

TEST_F(PassTest, RunsThePass) {
  bool ran = false;
  passes().run("first", graph_, [&] { ran = true; });
  EXPECT_TRUE(ran);
}

TEST_F(PassTest, SkipsByName) {
  options_.skip = {"first"};
  bool ran = false;
  passes().run("first", graph_, [&] { ran = true; });
  EXPECT_FALSE(ran);
  EXPECT_TRUE(passes().is_skipped("first"));
  EXPECT_FALSE(passes().is_skipped("second"));
}

TEST_F(PassTest, RejectsSkippingAnUnknownPass) {
  options_.skip = {"third"};
  EXPECT_THAT([&] { passes(); }, ThrowsMessage<UserError>(
                                     "skip: there is no pass third; the passes are first, second"));
}

TEST_F(PassTest, RejectsSkippingARequiredPass) {
  options_.skip = {"second"};
  EXPECT_THAT([&] { passes(); }, ThrowsMessage<UserError>(HasSubstr("second cannot be left out")));
}

TEST_F(PassTest, TimesThePass) {
  std::vector<std::string> names;
  double total = -1;
  options_.timed = [&](std::string_view name, double milliseconds) {
    names.emplace_back(name);
    total = milliseconds;
  };
  passes().run("first", graph_, [] {});
  EXPECT_THAT(names, ElementsAre("first"));
  EXPECT_GE(total, 0);
}

TEST_F(PassTest, DumpsTheResult) {
  std::string name, text;
  options_.dump = [&](std::string_view pass, const std::string& dumped) {
    name = pass;
    text = dumped;
  };
  passes().run("first", graph_, [&] { graph_.output("z", exp(graph_.input("w", f32, {2}))); });
  EXPECT_EQ(name, "first");
  EXPECT_THAT(text, HasSubstr("z = exp w"));
}

TEST_F(PassTest, NamesThePassThatFailed) {
  EXPECT_THAT(
      [&] { passes().run("first", graph_, [] { ensure(false, "the moon is round"); }); },
      ThrowsMessage<InternalError>(HasSubstr("failed in first: sinter bug: the moon is round")));
}

TEST_F(PassTest, VerifiesAfterwards) {
  EXPECT_THAT([&] { passes().run("first", graph_, [&] { break_graph(); }); },
              ThrowsMessage<InternalError>(HasSubstr("failed after first: ")));
}

TEST_F(PassTest, VerifiesOnlyOnRequest) {
  options_.verify = false;
  EXPECT_NO_THROW(passes().run("first", graph_, [&] { break_graph(); }));
}

TEST_F(PassTest, DoesNotWrapUserErrors) {
  EXPECT_THAT([&] { passes().run("first", graph_, [] { throw UserError("x is too long"); }); },
              ThrowsMessage<UserError>("x is too long"));
}

}  // namespace
}  // namespace sinter::pass_test
