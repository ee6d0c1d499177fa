// Messages of the checks of memory, initialisation, synchronisation and deadlocks. Each check has a
// kernel that breaks its rule. The first instruction of a body is in line 20.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/virtual_gpu/execution/tests/test_kernels.h"

namespace sinter::virtual_gpu::checks_test {
namespace {

/// The message of a lane_kernel() with the body.
std::string message_of(const std::string& body, const Launch& launch = {.block = {1, 1, 1}}) {
  return violation_of([&] { run_lanes(lane_kernel("\n" + body), launch); });
}

/// The message of thread 0 for the first instruction.
std::string in_line_20(const std::string& instruction, const std::string& problem) {
  return "kernel kernel, block (0, 0, 0), thread (0, 0, 0), line 20 (" + instruction +
         "): " + problem;
}

// ---- Memory ----

/// The message of an access at `offset` from the middle one of three allocations of 64 bytes.
struct Out {
  std::string message;
  std::uint64_t address;  ///< of the allocation
};
Out access_at(std::int64_t offset, const std::string& instruction = "ld.global.u32 %r2, [%rd1];",
              bool is_freed = false) {
  KernelRunner runner;
  runner.array(std::vector<std::uint32_t>(16));
  const std::uint64_t address = runner.array(std::vector<std::uint32_t>(16));
  runner.array(std::vector<std::uint32_t>(16));
  if (is_freed) runner.free(address);
  const std::string kernel = lane_kernel("\n" + instruction);
  return {violation_of([&] {
            runner.run(kernel, {.block = {1, 1, 1}}, address + static_cast<std::uint64_t>(offset));
          }),
          address};
}

TEST(MemoryChecks, NameTheDistanceToAnAllocation) {
  const auto expected = [](const Out& out, std::int64_t offset, const std::string& instruction,
                           int bytes, const std::string& place) {
    return in_line_20(
        instruction,
        fmt::format("{} bytes at {:#x}: {} the allocation of 64 bytes at {:#x}", bytes,
                    out.address + static_cast<std::uint64_t>(offset), place, out.address));
  };
  const std::string load = "ld.global.u32 %r2, [%rd1];";
  const std::string store = "st.global.v2.u32 [%rd1], {%r1, %r1};";
  const std::string atomic = "atom.global.add.u32 %r2, [%rd1], 1;";
  Out out = access_at(64);
  EXPECT_EQ(out.message, expected(out, 64, load, 4, "directly behind the end of"));
  out = access_at(-4, atomic);
  EXPECT_EQ(out.message, expected(out, -4, atomic, 4, "4 bytes before"));
  out = access_at(1000, store);
  EXPECT_EQ(out.message, expected(out, 1000, store, 8, "936 bytes behind the end of"));
  out = access_at(60, "ld.u64 %rd2, [%rd1+-4];");
  EXPECT_EQ(out.message, "none");
}

TEST(MemoryChecks, AnAccessMayNotCrossTheEnd) {
  KernelRunner runner;
  const std::uint64_t address = runner.array(std::vector<std::uint32_t>(3));
  const std::string kernel = lane_kernel("\nld.global.u64 %rd2, [%rd1+8];");
  EXPECT_EQ(violation_of([&] {
              runner.run(kernel, {.block = {1, 1, 1}}, address);
            }),
            in_line_20("ld.global.u64 %rd2, [%rd1+8];",
                       fmt::format("8 bytes at {:#x}: 8 bytes into the allocation of 12 bytes at "
                                   "{:#x}",
                                   address + 8, address)));
}

TEST(MemoryChecks, NameFreedMemory) {
  const Out out = access_at(8, "ld.global.u32 %r2, [%rd1];", /*is_freed=*/true);
  EXPECT_EQ(out.message, in_line_20("ld.global.u32 %r2, [%rd1];",
                                    fmt::format("4 bytes at {:#x}: in freed memory: 8 bytes into "
                                                "the allocation of 64 bytes at {:#x}",
                                                out.address + 8, out.address)));
}

TEST(MemoryChecks, NameVariablesOfTheModule) {
  const std::string kernel =
      lane_kernel("\nld.global.u32 %r2, [numbers+8];", ".global .align 4 .u32 numbers[2];\n");
  const std::string message = violation_of([&] { run_lanes(kernel); });
  EXPECT_NE(message.find("directly behind the end of the variable numbers of 8 bytes at 0x"),
            std::string::npos)
      << message;
}

TEST(MemoryChecks, AddressZeroIsNearNoAllocation) {
  EXPECT_EQ(message_of("st.global.u32 [0], %r1;"),
            in_line_20("st.global.u32 [0], %r1;", "4 bytes at 0x0: near no allocation"));
}

TEST(MemoryChecks, NameMisalignedAddresses) {
  const Out out = access_at(2);
  EXPECT_EQ(out.message,
            in_line_20("ld.global.u32 %r2, [%rd1];",
                       fmt::format("address {:#x} is misaligned for 4 bytes", out.address + 2)));
  const std::string vector = "ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd1];";
  const Out wide = access_at(8, vector);
  EXPECT_EQ(wide.message, in_line_20(vector, fmt::format("address {:#x} is misaligned for 16 bytes",
                                                         wide.address + 8)));
}

TEST(MemoryChecks, NameTheThreadAndTheBlock) {
  KernelRunner runner;
  const std::uint64_t address = runner.array(std::vector<std::uint32_t>(100));
  const std::string kernel = kernel_text(".param .u64 out", std::string(kRegisters) + R"(
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.y;
    mov.u32 %r2, %ctaid.y;
    mad.lo.u32 %r1, %r2, 60, %r1;
    mad.wide.u32 %rd1, %r1, 4, %rd1;
    ld.global.u32 %r3, [%rd1];
    ret;)");
  EXPECT_EQ(violation_of([&] {
              runner.run(kernel, {.grid = {1, 2, 1}, .block = {2, 60, 1}}, address);
            }),
            fmt::format("kernel kernel, block (0, 1, 0), thread (0, 40, 0), line 19 (ld.global.u32 "
                        "%r3, [%rd1];): 4 bytes at {:#x}: directly behind the end of the "
                        "allocation of 400 bytes at {:#x}",
                        address + 400, address));
}

TEST(MemoryChecks, NameAddressesOutsideOfSharedAndLocalMemory) {
  // Shared memory begins at 0x400 and has 16 bytes.
  const std::string shared = ".shared .align 4 .b8 row[16];";
  EXPECT_EQ(message_of("st.shared.u32 [row+16], %r1; " + shared),
            in_line_20("st.shared.u32 [row+16], %r1; " + shared,
                       "4 bytes at 0x410 are outside of the 16 bytes of shared memory at 0x400"));
  EXPECT_EQ(message_of("st.shared.u32 [row+-4], %r1; " + shared),
            in_line_20("st.shared.u32 [row+-4], %r1; " + shared,
                       "4 bytes at 0x3fc are outside of the 16 bytes of shared memory at 0x400"));
  const std::string local = ".local .align 8 .b8 own[8];";
  EXPECT_EQ(message_of("st.local.u64 [own+8], %rd1; " + local),
            in_line_20("st.local.u64 [own+8], %rd1; " + local,
                       "8 bytes at 0x408 are outside of the 8 bytes of local memory at 0x400"));
}

TEST(MemoryChecks, ASharedAddressFromOutsideOfTheWindow) {
  const Out out = access_at(0, "cvta.to.shared.u64 %rd2, %rd1;");
  EXPECT_EQ(out.message, in_line_20("cvta.to.shared.u64 %rd2, %rd1;",
                                    fmt::format("generic address {:#x} is outside of the window of "
                                                "0 bytes at 0x100000000000400",
                                                out.address)));
}

TEST(MemoryChecks, ATrapEndsTheKernel) {
  EXPECT_EQ(message_of("trap;"), in_line_20("trap;", "the kernel trapped"));
}

// ---- Initialisation ----

TEST(InitializationChecks, NameTheFirstByteThatNothingWrote) {
  KernelRunner runner;
  const std::uint64_t address = runner.allocate(64).address;
  const std::string kernel = lane_kernel("st.global.u16 [%rd1], 1;\nld.global.u32 %r2, [%rd1];");
  EXPECT_EQ(violation_of([&] {
              runner.run(kernel, {.block = {1, 1, 1}}, address);
            }),
            in_line_20("ld.global.u32 %r2, [%rd1];",
                       fmt::format("nothing wrote the byte at global address {:#x}, of 4 bytes at "
                                   "{:#x}",
                                   address + 2, address)));
}

TEST(InitializationChecks, NameSharedAndLocalMemory) {
  const std::string shared = "ld.shared.u32 %r2, [row]; .shared .align 4 .b8 row[16];";
  EXPECT_EQ(
      message_of(shared),
      in_line_20(shared, "nothing wrote the byte at shared address 0x400, of 4 bytes at 0x400"));
  const std::string local = "ld.local.u32 %r2, [own+4]; .local .align 4 .b8 own[8];";
  EXPECT_EQ(message_of(local),
            in_line_20(local, "nothing wrote all of the 4 bytes of local memory at offset 4"));
}

TEST(InitializationChecks, AtomicsReadToo) {
  EXPECT_NE(message_of("atom.global.add.u32 %r2, [%rd1], 1;").find("nothing wrote the byte"),
            std::string::npos);
}

TEST(InitializationChecks, CanBeSwitchedOff) {
  const std::string kernel = lane_kernel("\nld.global.u32 %r2, [%rd1];");
  EXPECT_EQ(violation_of([&] { run_lanes(kernel, {}, {.checks_initialization = false}); }), "none");
}

// ---- Barriers and shuffles ----

const std::string kEven = "and.b32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, 0; mov.u32 %r2, 0;\n";

TEST(SynchronizationChecks, NameTheLanesThatMissABarrier) {
  EXPECT_EQ(
      message_of(kEven + "@%p1 bar.sync 0;", {}),
      "kernel kernel, block (0, 0, 0), thread (0, 0, 0), line 21 (@%p1 bar.sync 0;): 16 lanes "
      "of the warp are missing (mask 0xaaaaaaaa), the first one is lane 1");
  EXPECT_EQ(message_of(kEven + "@!%p1 bra END;\nbar.red.popc.u32 %r2, 0, %p1;\nEND:", {}),
            "kernel kernel, block (0, 0, 0), thread (0, 0, 0), line 22 (bar.red.popc.u32 %r2, 0, "
            "%p1;): 16 lanes of the warp are missing (mask 0xaaaaaaaa), the first one is lane 1");
  EXPECT_EQ(message_of(kEven + "@!%p1 barrier.cluster.arrive;", {}),
            "kernel kernel, block (0, 0, 0), thread (1, 0, 0), line 21 (@!%p1 "
            "barrier.cluster.arrive;): 16 lanes of the warp are missing (mask 0x55555555), the "
            "first one is lane 0");
}

TEST(SynchronizationChecks, NameTheLanesThatMissAShuffleOrVote) {
  EXPECT_EQ(message_of(kEven + "@%p1 shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;", {}),
            "kernel kernel, block (0, 0, 0), thread (0, 0, 0), line 21 (@%p1 shfl.sync.bfly.b32 "
            "%r2, %r1, 1, 31, -1;): the lanes 0xaaaaaaaa of the member mask 0xffffffff do not "
            "execute it");
  EXPECT_EQ(message_of(kEven + "vote.sync.any.pred %p2, %p1, 0x7fffffff;", {}),
            "kernel kernel, block (0, 0, 0), thread (31, 0, 0), line 21 (vote.sync.any.pred %p2, "
            "%p1, 0x7fffffff;): the lane's member mask 0x7fffffff lacks the "
            "lane itself");
  EXPECT_EQ(message_of(kEven + "@%p1 shfl.sync.bfly.b32 %r2, %r1, 1, 31, 0x55555555;", {}),
            "kernel kernel, block (0, 0, 0), thread (0, 0, 0), line 21 (@%p1 shfl.sync.bfly.b32 "
            "%r2, %r1, 1, 31, 0x55555555;): it reads lane 1, which is not among the members "
            "0x55555555 that run");
}

TEST(SynchronizationChecks, NameABarrierThatDoesNotExist) {
  EXPECT_EQ(message_of("bar.sync 16;"),
            in_line_20("bar.sync 16;", "barrier 16 does not exist, the last one is 15"));
}

TEST(SynchronizationChecks, ABarrierHasOneKindOfInstruction) {
  EXPECT_EQ(message_of("setp.lt.u32 %p1, %r1, 32; mov.u32 %r2, 0;\n@%p1 bar.sync 0;\n"
                       "@!%p1 bar.red.popc.u32 %r2, 0, %p1;",
                       {.block = {64, 1, 1}}),
            "kernel kernel, block (0, 0, 0), thread (32, 0, 0), line 22 (@!%p1 bar.red.popc.u32 "
            "%r2, 0, %p1;): barrier 0 is used by another kind of instruction at line 21");
}

// ---- Clusters and cooperative launches ----

TEST(SynchronizationChecks, AClusterWaitNeedsAnArrival) {
  const std::string problem = "the threads wait at the cluster barrier without an arrival";
  EXPECT_EQ(message_of("barrier.cluster.wait;"), in_line_20("barrier.cluster.wait;", problem));
  EXPECT_EQ(message_of("barrier.cluster.arrive;\nbarrier.cluster.wait;\nbarrier.cluster.wait;"),
            "kernel kernel, block (0, 0, 0), thread (0, 0, 0), line 22 (barrier.cluster.wait;): " +
                problem);
  EXPECT_EQ(message_of("barrier.cluster.arrive;\nbarrier.cluster.arrive;"),
            "kernel kernel, block (0, 0, 0), thread (0, 0, 0), line 21 (barrier.cluster.arrive;): "
            "the threads arrive twice at the cluster barrier without a wait");
}

const std::string kMap = R"(
    .shared .align 4 .b32 value;
    mov.u64 %rd3, value;
    cvta.shared.u64 %rd3, %rd3;
    mov.u32 %r3, %cluster_ctarank;
)";

TEST(SynchronizationChecks, AClusterHasNoBlockOfALargerRank) {
  const Launch launch = {.grid = {2, 1, 1}, .block = {1, 1, 1}, .cluster = {2, 1, 1}};
  EXPECT_EQ(message_of(kMap + "mapa.u64 %rd4, %rd3, 2;", launch),
            "kernel kernel, block (0, 0, 0), thread (0, 0, 0), line 25 (mapa.u64 %rd4, %rd3, 2;): "
            "block 2 of the cluster does not exist, it has 2");
  EXPECT_EQ(
      message_of(kMap + "add.u64 %rd3, %rd3, 0x2000000;\nld.u32 %r2, [%rd3];", launch),
      "kernel kernel, block (0, 0, 0), thread (0, 0, 0), line 26 (ld.u32 %r2, [%rd3];): block "
      "2 of the cluster does not exist, it has 2");
}

TEST(SynchronizationChecks, ABlockThatExitedHasNoSharedMemory) {
  const std::string body = kMap + R"(
    mov.u32 %r2, 0;
    st.global.u32 [%rd1], %r2;
    barrier.cluster.arrive.relaxed;
    barrier.cluster.wait;
    setp.eq.u32 %p1, %r3, 1;
    @%p1 ret;
    mov.u32 %r4, 0;
LOOP:
    add.u32 %r4, %r4, 1;
    setp.lt.u32 %p2, %r4, 3000;
    @%p2 bra LOOP;
    mapa.u64 %rd4, %rd3, 1;
    st.u32 [%rd4], %r2;)";
  EXPECT_EQ(
      message_of(body, {.grid = {2, 1, 1}, .block = {1, 1, 1}, .cluster = {2, 1, 1}}),
      "kernel kernel, block (0, 0, 0), thread (0, 0, 0), line 38 (st.u32 [%rd4], %r2;): block "
      "1 of the cluster has exited, so its shared memory is gone");
}

