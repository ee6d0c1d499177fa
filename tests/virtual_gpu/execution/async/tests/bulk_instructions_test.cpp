// cp.async.bulk: copies to and from shared memory, proxies, clusters, and the rules of the checks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/virtual_gpu/execution/async/tests/async_runner.h"
#include "tests/virtual_gpu/program/decode.h"
#include "tests/virtual_gpu/ptx/error.h"

namespace sinter::virtual_gpu::bulk_instructions_test {
namespace {

using ::testing::HasSubstr;

/// Replaces `from`, which must occur.
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}
std::string without(const std::string& text, const std::string& line) {
  return replaced(text, line, "");
}

/// A kernel with 256 bytes of input and output per block, at %rd2 and %rd1. It has 256 bytes
/// `tile`, the thread's word of them at %rd4, and the mbarrier `bar` for one arrival. Thread 0 has
/// %p1.
std::string bulk_kernel(const std::string& body) {
  return kernel_text(".param .u64 in, .param .u64 out", std::string(kRegisters) + R"(
    .shared .align 128 .b8 tile[256];
    .shared .align 8 .b64 bar;
    ld.param.u64 %rd2, [in];
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mov.u32 %r3, %ctaid.x;
    mad.wide.u32 %rd1, %r3, 256, %rd1;
    mad.wide.u32 %rd2, %r3, 256, %rd2;
    mov.u64 %rd3, tile;
    mad.wide.u32 %rd4, %r1, 4, %rd3;
    mad.wide.u32 %rd5, %r1, 4, %rd1;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 mbarrier.init.shared.b64 [bar], 1;
    bar.sync 0;
    )" + body + "\nret;");
}

std::vector<std::uint32_t> run_bulk(const std::string& body, const GpuOptions& options,
                                    const Launch& launch = {.block = {64, 1, 1}}) {
  KernelRunner runner(options);
  const std::size_t words = 64 * launch.grid.count();
  const std::uint64_t in = runner.array(table(words, [](auto i) { return i + 1000; }));
  const std::uint64_t out = runner.array(std::vector<std::uint32_t>(words));
  runner.run(bulk_kernel(body), launch, in, out);
  return runner.read<std::uint32_t>(out, words);
}
void expect_results(const std::string& body, const std::function<std::uint32_t(std::uint32_t)>& f,
                    const Launch& launch = {.block = {64, 1, 1}}) {
  for_each_schedule([&](const GpuOptions& options) {
    EXPECT_EQ(run_bulk(body, options, launch), table(64 * launch.grid.count(), f));
  });
}
std::string violation(const std::string& body, const Launch& launch = {.block = {64, 1, 1}}) {
  return violation_under_all([&](const GpuOptions& options) { run_bulk(body, options, launch); });
}
/// The violation of one thread, without what precedes the problem.
std::string problem(const std::string& body) {
  const std::string message = violation(body, {.block = {1, 1, 1}});
  const std::size_t at = message.find(";): ");
  return at == std::string::npos ? message : message.substr(at + 4);
}

constexpr const char* kLoad =
    "@%p1 mbarrier.arrive.expect_tx.shared.b64 %rd6, [bar], 256;\n"
    "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd2], 256, "
    "[bar];\n";
constexpr const char* kAwait =
    "WAIT:\nmbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n@!%p2 bra WAIT;\n";
constexpr const char* kReadPartner =
    "xor.b32 %r4, %r1, 63;\nmad.wide.u32 %rd7, %r4, 4, %rd3;\nld.shared.u32 %r2, [%rd7];\n"
    "st.global.u32 [%rd5], %r2;\n";
/// Each thread writes a word of the tile; thread 0 stores it.
constexpr const char* kFill = "add.u32 %r2, %r1, 7;\nst.shared.u32 [%rd4], %r2;\n";
constexpr const char* kFence = "fence.proxy.async.shared::cta;\n";
constexpr const char* kSync = "bar.sync 0;\n";
constexpr const char* kStore =
    "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [tile], 256;\n"
    "@%p1 cp.async.bulk.commit_group;\n";
constexpr const char* kAwaitReads = "@%p1 cp.async.bulk.wait_group.read 0;\n";
constexpr const char* kAwaitStore = "@%p1 cp.async.bulk.wait_group 0;\n";

const std::string kLoadAndRead = std::string(kLoad) + kAwait + kReadPartner;
const std::string kFillAndStore = std::string(kFill) + kFence + kSync + kStore + kAwaitReads;

// ---- Results ----

TEST(BulkInstructions, ALoadIsReadBehindAWait) {
  expect_results(kLoadAndRead, [](auto i) { return (i ^ 63) + 1000; });
  const std::string to_block =
      replaced(kLoadAndRead, "shared::cluster.global", "shared::cta.global");
  expect_results(to_block, [](auto i) { return (i ^ 63) + 1000; });
}

TEST(BulkInstructions, AStoreIsCompleteAtTheEnd) {
  expect_results(kFillAndStore, [](auto i) { return i + 7; });
}

TEST(BulkInstructions, ATileServesAgainWhenItIsRead) {
  // The tile is overwritten behind the wait for the reads.
  expect_results(kFillAndStore + kSync + "st.shared.u32 [%rd4], 5;\n",
                 [](auto i) { return i + 7; });
}

TEST(BulkInstructions, AStoredResultIsReadBehindTheFullWait) {
  expect_results(std::string(kFill) + kFence + kSync + kStore + kAwaitStore + kSync + R"(
    ld.global.u32 %r2, [%rd5];
    add.u32 %r2, %r2, 100;
    st.global.u32 [%rd5], %r2;)",
                 [](auto i) { return i + 107; });
}

