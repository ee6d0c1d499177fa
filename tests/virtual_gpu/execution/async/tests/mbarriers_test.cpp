// The rules of mbarriers: order, initialisation, counts, phases, and deadlocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/virtual_gpu/execution/async/tests/mbarrier_kernels.h"
#include "tests/virtual_gpu/program/decode.h"
#include "tests/virtual_gpu/ptx/error.h"

namespace sinter::virtual_gpu::mbarriers_test {
namespace {

using ::testing::HasSubstr;

TEST(MBarriers, AnArrivalOrdersNothingBehindIt) {
  EXPECT_THAT(mbarrier_violation(64, R"(
    mbarrier.arrive.shared.b64 %rd6, [bar];
    st.shared.u32 [%rd4], %r1;)" + std::string(kWaitForState) +
                                         R"(
    xor.b32 %r4, %r1, 63;
    mad.wide.u32 %rd7, %r4, 4, %rd3;
    ld.shared.u32 %r2, [%rd7];)"),
              HasSubstr("race on shared address"));
}

TEST(MBarriers, AWaitLearnsNothingOfTheNextPhase) {
  // Thread 1 writes behind phase 0 and arrives at phase 1, for which thread 0 does not wait.
  const std::string body = R"(
    mbarrier.arrive.shared.b64 %rd6, [bar];)" +
                           std::string(kWaitForState) + R"(
    setp.ge.u32 %p4, %r1, 32;
    @%p4 st.shared.u32 [row], %r1;
    @%p4 mbarrier.arrive.shared.b64 %rd7, [bar];
    @%p4 bra END;
    mov.u32 %r5, 0;
LATE:
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p5, %r5, 5000;
    @%p5 bra LATE;
    mbarrier.test_wait.parity.shared.b64 %p2, [bar], 0;
    ld.shared.u32 %r2, [row];
END:)";
  std::string kernel = barrier_kernel(64, body);
  kernel.replace(kernel.find("%r1, 32;"), 8, "%r1, 63;");  // one writer
  EXPECT_THAT(violation_of([&] {
                run_lanes(kernel, {.block = {64, 1, 1}}, {.checks_initialization = false});
              }),
              HasSubstr("race on shared address"));
}

TEST(MBarriers, TheObjectMustBeInitialized) {
  EXPECT_EQ(mbarrier_problem(1, "mbarrier.arrive.shared.b64 %rd6, [other];"),
            "shared address 0x408 holds no mbarrier: mbarrier.init must precede its use");
  EXPECT_EQ(
      mbarrier_problem(1, "mbarrier.inval.shared.b64 [bar];\nmbarrier.inval.shared.b64 [bar];"),
      "shared address 0x400 holds no mbarrier: mbarrier.init must precede its use");
  EXPECT_THAT(violation_of([] {
                std::string kernel = barrier_kernel(2, "mbarrier.arrive.shared.b64 %rd6, [bar];");
                kernel.replace(kernel.find("bar.sync 0;"), 11, "");
                run_lanes(kernel, {.block = {2, 1, 1}});
              }),
              HasSubstr("the use of the mbarrier at shared address 0x400 is not ordered after its "
                        "initialisation by block 0, thread 0"));
}

TEST(MBarriers, TheObjectMustBeInvalidatedBeforeAnotherUse) {
  EXPECT_THAT(mbarrier_problem(1, "mbarrier.init.shared.b64 [bar], 3;"),
              HasSubstr("shared address 0x400 holds an mbarrier since line 28: mbarrier.inval must "
                        "precede another use of its memory"));
  EXPECT_THAT(mbarrier_problem(1, "st.shared.u32 [%rd5+4], 0;"),
              HasSubstr("holds an mbarrier since"));
  EXPECT_THAT(mbarrier_violation(64, R"(
    mbarrier.arrive.shared.b64 %rd6, [bar];
    @%p1 mbarrier.inval.shared.b64 [bar];)"),
              HasSubstr("the invalidation of the mbarrier at shared address 0x400 is not ordered "
                        "after its use by block 0, thread 32, line 31"));
}

TEST(MBarriers, CountsHaveLimits) {
  EXPECT_EQ(mbarrier_problem(1, "mbarrier.init.shared.b64 [other], 0;"),
            "mbarrier at shared address 0x408: the count 0 is not from 1 to 1048575");
  EXPECT_EQ(mbarrier_problem(3, "mbarrier.arrive.shared.b64 %rd6, [bar], 4;"),
            "mbarrier at shared address 0x400: 4 arrivals at a phase that awaits 3 more");
  EXPECT_EQ(mbarrier_problem(1, "mbarrier.arrive.noComplete.shared.b64 %rd6, [bar], 1;"),
            "mbarrier at shared address 0x400: the arrival has .noComplete, but it completes the "
            "phase");
  EXPECT_EQ(mbarrier_problem(1, "mbarrier.expect_tx.shared.b64 [bar], 1048576;"),
            "mbarrier at shared address 0x400: the tx-count becomes 1048576, its magnitude must be "
            "at most 1048575");
}

TEST(MBarriers, EachPhaseIsAwaitedBeforeTheNextArrival) {
  EXPECT_EQ(
      mbarrier_problem(1,
                       "mbarrier.arrive.shared.b64 %rd6, [bar];\n"
                       "mbarrier.arrive.shared.b64 %rd7, [bar];"),
      "mbarrier at shared address 0x400: an arrival in phase 1 needs a wait that returned true "
      "for phase 0");
}

