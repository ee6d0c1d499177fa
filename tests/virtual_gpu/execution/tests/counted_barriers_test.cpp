// Barriers with numbers of threads, arrivals that do not wait, and barriers of warps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/virtual_gpu/execution/tests/test_kernels.h"

namespace sinter::virtual_gpu::counted_barriers_test {
namespace {

using ::testing::HasSubstr;

/// A kernel whose threads have a word of `row` at %rd4, and that of the thread %r1 ^ 32 at %rd5.
/// %r3 is the warp.
std::string row_kernel(const std::string& body) {
  return lane_kernel(R"(
    .shared .align 4 .b8 row[1024];
    mov.u64 %rd3, row;
    mad.wide.u32 %rd4, %r1, 4, %rd3;
    xor.b32 %r4, %r1, 32;
    mad.wide.u32 %rd5, %r4, 4, %rd3;
    shr.u32 %r3, %r1, 5;
    mov.u32 %r2, 0;
    )" + body);
}
std::vector<std::uint32_t> run(const std::string& body, std::uint32_t threads,
                               const GpuOptions& options = {}) {
  return run_lanes(row_kernel(body), {.block = {threads, 1, 1}}, options);
}
std::string violation(const std::string& body, std::uint32_t threads) {
  return violation_of([&] { run(body, threads); });
}
void expect_results(const std::string& body, std::uint32_t threads,
                    const std::function<std::uint32_t(std::uint32_t)>& f) {
  for (const Schedule schedule : {Schedule::fair, Schedule::random, Schedule::adversarial})
    for (const std::uint64_t seed : {1, 2, 3})
      EXPECT_EQ(run(body, threads, {.schedule = schedule, .seed = seed}), table(threads, f))
          << static_cast<int>(schedule) << ", seed " << seed;
}

// ---- Counts ----

/// Pairs of warps meet at a barrier of their own.
const std::string kPairs = R"(
    st.shared.u32 [%rd4], %r1;
    shr.u32 %r5, %r3, 1;
    add.u32 %r5, %r5, 1;
    barrier.cta.sync.aligned %r5, 64;
    ld.shared.u32 %r2, [%rd5];)";

TEST(CountedBarriers, PairsOfWarpsMeet) {
  expect_results(kPairs, 128, [](auto i) { return i ^ 32; });
}

TEST(CountedBarriers, OtherWarpsAreNotOrdered) {
  std::string body = kPairs;
  body.replace(body.find("[%rd5]"), 6, "[%rd6]");
  const std::string other = "xor.b32 %r4, %r1, 64;\nmad.wide.u32 %rd6, %r4, 4, %rd3;\n" + body;
  EXPECT_THAT(violation_of([&] { run(other, 128, {.checks_initialization = false}); }),
              HasSubstr("race on shared address"));
}

TEST(CountedBarriers, ABarrierServesSeveralGroupsInTurn) {
  // Without a barrier of all, warps 0 and 1 meet, or any other two of the four.
  expect_results("bar.sync 2, 64;\nmov.u32 %r2, 1;", 128, [](auto) { return 1; });
}

TEST(CountedBarriers, APartialWarpCountsAs32Threads) {
  expect_results("bar.sync 2, 64;\nmov.u32 %r2, 1;", 40, [](auto) { return 1; });
}

TEST(CountedBarriers, ReductionsOfSomeWarps) {
  // Warps 0 and 1 count lanes below 5, warps 2 and 3 those below 7.
  expect_results(R"(
    and.b32 %r6, %r1, 31;
    setp.lt.u32 %p1, %r1, 64;
    selp.u32 %r7, 5, 7, %p1;
    setp.lt.u32 %p2, %r6, %r7;
    selp.u32 %r5, 3, 4, %p1;
    barrier.cta.red.popc.aligned.u32 %r2, %r5, 64, %p2;
    bar.red.or.pred %p3, %r5, 64, !%p2;
    bar.red.and.pred %p4, %r5, 64, !%p2;
    @%p3 add.u32 %r2, %r2, 100;
    @%p4 add.u32 %r2, %r2, 1000;)",
                 128, [](auto i) { return i < 64 ? 110u : 114u; });
}

// ---- Arrivals ----