TEST(BulkInstructions, AByteMaskSelectsBytesOfEach16) {
  const std::string body =
      replaced(replaced(kFillAndStore, "cp.async.bulk.global.shared::cta.bulk_group",
                        "cp.async.bulk.global.shared::cta.bulk_group.cp_mask"),
               "[tile], 256;", "[tile], 256, 0x0f0f;");
  expect_results(body, [](auto i) { return i % 4 == 0 || i % 4 == 2 ? i + 7 : 0; });
}

TEST(BulkInstructions, APrefetchChangesNothing) {
  expect_results("cp.async.bulk.prefetch.L2.global [%rd2], 256;\nst.global.u32 [%rd5], 3;",
                 [](auto) { return 3; });
}

TEST(BulkInstructions, ACopyReachesAnotherBlockOfTheCluster) {
  // Each block of a pair sends its tile to the other one.
  const std::string body = std::string(kFill) + R"(
    mad.lo.u32 %r2, %r3, 1000, %r2;
    st.shared.u32 [%rd4], %r2;
    .shared .align 16 .b8 inbox[256];
    mov.u32 %r5, %cluster_ctarank;
    xor.b32 %r5, %r5, 1;
    mov.u64 %rd8, inbox;
    mov.u64 %rd9, bar;
    mapa.shared::cluster.u64 %rd10, %rd8, %r5;
    mapa.shared::cluster.u64 %rd11, %rd9, %r5;
    @%p1 mbarrier.arrive.expect_tx.shared.b64 %rd6, [bar], 256;
    fence.proxy.async;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    @%p1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%rd10], [tile], 256, [%rd11];
)" + kAwait + R"(
    mad.wide.u32 %rd7, %r1, 4, %rd8;
    ld.shared.u32 %r2, [%rd7];
    st.global.u32 [%rd5], %r2;
    barrier.cluster.arrive;
    barrier.cluster.wait;)";
  const Launch pair = {.grid = {2, 1, 1}, .block = {64, 1, 1}, .cluster = {2, 1, 1}};
  expect_results(
      body, [](auto i) { return (i < 64 ? 1000 : 0) + i % 64 + 7; }, pair);
}

/// Block 0 of a cluster of four loads its input into the tiles of the blocks of `mask`.
std::string multicast(const std::string& mask) {
  return R"(
    mov.u32 %r5, %cluster_ctarank;
    setp.eq.and.u32 %p3, %r5, 0, %p1;
    mov.b16 %h1, )" +
         mask + R"(;
    @%p1 mbarrier.arrive.expect_tx.shared.b64 %rd6, [bar], 256;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    @%p3 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [tile], [%rd2], 256, [bar], %h1;
)" + std::string(kAwait) +
         kReadPartner + "barrier.cluster.arrive;\nbarrier.cluster.wait;";
}
constexpr Launch kFour = {.grid = {4, 1, 1}, .block = {64, 1, 1}, .cluster = {4, 1, 1}};

TEST(BulkInstructions, AMulticastReachesAllBlocksOfItsMask) {
  expect_results(
      multicast("15"), [](auto i) { return (i % 64 ^ 63) + 1000; }, kFour);
}

