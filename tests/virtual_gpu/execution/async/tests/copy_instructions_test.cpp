// cp.async: results, groups, and the rules that the checks enforce.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/virtual_gpu/execution/async/tests/async_runner.h"
#include "tests/virtual_gpu/program/decode.h"
#include "tests/virtual_gpu/ptx/error.h"

namespace sinter::virtual_gpu::copy_instructions_test {
namespace {

using ::testing::HasSubstr;

/// A kernel of threads that each have 16 bytes of `tile`, at the shared address %r3, and of the
/// input, at %rd2. The body leaves its result in %r2. %rd3 is the address of `tile`.
std::string copy_kernel(const std::string& body) {
  return kernel_text(".param .u64 in, .param .u64 out", std::string(kRegisters) + R"(
    .shared .align 16 .b8 tile[1024];
    ld.param.u64 %rd2, [in];
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mad.wide.u32 %rd2, %r1, 16, %rd2;
    mad.wide.u32 %rd1, %r1, 4, %rd1;
    mov.u64 %rd3, tile;
    mad.wide.u32 %rd4, %r1, 16, %rd3;
    cvt.u32.u64 %r3, %rd4;
    )" + body + R"(
    st.global.u32 [%rd1], %r2;
    ret;)");
}

/// The results of `threads` threads on the input 0, 1, 2, …
std::vector<std::uint32_t> run_copies(const std::string& body, const GpuOptions& options,
                                      std::uint32_t threads = 32) {
  KernelRunner runner(options);
  const std::uint64_t in = runner.array(table(threads * 4, [](auto i) { return i; }));
  const std::uint64_t out = runner.allocate(threads * 4).address;
  runner.run(copy_kernel(body), {.block = {threads, 1, 1}}, in, out);
  return runner.read<std::uint32_t>(out, threads);
}
std::string violation(const std::string& body, std::uint32_t threads = 32) {
  return violation_under_all(
      [&](const GpuOptions& options) { run_copies(body, options, threads); });
}
void expect_results(const std::string& body, const std::function<std::uint32_t(std::uint32_t)>& f,
                    std::uint32_t threads = 32) {
  for_each_schedule([&](const GpuOptions& options) {
    EXPECT_EQ(run_copies(body, options, threads), table(threads, f));
  });
}

// ---- Results ----

TEST(CopyInstructions, AThreadReadsItsCopyBehindAWait) {
  expect_results(R"(
    cp.async.ca.shared.global [%r3], [%rd2], 4;
    cp.async.ca.shared::cta.global.L2::128B [%r3+8], [%rd2+8], 8;
    cp.async.commit_group;
    cp.async.wait_group 0;
    ld.shared.u32 %r2, [%r3+12];)",
                 [](auto i) { return 4 * i + 3; });
}

TEST(CopyInstructions, AddressesMayHave64Bits) {
  expect_results(R"(
    cp.async.cg.shared.global [%rd4], [%rd2], 16;
    cp.async.wait_all;
    ld.shared.u32 %r2, [%rd4+4];)",
                 [](auto i) { return 4 * i + 1; });
}

TEST(CopyInstructions, OthersReadACopyBehindABarrier) {
  expect_results(R"(
    cp.async.cg.shared.global [%r3], [%rd2], 16;
    cp.async.wait_all;
    bar.sync 0;
    xor.b32 %r4, %r1, 63;
    mad.wide.u32 %rd5, %r4, 16, %rd3;
    ld.shared.u32 %r2, [%rd5+8];)",
                 [](auto i) { return 4 * (i ^ 63) + 2; }, 64);
}

TEST(CopyInstructions, BytesBehindTheSourceSizeBecomeZero) {
  // Thread i copies i % 17 bytes.
  expect_results(R"(
    rem.u32 %r4, %r1, 17;
    cp.async.cg.shared.global [%r3], [%rd2], 16, %r4;
    cp.async.wait_all;
    ld.shared.v4.u32 {%r5, %r6, %r7, %r8}, [%r3];
    add.u32 %r2, %r5, %r6;
    add.u32 %r2, %r2, %r7;
    add.u32 %r2, %r2, %r8;)",
                 [](auto i) {
                   std::uint32_t sum = 0;  // the words are small: only their lowest bytes count
                   for (std::uint32_t word = 0; word < 4; ++word)
                     if (i % 17 > 4 * word) sum += 4 * i + word;
                   return sum;
                 });
}

TEST(CopyInstructions, AnIgnoredSourceIsNotRead) {
  // The source of odd threads is no valid address.
  expect_results(R"(
    and.b32 %r4, %r1, 1;
    setp.eq.u32 %p1, %r4, 1;
    @%p1 mov.u64 %rd2, 64;
    createpolicy.fractional.L2::evict_last.b64 %rd6, 1.0;
    cp.async.ca.shared.global.L2::cache_hint [%r3], [%rd2], 4, %p1, %rd6;
    cp.async.wait_all;
    ld.shared.u32 %r2, [%r3];)",
                 [](auto i) { return i % 2 ? 0 : 4 * i; });
}

