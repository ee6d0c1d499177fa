// Loads, stores and atomics of all spaces and widths.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/virtual_gpu/execution/tests/test_kernels.h"

namespace sinter::virtual_gpu::memory_instructions_test {
namespace {

using ::testing::ElementsAre;

/// Runs the body in one thread. %rd1 is the address of `data`, %rd2 that of 16 words of results.
/// Returns the results.
std::vector<std::uint32_t> run_one(const std::string& body, std::vector<std::uint32_t> data,
                                   const std::string& variables = "") {
  KernelRunner runner;
  const std::uint64_t in = runner.array(data);
  const std::uint64_t out = runner.array(std::vector<std::uint32_t>(16));
  runner.run(
      kernel_text(".param .u64 in, .param .u64 out",
                  std::string(kRegisters) +
                      "ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\n" + body + "\nret;",
                  variables),
      {.block = {1, 1, 1}}, in, out);
  return runner.read<std::uint32_t>(out, 16);
}
/// The first results.
std::vector<std::uint32_t> run_one(int count, const std::string& body,
                                   std::vector<std::uint32_t> data = {0},
                                   const std::string& variables = "") {
  std::vector<std::uint32_t> results = run_one(body, std::move(data), variables);
  results.resize(static_cast<std::size_t>(count));
  return results;
}

// ---- Widths ----

TEST(MemoryInstructions, NarrowLoadsExtendByTheirType) {
  EXPECT_THAT(run_one(6, R"(
    ld.global.u8 %r1, [%rd1+3];
    ld.global.s8 %r2, [%rd1+3];
    ld.global.b8 %r3, [%rd1+1];
    ld.global.u16 %r4, [%rd1+2];
    ld.global.s16 %r5, [%rd1+2];
    ld.global.s16 %r6, [%rd1];
    st.global.v4.u32 [%rd2], {%r1, %r2, %r3, %r4};
    st.global.v2.u32 [%rd2+16], {%r5, %r6};)",
                      {0x80c07f01}),
              ElementsAre(0x80, 0xffffff80, 0x7f, 0x80c0, 0xffff80c0, 0x7f01));
}

TEST(MemoryInstructions, ALoadExtendsIntoAWiderRegister) {
  // PTX ISA manual, "Operand Size Exceeding Instruction-Type Size".
  EXPECT_THAT(run_one(8, R"(
    ld.global.s32 %rd3, [%rd1];
    ld.global.u32 %rd4, [%rd1];
    ld.global.s8 %rd5, [%rd1+3];
    ld.global.v2.s16 {%rd6, %rd7}, [%rd1];
    st.global.v2.u64 [%rd2], {%rd3, %rd4};
    st.global.u64 [%rd2+16], %rd5;
    st.global.u64 [%rd2+24], %rd7;)",
                      {0x80c07f01}),
              ElementsAre(0x80c07f01, 0xffffffff, 0x80c07f01, 0, 0xffffff80, 0xffffffff, 0xffff80c0,
                          0xffffffff));
}

TEST(MemoryInstructions, AStoreOfAWiderRegisterKeepsTheLowBytes) {
  EXPECT_THAT(run_one(2, R"(
    mov.u64 %rd3, 0x1122334455667788;
    st.global.u16 [%rd2], %rd3;
    st.global.u32 [%rd2+4], %rd3;)"),
              ElementsAre(0x7788, 0x55667788));
}

TEST(MemoryInstructions, NarrowStoresWriteTheirBytesOnly) {
  EXPECT_THAT(run_one(3, R"(
    mov.u32 %r1, 0xffffffff;
    mov.u32 %r2, 0x12345678;
    st.global.v2.u32 [%rd2], {%r1, %r1};
    st.global.u8 [%rd2+1], %r2;
    st.global.u16 [%rd2+6], %r2;
    st.global.u8 [%rd2+8], 0x1ff;)"),
              ElementsAre(0xffff78ff, 0x5678ffff, 0xff));
}

TEST(MemoryInstructions, WideValuesKeepAllBits) {
  EXPECT_THAT(run_one(4, R"(
    ld.global.u64 %rd3, [%rd1];
    ld.global.f64 %fd1, [%rd1];
    st.global.b64 [%rd2], %rd3;
    st.global.f64 [%rd2+8], %fd1;)",
                      {0x89abcdef, 0xfff80001}),
              ElementsAre(0x89abcdef, 0xfff80001, 0x89abcdef, 0xfff80001));
}