TEST(BulkInstructions, AMulticastNamesBlocksOfTheCluster) {
  EXPECT_THAT(violation(multicast("16"), kFour),
              HasSubstr("the mask 0x10 must name some of the 4 blocks of the cluster"));
}

TEST(BulkInstructions, ABlockOutsideOfTheMaskWaitsForever) {
  EXPECT_THAT(violation(multicast("7"), kFour), HasSubstr("lacks 0 of 1 arrivals and 256 bytes"));
}

// ---- Races ----

TEST(BulkInstructions, ALoadIsNotReadBeforeTheWait) {
  EXPECT_THAT(
      violation(std::string(kLoad) + kSync + kReadPartner + kAwait),
      HasSubstr("nothing orders it after the write of kernel kernel, an asynchronous copy of "
                "block 0, thread 0"));
}

TEST(BulkInstructions, ATileIsNotWrittenWhileAStoreReadsIt) {
  EXPECT_THAT(
      violation(without(kFillAndStore, kAwaitReads) + "st.shared.u32 [%rd4], 5;\n" + kAwaitReads),
      HasSubstr("nothing orders it after the read of kernel kernel, an asynchronous copy of "
                "block 0, thread 0"));
}

TEST(BulkInstructions, AWaitForReadsDoesNotCoverTheWrites) {
  EXPECT_THAT(violation(kFillAndStore + kSync + "ld.global.u32 %r2, [%rd5];\n" + kAwaitStore),
              HasSubstr("race on global address"));
}

TEST(BulkInstructions, ALoadIsOrderedBehindReadsOfTheLastTile) {
  const std::string copy = R"(
    @%p1 mbarrier.arrive.expect_tx.shared.b64 %rd6, [bar], 256;
    @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd2], 256, [bar];
AGAIN:
    mbarrier.try_wait.parity.shared.b64 %p2, [bar], 1;
    @!%p2 bra AGAIN;)";
  EXPECT_EQ(violation(kLoadAndRead + kFence + kSync + copy), "none");
  EXPECT_THAT(violation(kLoadAndRead + kFence + copy),
              testing::AnyOf(HasSubstr("race: the asynchronous write of shared address"),
                             HasSubstr("shared memory that the generic proxy read")));
}

// ---- Proxies ----

TEST(BulkInstructions, AStoreOfGenericWritesNeedsAProxyFence) {
  EXPECT_EQ(violation(without(kFillAndStore, kFence)),
            "kernel kernel, block (0, 0, 0), thread (0, 0, 0), line 31 (@%p1 "
            "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [tile], 256;): the async proxy "
            "reads shared memory that the generic proxy wrote at line 29 (st.shared.u32 [%rd4], "
            "%r2;), without a fence.proxy.async between both");
}

TEST(BulkInstructions, AProxyFenceNamesTheSpace) {
  const std::string global = replaced(kFillAndStore, kFence, "fence.proxy.async.global;\n");
  EXPECT_THAT(violation(global), HasSubstr("without a fence.proxy.async between both"));
  const std::string all = replaced(kFillAndStore, kFence, "fence.proxy.async;\n");
  EXPECT_EQ(violation(all), "none");
}

TEST(BulkInstructions, AProxyFenceIsBehindTheWriteAndBeforeTheCopy) {
  const std::string early = std::string(kFence) + without(kFillAndStore, kFence);
  EXPECT_THAT(violation(early), HasSubstr("without a fence.proxy.async between both"));
  // The issuing thread may execute it, too.
  EXPECT_EQ(violation(std::string(kFill) + kSync + kFence + kStore + kAwaitReads), "none");
  // A fence of another thread, which precedes the copy in time alone: warp 0 is late.
  const std::string late = R"(
    setp.ge.u32 %p4, %r1, 32;
    @%p4 fence.proxy.async;
    @%p4 bra GO;
    mov.u32 %r5, 0;
LATE:
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p5, %r5, 5000;
    @%p5 bra LATE;
GO:
)";
  const std::string other = kFill + std::string(kSync) + late + kStore + kAwaitReads;
  EXPECT_THAT(violation(other), HasSubstr("without a fence.proxy.async between both"));
  EXPECT_EQ(violation(kFill + std::string(kSync) + late + kSync + kStore + kAwaitReads), "none");
}

