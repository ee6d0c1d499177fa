// Compares the memory accesses in a kernel's PTX with the planned ones.
#include "runtime/observe/static_analysis.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/emit.h"
#include "compiler/target/target.h"
#include "tests/support/graphs/lists.h"
#include "tests/support/graphs/planned.h"

namespace sinter::test::static_analysis_test {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

/// PTX of a kernel with four pointer parameters. `%rd4` to `%rd7` point into their arrays.
std::string ptx_of(const Source& source, const std::string& body) {
  return fmt::format(R"(
.visible .entry {0}(
	.param .u64 {0}_param_0,
	.param .u64 {0}_param_1,
	.param .u64 {0}_param_2,
	.param .u64 {0}_param_3
)
{{
	ld.param.b64 	%rd0, [{0}_param_0];
	ld.param.b64 	%rd1, [{0}_param_1];
	ld.param.b64 	%rd2, [{0}_param_2];
	ld.param.b64 	%rd3, [{0}_param_3];
	cvta.to.global.u64 	%rd4, %rd0;
	cvta.to.global.u64 	%rd5, %rd1;
	cvta.to.global.u64 	%rd6, %rd2;
	cvta.to.global.u64 	%rd7, %rd3;
{1}	ret;
}}
)",
                     source.entry, body);
}

/// PTX of a kernel whose parameter is a table. `%rd6` points to the row of the block.
std::string ptx_with_table(const Source& source, const std::string& body) {
  return fmt::format(R"(
.visible .entry {0}(
	.param .align 8 .b8 {0}_param_0[{1}]
)
{{
	mov.b64 	%rd4, {0}_param_0;
	mul.wide.u32 	%rd5, %r1, 24;
	add.s64 	%rd6, %rd4, %rd5;
{2}	ret;
}}
)",
                     source.entry, 8 * source.table.size(), body);
}

std::vector<AccessReport> arrays_of(const Program& program, const std::string& body) {
  const Source source = emit(program, program.kernels[0], program.kernels[0].schedule, "k");
  const bool has_table = source.arguments[0].kind == Argument::Kind::table_values;
  KernelExplanation explanation;
  add_static_analysis(explanation, program, source,
                      has_table ? ptx_with_table(source, body) : ptx_of(source, body),
                      *find_target("h200"));
  return explanation.arrays;
}

constexpr const char* kAdd =
    "graph g(a: f32[4096], b: f32[4096]) {\n  y = add a, b\n  return y\n}\n";
constexpr const char* kLoadA = "\tld.global.v4.f32 \t{%f1, %f2, %f3, %f4}, [%rd4];\n";
constexpr const char* kLoadB = "\tld.global.v4.f32 \t{%f5, %f6, %f7, %f8}, [%rd5];\n";
constexpr const char* kStoreY = "\tst.global.v4.f32 \t[%rd6], {%f1, %f2, %f3, %f4};\n";

TEST(StaticAnalysisTest, FindsPlannedAccesses) {
  const auto arrays = arrays_of(planned(kAdd), std::string(kLoadA) + kLoadB + kLoadB + kStoreY);
  ASSERT_THAT(arrays, SizeIs(3));
  for (const AccessReport& array : arrays) EXPECT_EQ(array.problem, "") << array.array;
  EXPECT_EQ(arrays[0].narrowest_load_bytes, 16);
  EXPECT_EQ(arrays[2].predicted_narrowest_store_bytes, 16);
}

/// A wide load does not hide a scalar one.
TEST(StaticAnalysisTest, ChecksEveryLoad) {
  const auto arrays = arrays_of(planned(kAdd), std::string(kLoadA) + kLoadB +
                                                   "\tld.global.f32 \t%f9, [%rd5+16];\n" + kStoreY);
  ASSERT_THAT(arrays, SizeIs(3));
  EXPECT_EQ(arrays[0].problem, "");
  EXPECT_EQ(arrays[1].load_bytes, 16);
  EXPECT_EQ(arrays[1].narrowest_load_bytes, 4);
  EXPECT_THAT(arrays[1].problem,
              HasSubstr("a load of 4 bytes, although at least 16 were predicted; line "));
  EXPECT_THAT(arrays[1].problem, HasSubstr("ld.global.f32 \t%f9, [%rd5+16];"));
}

TEST(StaticAnalysisTest, ChecksEveryStore) {
  const auto arrays = arrays_of(
      planned(kAdd), std::string(kLoadA) + kLoadB + kStoreY + "\tst.global.f32 \t[%rd6+4], %f2;\n");
  ASSERT_THAT(arrays, SizeIs(3));
  EXPECT_THAT(arrays[2].problem, HasSubstr("a store of 4 bytes, although at least 16"));
}

/// A partial last vector is accessed element by element.
TEST(StaticAnalysisTest, AllowsNarrowTails) {
  const Program program =
      plan(parse("graph g(a: f32[n], b: f32[n]) {\n  y = add a, b\n  return y\n}\n"),
           *find_target("h200"), {.symbols = {{4099}}}, {});
  const Source source = emit(program, program.kernels[0], program.kernels[0].schedule, "k");
  ASSERT_EQ(source.arguments[0].kind, Argument::Kind::buffer);
  EXPECT_EQ(source.arguments[0].loads.widest, 16);
  EXPECT_EQ(source.arguments[0].loads.narrowest, 4);
  EXPECT_EQ(source.arguments[2].stores.widest, 16);
  EXPECT_EQ(source.arguments[2].stores.narrowest, 4);
}

/// The load of a table entry of the first row, and its number of arrays.
struct TableLoad {
  const char* name;
  const char* load;
  std::size_t arrays;
};

