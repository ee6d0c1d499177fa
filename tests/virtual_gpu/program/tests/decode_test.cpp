// Decoding: errors, parameters and variables.
#include "tests/virtual_gpu/program/decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/virtual_gpu/execution/tests/test_kernels.h"
#include "tests/virtual_gpu/ptx/error.h"

namespace sinter::virtual_gpu::decode_test {
namespace {

using ::testing::ElementsAre;

std::shared_ptr<const Program> decoded(const std::string& text) {
  return decode(ptx::parse(text), [](const ptx::Variable&) { return std::uint64_t{0x1000}; });
}

// ---- Errors ----

/// The error of a kernel with one instruction, which is in line 13.
std::string error_of(const std::string& instruction, const std::string& functions = "") {
  try {
    decoded(kernel_text(".param .u64 out", kRegisters + instruction + "\nret;", functions));
  } catch (const PtxError& error) {
    return error.what();
  }
  return "none";
}

TEST(DecodeErrors, NameAnUnknownOpcode) {
  EXPECT_EQ(error_of("add.s24 %r1, %r2, %r3;"),
            "line 13: opcode add.s24: the interpreter does not know it");
  EXPECT_EQ(error_of("ld.global.nt.u32 %r1, [%rd1];"),
            "line 13: opcode ld.global.nt.u32: the modifier .nt is not known");
  EXPECT_EQ(error_of("ld.global.u24 %r1, [%rd1];"),
            "line 13: opcode ld.global.u24: the type is not known");
  EXPECT_EQ(error_of("atom.global.mul.u32 %r1, [%rd1], %r2;"),
            "line 13: opcode atom.global.mul.u32: the modifier .mul is not known");
  EXPECT_EQ(error_of("atom.global.add.f16 %h1, [%rd1], %h2;"),
            "line 13: opcode atom.global.add.f16: the interpreter does not know it");
  EXPECT_EQ(error_of("shfl.sync.left.b32 %r1, %r2, 1, 31, -1;"),
            "line 13: opcode shfl.sync.left.b32: the interpreter does not know it");
  EXPECT_EQ(error_of("fence.proxy.tensormap::generic.release.gpu;"),
            "line 13: opcode fence.proxy.tensormap::generic.release.gpu: the interpreter does not "
            "know it");
}

TEST(DecodeErrors, NameARegisterThatIsNotDeclared) {
  EXPECT_EQ(error_of("mov.u32 %r99, %r1;"), "line 13: register %r99 is not declared");
  EXPECT_EQ(error_of("mov.u32 %r1, %r99;"), "line 13: special register %r99 is not known");
  EXPECT_EQ(error_of("mov.u32 %r1, %envreg0;"), "line 13: special register %envreg0 is not known");
  EXPECT_EQ(error_of("mov.u64 %rd1, unknown;"), "line 13: name unknown is not declared");
  EXPECT_EQ(error_of("bra NOWHERE;"), "line 13: opcode bra: label NOWHERE is not declared");
}

TEST(DecodeErrors, NameARegisterOfAnotherWidth) {
  EXPECT_EQ(error_of("add.u32 %r1, %rd2, 1;"),
            "line 13: register %rd2 has another width than the instruction reads");
  EXPECT_EQ(error_of("add.u64 %r1, %rd2, 1;"),
            "line 13: register %r1 has another width than the instruction writes");
  EXPECT_EQ(error_of("@%r5 add.u32 %r1, %r2, 1;"),
            "line 13: register %r5 has another width than the instruction reads");
  EXPECT_EQ(error_of("ld.global.u64 %r1, [%rd1];"),
            "line 13: register %r1 has another width than the instruction writes");
  EXPECT_EQ(error_of("ld.global.u32 %r1, [%r2];"), "line 13: address %r2 has no 64 bits");
}

TEST(DecodeErrors, NameTheOperandsThatDoNotFit) {
  EXPECT_EQ(error_of("add.u32 %r1, %r2;"),
            "line 13: opcode add.u32: it has 2 operands, the decoder expects 3");
  EXPECT_EQ(error_of("ld.global.u32 %r1;"),
            "line 13: opcode ld.global.u32: it has 1 operands, the decoder expects 2 to 3");
  EXPECT_EQ(error_of("add.u32 %r1|%p1, %r2, 1;"),
            "line 13: opcode add.u32: it has no second result");
  EXPECT_EQ(error_of("ld.global.v2.u32 {%r1, %r2, %r3}, [%rd1];"),
            "line 13: the vector has another length than the opcode says");
  EXPECT_EQ(error_of("mov.b32 %r1, {%h1, %h2, %h3};"),
            "line 13: opcode mov.b32: the vector does not fit");
  EXPECT_EQ(error_of("st.param.u64 [out], %rd1;"),
            "line 13: opcode st.param.u64: a kernel cannot write its parameters");
  EXPECT_EQ(error_of("ld.param.u64 %rd1, [out+8];"),
            "line 13: opcode ld.param.u64: it reads behind the parameters");
}

TEST(DecodeErrors, NameACallThatDoesNotFit) {
  const std::string function = ".func f(.param .b32 p) { ret; }";
  const std::string recursive = ".func g() { call g; ret; }";
  EXPECT_EQ(error_of("call.uni unknown, ();"), "line 13: call of unknown, which has no body");
  EXPECT_EQ(error_of("call.uni f, ();", function),
            "line 13: call of f with another number of arguments than it has");
  EXPECT_EQ(error_of("call.uni f, (%r1);", function),
            "line 13: opcode call.uni: argument %r1 is no parameter");
  EXPECT_EQ(error_of("call.uni g;", recursive), "line 4: calls are recursive or too deep");
}

// ---- Kernels ----

TEST(DecodeKernels, ParametersAreAlignedToTheirTypes) {
  const auto program = decoded(kernel_text(
      ".param .u8 a, .param .u64 b, .param .u16 c, .param .f32 d, .param .align 16 .b8 e[24], "
      ".param .b8 f",
      "ret;"));
  const Kernel& kernel = program->kernels.at(0);
  std::vector<std::size_t> offsets, sizes;
  for (const Parameter& parameter : kernel.parameters) {
    offsets.push_back(parameter.offset);
    sizes.push_back(parameter.bytes);
  }
  EXPECT_THAT(offsets, ElementsAre(0, 8, 16, 20, 32, 56));
  EXPECT_THAT(sizes, ElementsAre(1, 8, 2, 4, 24, 1));
  EXPECT_EQ(kernel.parameter_bytes, 57u);
}

TEST(DecodeKernels, DirectivesLimitThem) {
  const auto program = decoded(
      ".version 9.0\n.target sm_90\n.address_size 64\n"
      ".visible .entry a() .maxntid 128, 2 .minnctapersm 3 { ret; }\n"
      ".visible .entry b() .reqntid 64 .reqnctapercluster 4, 1, 1 { ret; }\n");
  ASSERT_EQ(program->find_kernel("b"), 1);
  EXPECT_EQ(program->find_kernel("c"), -1);
  const Kernel& a = program->kernels[0];
  const Kernel& b = program->kernels[1];
  EXPECT_THAT(a.max_threads, ElementsAre(128, 2, 1));
  EXPECT_EQ(a.min_blocks_per_sm, 3);
  EXPECT_THAT(a.required_threads, ElementsAre(0, 0, 0));
  EXPECT_THAT(b.required_threads, ElementsAre(64, 1, 1));
  EXPECT_THAT(b.required_cluster, ElementsAre(4, 1, 1));
}

TEST(DecodeKernels, OperationsOfAllKernelsKeepTheirDetails) {
  std::string text = ".version 9.0\n.target sm_90\n.address_size 64\n";
  for (const char name : {'a', 'b', 'c', 'd'})
    text += std::string(".visible .entry ") + name +
            "() { .shared .align 4 .b32 own; st.shared.u32 [own], 1; ret; }\n";
  const auto program = decoded(text);
  for (const Kernel& kernel : program->kernels)
    EXPECT_EQ(kernel.operations.at(0).details, kernel.details.front().get()) << kernel.name;
}

struct alignas(16) Structure {
  std::uint32_t a;
  std::int8_t b[4];
  std::uint64_t c;
};

TEST(DecodeKernels, ReadsParametersOfAllSizes) {
  const std::string kernel = kernel_text(
      ".param .u8 a, .param .s16 b, .param .u64 out, .param .f32 c, .param .align 16 .b8 d[16]",
      std::string(kRegisters) + R"(
    ld.param.u64 %rd1, [out];
    ld.param.u8 %h1, [a];
    ld.param.s8 %h2, [a];
    ld.param.s16 %h3, [b];
    ld.param.f32 %f1, [c];
    ld.param.v2.u32 {%r4, %r5}, [d];
    ld.param.s8 %h4, [d+7];
    ld.param.u64 %rd2, [d+8];
    cvt.u32.u16 %r1, %h1;
    cvt.s32.s16 %r2, %h2;
    cvt.s32.s16 %r3, %h3;
    cvt.s32.s16 %r6, %h4;
    st.global.u32 [%rd1], %r1;
    st.global.u32 [%rd1+4], %r2;
    st.global.u32 [%rd1+8], %r3;
    st.global.f32 [%rd1+12], %f1;
    st.global.v2.u32 [%rd1+16], {%r4, %r5};
    st.global.u32 [%rd1+24], %r6;
    st.global.u64 [%rd1+32], %rd2;
    ret;)");
  KernelRunner runner;
  const std::uint64_t out = runner.array(std::vector<std::uint32_t>(10));
  runner.run(kernel, {.block = {1, 1, 1}}, std::uint8_t{200}, std::int16_t{-3}, out, 1.5f,
             Structure{.a = 7, .b = {1, 2, 3, -4}, .c = 0x123456789abcdef0});
  EXPECT_THAT(runner.read<std::uint32_t>(out, 10),
              ElementsAre(200, 0xffffffc8, 0xfffffffd, 0x3fc00000, 7, 0xfc030201, 0xfffffffc, 0,
                          0x9abcdef0, 0x12345678));
}

TEST(DecodeKernels, ReadsAParameterAtAnAddressThatDiffersBetweenLanes) {
  const std::string kernel =
      kernel_text(".param .u32 before, .param .u64 out, .param .align 8 .b8 table[24]",
                  std::string(kRegisters) + R"(
    ld.param.u64 %rd1, [out];
    mov.b64 %rd2, table;
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 8;
    add.s64 %rd4, %rd2, %rd3;
    ld.param.u32 %r2, [%rd4+4];
    ld.param.s8 %r3, [%rd4];
    ld.param.u32 %r4, [table+8];
    add.s32 %r5, %r2, %r3;
    add.s32 %r5, %r5, %r4;
    mul.wide.u32 %rd5, %r1, 4;
    add.s64 %rd6, %rd1, %rd5;
    st.global.u32 [%rd6], %r5;
    ret;)");
  const auto run = [&](unsigned threads) {
    KernelRunner runner;
    const std::uint64_t out = runner.array(std::vector<std::uint32_t>(4));
    runner.run(kernel, {.block = {threads, 1, 1}}, std::uint32_t{7}, out,
               std::array<std::uint32_t, 6>{1, 10, 1000, 20, 0xff, 30});
    return runner.read<std::uint32_t>(out, 3);
  };
  EXPECT_THAT(run(3), ElementsAre(1011, 1020 + 0xffffffe8, 1029));
  EXPECT_THAT(violation_of([&] { run(4); }),
              ::testing::HasSubstr("4 bytes at 0x42c are in none of the 3 parameters at 0x400"));
}

TEST(DecodeKernels, AConversionReadsTheLowPartOfAWiderRegister) {
  const std::string kernel = lane_kernel(R"(
    mov.u64 %rd3, 0x1122334455667785;
    cvt.s64.s8 %rd4, %rd3;
    cvt.u64.u16 %rd5, %rd3;
    sub.s64 %rd6, %rd5, %rd4;
    cvt.u32.u64 %r2, %rd6;)");
  EXPECT_THAT(run_lanes(kernel, {.block = {1, 1, 1}}), ElementsAre(0x7785 + 123));
}

// ---- Variables ----

TEST(DecodeVariables, DynamicSharedMemoryIsBehindStatic) {
  const std::string kernel = lane_kernel(R"(
    .shared .align 4 .b8 own[12];
    mov.u64 %rd3, of_module;
    mov.u64 %rd4, own;
    mov.u64 %rd5, dynamic;
    st.shared.u32 [of_module+20], 1;
    st.shared.u32 [%rd4+8], 2;
    st.shared.u32 [dynamic], 3;
    ld.shared.u32 %r3, [%rd3+20];
    ld.shared.u32 %r4, [own+8];
    ld.shared.u32 %r5, [%rd5];
    mad.lo.u32 %r3, %r4, 16, %r3;
    mad.lo.u32 %r3, %r5, 256, %r3;
    sub.u64 %rd6, %rd5, %rd4;
    sub.u64 %rd7, %rd4, %rd3;
    cvt.u32.u64 %r6, %rd6;
    cvt.u32.u64 %r7, %rd7;
    shl.b32 %r6, %r6, 16;
    shl.b32 %r7, %r7, 24;
    add.u32 %r2, %r3, %r6;
    add.u32 %r2, %r2, %r7;)",
                                         ".shared .align 8 .b8 of_module[24];\n"
                                         ".shared .align 8 .b8 unused[1000];\n"
                                         ".extern .shared .align 16 .b8 dynamic[];\n");
  EXPECT_EQ(decoded(kernel)->kernels.at(0).static_shared_bytes, 40);
  // `own` comes first, then `of_module`, then dynamic memory at a multiple of 16.
  const std::uint32_t own_to_dynamic = 48, module_to_own = static_cast<std::uint32_t>(-16);
  EXPECT_THAT(run_lanes(kernel, {.block = {1, 1, 1}, .dynamic_shared_bytes = 4}),
              ElementsAre(0x321u + (own_to_dynamic << 16) + (module_to_own << 24)));
}

TEST(DecodeVariables, SharedVariablesOfFunctionsMayHaveTheSameName) {
  const auto function = [](const std::string& name, const std::string& value) {
    return ".func (.param .b64 result) " + name +
           "()\n{\n.reg .b64 %rd<2>;\n.shared .align 4 .b32 own;\nst.shared.u32 [own], " + value +
           ";\nmov.u64 %rd1, own;\nst.param.b64 [result], %rd1;\nret;\n}\n";
  };
  const std::string kernel = lane_kernel(R"(
    .param .b64 first;
    .param .b64 second;
    call.uni (first), f, ();
    call.uni (second), g, ();
    ld.param.b64 %rd3, [first];
    ld.param.b64 %rd4, [second];
    ld.shared.u32 %r3, [%rd3];
    ld.shared.u32 %r4, [%rd4];
    mad.lo.u32 %r2, %r3, 100, %r4;)",
                                         function("f", "3") + function("g", "4"));
  EXPECT_THAT(run_lanes(kernel, {.block = {1, 1, 1}}), ElementsAre(304));
}