TEST(CopyInstructions, AWaitLeavesTheLastGroupsPending) {
  expect_results(R"(
    cp.async.ca.shared.global [%r3], [%rd2], 4;
    cp.async.commit_group;
    cp.async.ca.shared.global [%r3+4], [%rd2+4], 4;
    cp.async.commit_group;
    cp.async.commit_group;
    cp.async.wait_group 2;
    ld.shared.u32 %r2, [%r3];
    cp.async.wait_group 1;
    ld.shared.u32 %r4, [%r3+4];
    mad.lo.u32 %r2, %r4, 1000, %r2;)",
                 [](auto i) { return 1000 * (4 * i + 1) + 4 * i; });
}

TEST(CopyInstructions, CopiesMayBePendingAtTheEnd) {
  expect_results("cp.async.ca.shared.global [%r3], [%rd2], 4;\nmov.u32 %r2, %r1;",
                 [](auto i) { return i; });
}

TEST(CopyInstructions, AreCountedAsLoadsAndStores) {
  KernelRunner runner;
  const std::uint64_t in = runner.array(table(128, [](auto i) { return i; }));
  const std::uint64_t out = runner.allocate(128).address;
  runner.run(copy_kernel("cp.async.cg.shared.global [%r3], [%rd2], 16;\n"
                         "cp.async.wait_all;\nmov.u32 %r2, 0;"),
             {.block = {32, 1, 1}}, in, out);
  EXPECT_EQ(runner.counts().global_loads.bytes, 512U);
  EXPECT_EQ(runner.counts().global_loads.requests, 1U);
  EXPECT_EQ(runner.counts().global_loads.transactions, 16U);
  EXPECT_EQ(runner.counts().shared_stores.bytes, 512U);
  EXPECT_EQ(runner.counts().shared_stores.transactions, 4U);
}

// ---- Races ----

TEST(CopyInstructions, AReadBeforeTheWaitIsARace) {
  EXPECT_EQ(
      violation(R"(
    cp.async.ca.shared.global [%r3], [%rd2], 4;
    cp.async.commit_group;
    ld.shared.u32 %r2, [%r3];
    cp.async.wait_group 0;)",
                1),
      "kernel kernel, block (0, 0, 0), thread (0, 0, 0), line 26 (ld.shared.u32 %r2, [%r3];): "
      "race on shared address 0x400: nothing orders it after the write of kernel kernel, an "
      "asynchronous copy of block 0, thread 0, line 24 (cp.async.ca.shared.global [%r3], "
      "[%rd2], 4;)");
}

TEST(CopyInstructions, AWaitCoversOnlyTheGroupsThatItNames) {
  const std::string body = R"(
    cp.async.ca.shared.global [%r3], [%rd2], 4;
    cp.async.commit_group;
    cp.async.ca.shared.global [%r3+4], [%rd2+4], 4;
    cp.async.commit_group;
    cp.async.wait_group 1;
    ld.shared.u32 %r2, [%r3+4];)";
  EXPECT_THAT(violation(body), HasSubstr("an asynchronous copy of block 0, thread 0, line 26"));
}

TEST(CopyInstructions, AWaitIsNoBarrierForOtherThreads) {
  EXPECT_THAT(violation(R"(
    cp.async.ca.shared.global [%r3], [%rd2], 4;
    cp.async.wait_all;
    xor.b32 %r4, %r1, 1;
    mad.wide.u32 %rd5, %r4, 16, %rd3;
    ld.shared.u32 %r2, [%rd5];)"),
              HasSubstr("an asynchronous copy of block 0, thread 1, line 24"));
}

TEST(CopyInstructions, ABarrierIsNoWait) {
  EXPECT_THAT(violation(R"(
    cp.async.ca.shared.global [%r3], [%rd2], 4;
    bar.sync 0;
    ld.shared.u32 %r2, [%r3];)"),
              HasSubstr("an asynchronous copy of block 0, thread 0, line 24"));
}

TEST(CopyInstructions, AWriteOfTheSourceBeforeTheWaitIsARace) {
  EXPECT_THAT(
      violation(R"(
    cp.async.ca.shared.global [%r3], [%rd2], 4;
    mov.u32 %r2, 0;
    st.global.u32 [%rd2], %r2;
    cp.async.wait_all;)"),
      HasSubstr("nothing orders it after the read of kernel kernel, an asynchronous copy of "
                "block 0, thread 0, line 24"));
}