// ---- Vectors ----

TEST(MemoryInstructions, VectorsLoadAndStoreInOrder) {
  EXPECT_THAT(run_one(8, R"(
    ld.global.v4.u8 {%r1, %r2, %r3, %r4}, [%rd1];
    st.global.v4.u8 [%rd2], {%r4, %r3, %r2, %r1};
    ld.global.v2.u16 {%h1, %h2}, [%rd1+4];
    st.global.v2.u16 [%rd2+4], {%h2, %h1};
    ld.global.v2.u64 {%rd3, %rd4}, [%rd1+16];
    st.global.v2.u64 [%rd2+16], {%rd4, %rd3};
    ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+16];
    st.global.v2.f32 [%rd2+8], {%f4, %f1};)",
                      {0x04030201, 0xbbbbaaaa, 0, 0, 5, 6, 7, 8}),
              ElementsAre(0x01020304, 0xaaaabbbb, 8, 5, 7, 8, 5, 6));
}

TEST(MemoryInstructions, VectorsOf32Bytes) {
  EXPECT_THAT(run_one(16, R"(
    ld.global.v8.b32 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%rd1];
    st.global.v8.b32 [%rd2], {%r8, %r7, %r6, %r5, %r4, %r3, %r2, %r1};
    ld.global.v4.b64 {%rd3, %rd4, %rd5, %rd6}, [%rd1];
    st.global.v4.b64 [%rd2+32], {%rd6, %rd5, %rd4, %rd3};)",
                      {1, 2, 3, 4, 5, 6, 7, 8}),
              ElementsAre(8, 7, 6, 5, 4, 3, 2, 1, 7, 8, 5, 6, 3, 4, 1, 2));
}

TEST(MemoryInstructions, VectorsMayIgnoreElementsAndStoreImmediates) {
  EXPECT_THAT(run_one(4, R"(
    ld.global.v4.u32 {_, %r2, _, %r4}, [%rd1];
    st.global.v4.u32 [%rd2], {%r2, -1, 0f3F800000, %r4};)",
                      {1, 2, 3, 4}),
              ElementsAre(2, 0xffffffff, 0x3f800000, 4));
}

TEST(MemoryInstructions, AnAddressMayBeOverwrittenByItsLoad) {
  EXPECT_THAT(run_one(4, R"(
    mov.u64 %rd3, %rd1;
    ld.global.v2.u64 {%rd3, %rd4}, [%rd3];
    st.global.v2.u64 [%rd2], {%rd3, %rd4};)",
                      {1, 2, 3, 4}),
              ElementsAre(1, 2, 3, 4));
}

TEST(MemoryInstructions, OffsetsMayBeNegative) {
  EXPECT_THAT(run_one(1, R"(
    add.u64 %rd3, %rd1, 8;
    ld.global.u32 %r1, [%rd3+-4];
    st.global.u32 [%rd2], %r1;)",
                      {1, 2, 3}),
              ElementsAre(2));
}

TEST(MemoryInstructions, CacheHintsChangeNothing) {
  EXPECT_THAT(run_one(6, R"(
    createpolicy.fractional.L2::evict_last.b64 %rd3, 1.0;
    ld.global.nc.L2::cache_hint.v2.u32 {%r1, %r2}, [%rd1], %rd3;
    ld.global.cs.nc.u32 %r3, [%rd1+8];
    ld.global.L1::no_allocate.L2::128B.u32 %r4, [%rd1+12];
    ld.global.cg.u32 %r5, [%rd1];
    st.global.cs.v4.u32 [%rd2], {%r1, %r2, %r3, %r4};
    st.global.cg.u32 [%rd2+16], %r5;
    ld.volatile.global.u32 %r6, [%rd1+4];
    st.volatile.global.u32 [%rd2+20], %r6;
    prefetch.global.L2 [%rd1];)",
                      {1, 2, 3, 4}),
              ElementsAre(1, 2, 3, 4, 1, 2));
}

TEST(MemoryInstructions, StrongAccessesWithScopes) {
  EXPECT_THAT(run_one(3, R"(
    st.release.gpu.global.u32 [%rd2], 1;
    st.relaxed.sys.global.u32 [%rd2+4], 2;
    st.weak.global.u32 [%rd2+8], 3;
    ld.acquire.gpu.global.u32 %r1, [%rd2];
    ld.relaxed.cta.global.u32 %r2, [%rd2+4];
    ld.weak.global.u32 %r3, [%rd2+8];
    st.global.u32 [%rd2], %r3;
    st.global.u32 [%rd2+4], %r1;
    st.global.u32 [%rd2+8], %r2;)"),
              ElementsAre(3, 1, 2));
}