TEST(DecodeVariables, OffsetsOfTablesAndConstants) {
  const std::string kernel = lane_kernel(R"(
    mov.u64 %rd3, table+4;
    ld.global.u32 %r3, [%rd3];
    ld.global.u32 %r4, [table+8];
    ld.const.u16 %h1, [factors+2];
    cvt.u32.u16 %r5, %h1;
    add.u32 %r2, %r3, %r4;
    add.u32 %r2, %r2, %r5;)",
                                         ".global .align 4 .u32 table[3] = {1, 20, 300};\n"
                                         ".const .align 2 .u16 factors[2] = {7, 4000};\n");
  EXPECT_THAT(run_lanes(kernel, {.block = {1, 1, 1}}), ElementsAre(4320));
}

TEST(DecodeVariables, EachThreadHasItsOwnLocalArray) {
  const std::string kernel = lane_kernel(R"(
    .local .align 8 .b8 array[16];
    .local .align 4 .b32 other;
    mov.u64 %rd3, array;
    cvta.local.u64 %rd4, %rd3;
    st.local.u32 [%rd3], %r1;
    st.u32 [%rd4+4], 1000;
    st.local.u32 [other], 5;
    bar.sync 0;
    ld.u32 %r3, [%rd4];
    ld.local.u32 %r4, [array+4];
    ld.local.u32 %r5, [other];
    add.u32 %r2, %r3, %r4;
    mul.lo.u32 %r2, %r2, %r5;)");
  EXPECT_EQ(decoded(kernel)->kernels.at(0).local_bytes, 20);
  EXPECT_EQ(run_lanes(kernel), table(32, [](auto i) { return 5 * (1000 + i); }));
}

}  // namespace
}  // namespace sinter::virtual_gpu::decode_test