/// Warp 1 produces three rows, warp 0 consumes them.
const std::string kProducer = R"(
    setp.eq.u32 %p1, %r3, 1;
    mov.u32 %r5, 0;
    @%p1 bra PRODUCE;
CONSUME:
    bar.sync 1, 64;
    ld.shared.u32 %r6, [%rd5];
    add.u32 %r2, %r2, %r6;
    bar.arrive 2, 64;
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p2, %r5, 3;
    @%p2 bra CONSUME;
    bra END;
PRODUCE:
    mad.lo.u32 %r6, %r5, 1000, %r1;
    st.shared.u32 [%rd4], %r6;
    barrier.arrive 1, 64;
    bar.cta.sync 2, 64;
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p2, %r5, 3;
    @%p2 bra PRODUCE;
END:)";

TEST(CountedBarriers, AProducerDoesNotWait) {
  expect_results(kProducer, 64, [](auto i) { return i < 32 ? 3000 + 3 * (i + 32) : 0; });
}

TEST(CountedBarriers, AnArrivalReleasesOnlyWhatPrecedesIt) {
  std::string late = kProducer;
  const std::string store = "st.shared.u32 [%rd4], %r6;";
  const std::string arrive = "barrier.arrive 1, 64;";
  late.replace(late.find(store), store.size(), "");
  late.replace(late.find(arrive), arrive.size(), arrive + "\n" + store);
  EXPECT_THAT(violation_of([&] { run(late, 64, {.checks_initialization = false}); }),
              HasSubstr("race on shared address"));
}

TEST(CountedBarriers, AnArrivalAcquiresNothing) {
  EXPECT_THAT(violation(R"(
    setp.eq.u32 %p1, %r3, 1;
    @%p1 bra SECOND;
    st.shared.u32 [%rd4], %r1;
    bar.sync 1, 64;
    bra END;
SECOND:
    bar.arrive 1, 64;
    st.shared.u32 [%rd5], %r1;
END:)",
                        64),
              HasSubstr("race on shared address"));
}

// ---- Rules ----

TEST(CountedBarriers, CountsAreMultiplesOfTheWarpSize) {
  EXPECT_THAT(violation("bar.sync 1, 40;", 64),
              HasSubstr("40 threads are no multiple of the warp size"));
  EXPECT_THAT(violation("bar.arrive 1, 0;", 64),
              HasSubstr("0 threads are no multiple of the warp size"));
}

TEST(CountedBarriers, AllInstructionsNameTheSameCount) {
  EXPECT_THAT(
      violation("setp.eq.u32 %p1, %r3, 0;\n@%p1 bra A;\nbar.sync 1, 64;\nbra END;\nA:\n"
                "bar.sync 1, 96;\nEND:",
                64),
      HasSubstr("it names 64 threads for barrier 1, but the instruction at line 32 named 96"));
}

TEST(CountedBarriers, ReductionsDoNotMixWithOthers) {
  EXPECT_THAT(violation("setp.eq.u32 %p1, %r3, 0;\n@%p1 bra A;\nbar.sync 1, 64;\nbra END;\nA:\n"
                        "bar.red.popc.u32 %r5, 1, 64, %p1;\nEND:",
                        64),
              HasSubstr("barrier 1 is used by another kind of instruction at line 32"));
}

TEST(CountedBarriers, AWarpArrivesOnce) {
  EXPECT_THAT(violation("bar.arrive 1, 96;\nbar.sync 1, 96;", 64),
              HasSubstr("the warp arrives twice at barrier 1, which has not completed"));
}

TEST(CountedBarriers, MissingThreadsAreADeadlock) {
  EXPECT_THAT(violation("bar.sync 1, 96;", 64),
              HasSubstr("warp 0 waits at barrier 1 of its block (64 of 96 threads), line 27"));
}

// ---- Warps ----

TEST(WarpBarriers, LanesExchangeSharedMemory) {
  expect_results(R"(
    st.shared.u32 [%rd4], %r1;
    bar.warp.sync 0xffffffff;
    xor.b32 %r4, %r1, 31;
    mad.wide.u32 %rd5, %r4, 4, %rd3;
    ld.shared.u32 %r2, [%rd5];)",
                 64, [](auto i) { return i ^ 31; });
}

