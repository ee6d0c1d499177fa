// The order of basic blocks: lanes that diverge meet again before barriers and votes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/virtual_gpu/execution/tests/test_kernels.h"
#include "tests/virtual_gpu/program/draft.h"

namespace sinter::virtual_gpu::control_flow_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

// ---- Drafts ----

/// Drafts whose lines are their numbers in the text, from 1 on.
class Text {
 public:
  explicit Text(int labels) {
    for (int i = 0; i < labels; ++i) draft.new_label();
  }
  void label(std::int32_t label) { draft.place_label(label); }
  void plain() { add({}); }
  void branch(std::int32_t label, bool has_guard) {
    Draft one;
    one.ends_block = true;
    one.falls_through = has_guard;
    one.targets = {label};
    add(std::move(one));
  }
  void exit() {
    Draft one;
    one.ends_block = true;
    one.falls_through = false;
    add(std::move(one));
  }
  /// The lines in the new order; a branch that the order needs has the line of its predecessor.
  std::vector<int> ordered_lines() {
    order_blocks(draft);
    std::vector<int> lines;
    for (const Draft& one : draft.drafts) lines.push_back(one.operation.line);
    return lines;
  }
  /// The line at which the branch at the line arrives.
  int target_of(int line) const {
    for (const Draft& one : draft.drafts)
      if (one.operation.line == line && !one.targets.empty())
        return draft.drafts.at(static_cast<std::size_t>(one.details->target)).operation.line;
    return -1;
  }
  DraftKernel draft;

 private:
  void add(Draft one) {
    one.operation.line = ++lines_;
    draft.new_details(one);
    draft.drafts.push_back(std::move(one));
  }
  int lines_ = 0;
};

TEST(ControlFlow, FindsTheBlocksOfADiamond) {
  Text text(2);
  text.branch(0, true);   // 0
  text.plain();           // 1
  text.branch(1, false);  // 2
  text.label(0);
  text.plain();  // 3
  text.label(1);
  text.exit();  // 4
  for (Draft& one : text.draft.drafts)
    for (std::int32_t& target : one.targets) target = text.draft.labels[target];
  const std::vector<BasicBlock> blocks = find_blocks(text.draft.drafts);
  ASSERT_EQ(blocks.size(), 4u);
  EXPECT_THAT(blocks[0].successors, ElementsAre(1, 2));
  EXPECT_THAT(blocks[1].successors, ElementsAre(3));
  EXPECT_THAT(blocks[2].successors, ElementsAre(3));
  EXPECT_TRUE(blocks[3].successors.empty());
  EXPECT_EQ(blocks[0].next, 1u);
  EXPECT_EQ(blocks[1].next, std::nullopt);
  EXPECT_EQ(blocks[1].begin, 1u);
  EXPECT_EQ(blocks[1].end, 3u);
}

TEST(ControlFlow, ABlockBehindTheExitComesBeforeTheBlockThatItJumpsTo) {
  Text text(2);
  text.branch(1, true);  // line 1
  text.label(0);
  text.plain();  // 2
  text.exit();   // 3
  text.label(1);
  text.plain();           // 4
  text.branch(0, false);  // 5
  const std::vector<int> lines = text.ordered_lines();
  const auto at = [&](int line) { return std::ranges::find(lines, line) - lines.begin(); };
  EXPECT_LT(at(4), at(2));
  EXPECT_EQ(text.target_of(5), 2);
  // The first branch no longer falls through to line 2, so a branch follows it.
  EXPECT_THAT(lines, ElementsAre(1, 1, 4, 5, 2, 3));
}