TEST(BulkInstructions, AProxyFenceCoversWritesThatAreOrderedBeforeIt) {
  // Thread 0 executes its fence before the barrier, so that only its own write is before it.
  const std::string own =
      std::string(kFill) + "@%p1 fence.proxy.async;\n" + kSync + kStore + kAwaitReads;
  EXPECT_THAT(violation(own), HasSubstr("without a fence.proxy.async between both"));
  // The same instruction writes before the fence and behind it.
  const std::string twice = R"(
    mov.u64 %rd8, tile;
    mov.u32 %r5, 0;
LOOP:
    st.shared.v4.u32 [%rd8], {%r5, %r5, %r5, %r5};
    setp.eq.u32 %p4, %r5, FENCES;
    @%p4 fence.proxy.async;
    add.u64 %rd8, %rd8, 16;
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p5, %r5, 2;
    @%p5 bra LOOP;
    cp.async.bulk.global.shared::cta.bulk_group [%rd1], [tile], 32;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group.read 0;)";
  EXPECT_THAT(problem(replaced(twice, "FENCES", "0")),
              HasSubstr("without a fence.proxy.async between both"));
  EXPECT_EQ(problem(replaced(twice, "FENCES", "1")), "none");
}

TEST(BulkInstructions, ALoadOverGenericWritesNeedsAProxyFence) {
  const std::string body = "st.shared.u32 [%rd4], 0;\n" + std::string(kSync) + kLoadAndRead;
  EXPECT_THAT(violation(body), HasSubstr("the async proxy writes shared memory that the generic "
                                         "proxy wrote"));
  EXPECT_EQ(violation(replaced(body, kSync, std::string(kFence) + kSync)), "none");
}

/// A load into the tile that all threads have read.
const std::string kLoadAgain =
    kLoadAndRead + kFence + kSync + kLoad +
    "AGAIN:\nmbarrier.try_wait.parity.shared.b64 %p2, [bar], 1;\n@!%p2 bra AGAIN;\n";

TEST(BulkInstructions, ALoadOverGenericReadsNeedsAProxyFenceOfEachReader) {
  EXPECT_EQ(violation(kLoadAgain), "none");
  const std::string message = violation(without(kLoadAgain, kFence));
  EXPECT_THAT(message, HasSubstr("the async proxy writes shared memory that the generic proxy read "
                                 "at line "));
  EXPECT_THAT(message, HasSubstr("(ld.shared.u32 %r2, [%rd7];), without a fence.proxy.async of the "
                                 "reader between both: each thread that reads must run "
                                 "fence.proxy.async.shared::cta behind its reads"));
  // The fence of the copying thread alone does not order the other threads' reads.
  EXPECT_THAT(violation(replaced(kLoadAgain, kFence, "@%p1 " + std::string(kFence))),
              HasSubstr("that the generic proxy read"));
}

TEST(BulkInstructions, AProxyFenceIsBehindTheReadAndBeforeTheBarrier) {
  for (const std::string& body :
       {replaced(without(kLoadAgain, kFence), "ld.shared.u32 %r2",
                 std::string(kFence) + "ld.shared.u32 %r2"),
        replaced(kLoadAgain, std::string(kFence) + kSync, std::string(kSync) + kFence)})
    EXPECT_THAT(violation(body), HasSubstr("that the generic proxy read"));
  EXPECT_THAT(violation(replaced(kLoadAgain, "shared::cta;", "global;")),
              HasSubstr("that the generic proxy read"));
}

TEST(BulkInstructions, ALoadOfGlobalWritesNeedsAProxyFence) {
  const std::string body = R"(
    mad.wide.u32 %rd7, %r1, 4, %rd2;
    st.global.u32 [%rd7], 9;
    fence.proxy.async.global;
    bar.sync 0;
)" + kLoadAndRead;
  expect_results(body, [](auto) { return 9; });
  EXPECT_THAT(violation(without(body, "fence.proxy.async.global;")),
              HasSubstr("the async proxy reads global memory that the generic proxy wrote"));
}

TEST(BulkInstructions, ALoadedTileIsStoredWithoutAFence) {
  // The completion of a copy is followed by an implicit proxy fence.
  expect_results(std::string(kLoad) + kAwait + kStore + kAwaitReads,
                 [](auto i) { return i + 1000; });
}

// ---- Other rules ----

TEST(BulkInstructions, SizesAndAddressesAreMultiplesOf16) {
  EXPECT_EQ(problem("cp.async.bulk.global.shared::cta.bulk_group [%rd1], [tile], 20;"),
            "the size 20 is no multiple of 16");
  EXPECT_EQ(problem("cp.async.bulk.global.shared::cta.bulk_group [%rd1], [tile+8], 16;"),
            "address 0x408 is misaligned for 16 bytes");
  EXPECT_THAT(problem("cp.async.bulk.prefetch.L2.global [%rd2+4], 32;"),
              HasSubstr("is no multiple of 16"));
}