// ---- Spaces ----

TEST(MemoryInstructions, GenericAddressesReachAllSpaces) {
  EXPECT_THAT(run_one(6, R"(
    .shared .align 8 .b8 shared_array[16];
    .local .align 8 .b8 local_array[16];
    mov.u64 %rd3, shared_array;
    cvta.shared.u64 %rd4, %rd3;
    st.u32 [%rd4+4], 11;
    ld.shared.u32 %r1, [shared_array+4];
    cvta.to.shared.u64 %rd5, %rd4;
    ld.shared.u32 %r2, [%rd5+4];
    mov.u64 %rd6, local_array;
    cvta.local.u64 %rd7, %rd6;
    st.u32 [%rd7+8], 22;
    cvta.to.local.u64 %rd8, %rd7;
    ld.local.u32 %r3, [%rd8+8];
    cvta.to.global.u64 %rd9, %rd1;
    cvta.global.u64 %rd10, %rd9;
    ld.u32 %r4, [%rd10];
    mov.u64 %rd11, constants;
    cvta.const.u64 %rd12, %rd11;
    ld.const.u32 %r5, [%rd11+4];
    ld.u32 %r6, [%rd12];
    st.global.v4.u32 [%rd2], {%r1, %r2, %r3, %r4};
    st.global.v2.u32 [%rd2+16], {%r5, %r6};)",
                      {33}, ".const .align 4 .u32 constants[2] = {44, 55};\n"),
              ElementsAre(11, 11, 22, 33, 55, 44));
}

TEST(MemoryInstructions, LanesOfOneInstructionMayUseDifferentSpaces) {
  const std::string kernel = lane_kernel(R"(
    .shared .align 4 .b8 shared_array[128];
    .local .align 4 .b32 own;
    mov.u64 %rd3, shared_array;
    mad.wide.u32 %rd3, %r1, 4, %rd3;
    cvta.shared.u64 %rd4, %rd3;
    mov.u64 %rd5, own;
    cvta.local.u64 %rd5, %rd5;
    rem.u32 %r3, %r1, 3;
    setp.eq.u32 %p1, %r3, 1;
    setp.eq.u32 %p2, %r3, 2;
    @%p1 mov.u64 %rd4, %rd1;
    @%p2 mov.u64 %rd4, %rd5;
    add.u32 %r4, %r1, 100;
    st.u32 [%rd4], %r4;
    ld.u32 %r2, [%rd4];)");
  EXPECT_EQ(run_lanes(kernel), table(32, [](auto i) { return 100 + i; }));
}

TEST(MemoryInstructions, OnlyLanesWithTheGuardAccessMemory) {
  const std::string kernel = lane_kernel(R"(
    mov.u32 %r2, 1;
    mov.u64 %rd3, 0;
    setp.gt.u32 %p1, %r1, 15;
    @%p1 mov.u64 %rd3, %rd1;
    @%p1 st.global.u32 [%rd3], 5;
    @%p1 ld.global.u32 %r2, [%rd3];)");
  EXPECT_EQ(run_lanes(kernel), table(32, [](auto i) { return i > 15 ? 5u : 1u; }));
}

// ---- Atomics ----

struct Atomic {
  const char* operation;
  std::uint64_t old, operand, expected;
};

/// The new value and the result of an atomic on 32 or 64 bits.
void expect_atomic(const Atomic& atomic, bool is_wide) {
  const std::string reg = is_wide ? "%rd" : "%r";
  const std::string type = is_wide ? "u64" : "u32";
  const std::vector<std::uint32_t> results =
      run_one(4,
              "ld.global." + type + " " + reg + "3, [%rd1+8];\n" + "atom.global." +
                  atomic.operation + " " + reg + "4, [%rd1], " + reg + "3;\n" + "ld.global." +
                  type + " " + reg + "5, [%rd1];\n" + "st.global." + type + " [%rd2], " + reg +
                  "4;\n" + "st.global." + type + " [%rd2+8], " + reg + "5;\n",
              {static_cast<std::uint32_t>(atomic.old), static_cast<std::uint32_t>(atomic.old >> 32),
               static_cast<std::uint32_t>(atomic.operand),
               static_cast<std::uint32_t>(atomic.operand >> 32)});
  const auto join = [&](std::size_t i) { return results[i] | std::uint64_t{results[i + 1]} << 32; };
  EXPECT_EQ(join(0), atomic.old) << atomic.operation;
  EXPECT_EQ(join(2), atomic.expected) << atomic.operation << " of " << atomic.operand;
}

