// Float atomics, atomics on vectors, and small instructions of CUDA's headers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/virtual_gpu/execution/tests/test_kernels.h"
#include "tests/virtual_gpu/program/decode.h"
#include "tests/virtual_gpu/ptx/error.h"

namespace sinter::virtual_gpu::float_atomics_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Runs the body in some threads. %rd1 is the address of 16 words, which it returns.
std::vector<std::uint32_t> run(const std::string& body, std::vector<std::uint32_t> words,
                               std::uint32_t threads = 1) {
  KernelRunner runner;
  words.resize(16);
  const std::uint64_t data = runner.array(words);
  runner.run(kernel_text(".param .u64 data", kRegisters +
                                                 std::string("ld.param.u64 %rd1, [data];\n"
                                                             "mov.u32 %r1, %tid.x;\n") +
                                                 body + "\nret;"),
             {.block = {threads, 1, 1}}, data);
  return runner.read<std::uint32_t>(data, 16);
}

TEST(FloatAtomics, ReturnTheOldValue) {
  EXPECT_THAT(run(R"(
    atom.global.add.f32 %f1, [%rd1], 0f3F800000;
    st.global.f32 [%rd1+32], %f1;
    atom.global.add.noftz.f16 %h1, [%rd1+4], 0x3c00;
    st.global.u16 [%rd1+36], %h1;
    atom.add.noftz.bf16x2 %r2, [%rd1+8], 0x3f803f80;
    st.global.u32 [%rd1+40], %r2;
    red.global.add.f64 [%rd1+16], 0d3FF0000000000000;)",
                  {0x40000000, 0xabcd3c00, 0x40003f80, 0, 0, 0x3ff00000}),
              ElementsAre(0x40400000, 0xabcd4000, 0x40404000, 0, 0, 0x40000000, 0, 0, 0x40000000,
                          0x3c00, 0x40003f80, 0, 0, 0, 0, 0));
}

TEST(FloatAtomics, SharedMemoryKeepsSubnormals) {
  EXPECT_THAT(run(R"(
    .shared .align 4 .b32 cell;
    st.shared.u32 [cell], 3;
    red.shared.add.f32 [cell], 0f00000002;
    ld.shared.u32 %r2, [cell];
    mov.u64 %rd2, cell;
    cvta.shared.u64 %rd2, %rd2;
    red.add.f32 [%rd2], 0f00000001;
    ld.shared.u32 %r3, [cell];
    red.add.f32 [%rd1], 0f00000002;
    st.global.v2.u32 [%rd1+8], {%r2, %r3};)",
                  {3}),
              ElementsAre(0, 0, 5, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
}

TEST(FloatAtomics, LanesAddUp) {
  EXPECT_EQ(run("red.relaxed.gpu.global.add.f32 [%rd1], 0f3F800000;", {}, 128)[0], 0x43000000u);
}

TEST(FloatAtomics, VectorsOfEachType) {
  EXPECT_THAT(
      run(R"(
    atom.global.add.v2.f32 {%f1, %f2}, [%rd1], {0f3F800000, 0f40000000};
    st.global.v2.f32 [%rd1+32], {%f1, %f2};
    red.global.add.noftz.v4.f16 [%rd1+8], {0x3c00, 0x4000, 0x3c00, 0x0000};
    atom.global.max.noftz.v2.bf16x2 {%r3, _}, [%rd1+16], {0x40003f80, 0x3f804000};
    st.global.u32 [%rd1+40], %r3;
    red.global.add.L2::cache_hint.v2.f32 [%rd1+24], {%f1, %f1}, %rd3;)",
          {0x40000000, 0x3f800000, 0x3c003c00, 0x40000000, 0x3f803f80, 0x40003f80, 0, 0x40400000}),
      ElementsAre(0x40400000, 0x40400000, 0x42004000, 0x40003c00, 0x40003f80, 0x40004000,
                  0x40000000, 0x40a00000, 0x40000000, 0x3f800000, 0x3f803f80, 0, 0, 0, 0, 0));
}

TEST(FloatAtomics, CompareAndSwapOf16Bits) {
  EXPECT_THAT(run(R"(
    mov.b32 %r2, 0x77770005;
    cvt.u16.u32 %h1, %r2;
    atom.global.cas.b16 %h2, [%rd1+2], %h1, 9;
    atom.global.cas.b16 %h3, [%rd1], 4, 8;
    st.global.u16 [%rd1+4], %h2;
    st.global.u16 [%rd1+6], %h3;)",
                  {0x00050003})[0],
              0x00090003u);
}

TEST(FloatAtomics, VectorsAreAlignedAndInGlobalMemory) {
  EXPECT_THAT(violation_of([] {
                run("red.global.add.v4.f32 [%rd1+8], {0f00000000, 0f00000000, 0f00000000, "
                    "0f00000000};",
                    {});
              }),
              HasSubstr("is misaligned for 16 bytes"));
  EXPECT_THAT(violation_of([] {
                run(".shared .align 8 .b8 cell[8]; st.shared.u64 [cell], 0; mov.u64 %rd2, cell; "
                    "cvta.shared.u64 %rd2, %rd2; red.add.v2.f32 [%rd2], {0f00000000, 0f00000000};",
                    {});
              }),
              HasSubstr("an atomic operation on a vector needs an address of global memory"));
}

/// The error of decoding a kernel with one instruction.
std::string error_of(const std::string& instruction) {
  try {
    decode(ptx::parse(kernel_text(".param .u64 data", kRegisters + instruction + "\nret;")),
           [](const auto&) { return std::uint64_t{0}; });
  } catch (const PtxError& error) {
    return error.what();
  }
  return "none";
}