TEST(ControlFlow, TheBlocksOfALoopAreAdjacent) {
  Text text(3);
  text.label(0);
  text.branch(2, true);   // 1: leaves the loop
  text.plain();           // 2
  text.branch(1, true);   // 3: to a block of the loop that the text has behind the exit
  text.branch(0, false);  // 4
  text.label(2);
  text.exit();  // 5
  text.label(1);
  text.plain();           // 6
  text.branch(0, false);  // 7
  const std::vector<int> lines = text.ordered_lines();
  EXPECT_EQ(lines.back(), 5);
  EXPECT_EQ(text.target_of(7), 1);
  EXPECT_EQ(text.target_of(4), 1);
  EXPECT_EQ(text.target_of(1), 5);
}

TEST(ControlFlow, BlocksWithoutAWayToThemAreLeftOut) {
  Text text(1);
  text.branch(0, false);  // 1
  text.plain();           // 2
  text.label(0);
  text.exit();  // 3
  EXPECT_THAT(text.ordered_lines(), ElementsAre(1, 3));
}

// ---- Execution ----

constexpr const char* kMeet = "bar.sync 0;\nactivemask.b32 %r20;\nadd.u32 %r2, %r2, 0;\n";

/// Adds to the result the lanes that are missing behind the body, in the upper half.
std::string meeting(const std::string& body) {
  return lane_kernel(body + kMeet + "not.b32 %r20, %r20;\nor.b32 %r2, %r2, %r20;\n");
}

TEST(ControlFlowExecution, LanesOfADiamondMeetBehindIt) {
  const std::string kernel = meeting(R"(
    and.b32 %r3, %r1, 1;
    setp.eq.u32 %p1, %r3, 0;
    @%p1 bra EVEN;
    mul.lo.u32 %r2, %r1, 10;
    bra JOIN;
EVEN:
    add.u32 %r2, %r1, 1000;
JOIN:)");
  EXPECT_EQ(run_lanes(kernel), table(32, [](auto i) { return i % 2 ? i * 10 : i + 1000; }));
}

TEST(ControlFlowExecution, LanesMeetAfterABlockBehindTheExit) {
  // A scheduler of warps that ran the lowest line first would meet the barrier with 16 lanes.
  const std::string kernel = kernel_text(".param .u64 out", std::string(kRegisters) + R"(
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mad.wide.u32 %rd1, %r1, 4, %rd1;
    mov.u32 %r2, 7;
    setp.lt.u32 %p1, %r1, 16;
    @%p1 bra FAR;
JOIN:
    bar.sync 0;
    st.global.u32 [%rd1], %r2;
    ret;
FAR:
    add.u32 %r2, %r2, %r1;
    setp.lt.u32 %p2, %r1, 4;
    @%p2 bra FARTHER;
    bra JOIN;
FARTHER:
    mov.u32 %r2, 1;
    bra JOIN;)");
  EXPECT_EQ(run_lanes(kernel), table(32, [](auto i) { return i < 4 ? 1u : i < 16 ? 7u + i : 7u; }));
}

TEST(ControlFlowExecution, LanesThatBreakMeetBehindTheLoop) {
  // Lane i leaves by the break at i iterations, or by the condition of the loop at 20.
  const std::string kernel = meeting(R"(
    mov.u32 %r2, 0;
    mov.u32 %r3, 0;
LOOP:
    setp.eq.u32 %p1, %r3, %r1;
    @%p1 bra BREAK;
    add.u32 %r2, %r2, %r3;
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p2, %r3, 20;
    @%p2 bra LOOP;
    add.u32 %r2, %r2, 5000;
    bra END;
BREAK:
    add.u32 %r2, %r2, 1000;
END:)");
  EXPECT_EQ(run_lanes(kernel),
            table(32, [](auto i) { return i < 20 ? i * (i - 1) / 2 + 1000 : 190u + 5000; }));
}