TEST(WarpBarriers, GroupsHaveMasksOfTheirOwn) {
  const std::string body = R"(
    st.shared.u32 [%rd4], %r1;
    and.b32 %r5, %r1, 28;
    mov.u32 %r6, 15;
    shl.b32 %r6, %r6, %r5;
    bar.warp.sync %r6;
    xor.b32 %r4, %r1, 3;
    mad.wide.u32 %rd5, %r4, 4, %rd3;
    ld.shared.u32 %r2, [%rd5];)";
  expect_results(body, 32, [](auto i) { return i ^ 3; });
  std::string across = body;
  across.replace(across.find("%r1, 3;"), 7, "%r1, 4;");
  EXPECT_THAT(violation(across, 32), HasSubstr("race on shared address"));
}

TEST(WarpBarriers, MembersMustExecuteIt) {
  EXPECT_THAT(violation("setp.lt.u32 %p1, %r1, 8;\n@%p1 bar.warp.sync 0xffff;", 32),
              HasSubstr("the lanes 0x0000ff00 of the member mask 0x0000ffff do not execute it"));
  EXPECT_THAT(violation("setp.lt.u32 %p1, %r1, 8;\n@%p1 bar.warp.sync 0xfe;", 32),
              HasSubstr("the lane's member mask 0x000000fe lacks the lane itself"));
}

TEST(WarpBarriers, ElectionsChooseTheLowestMember) {
  expect_results(R"(
    setp.ge.u32 %p1, %r1, 16;
    selp.u32 %r5, 0xffff0000, 0x0000ffff, %p1;
    elect.sync %r6|%p2, %r5;
    selp.u32 %r2, 100, 0, %p2;
    add.u32 %r2, %r2, %r6;)",
                 32, [](auto i) { return (i % 16 == 0 ? 100 : 0) + (i < 16 ? 0 : 16); });
}

// ---- Values of lanes ----

TEST(LaneValues, LanesMatchByTheirValues) {
  // Lanes with the same remainder by 3. The high half of a value of 64 bits counts.
  expect_results(R"(
    rem.u32 %r5, %r1, 3;
    cvt.u64.u32 %rd6, %r5;
    shl.b64 %rd6, %rd6, 40;
    match.any.sync.b32 %r6, %r5, 0xffffffff;
    match.any.sync.b64 %r7, %rd6, 0xffffffff;
    xor.b32 %r7, %r7, %r6;
    add.u32 %r2, %r6, %r7;)",
                 32, [](auto i) { return 0x49249249u << (i % 3); });
}

TEST(LaneValues, AllLanesOfAMaskMatchOrNone) {
  expect_results(R"(
    setp.ge.u32 %p1, %r1, 16;
    selp.u32 %r5, 0xffff0000, 0x0000ffff, %p1;
    selp.u32 %r6, %r1, 7, %p1;
    match.all.sync.b32 %r2|%p2, %r6, %r5;
    @%p2 add.u32 %r2, %r2, 1;)",
                 32, [](auto i) { return i < 16 ? 0x10000u : 0u; });
}

TEST(LaneValues, ReductionsOfMembers) {
  expect_results(R"(
    setp.ge.u32 %p1, %r1, 16;
    selp.u32 %r5, 0xffff0000, 0x0000ffff, %p1;
    sub.u32 %r6, %r1, 20;
    redux.sync.add.s32 %r7, %r1, %r5;
    redux.sync.min.s32 %r8, %r6, %r5;
    redux.sync.max.u32 %r9, %r6, %r5;
    redux.sync.xor.b32 %r10, %r1, %r5;
    redux.sync.or.b32 %r11, %r1, %r5;
    redux.sync.and.b32 %r12, %r1, %r5;
    mad.lo.u32 %r2, %r7, 1000, %r8;
    add.u32 %r2, %r2, %r9;
    mad.lo.u32 %r2, %r10, 1000000, %r2;
    add.u32 %r2, %r2, %r11;
    mad.lo.u32 %r2, %r12, 10000000, %r2;)",
                 32, [](auto i) {
                   // Members 0 to 15: sum 120, minimum -20, maximum -5 as unsigned.
                   return i < 16 ? 120000u - 20 - 5 + 15 : 376000u - 4 - 1 + 31 + 160000000u;
                 });
}

}  // namespace
}  // namespace sinter::virtual_gpu::counted_barriers_test