class StaticAnalysisOfTables : public testing::TestWithParam<TableLoad> {
 protected:
  Program program() const {
    const std::size_t arrays = GetParam().arrays;
    return planned("graph g(" + repeated("x#: f32[4096]", arrays, ", ") + ") {\n" +
                   repeated("  y# = tanh x#", arrays, "\n") + "\n  return " +
                   repeated("y#", arrays, ", ") + "\n}\n");
  }
  /// Loads the table entry at `column` of the first row into `%rd8`.
  std::string through_table(int column, std::string_view access) const {
    return fmt::format("\t{}+{}];\n\tcvta.to.global.u64 \t%rd9, %rd8;\n{}", GetParam().load,
                       8 * column, access);
  }
};

TEST_P(StaticAnalysisOfTables, ChecksTheirArrays) {
  const Program program = this->program();
  ASSERT_THAT(program.kernels, SizeIs(1));
  const std::string load = through_table(1, "\tld.global.v4.f32 \t{%f1, %f2, %f3, %f4}, [%rd9];\n");
  const auto arrays = arrays_of(
      program, load + through_table(2, "\tst.global.v4.f32 \t[%rd9], {%f1, %f2, %f3, %f4};\n"));
  ASSERT_THAT(arrays, SizeIs(2));
  EXPECT_EQ(arrays[0].array, fmt::format("x0 and {} more", GetParam().arrays - 1));
  EXPECT_EQ(arrays[0].predicted_load_bytes, 16);
  for (const AccessReport& array : arrays) EXPECT_EQ(array.problem, "") << array.array;
  const auto narrow =
      arrays_of(program, load + through_table(2, "\tst.global.f32 \t[%rd9], %f1;\n"));
  EXPECT_THAT(narrow[1].problem,
              HasSubstr("no store of more than 4 bytes, although 16 were predicted"));
}

/// A column of the table that is not an address.
TEST_P(StaticAnalysisOfTables, ReportsAddressesFromOtherColumns) {
  const auto arrays = arrays_of(program(), through_table(0, "\tld.global.f32 \t%f1, [%rd9];\n"));
  ASSERT_THAT(arrays, SizeIs(3));
  EXPECT_EQ(arrays[2].array, "an unknown array");
}

INSTANTIATE_TEST_SUITE_P(Places, StaticAnalysisOfTables,
                         testing::Values(TableLoad{"Memory", "ld.global.nc.u64 \t%rd8, [%rd4", 180},
                                         TableLoad{"Parameter", "ld.param.u64 \t%rd8, [%rd6", 12},
                                         TableLoad{"FirstRowOfAParameter",
                                                   "ld.param.u64 \t%rd8, [k_param_0", 12}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(StaticAnalysisTest, ReportsAccessesOfUnknownArrays) {
  const std::string whole = std::string(kLoadA) + kLoadB + kStoreY;
  const auto arrays =
      arrays_of(planned(kAdd), whole + "\tld.global.v2.f32 \t{%f5, %f6}, [%rd9];\n" +
                                   "\tst.global.b16 \t[%rd9+4], %rs1;\n");
  ASSERT_THAT(arrays, SizeIs(4));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(arrays[i].problem, "") << arrays[i].array;
  EXPECT_EQ(arrays[3].array, "an unknown array");
  EXPECT_EQ(arrays[3].load_bytes, 8);
  EXPECT_EQ(arrays[3].narrowest_store_bytes, 2);
  EXPECT_THAT(arrays[3].problem, HasSubstr("a load of 8 bytes whose array was not found; line "));
  EXPECT_THAT(arrays[3].problem, HasSubstr("ld.global.v2.f32 \t{%f5, %f6}, [%rd9];"));
}

/// The kernel has three parameters, but the PTX uses a fourth.
TEST(StaticAnalysisTest, ReportsAccessesThroughUnknownParameters) {
  const auto arrays = arrays_of(
      planned(kAdd), std::string(kLoadA) + kLoadB + kStoreY + "\tst.global.f32 \t[%rd7], %f1;\n");
  ASSERT_THAT(arrays, SizeIs(4));
  EXPECT_THAT(arrays[3].problem, HasSubstr("a store of 4 bytes whose array was not found"));
}

TEST(StaticAnalysisTest, ReportsCallsOfUndefinedFunctions) {
  const auto arrays = arrays_of(planned(kAdd), std::string(kLoadA) + kLoadB + kStoreY +
                                                   "\tcall.uni (retval0), elsewhere, (param0);\n");
  ASSERT_THAT(arrays, SizeIs(4));
  EXPECT_THAT(arrays[3].problem,
              HasSubstr("a call of elsewhere, whose accesses are not in the PTX; line "));
}

/// Blocks exchange their partial sums in memory that is not an array of the graph.
TEST(StaticAnalysisTest, KnowsScratchMemory) {
  const Program program = planned("graph g(x: f32[4194304]) {\n  s = sum x\n  return s\n}\n");
  const Source source = emit(program, program.kernels[0], program.kernels[0].schedule, "k");
  std::string body;
  int scratch = 0;
  for (std::size_t i = 0; i < source.arguments.size(); ++i)
    if (const auto kind = source.arguments[i].kind;
        kind == Argument::Kind::workspace || kind == Argument::Kind::tickets) {
      ++scratch;
      body += fmt::format("\tst.global.f32 \t[%rd{}], %f1;\n", 4 + i);
    }
  ASSERT_EQ(scratch, 2);
  const auto arrays = arrays_of(program, body);
  EXPECT_THAT(arrays, SizeIs(2)) << "x and s";
}

}  // namespace
}  // namespace sinter::test::static_analysis_test