TEST(BulkInstructions, RangesAreInOneAllocation) {
  EXPECT_THAT(problem("cp.async.bulk.global.shared::cta.bulk_group [%rd1], [tile], 512;"),
              HasSubstr("512 bytes at"));
  EXPECT_THAT(problem("cp.async.bulk.prefetch.L2.global [%rd2], 272;"), HasSubstr("272 bytes at"));
}

TEST(BulkInstructions, TheMbarrierIsInTheBlockOfTheDestination) {
  const std::string body = R"(
    mov.u64 %rd9, bar;
    mapa.shared::cluster.u64 %rd11, %rd9, 1;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd2], 256, [%rd11];
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;)";
  const Launch pair = {.grid = {2, 1, 1}, .block = {1, 1, 1}, .cluster = {2, 1, 1}};
  EXPECT_THAT(violation_of([&] { run_bulk(body, {}, pair); }),
              HasSubstr("the mbarrier is in block 1 of the cluster, the destination in block 0"));
  EXPECT_EQ(
      problem("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [tile], "
              "[tile+128], 16, [bar];"),
      "the destination must be in the shared memory of another block of the cluster");
}

TEST(BulkInstructions, ABlockWaitsForCopiesOfItsSharedMemory) {
  EXPECT_EQ(
      violation(without(kFillAndStore, kAwaitReads)),
      "kernel kernel, block (0, 0, 0), thread (0, 0, 0), line 32 (@%p1 "
      "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [tile], 256;): the block ends, but "
      "no thread has waited for this copy, which reads its shared memory");
  EXPECT_THAT(violation(std::string(kLoad)), HasSubstr("which writes its shared memory"));
}

/// The error of decoding a kernel with one instruction.
std::string error_of(const std::string& instruction) {
  try {
    decode(ptx::parse(bulk_kernel(instruction)), [](const auto&) { return std::uint64_t{0}; });
  } catch (const PtxError& error) {
    const std::string message = error.what();
    return message.substr(message.find(": ") + 2);
  }
  return "none";
}

TEST(BulkInstructions, DecodingChecksTheModifiers) {
  EXPECT_EQ(error_of("cp.async.bulk.shared::cta.shared::cta.mbarrier::complete_tx::bytes [tile], "
                     "[tile], 16, [bar];"),
            "opcode cp.async.bulk.shared::cta.shared::cta.mbarrier::complete_tx::bytes: the "
            "interpreter does not know it");
  EXPECT_EQ(
      error_of("cp.async.bulk.global.shared::cta.mbarrier::complete_tx::bytes [%rd1], [tile], "
               "16, [bar];"),
      "opcode cp.async.bulk.global.shared::cta.mbarrier::complete_tx::bytes: the interpreter "
      "does not know it");
  EXPECT_EQ(
      error_of("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.multicast::"
               "cluster [tile], [%rd2], 16, [bar], %h1;"),
      "opcode cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.multicast::cluster: "
      "the modifier .multicast::cluster is not known");
  EXPECT_EQ(
      error_of("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%rd1], [tile], 16;"),
      "opcode cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint: it has 3 operands, "
      "the decoder expects 4");
  EXPECT_EQ(
      error_of("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [tile], 16;"),
      "opcode cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32: the interpreter does "
      "not know it");
  EXPECT_EQ(error_of("cp.async.bulk.commit_group 0;"),
            "opcode cp.async.bulk.commit_group: it has 1 operands, the decoder expects 0");
}

TEST(BulkInstructions, TooFewExpectedBytesEndThePhaseEarly) {
  // The wait returns before the copy, whose bytes then count for the next phase.
  const std::string body = replaced(kLoadAndRead, "[bar], 256;", "[bar], 0;");
  EXPECT_NE(violation_of([&] { run_bulk(body, {.schedule = Schedule::adversarial}); }), "none");
}

TEST(BulkInstructions, TooManyExpectedBytesAreADeadlock) {
  const std::string body = replaced(kLoadAndRead, "[bar], 256;", "[bar], 272;");
  EXPECT_THAT(violation(body), HasSubstr("lacks 0 of 1 arrivals and 16 bytes"));
}

}  // namespace
}  // namespace sinter::virtual_gpu::bulk_instructions_test