TEST(FloatAtomics, DecodingChecksTheCombination) {
  EXPECT_EQ(error_of("atom.global.add.f16 %h1, [%rd1], %h2;"),
            "line 13: opcode atom.global.add.f16: the interpreter does not know it");
  EXPECT_EQ(error_of("red.global.min.f32 [%rd1], %f1;"),
            "line 13: opcode red.global.min.f32: the interpreter does not know it");
  EXPECT_EQ(error_of("red.shared.add.v2.f32 [%rd1], {%f1, %f2};"),
            "line 13: opcode red.shared.add.v2.f32: vectors are in global memory only");
  EXPECT_EQ(error_of("red.global.add.v2.f32 [%rd1], {%f1, %f2, %f3};"),
            "line 13: the vector has another length than the opcode says");
  EXPECT_EQ(error_of("atom.global.add.v4.f32 {%f1, %f2}, [%rd1], {%f1, %f2, %f3, %f4};"),
            "line 13: the vector has another length than the opcode says");
}

// ---- Logic and spaces ----

TEST(SmallInstructions, Lop3SetsAPredicate) {
  // Bits 0 to 7 of the results: the predicates. The guard of the last one is its own predicate.
  EXPECT_THAT(run(R"(
    setp.eq.u32 %p1, %r1, 0;
    setp.ne.u32 %p2, %r1, 0;
    mov.u32 %r2, 12;
    mov.u32 %r3, 10;
    lop3.or.b32 %r4|%p3, %r2, %r3, 0, 0xc0, %p2;
    lop3.and.b32 %r5|%p4, %r2, 3, 0, 0xc0, %p1;
    lop3.or.b32 _|%p5, %r2, 3, 0, 0xc0, %p1;
    lop3.and.b32 %r6|%p6, %r2, %r3, 5, 0x96, !%p2;
    mov.u32 %r7, 1;
    @%p1 lop3.and.b32 %r7|%p1, %r2, 3, 0, 0xc0, %p1;
    selp.u32 %r8, 1, 0, %p3;
    selp.u32 %r9, 2, 0, %p4;
    selp.u32 %r10, 4, 0, %p5;
    selp.u32 %r11, 8, 0, %p6;
    selp.u32 %r12, 16, 0, %p1;
    add.u32 %r8, %r8, %r9;
    add.u32 %r8, %r8, %r10;
    add.u32 %r8, %r8, %r11;
    add.u32 %r8, %r8, %r12;
    st.global.v4.u32 [%rd1], {%r4, %r5, %r6, %r7};
    st.global.u32 [%rd1+16], %r8;)",
                  {}),
              ElementsAre(8, 0, 12 ^ 10 ^ 5, 0, 13, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
}

TEST(SmallInstructions, SpacesOfGenericAddresses) {
  EXPECT_THAT(run(R"(
    .shared .align 4 .b32 cell;
    .local .align 4 .b32 own;
    mov.u64 %rd2, cell;
    cvta.shared.u64 %rd2, %rd2;
    mov.u64 %rd3, own;
    cvta.local.u64 %rd3, %rd3;
    isspacep.shared %p1, %rd2;
    isspacep.shared::cta %p2, %rd1;
    isspacep.shared::cluster %p3, %rd2;
    isspacep.global %p4, %rd1;
    isspacep.global %p5, %rd2;
    isspacep.local %p6, %rd3;
    isspacep.local %p7, %rd1;
    selp.u32 %r2, 1, 0, %p1;
    @%p2 add.u32 %r2, %r2, 2;
    @%p3 add.u32 %r2, %r2, 4;
    @%p4 add.u32 %r2, %r2, 8;
    @%p5 add.u32 %r2, %r2, 16;
    @%p6 add.u32 %r2, %r2, 32;
    @%p7 add.u32 %r2, %r2, 64;
    st.global.u32 [%rd1], %r2;)",
                  {})[0],
              1u + 4 + 8 + 32);
}

TEST(SmallInstructions, AnotherBlockIsInTheClusterOnly) {
  const std::string kernel = lane_kernel(R"(
    .shared .align 4 .b32 cell;
    mov.u64 %rd2, cell;
    cvta.shared.u64 %rd3, %rd2;
    mov.u32 %r3, %cluster_ctarank;
    xor.b32 %r4, %r3, 1;
    mapa.u64 %rd4, %rd3, %r4;
    isspacep.shared %p1, %rd4;
    isspacep.shared::cluster %p2, %rd4;
    selp.u32 %r2, 1, 0, %p1;
    @%p2 add.u32 %r2, %r2, 2;
    cvt.u32.u64 %r5, %rd2;
    mapa.shared::cluster.u32 %r6, %r5, %r3;
    st.shared::cluster.u32 [%r6], 40;
    ld.shared.u32 %r7, [%r5];
    add.u32 %r2, %r2, %r7;
    mapa.shared::cluster.u64 %rd5, %rd2, %r4;
    cvta.shared::cluster.u64 %rd6, %rd5;
    cvta.to.shared::cluster.u64 %rd7, %rd4;
    setp.ne.u64 %p3, %rd4, %rd6;
    setp.ne.u64 %p4, %rd5, %rd7;
    @%p3 add.u32 %r2, %r2, 100;
    @%p4 add.u32 %r2, %r2, 1000;)");
  EXPECT_THAT(run_lanes(kernel, {.grid = {2, 1, 1}, .block = {1, 1, 1}, .cluster = {2, 1, 1}}),
              ElementsAre(42, 42));
}

}  // namespace
}  // namespace sinter::virtual_gpu::float_atomics_test