TEST(MemoryInstructions, AtomicsOf32Bits) {
  for (const Atomic& atomic :
       std::initializer_list<Atomic>{{"add.u32", 0xffffffff, 2, 1},
                                     {"add.s32", 0x7fffffff, 1, 0x80000000},
                                     {"min.s32", 5, 0xffffffff, 0xffffffff},
                                     {"min.u32", 5, 0xffffffff, 5},
                                     {"max.s32", 5, 0xffffffff, 5},
                                     {"max.u32", 5, 0xffffffff, 0xffffffff},
                                     {"and.b32", 0xf0f0f0f0, 0xff00ff00, 0xf000f000},
                                     {"or.b32", 0xf0f0f0f0, 0xff00ff00, 0xfff0fff0},
                                     {"xor.b32", 0xf0f0f0f0, 0xff00ff00, 0x0ff00ff0},
                                     {"exch.b32", 1, 0xdeadbeef, 0xdeadbeef},
                                     {"inc.u32", 4, 5, 5},
                                     {"inc.u32", 5, 5, 0},
                                     {"inc.u32", 9, 5, 0},
                                     {"dec.u32", 4, 5, 3},
                                     {"dec.u32", 0, 5, 5},
                                     {"dec.u32", 6, 5, 5},
                                     {"acq_rel.gpu.add.u32", 1, 2, 3},
                                     {"relaxed.cta.add.u32", 1, 2, 3}})
    expect_atomic(atomic, /*is_wide=*/false);
}

TEST(MemoryInstructions, AtomicsOf64Bits) {
  for (const Atomic& atomic :
       std::initializer_list<Atomic>{{"add.u64", 0xffffffff, 1, 0x100000000},
                                     {"min.s64", 5, 0x8000000000000000, 0x8000000000000000},
                                     {"max.u64", 5, 0x8000000000000000, 0x8000000000000000},
                                     {"min.u64", 0x100000000, 5, 5},
                                     {"and.b64", 0xf00000000f, 0xff000000ff, 0xf00000000f},
                                     {"exch.b64", 1, 0x123456789abcdef0, 0x123456789abcdef0}})
    expect_atomic(atomic, /*is_wide=*/true);
}

TEST(MemoryInstructions, CompareAndSwapWritesOnlyIfEqual) {
  EXPECT_THAT(run_one(8, R"(
    atom.global.cas.b32 %r1, [%rd1], 5, 6;
    atom.global.cas.b32 %r2, [%rd1+4], 5, 6;
    atom.global.cas.b64 %rd3, [%rd1+8], 0x700000008, 9;
    ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%rd1];
    st.global.v4.u32 [%rd2], {%r3, %r4, %r5, %r6};
    st.global.v2.u32 [%rd2+16], {%r1, %r2};
    st.global.u64 [%rd2+24], %rd3;)",
                      {5, 4, 8, 7}),
              ElementsAre(6, 4, 9, 0, 5, 4, 8, 7));
}

TEST(MemoryInstructions, AtomicsOfLanesFollowEachOther) {
  const std::string kernel = lane_kernel(R"(
    .shared .align 4 .b32 counter;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 st.shared.u32 [counter], 0;
    bar.sync 0;
    atom.shared.add.u32 %r3, [counter], 1;
    mov.u32 %r4, 1;
    shl.b32 %r4, %r4, %r3;
    mov.u64 %rd3, counter;
    cvta.shared.u64 %rd4, %rd3;
    bar.sync 0;
    atom.exch.b32 %r5, [%rd4], 0;
    bar.sync 0;
    red.shared.or.b32 [counter], %r4;
    bar.sync 0;
    ld.shared.u32 %r2, [counter];)");
  EXPECT_EQ(run_lanes(kernel), table(32, [](auto) { return 0xffffffffu; }));
}

}  // namespace
}  // namespace sinter::virtual_gpu::memory_instructions_test
