// Calls, which are inlined: arguments and results, nesting, guards, and parameters in pieces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/virtual_gpu/execution/tests/test_kernels.h"

namespace sinter::virtual_gpu::inline_calls_test {
namespace {

using ::testing::ElementsAre;

constexpr const char* kFunctions = R"(
.func (.param .b32 result) twice(.param .b32 value)
{
    .reg .b32 %r<3>;
    ld.param.u32 %r1, [value];
    add.u32 %r2, %r1, %r1;
    st.param.b32 [result], %r2;
    ret;
}
.func (.param .b32 result) limited(.param .b32 value, .param .b64 limit)
{
    .reg .pred %p<2>;
    .reg .b32 %r<5>;
    .reg .b64 %rd<2>;
    ld.param.u32 %r1, [value];
    ld.param.u64 %rd1, [limit];
    cvt.u32.u64 %r2, %rd1;
    setp.ge.u32 %p1, %r1, %r2;
    st.param.b32 [result], %r2;
    @%p1 ret;
    {
    .param .b32 a;
    .param .b32 b;
    st.param.b32 [a], %r1;
    call.uni (b), twice, (a);
    ld.param.b32 %r3, [b];
    }
    st.param.b32 [result], %r3;
    ret;
}
)";

/// A call of `limited(%r<in>, 20)` into `%r<out>`.
std::string call(const std::string& in, const std::string& out, const std::string& guard = "") {
  return "{\n.param .b32 a;\n.param .b64 b;\n.param .b32 c;\nst.param.b32 [a], " + in +
         ";\nst.param.b64 [b], 20;\n" + guard + "call.uni (c), limited, (a, b);\n" + guard +
         "ld.param.b32 " + out + ", [c];\n}\n";
}

TEST(InlineCalls, AreInlinedAndMayBeNestedAndDiverge) {
  const std::string kernel = lane_kernel(call("%r1", "%r2") + "bar.sync 0;\n", kFunctions);
  EXPECT_EQ(run_lanes(kernel), table(32, [](auto i) { return i < 20 ? 2 * i : 20; }));
}

TEST(InlineCalls, TwoCallsHaveDifferentRegisters) {
  const std::string kernel = lane_kernel(
      call("%r1", "%r3") + call("%r3", "%r4") + "mad.lo.u32 %r2, %r3, 100, %r4;", kFunctions);
  EXPECT_EQ(run_lanes(kernel), table(32, [](auto i) {
              const std::uint32_t first = i < 20 ? 2 * i : 20;
              return first * 100 + (first < 20 ? 2 * first : 20);
            }));
}

TEST(InlineCalls, AGuardedCallChangesNoOtherLanes) {
  const std::string kernel = lane_kernel(
      R"(
    mov.u32 %r2, 5;
    and.b32 %r3, %r1, 1;
    setp.eq.u32 %p1, %r3, 1;
    {
    .param .b32 a;
    .param .b32 c;
    st.param.b32 [a], %r1;
    @%p1 call.uni (c), twice, (a);
    ld.param.b32 %r4, [c];
    }
    @%p1 mov.u32 %r2, %r4;
    bar.sync 0;)",
      kFunctions);
  EXPECT_EQ(run_lanes(kernel), table(32, [](auto i) { return i % 2 ? 2 * i : 5; }));
}

TEST(InlineCalls, AParameterOfOneByteKeepsOneByte) {
  const std::string kernel = lane_kernel(R"(
    add.u32 %r3, %r1, 0x1f0;
    cvt.u16.u32 %h1, %r3;
    {
    .param .b8 a;
    .param .b32 c;
    st.param.b8 [a], %h1;
    call.uni (c), widened, (a);
    ld.param.b32 %r2, [c];
    })",
                                         R"(
.func (.param .b32 result) widened(.param .b8 value)
{
    .reg .b16 %h<2>;
    .reg .b32 %r<2>;
    ld.param.u8 %h1, [value];
    cvt.u32.u16 %r1, %h1;
    st.param.b32 [result], %r1;
    ret;
})");
  EXPECT_EQ(run_lanes(kernel), table(32, [](auto i) { return (0x1f0 + i) & 0xff; }));
}

TEST(InlineCalls, AParameterMayBeReadInParts) {
  const std::string kernel = lane_kernel(R"(
    {
    .param .b32 a;
    .param .b64 b;
    .param .b32 c;
    st.param.b32 [a], 0x89abfffe;
    st.param.b64 [b], 0x8000000200000003;
    call.uni (c), sum, (a, b);
    ld.param.b32 %r2, [c];
    })",
                                         R"(
.func (.param .b32 result) sum(.param .b32 a, .param .b64 b)
{
    .reg .b16 %h<5>;
    .reg .b32 %r<8>;
    ld.param.u16 %h1, [a];
    ld.param.s16 %h2, [a];
    ld.param.s8 %h3, [a+3];
    ld.param.u32 %r4, [b];
    ld.param.u16 %h4, [b+4];
    cvt.u32.u16 %r1, %h1;
    cvt.s32.s16 %r2, %h2;
    cvt.s32.s16 %r3, %h3;
    cvt.u32.u16 %r5, %h4;
    add.u32 %r6, %r1, %r2;
    add.u32 %r6, %r6, %r3;
    mad.lo.u32 %r6, %r4, 0x100000, %r6;
    mad.lo.u32 %r6, %r5, 0x1000000, %r6;
    st.param.b32 [result], %r6;
    ret;
})");
  EXPECT_THAT(run_lanes(kernel, {.block = {1, 1, 1}}),
              ElementsAre(0xfffe - 2 - 119 + 0x300000 + 0x2000000));
}

TEST(InlineCalls, AnArrayIsPassedInPieces) {
  const std::string kernel = lane_kernel(R"(
    {
    .param .align 8 .b8 a[16];
    .param .b32 c;
    st.param.v2.b32 [a], {%r1, 3};
    st.param.b64 [a+8], 4;
    call.uni (c), sum, (a);
    ld.param.b32 %r2, [c];
    })",
                                         R"(
.func (.param .b32 result) sum(.param .align 8 .b8 value[16])
{
    .reg .b32 %r<5>;
    .reg .b64 %rd<2>;
    .local .align 4 .b32 kept;
    ld.param.v2.b32 {%r1, %r2}, [value];
    ld.param.b64 %rd1, [value+8];
    cvt.u32.u64 %r3, %rd1;
    st.local.u32 [kept], %r3;
    mad.lo.u32 %r4, %r2, 100, %r1;
    ld.local.u32 %r3, [kept];
    mad.lo.u32 %r4, %r3, 1000, %r4;
    st.param.b32 [result], %r4;
    ret;
})");
  EXPECT_EQ(run_lanes(kernel), table(32, [](auto i) { return 4300 + i; }));
}

}  // namespace
}  // namespace sinter::virtual_gpu::inline_calls_test