TEST(SynchronizationChecks, ACooperativeGridMustFit) {
  KernelRunner runner({}, {.sm_count = 2, .blocks_per_sm = 3});
  const std::string kernel = lane_kernel("\nmov.u32 %r2, 0;");
  const std::uint64_t out = runner.allocate(4096).address;
  const auto launch = [&](std::uint32_t blocks) {
    return violation_of([&] {
      runner.run(kernel, {.grid = {blocks, 1, 1}, .is_cooperative = true}, out);
    });
  };
  EXPECT_EQ(launch(6), "none");
  EXPECT_EQ(launch(7),
            "kernel kernel: the cooperative launch has 7 blocks, 6 are resident at once");
}

TEST(SynchronizationChecks, ABlockMustFit) {
  KernelRunner runner;
  const std::string kernel = lane_kernel("\nmov.u32 %r2, 0;");
  EXPECT_EQ(
      violation_of([&] { runner.run(kernel, {.dynamic_shared_bytes = 300000}, std::uint64_t{0}); }),
      "kernel kernel: no block of 32 threads and 300000 bytes of shared memory in clusters of "
      "1 fits on the GPU");
}

// ---- Deadlocks ----

TEST(DeadlockChecks, NameTheBarriersOfTwoWarps) {
  EXPECT_EQ(message_of("setp.lt.u32 %p1, %r1, 32; mov.u32 %r2, 0;\n@%p1 bar.sync 1;\n"
                       "@!%p1 bar.sync 2;",
                       {.block = {64, 1, 1}}),
            "deadlock: none of 2 warps can continue\n"
            "  kernel kernel, block 0, warp 0 waits at barrier 1 of its block, line 21 (@%p1 "
            "bar.sync 1;)\n"
            "  kernel kernel, block 0, warp 1 waits at barrier 2 of its block, line 22 (@!%p1 "
            "bar.sync 2;)");
}