TEST(MBarriers, WaitsNameTheCurrentPhaseOrTheOneBefore) {
  EXPECT_EQ(
      mbarrier_problem(1, R"(
    mbarrier.arrive.shared.b64 %rd6, [bar];
    mbarrier.test_wait.shared.b64 %p2, [bar], %rd6;
    mbarrier.arrive.shared.b64 %rd7, [bar];
    mbarrier.test_wait.shared.b64 %p2, [bar], %rd6;)"),
      "mbarrier at shared address 0x400: the state is of phase 0, but the current phase is 2");
  EXPECT_EQ(mbarrier_problem(1, "mbarrier.test_wait.parity.shared.b64 %p2, [bar], 2;"),
            "mbarrier at shared address 0x400: the parity of a phase is 0 or 1, not 2");
  EXPECT_EQ(mbarrier_problem(2,
                             "mbarrier.arrive.shared.b64 %rd6, [bar];\n"
                             "mbarrier.pending_count.b64 %r3, %rd6;"),
            "the state must be the result of an arrival with .noComplete");
}

TEST(MBarriers, AnMbarrierIsInSharedMemoryOfTheBlock) {
  EXPECT_THAT(mbarrier_violation(64, "@%p1 mbarrier.init.b64 [%rd1], 1;"),
              HasSubstr("is not in shared memory"));
  EXPECT_EQ(mbarrier_problem(1, "mbarrier.init.shared.b64 [%rd5+4], 1;"),
            "address 0x404 is misaligned for 8 bytes");
  const std::string remote = lane_kernel(R"(
    .shared .align 8 .b64 bar;
    mov.u32 %r2, 0;
    mov.u64 %rd5, bar;
    cvta.shared.u64 %rd6, %rd5;
    mapa.u64 %rd7, %rd6, 1;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    mbarrier.init.b64 [%rd7], 1;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;)");
  EXPECT_THAT(
      violation_of([&] {
        run_lanes(remote, {.grid = {2, 1, 1}, .block = {1, 1, 1}, .cluster = {2, 1, 1}});
      }),
      HasSubstr("the mbarrier is in block 1 of the cluster, the instruction needs one of its "
                "own block"));
}

/// The error of decoding a kernel with one instruction.
std::string error_of(const std::string& instruction) {
  try {
    decode(ptx::parse(kernel_text("", kRegisters + instruction + "\nret;")),
           [](const auto&) { return std::uint64_t{0}; });
  } catch (const PtxError& error) {
    return error.what();
  }
  return "none";
}

TEST(MBarriers, DecodingChecksTheModifiers) {
  EXPECT_EQ(
      error_of("mbarrier.arrive.shared::cluster.b64 %rd1, [%r1];"),
      "line 13: opcode mbarrier.arrive.shared::cluster.b64: an arrival in .shared::cluster has "
      "no result: its destination must be _");
  EXPECT_EQ(
      error_of("mbarrier.init.shared::cluster.b64 [%r1], 1;"),
      "line 13: opcode mbarrier.init.shared::cluster.b64: the mbarrier must be in .shared::cta");
  EXPECT_EQ(error_of("mbarrier.test_wait.shared::cluster.b64 %p1, [%r1], %rd1;"),
            "line 13: opcode mbarrier.test_wait.shared::cluster.b64: the mbarrier must be in "
            ".shared::cta");
  EXPECT_EQ(
      error_of("mbarrier.arrive.release.shared.b64 %rd1, [%r1];"),
      "line 13: opcode mbarrier.arrive.release.shared.b64: a semantics and a scope must be given "
      "together");
  EXPECT_EQ(error_of("mbarrier.arrive.global.b64 %rd1, [%rd2];"),
            "line 13: opcode mbarrier.arrive.global.b64: the modifier .global is not known");
  EXPECT_EQ(error_of("mbarrier.arrive.shared.b32 %r1, [%r2];"),
            "line 13: opcode mbarrier.arrive.shared.b32: the type must be b64");
  EXPECT_EQ(error_of("mbarrier.arrive.noComplete.shared.b64 %rd1, [%r2];"),
            "line 13: opcode mbarrier.arrive.noComplete.shared.b64: it has 2 operands, the decoder "
            "expects 3");
  EXPECT_EQ(error_of("mbarrier.arrive.b64 %rd1, [%r2];"), "line 13: address %r2 has no 64 bits");
  EXPECT_EQ(error_of("mbarrier.report.b64 [%rd1];"),
            "line 13: opcode mbarrier.report.b64: the interpreter does not know it");
}

TEST(MBarriers, AWaitThatNeverEndsIsADeadlock) {
  const std::string message = mbarrier_violation(64, R"(
    setp.lt.u32 %p4, %r1, 60;
    @%p4 mbarrier.arrive.expect_tx.shared.b64 %rd6, [bar], 4;
WAIT:
    mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
    @!%p2 bra WAIT;)");
  EXPECT_THAT(message, HasSubstr("deadlock: none of 2 warps can continue"));
  EXPECT_THAT(
      message,
      HasSubstr("kernel kernel, block 0, warp 1 waits for phase 0 of the mbarrier at shared "
                "address 0x400, which lacks 4 of 64 arrivals and 240 bytes, line 34 "
                "(mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;)"));
}

}  // namespace
}  // namespace sinter::virtual_gpu::mbarriers_test