TEST(CopyInstructions, CopiesOfAGroupToTheSameBytesRace) {
  EXPECT_EQ(violation(R"(
    cp.async.ca.shared.global [%r3], [%rd2], 4;
    cp.async.ca.shared.global [%r3], [%rd2+4], 4;
    cp.async.wait_all;
    mov.u32 %r2, 0;)",
                      1),
            "kernel kernel, block (0, 0, 0), thread (0, 0, 0), line 25 (cp.async.ca.shared.global "
            "[%r3], [%rd2+4], 4;): race: the asynchronous write of shared address 0x400 is not "
            "ordered after the write of kernel kernel, an asynchronous copy of block 0, thread 0, "
            "line 24 (cp.async.ca.shared.global [%r3], [%rd2], 4;)");
}

TEST(CopyInstructions, ACopyMustNotOverwriteWhatOthersRead) {
  // The next tile is copied before all threads have read the last one.
  const std::string body = R"(
    cp.async.ca.shared.global [%r3], [%rd2], 4;
    cp.async.wait_all;
    bar.sync 0;
    xor.b32 %r4, %r1, 1;
    mad.wide.u32 %rd5, %r4, 16, %rd3;
    ld.shared.u32 %r2, [%rd5];
    // barrier
    cp.async.ca.shared.global [%r3], [%rd2+4], 4;
    cp.async.wait_all;)";
  EXPECT_THAT(violation(body), HasSubstr("race: the asynchronous write of shared address"));
  std::string fixed = body;
  fixed.replace(fixed.find("// barrier"), 10, "bar.sync 0;");
  EXPECT_EQ(violation(fixed), "none");
}

TEST(CopyInstructions, TheSourceMustBeInitialized) {
  KernelRunner runner;
  const std::uint64_t in = runner.allocate(512).address;
  const std::uint64_t out = runner.allocate(128).address;
  const std::string kernel = copy_kernel(
      "cp.async.ca.shared.global [%r3], [%rd2], 4, 0;\n"
      "cp.async.ca.shared.global [%r3], [%rd2], 4;");
  EXPECT_THAT(violation_of([&] { runner.run(kernel, {}, in, out); }),
              HasSubstr("line 24 (cp.async.ca.shared.global [%r3], [%rd2], 4;): nothing wrote the "
                        "byte at global address"));
}

// ---- Other rules ----

TEST(CopyInstructions, AddressesAreMultiplesOfTheSize) {
  EXPECT_THAT(violation("cp.async.ca.shared.global [%r3+4], [%rd2], 8;"),
              HasSubstr("address 0x404 is misaligned for 8 bytes"));
  EXPECT_THAT(violation("cp.async.ca.shared.global [%r3], [%rd2+8], 16, 4;"),
              HasSubstr("is no multiple of 16"));
}

TEST(CopyInstructions, TheDestinationIsInTheBlock) {
  EXPECT_THAT(violation("cp.async.ca.shared.global [%r3+1024], [%rd2], 4;"),
              HasSubstr("4 bytes at 0x800 are outside of the 1024 bytes of shared memory"));
}

TEST(CopyInstructions, TheSourceSizeIsAtMostTheSize) {
  EXPECT_THAT(violation("cp.async.ca.shared.global [%r3], [%rd2], 4, 5;"),
              HasSubstr("the size of the source is 5, but the copy has 4 bytes"));
}

/// The error of decoding a kernel with one instruction.
std::string error_of(const std::string& instruction) {
  try {
    decode(ptx::parse(copy_kernel(instruction)), [](const auto&) { return std::uint64_t{0}; });
  } catch (const PtxError& error) {
    return error.what();
  }
  return "none";
}

TEST(CopyInstructions, DecodingChecksTheModifiers) {
  EXPECT_EQ(error_of("cp.async.cg.shared.global [%r3], [%rd2], 8;"),
            "line 23: opcode cp.async.cg.shared.global: the size must be 16");
  EXPECT_EQ(error_of("cp.async.ca.shared.global [%r3], [%rd2], 12;"),
            "line 23: opcode cp.async.ca.shared.global: the size must be 4, 8 or 16");
  EXPECT_EQ(
      error_of("cp.async.ca.shared.global.L2::32B [%r3], [%rd2], 4;"),
      "line 23: opcode cp.async.ca.shared.global.L2::32B: the modifier .L2::32B is not known");
  EXPECT_EQ(error_of("cp.async.ca.global.shared [%rd2], [%r3], 4;"),
            "line 23: opcode cp.async.ca.global.shared: the interpreter does not know it");
  EXPECT_EQ(error_of("cp.async.ca.shared.global [%r3], [%r3], 4;"),
            "line 23: address %r3 has no 64 bits");
  EXPECT_EQ(error_of("cp.async.wait_group %r1;"),
            "line 23: opcode cp.async.wait_group: the number of groups must be a constant");
  EXPECT_EQ(error_of("cp.async.wait_group.read 0;"),
            "line 23: opcode cp.async.wait_group.read: the interpreter does not know it");
  EXPECT_EQ(error_of("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes "
                     "[%r3], [%rd2], [%r4];"),
            "line 23: opcode cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::"
            "bytes: the interpreter does not know it");
}

}  // namespace
}  // namespace sinter::virtual_gpu::copy_instructions_test