/// All warps but one are at the barrier when that one waits for earlier launches, which have ended.
TEST(DeadlockChecks, AWarpThatWaitsForFinishedLaunchesCanContinue) {
  std::string waits;
  for (int i = 0; i < 3; ++i) waits += "\ngriddepcontrol.wait;\nbar.sync 0;";
  const std::string kernel = lane_kernel(waits + "\nmov.u32 %r2, 0;");
  for (std::uint64_t seed = 0; seed < 64; ++seed) {
    KernelRunner runner({.schedule = Schedule::adversarial, .seed = seed});
    const std::uint64_t out = runner.allocate(1024 * 4).address;
    EXPECT_EQ(violation_of([&] {
                runner.run(kernel, {.block = {1024, 1, 1}}, out);
              }),
              "none")
        << seed;
  }
}

TEST(DeadlockChecks, NameASpinAndThoseThatWaitForIt) {
  const std::string spin = R"(
    mov.u32 %r2, 9;
    setp.eq.u32 %p2, %r1, 40;
    @%p2 st.global.u32 [%rd1], %r2;
    bar.sync 0;
    setp.ne.u32 %p1, %r1, 40;
    @%p1 bra MEET;
SPIN:
    ld.volatile.global.u32 %r2, [%rd1];
    setp.eq.u32 %p3, %r2, 9;
    @%p3 bra SPIN;
MEET:
    bar.sync 0;)";
  EXPECT_EQ(message_of(spin, {.block = {64, 1, 1}}),
            "deadlock: none of 2 warps can continue\n"
            "  kernel kernel, block 0, warp 0 waits at barrier 0 of its block, line 32 (bar.sync "
            "0;)\n"
            "  kernel kernel, block 0, warp 1 reads the value 0x9 again and again, line 28 "
            "(ld.volatile.global.u32 %r2, [%rd1];)");
}

