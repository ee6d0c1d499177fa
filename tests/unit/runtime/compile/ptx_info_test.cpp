// Global memory accesses that are read from PTX: their widths, and the parameters they use.
#include "runtime/compile/ptx_info.h"

#include <string>

#include <gtest/gtest.h>

#include "sinter/error.h"

namespace sinter::ptx_info_test {
namespace {

constexpr const char* kHead = R"(
.version 9.0
.target sm_90
.address_size 64
.visible .entry other(
	.param .u64 other_param_0
)
{
	ret;
}
.visible .entry f(
	.param .u64 .ptr .align 1 f_param_0,
	.param .u64 .ptr .align 1 f_param_1,
	.param .u32 f_param_2
)
.maxntid 256
{
	.reg .pred 	%p<3>;
	ld.param.b64 	%rd1, [f_param_0];
	ld.param.b64 	%rd2, [f_param_1];
	ld.param.b32 	%r1, [f_param_2];
	cvta.to.global.u64 	%rd3, %rd1;
	cvta.to.global.u64 	%rd4, %rd2;
	mul.wide.s32 	%rd5, %r1, 16;
	add.s64 	%rd6, %rd3, %rd5;  // into the first
)";

std::vector<PtxAccess> read(const std::string& body) {
  return read_accesses(kHead + body + "}\n", "f");
}

TEST(PtxInfoTest, AccessesHaveWidthParameterAndLine) {
  const std::vector<PtxAccess> accesses = read(
      "\tld.global.nc.v4.b32 \t{%r2, %r3, %r4, %r5}, [%rd6+16];\n"
      "\tld.global.b16 \t%rs1, [%rd6];\n"
      "\tld.shared.v4.b32 \t{%r6, %r7, %r8, %r9}, [sinter_shared];\n"
      "\tst.global.v2.b64 \t[%rd4], {%rd7, %rd8};\n"
      "\tret;\n");
  ASSERT_EQ(accesses.size(), 3U);
  EXPECT_EQ(accesses[0].bytes, 16);
  EXPECT_EQ(accesses[0].parameter, 0);
  EXPECT_FALSE(accesses[0].is_store);
  EXPECT_EQ(accesses[1].bytes, 2);
  EXPECT_EQ(accesses[1].line, accesses[0].line + 1);
  EXPECT_EQ(accesses[2].bytes, 16);
  EXPECT_EQ(accesses[2].parameter, 1);
  EXPECT_TRUE(accesses[2].is_store);
}

TEST(PtxInfoTest, FollowsPointersThroughLoops) {
  const std::vector<PtxAccess> accesses = read(
      "\tmov.b64 \t%rd9, %rd4;\n"
      "$L__BB1_1:\n"
      "\tst.global.b32 \t[%rd9], %r1;\n"
      "\tadd.s64 \t%rd9, %rd9, 4;\n"
      "\tbra.uni \t$L__BB1_1;\n");
  ASSERT_EQ(accesses.size(), 1U);
  EXPECT_EQ(accesses[0].parameter, 1);
}

TEST(PtxInfoTest, FollowsLoadedAddressesOneLevel) {
  const std::vector<PtxAccess> accesses = read(
      "\tld.global.b64 \t%rd7, [%rd6+24];\n"
      "\tadd.s64 \t%rd8, %rd4, %rd7;\n"
      "\t@%p1 ld.global.b32 \t%r2, [%rd8];\n"
      "\tld.global.b32 \t%r3, [%rd7];\n"
      "\tcvta.to.global.u64 \t%rd10, %rd7;\n"
      "\tadd.s64 \t%rd11, %rd10, %rd5;\n"
      "\tld.global.b64 \t%rd12, [%rd11+8];\n"
      "\tst.global.b32 \t[%rd12], %r3;\n"
      "\tret;\n");
  ASSERT_EQ(accesses.size(), 5U);
  EXPECT_EQ(accesses[0].parameter, 0);
  EXPECT_EQ(accesses[1].parameter, 1);
  EXPECT_EQ(accesses[1].loaded_at, -1);
  for (const PtxAccess& access : {accesses[2], accesses[3]}) {
    EXPECT_EQ(access.parameter, 0);
    EXPECT_EQ(access.loaded_at, 24);
  }
  EXPECT_EQ(accesses[4].parameter, -1);
}

constexpr const char* kTable = R"(
.visible .entry t(
	.param .u64 t_param_0,
	.param .align 8 .b8 t_param_1[96],
	.param .align 2 .b8 t_param_2[2]
)
{
	ld.param.u64 	%rd1, [t_param_0];
	ld.param.u16 	%rs1, [t_param_2];
	mov.b64 	%rd2, t_param_1;
	add.s64 	%rd3, %rd2, %rd9;
)";

TEST(PtxInfoTest, FollowsAddressesInATableThatIsAParameter) {
  const std::vector<PtxAccess> accesses =
      read_accesses(kTable + std::string("\tld.param.u64 \t%rd4, [%rd3+16];\n"
                                         "\tcvta.to.global.u64 \t%rd5, %rd4;\n"
                                         "\tld.global.b32 \t%r1, [%rd5];\n"
                                         "\tld.param.u64 \t%rd6, [t_param_1];\n"
                                         "\tst.global.b32 \t[%rd6], %r1;\n"
                                         "\tst.global.b16 \t[%rd1], %rs1;\n"
                                         "\tld.param.u32 \t%r2, [%rd3+8];\n"
                                         "\tst.global.b8 \t[%r2], %r1;\n"
                                         "\tret;\n}\n"),
                    "t");
  ASSERT_EQ(accesses.size(), 4U);
  EXPECT_EQ(accesses[0].parameter, 1);
  EXPECT_EQ(accesses[0].loaded_at, 16);
  EXPECT_EQ(accesses[1].parameter, 1);
  EXPECT_EQ(accesses[1].loaded_at, 0);
  EXPECT_EQ(accesses[2].parameter, 0);
  EXPECT_EQ(accesses[2].loaded_at, -1);
  EXPECT_EQ(accesses[3].parameter, -1) << "a number of 32 bits is no address";
}

TEST(PtxInfoTest, IgnoresTablesOfTheProgram) {
  const std::vector<PtxAccess> accesses = read(
      "\tmov.b64 \t%rd7, table+16;\n"
      "\tcvta.global.u64 \t%rd8, %rd7;\n"
      "\tld.global.b32 \t%r2, [%rd8];\n"
      "\tmov.u64 \t%rd9, $str;\n"
      "\tld.global.b32 \t%r3, [%rd9+4];\n"
      "\tst.global.b32 \t[%rd4], %r2;\n"
      "\tret;\n");
  ASSERT_EQ(accesses.size(), 1U);
  EXPECT_EQ(accesses[0].parameter, 1);
}

TEST(PtxInfoTest, IgnoresOtherKernels) {
  EXPECT_EQ(read_accesses(kHead + std::string("\tret;\n}\n"), "other").size(), 0U);
}

TEST(PtxInfoTest, ReadsInlineAssemblyAndScopes) {
  const std::vector<PtxAccess> accesses = read(
      "\t// begin inline asm\n"
      "\t{ cvt.f32.f16 %f1, %rs1; }\n"
      "\t// end inline asm\n"
      "\t{\n"
      "\t.reg .b32 \t%temp;\n"
      "\tld.global.b32 \t%r2, [%rd6];\n"
      "\t}\n"
      "\tst.global.b32 \t[%rd4], %r2;\n"
      "\tret;\n");
  EXPECT_EQ(accesses.size(), 2U);
}

TEST(PtxInfoTest, MissingKernelsAreInternalErrors) {
  EXPECT_THROW(read_accesses(kHead, "g"), InternalError);
}

/// The form in which NVRTC writes calls: arguments are stored, and the call lists them on several
/// lines.
TEST(PtxInfoTest, AttributesAccessesOfFunctionsToTheCallingKernel) {
  const std::string function = R"(
.func copy(
	.param .b64 copy_param_0,
	.param .b32 copy_param_1,
	.param .b64 copy_param_2
)
{
	ld.param.u64 	%rd1, [copy_param_0];
	ld.param.u64 	%rd2, [copy_param_2];
	cvta.to.global.u64 	%rd3, %rd1;
	cvta.to.global.u64 	%rd4, %rd2;
	ld.global.v4.u32 	{%r1, %r2, %r3, %r4}, [%rd3];
	st.global.v2.u32 	[%rd4], {%r1, %r2};
	ret;
}
)";
  const auto call = [](const std::string& from, const std::string& to) {
    return "	{ // callseq 0, 0\n	.param .b64 param0;\n	st.param.b64 	[param0+0], " +
           from +
           ";\n	.param .b32 param1;\n	st.param.b32 	[param1+0], %r1;\n	.param .b64 "
           "param2;\n"
           "	st.param.b64 	[param2+0], " +
           to +
           ";\n	call.uni \n	copy, \n	(\n	param0, \n	param1, \n	"
           "param2\n	);\n	} // callseq 0\n";
  };
  const std::vector<PtxAccess> accesses =
      read_accesses(function + kHead + call("%rd1", "%rd2") + "	ld.global.u16 	%rs1, [%rd6];\n" +
                        call("%rd2", "%rd1") + "	ret;\n}\n",
                    "f");
  ASSERT_EQ(accesses.size(), 5u);
  EXPECT_EQ(accesses[0].bytes, 16);
  EXPECT_EQ(accesses[0].parameter, 0);
  EXPECT_FALSE(accesses[0].is_store);
  EXPECT_EQ(accesses[1].bytes, 8);
  EXPECT_EQ(accesses[1].parameter, 1);
  EXPECT_TRUE(accesses[1].is_store);
  EXPECT_EQ(accesses[2].bytes, 2);
  EXPECT_EQ(accesses[3].parameter, 1);
  EXPECT_EQ(accesses[4].parameter, 0);
}

/// Generic accesses, without a state space in the instruction, to shared memory of a cluster and to
/// local memory. Tables of constants are in global memory.
TEST(PtxInfoTest, IgnoresSharedLocalAndConstantMemory) {
  const std::vector<PtxAccess> accesses = read(
      "\tcvta.shared.u64 \t%rd20, %rd19;\n"
      "\tadd.s64 \t%rd21, %rd20, 16;\n"
      "\tmapa.u64 %rd22, %rd21, %r1;\n"
      "\tst.f32 \t[%rd22], %f1;\n"
      "\tld.v4.f32 \t{%f1, %f2, %f3, %f4}, [%rd21];\n"
      "\tcvta.local.u64 \t%SP, %SPL;\n"
      "\tadd.u64 \t%rd23, %SP, 8;\n"
      "\tst.u32 \t[%rd23], %r1;\n"
      "\tmov.u64 \t%rd24, __cudart_i2opi_f;\n"
      "\tld.global.nc.u32 \t%r2, [%rd24];\n"
      "\tadd.s64 \t%rd24, %rd24, 4;\n"
      "\tld.global.nc.u32 \t%r2, [__cudart_i2opi_f+8];\n"
      "\tst.global.u32 \t[%rd6], %r1;\n"
      "\tst.u32 \t[%rd30], %r1;\n"
      "\tret;\n");
  ASSERT_EQ(accesses.size(), 2U);
  EXPECT_EQ(accesses[0].parameter, 0);
  EXPECT_EQ(accesses[1].parameter, -1) << "nobody knows where that is";
}

/// The accesses of a function outside the PTX are unknown.
TEST(PtxInfoTest, ReportsCallsOfUndefinedFunctions) {
  const std::string declared = R"(
.extern .func  (.param .b32 func_retval0) elsewhere
(
	.param .b64 elsewhere_param_0
)
;
)";
  const std::vector<PtxAccess> accesses =
      read_accesses(declared + kHead +
                        "	ld.global.b32 	%r2, [%rd6];\n"
                        "	st.param.b64 	[param0], %rd1;\n"
                        "	@%p1 call.uni (retval0), elsewhere, (param0);\n"
                        "	ret;\n}\n",
                    "f");
  ASSERT_EQ(accesses.size(), 2U);
  EXPECT_EQ(accesses[0].callee, "");
  EXPECT_EQ(accesses[1].callee, "elsewhere");
  EXPECT_EQ(accesses[1].parameter, -1);
  EXPECT_EQ(accesses[1].line, accesses[0].line + 2);
}

TEST(PtxInfoTest, RecursiveFunctionsTerminate) {
  const std::string function = R"(
.func again(
	.param .b64 again_param_0
)
{
	ld.param.u64 	%rd1, [again_param_0];
	cvta.to.global.u64 	%rd2, %rd1;
	st.global.u32 	[%rd2], %r1;
	st.param.b64 	[param0], %rd1;
	call.uni again, (param0);
	ret;
}
)";
  const std::vector<PtxAccess> accesses = read_accesses(function + kHead +
                                                            "	st.param.b64 	[param0], %rd1;\n"
                                                            "	call.uni again, (param0);\n"
                                                            "	ret;\n}\n",
                                                        "f");
  ASSERT_EQ(accesses.size(), 2U);
  EXPECT_EQ(accesses[0].bytes, 4);
  EXPECT_EQ(accesses[0].parameter, 0);
  EXPECT_EQ(accesses[1].callee, "again");
}

}  // namespace
}  // namespace sinter::ptx_info_test