TEST(ControlFlowExecution, LanesMeetInEachIterationOfAnOuterLoop) {
  // The inner loop has i + round iterations; a barrier and a vote follow it in the outer one.
  const std::string kernel = meeting(R"(
    mov.u32 %r2, 0;
    mov.u32 %r3, 0;
OUTER:
    add.u32 %r4, %r1, %r3;
    setp.eq.u32 %p3, %r4, 0;
    @%p3 bra NEXT;
INNER:
    add.u32 %r2, %r2, 1;
    sub.u32 %r4, %r4, 1;
    setp.ne.u32 %p1, %r4, 0;
    @%p1 bra INNER;
NEXT:
    bar.sync 0;
    vote.sync.ballot.b32 %r5, 1, 0xffffffff;
    popc.b32 %r5, %r5;
    add.u32 %r2, %r2, %r5;
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p2, %r3, 3;
    @%p2 bra OUTER;)");
  EXPECT_EQ(run_lanes(kernel), table(32, [](auto i) { return 3 * i + 3 + 96; }));
}

TEST(ControlFlowExecution, LanesMeetAfterContinue) {
  // Odd rounds of odd lanes jump back from the middle of the loop.
  const std::string kernel = meeting(R"(
    mov.u32 %r2, 0;
    mov.u32 %r3, 0;
LOOP:
    setp.eq.u32 %p1, %r3, 6;
    @%p1 bra END;
    add.u32 %r3, %r3, 1;
    and.b32 %r4, %r3, %r1;
    and.b32 %r4, %r4, 1;
    setp.eq.u32 %p2, %r4, 1;
    @%p2 bra LOOP;
    add.u32 %r2, %r2, %r3;
    bra LOOP;
END:)");
  EXPECT_EQ(run_lanes(kernel), table(32, [](auto i) { return i % 2 ? 12u : 21u; }));
}

TEST(ControlFlowExecution, LanesOfASwitchMeetBehindIt) {
  const std::string kernel = meeting(R"(
    and.b32 %r3, %r1, 3;
cases: .branchtargets A, B, B, C;
    brx.idx %r3, cases;
A:  mov.u32 %r2, 10;
    bra END;
B:  mov.u32 %r2, 20;
    bra END;
C:  mov.u32 %r2, 30;
END:)");
  EXPECT_EQ(run_lanes(kernel), table(32, [](auto i) {
              return i % 4 == 0 ? 10u : i % 4 == 3 ? 30u : 20u;
            }));
}

TEST(ControlFlowExecution, ALoopWithTwoEntriesKeepsItsResults) {
  const std::string kernel = lane_kernel(R"(
    mov.u32 %r2, 0;
    mov.u32 %r3, 4;
    setp.lt.u32 %p1, %r1, 16;
    @%p1 bra SECOND;
FIRST:
    add.u32 %r2, %r2, 100;
SECOND:
    add.u32 %r2, %r2, 1;
    sub.u32 %r3, %r3, 1;
    setp.ne.u32 %p2, %r3, 0;
    @%p2 bra FIRST;)");
  EXPECT_EQ(run_lanes(kernel), table(32, [](auto i) { return i < 16 ? 304u : 404u; }));
}

TEST(ControlFlowExecution, TheRestOfAWarpGoesOnWhenLanesExit) {
  const std::string kernel = lane_kernel(R"(
    mov.u32 %r2, 0;
    st.global.u32 [%rd1], %r2;
    setp.gt.u32 %p1, %r1, 9;
    @%p1 exit;
    bar.sync 0;
    activemask.b32 %r2;)");
  EXPECT_EQ(run_lanes(kernel), table(32, [](auto i) { return i < 10 ? 0x3ffu : 0u; }));
}

TEST(ControlFlowExecution, AnIndexOutsideOfABranchTableIsAViolation) {
  const std::string kernel = lane_kernel(R"(
cases: .branchtargets A, A;
    brx.idx %r1, cases;
A:  mov.u32 %r2, 10;)");
  EXPECT_EQ(violation_of([&] { run_lanes(kernel); }),
            "kernel kernel, block (0, 0, 0), thread (2, 0, 0), line 21 (brx.idx %r1, cases;): "
            "index 2 is outside of a table of 2 labels");
}

}  // namespace
}  // namespace sinter::virtual_gpu::control_flow_test