TEST(DeadlockChecks, NameALockThatIsNeverFree) {
  EXPECT_EQ(message_of("st.global.u32 [%rd1], 1;\nLOCK:\natom.global.cas.b32 %r2, [%rd1], 0, 1;\n"
                       "setp.ne.u32 %p1, %r2, 0;\n@%p1 bra LOCK;"),
            "deadlock: none of 1 warps can continue\n"
            "  kernel kernel, block 0, warp 0 reads the value 0x1 again and again, line 22 "
            "(atom.global.cas.b32 %r2, [%rd1], 0, 1;)");
}

TEST(DeadlockChecks, NameAClusterBarrierThatABlockMisses) {
  // Block 1 waits at another barrier, at which the second warp never arrives.
  const std::string body = R"(
    mov.u32 %r2, %cluster_ctarank;
    setp.eq.u32 %p1, %r2, 0;
    @%p1 barrier.cluster.arrive;
    @%p1 barrier.cluster.wait;
    setp.lt.u32 %p2, %r1, 32;
    @%p2 bar.sync 1;
    @!%p2 bar.sync 2;)";
  EXPECT_EQ(message_of(body, {.grid = {2, 1, 1}, .block = {33, 1, 1}, .cluster = {2, 1, 1}}),
            "deadlock: none of 4 warps can continue\n"
            "  kernel kernel, block 0, warp 0 waits at the barrier of its cluster, line 24 (@%p1 "
            "barrier.cluster.wait;)\n"
            "  kernel kernel, block 0, warp 1 waits at the barrier of its cluster, line 24 (@%p1 "
            "barrier.cluster.wait;)\n"
            "  kernel kernel, block 1, warp 0 waits at barrier 1 of its block, line 26 (@%p2 "
            "bar.sync 1;)\n"
            "  kernel kernel, block 1, warp 1 waits at barrier 2 of its block, line 27 (@!%p2 "
            "bar.sync 2;)");
}

}  // namespace
}  // namespace sinter::virtual_gpu::checks_test
