// Exchanges between the lanes of a warp, votes, and packing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/virtual_gpu/execution/tests/test_kernels.h"

namespace sinter::virtual_gpu::lane_instructions_test {
namespace {

using ::testing::ElementsAre;
using Words = std::vector<std::uint32_t>;

/// PTX ISA manual, section `shfl.sync`, in its own words: the lane to read, and whether it is in
/// range.
struct Source {
  int lane;
  bool in_range;
};
Source source_of(const std::string& mode, int lane, std::uint32_t b, std::uint32_t c) {
  const int bval = static_cast<int>(b % 32), cval = static_cast<int>(c % 32);
  const int segmask = static_cast<int>(c / 256 % 32);
  const int max_lane = (lane & segmask) | (cval & (31 - segmask));
  const int min_lane = lane & segmask;
  int j = 0;
  bool pval = false;
  if (mode == "up") {
    j = lane - bval;
    pval = j >= max_lane;
  } else if (mode == "down") {
    j = lane + bval;
    pval = j <= max_lane;
  } else if (mode == "bfly") {
    j = lane ^ bval;
    pval = j <= max_lane;
  } else {
    j = min_lane | (bval & (31 - segmask));
    pval = j <= max_lane;
  }
  return {pval ? j : lane, pval};
}

/// The results of a shuffle of `100 + lane`, with 1000 added if the source was in range.
Words shuffled(const std::string& mode, const Words& b, const Words& c) {
  KernelRunner runner;
  const std::uint64_t out = runner.array(Words(32));
  const std::uint64_t distances = runner.array(b), limits = runner.array(c);
  runner.run(
      kernel_text(".param .u64 out, .param .u64 b, .param .u64 c", std::string(kRegisters) + R"(
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [b];
    ld.param.u64 %rd3, [c];
    mov.u32 %r1, %laneid;
    mul.wide.u32 %rd4, %r1, 4;
    add.u64 %rd1, %rd1, %rd4;
    add.u64 %rd2, %rd2, %rd4;
    add.u64 %rd3, %rd3, %rd4;
    ld.global.u32 %r2, [%rd2];
    ld.global.u32 %r3, [%rd3];
    add.u32 %r4, %r1, 100;
    shfl.sync.)" + mode + R"(.b32 %r5|%p1, %r4, %r2, %r3, -1;
    @%p1 add.u32 %r5, %r5, 1000;
    st.global.u32 [%rd1], %r5;
    ret;)"),
      {}, out, distances, limits);
  return runner.read<std::uint32_t>(out, 32);
}

class Shuffle : public ::testing::TestWithParam<std::string> {};

TEST_P(Shuffle, FollowsThePseudocodeOfTheManual) {
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    // Segments of 32, 16, … lanes as CUDA makes them, and at the end any masks.
    Words b(32), c(32);
    const std::uint32_t segment = round < 48 ? 32U - (32U >> (round % 6)) : 0;
    const std::uint32_t clamp = GetParam() == "up" ? 0 : 31;
    const auto distance = static_cast<std::uint32_t>(random());
    for (std::size_t i = 0; i < 32; ++i) {
      b[i] = round < 24 ? distance : static_cast<std::uint32_t>(random());
      c[i] = round < 48 ? segment << 8 | clamp : static_cast<std::uint32_t>(random());
    }
    const Words expected = table(32, [&](std::uint32_t lane) {
      const Source source = source_of(GetParam(), static_cast<int>(lane), b[lane], c[lane]);
      return 100 + static_cast<std::uint32_t>(source.lane) + (source.in_range ? 1000 : 0);
    });
    EXPECT_EQ(shuffled(GetParam(), b, c), expected) << "round " << round;
  }
}
INSTANTIATE_TEST_SUITE_P(Modes, Shuffle, ::testing::Values("up", "down", "bfly", "idx"));

TEST(LaneInstructions, ShufflesOfCudaReadTheseLanes) {
  EXPECT_EQ(shuffled("bfly", Words(32, 16), Words(32, 0x1f)),
            table(32, [](auto i) { return 1100 + (i + 16) % 32; }));
  EXPECT_EQ(shuffled("up", Words(32, 3), Words(32, 0)),
            table(32, [](auto i) { return i < 3 ? 100 + i : 1097 + i; }));
  // __shfl_down_sync(…, 2, 8): segments of 8 lanes.
  EXPECT_EQ(shuffled("down", Words(32, 2), Words(32, 0x181f)),
            table(32, [](auto i) { return i % 8 < 6 ? 1102 + i : 100 + i; }));
  // __shfl_sync(…, 5, 4): lane 1 of each segment of 4.
  EXPECT_EQ(shuffled("idx", Words(32, 5), Words(32, 0x1c1f)),
            table(32, [](auto i) { return 1101 + i / 4 * 4; }));
}

TEST(LaneInstructions, PartsOfAWarpShuffleApart) {
  const std::string kernel = lane_kernel(R"(
    setp.lt.u32 %p1, %r1, 16;
    @%p1 bra LOW;
    shfl.sync.bfly.b32 %r2, %r1, 1, 31, 0xffff0000;
    bra END;
LOW:
    shfl.sync.idx.b32 %r2, %r1, 7, 31, 0x0000ffff;
END:)");
  EXPECT_EQ(run_lanes(kernel), table(32, [](auto i) { return i < 16 ? 7 : i ^ 1; }));
}

TEST(LaneInstructions, MembersThatExitedAreNotAwaited) {
  // PTX ISA manual, `shfl.sync`: it waits for all non-exited threads of the member mask.
  const std::string kernel = lane_kernel(R"(
    shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;
    setp.lt.u32 %p1, %r1, 100;
    vote.sync.all.pred %p2, %p1, -1;
    vote.sync.ballot.b32 %r4, %p1, -1;
    selp.b32 %r5, 1000, 0, %p2;
    add.u32 %r2, %r3, %r4;
    add.u32 %r2, %r2, %r5;)");
  EXPECT_EQ(run_lanes(kernel, {.block = {8, 1, 1}}),
            table(8, [](auto i) { return (i ^ 1) + 0xff + 1000; }));
}

// ---- Votes ----

Words voted(const std::string& condition) {
  return run_lanes(lane_kernel(condition + R"(
    vote.sync.all.pred %p2, %p1, -1;
    vote.sync.any.pred %p3, %p1, -1;
    vote.sync.uni.pred %p4, %p1, -1;
    vote.sync.ballot.b32 %r3, %p1, -1;
    popc.b32 %r2, %r3;
    @%p2 add.u32 %r2, %r2, 1000;
    @%p3 add.u32 %r2, %r2, 2000;
    @%p4 add.u32 %r2, %r2, 4000;)"));
}

TEST(LaneInstructions, VotesJoinThePredicatesOfAllLanes) {
  EXPECT_EQ(voted("setp.lt.u32 %p1, %r1, 32;"), Words(32, 7032));
  EXPECT_EQ(voted("setp.lt.u32 %p1, %r1, 31;"), Words(32, 2031));
  EXPECT_EQ(voted("setp.gt.u32 %p1, %r1, 30;"), Words(32, 2001));
  EXPECT_EQ(voted("setp.gt.u32 %p1, %r1, 99;"), Words(32, 4000));
}

TEST(LaneInstructions, VotesOfSomeLanesIgnoreTheOthers) {
  const std::string kernel = lane_kernel(R"(
    setp.lt.u32 %p1, %r1, 16;
    @%p1 bra LOW;
    vote.sync.ballot.b32 %r2, !%p1, 0xffff0000;
    bra END;
LOW:
    setp.ne.u32 %p2, %r1, 3;
    vote.sync.ballot.b32 %r2, %p2, 0x0000ffff;
END:)");
  EXPECT_EQ(run_lanes(kernel), table(32, [](auto i) { return i < 16 ? 0xfff7u : 0xffff0000u; }));
}

TEST(LaneInstructions, ActiveMaskHasTheRunningLanes) {
  const std::string kernel = lane_kernel(R"(
    and.b32 %r3, %r1, 1;
    setp.eq.u32 %p1, %r3, 0;
    @%p1 activemask.b32 %r2;
    @!%p1 mov.u32 %r2, 0;)");
  EXPECT_EQ(run_lanes(kernel), table(32, [](auto i) { return i % 2 ? 0u : 0x55555555u; }));
}

// ---- Packing ----

TEST(LaneInstructions, PackAndUnpackBeginWithTheLowestElement) {
  const std::string kernel = lane_kernel(R"(
    mov.u32 %r3, 0x12345678;
    mov.b32 {%h1, %h2}, %r3;
    mov.b32 %r4, {%h2, %h1};
    mov.u64 %rd3, 0x1122334455667788;
    mov.b64 {%r5, %r6}, %rd3;
    mov.b64 %rd4, {%r6, %r5};
    mov.b64 {%h3, %h4, %h5, %h6}, %rd4;
    mov.b64 %rd5, {%h6, %h5, %h4, %h3};
    mov.b64 {%r7, _}, %rd5;
    setp.eq.u32 %p1, %r1, 0;
    setp.eq.u32 %p2, %r1, 1;
    setp.eq.u32 %p3, %r1, 2;
    setp.eq.u32 %p4, %r1, 3;
    @%p1 mov.u32 %r2, %r4;
    @%p2 cvt.u32.u64 %r2, %rd4;
    @%p3 mov.u32 %r2, %r7;
    @%p4 cvt.u32.u16 %r2, %h3;)");
  EXPECT_THAT(run_lanes(kernel, {.block = {4, 1, 1}}),
              ElementsAre(0x56781234, 0x11223344, 0x77885566, 0x3344));
}

TEST(LaneInstructions, PackTakesTheLowBitsOfItsElements) {
  // A register of 16 bits that a signed operation wrote must not change its neighbour.
  const std::string kernel = lane_kernel(R"(
    cvt.u16.u32 %h1, %r1;
    neg.s16 %h2, %h1;
    not.b16 %h3, %h1;
    mov.b32 %r2, {%h2, %h1};
    mov.b32 %r3, {%h3, %h1};
    xor.b32 %r2, %r2, %r3;)");
  EXPECT_EQ(run_lanes(kernel), table(32, [](auto i) { return (-i ^ ~i) & 0xffff; }));
}

}  // namespace
}  // namespace sinter::virtual_gpu::lane_instructions_test
