// Foreach lists: horizontal fusion of many equal kernels, such as an optimiser step over all
// parameters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/emit.h"
#include "compiler/body/minimal_bytes.h"
#include "tests/support/graphs/lists.h"
#include "tests/support/graphs/planned.h"

namespace sinter::test::foreach_test {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

Source emitted(const Program& program) {
  return emit(program, program.kernels[0], program.kernels[0].schedule, "k");
}

int count(std::string_view text, std::string_view part) {
  int result = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++result;
  return result;
}

/// The number of parameter tensors of a large model. Kernels take at most 4 KiB of arguments.
TEST(ForeachTest, OptimiserOf1354TensorsIsOneLaunch) {
  const Program program = planned(adamw_text(1354));
  ASSERT_THAT(program.kernels, SizeIs(1));
  EXPECT_THAT(program.kernels[0].sections, SizeIs(1354));
  const Source source = emitted(program);
  EXPECT_LE(source.arguments.size(), 4U);
  EXPECT_THAT(buffers_of(source), SizeIs(4 * 1354));
  // Three functions: sizes that are multiples of a vector, other sizes, and single elements.
  EXPECT_EQ(count(source.text, "__forceinline__ void"), 3);
  EXPECT_THAT(source.text, HasSubstr("sections run this code; the first of them:"));
}

/// The first launch computes the norms of all gradients, and its last block combines them.
TEST(ForeachTest, ClippingAndOptimiserAreTwoLaunches) {
  const Program program = planned(clip_adamw_text(1354, "f32", kModelShapes));
  ASSERT_THAT(program.kernels, SizeIs(2));
  EXPECT_THAT(program.kernels[0].sections, SizeIs(1354 + 1));
  EXPECT_TRUE(program.kernels[0].has_tail);
  EXPECT_THAT(program.kernels[1].sections, SizeIs(1354));
  for (const Kernel& kernel : program.kernels) {
    const Source source = emit(program, kernel, kernel.schedule, "k");
    EXPECT_LE(source.arguments.size(), 8U);
    EXPECT_FALSE(source.is_cooperative);
  }
}

/// 48 distinct shapes: matrices, vectors and 4-D tensors.
class ManyShapes : public testing::Test {
 protected:
  static constexpr int kCount = 48;

  ManyShapes() {
    for (int i = 0; i < kCount; ++i)
      texts_.push_back(i % 3 == 0   ? fmt::format("{}, {}", 512 + 64 * i, 1024 - 3 * i)
                       : i % 3 == 1 ? fmt::format("{}", 1 + 17 * i * i)
                                    : fmt::format("{}, {}, {}, {}", 8 + i, 16, 3, 1 + i % 5));
    shapes_.assign(texts_.begin(), texts_.end());
  }

  static std::int64_t bytes_of(const Program& program) {
    Extent bytes = 0;
    for (const Kernel& kernel : program.kernels) {
      const Traffic traffic = emit(program, kernel, kernel.schedule, "k").traffic;
      EXPECT_FALSE(traffic.is_bound);
      bytes = bytes + traffic.bytes_read + traffic.bytes_written;
    }
    return bytes.number();
  }

  std::vector<std::string> texts_;
  std::vector<std::string_view> shapes_;
};

TEST_F(ManyShapes, OptimiserIsOneLaunchWithMinimalBytes) {
  const Program program = planned(adamw_text(1354, "f32", shapes_));
  ASSERT_THAT(program.kernels, SizeIs(1));
  EXPECT_THAT(program.kernels[0].sections, SizeIs(1354));
  EXPECT_EQ(bytes_of(program), minimal_bytes(program.graph->data(), {}));
  EXPECT_LE(count(emitted(program).text, "__forceinline__ void"), 3);
}

/// The norms of 23 shapes and their sum are one launch.
TEST_F(ManyShapes, ClippingOf23ShapesAddsOneLaunch) {
  const Program program = planned(clip_adamw_text(1354, "f32", std::span(shapes_).first(23)));
  ASSERT_THAT(program.kernels, SizeIs(2));
  EXPECT_THAT(program.kernels[0].sections, SizeIs(1354 + 1));
  EXPECT_THAT(program.kernels[1].sections, SizeIs(1354));
  const auto minimal = static_cast<double>(minimal_bytes(program.graph->data(), {}));
  EXPECT_LE(static_cast<double>(bytes_of(program)), minimal * 8 / 7 * 1.001);
}

/// Sums of different shapes are different functions, and a launch has at most 24. So the norms of
/// 48 shapes take two launches, their sum one and the step one. The gradients are read again, so 8
/// arrays move instead of 7, and one number of each.
TEST_F(ManyShapes, ClippingOf48ShapesTakesFourLaunches) {
  const Program program = planned(clip_adamw_text(1354, "f32", shapes_));
  ASSERT_THAT(program.kernels, SizeIs(4));
  EXPECT_THAT(program.kernels[0].sections, SizeIs(testing::Ge(676)));
  EXPECT_THAT(program.kernels[1].sections, SizeIs(testing::Ge(676)));
  EXPECT_THAT(program.kernels[3].sections, SizeIs(1354));
  const auto minimal = static_cast<double>(minimal_bytes(program.graph->data(), {}));
  const auto bytes = static_cast<double>(bytes_of(program));
  EXPECT_GE(bytes, minimal * 8 / 7 - 1000);
  EXPECT_LE(bytes, minimal * 8 / 7 * 1.001);
}

/// A grid barrier costs less than a launch if the kernels are short.
TEST(ForeachTest, ClippingAndOptimiserOfSmallTensorsAreOneLaunch) {
  EXPECT_THAT(planned(clip_adamw_text(1354)).kernels, SizeIs(1));
}

/// The step of `arrays` arrays of different sizes: each has four values in the table.
std::string list_text(int arrays, std::string_view factor) {
  std::string inputs, body, outputs;
  for (int i = 0; i < arrays; ++i) {
    inputs += fmt::format("x{}: f32[{}], ", i, 100 + i);
    body += fmt::format("  y{0} = mul x{0}, {1}\n", i, factor);
    outputs += fmt::format("{}y{}", i ? ", " : "", i);
  }
  return fmt::format("graph lists({}lr: f32) {{\n{}  return {}\n}}\n", inputs, body, outputs);
}

/// A table of 4 KiB, the most bytes that the parameters of a kernel have with every driver.
TEST(ForeachTest, ATableOf4KiBIsAParameter) {
  const Source source = emitted(planned(list_text(128, "2.5")));
  EXPECT_THAT(source.table, SizeIs(512));
  ASSERT_THAT(source.arguments, SizeIs(1));
  EXPECT_EQ(source.arguments[0].kind, Argument::Kind::table_values);
  EXPECT_EQ(table_values_in_memory(source), 0U);
  EXPECT_THAT(source.text, HasSubstr("(const __grid_constant__ TableValues<512> table) {"));
}

TEST(ForeachTest, ALargerTableIsInMemory) {
  const Source source = emitted(planned(list_text(129, "2.5")));
  EXPECT_THAT(source.table, SizeIs(516));
  ASSERT_THAT(source.arguments, SizeIs(1));
  EXPECT_EQ(source.arguments[0].kind, Argument::Kind::table);
  EXPECT_EQ(table_values_in_memory(source), 516U);
  EXPECT_THAT(source.text, HasSubstr("(const unsigned long long* __restrict__ table) {"));
}

/// With another parameter, a table of 4 KiB exceeds the limit.
TEST(ForeachTest, ATableIsInMemoryIfItDoesNotFitBesideTheOtherParameters) {
  const Source large = emitted(planned(list_text(128, "lr")));
  EXPECT_EQ(table_values_in_memory(large), 512U);
  EXPECT_THAT(large.arguments, SizeIs(2));
  const Source small = emitted(planned(list_text(127, "lr")));
  EXPECT_EQ(table_values_in_memory(small), 0U);
  EXPECT_THAT(small.arguments, SizeIs(2));
}

TEST(ForeachTest, FewKernelsNeedNoTable) {
  const Program program = planned(adamw_text(7));
  ASSERT_THAT(program.kernels, SizeIs(1));
  EXPECT_THAT(emitted(program).table, SizeIs(0));
}

/// Without a table, the sections call one shared function.
TEST(ForeachTest, FewEqualKernelsShareAFunction) {
  const Program program =
      planned("graph g(" + repeated("x#: f32[300, 40]", 3, ", ") + ") {\n" +
              repeated("  s# = sum x# {axes = [0]}\n  y# = sub x#, s#", 3, "\n") +
              "\n  z = exp x2\n" + "  return " + repeated("y#", 3, ", ") + ", z\n}\n");
  ASSERT_THAT(program.kernels, SizeIs(1));
  const Source source = emitted(program);
  EXPECT_THAT(source.table, SizeIs(0));
  EXPECT_THAT(source.text, HasSubstr("// 2 sections run this code; the first of them:"));
  EXPECT_EQ(count(source.text, "__noinline__ void"), 1);
  EXPECT_EQ(count(source.text, "__forceinline__ void"), 1);
}

/// Sections share a function even if they are in different phases.
TEST(ForeachTest, EqualSectionsOfDifferentPhasesShareAFunction) {
  const Program program = planned(R"(graph g(x: f32[64, 24, 1001]) {
    s = sum x {axes = [0, 2], keep = true}
    y = sub x, s
    t = sum y {axes = [0, 2], keep = true}
    z = sub x, t
    return y, z
  })");
  ASSERT_THAT(program.kernels, SizeIs(1));
  ASSERT_EQ(phases(program.kernels[0]), 5);
  const std::string text = emitted(program).text;
  EXPECT_THAT(text, HasSubstr("// 2 sections run this code; the first of them:\n// phase 1:"));
  EXPECT_THAT(text, Not(HasSubstr("// phase 3:")));
}

/// Kernels that differ in a constant do not share a function.
TEST(ForeachTest, DifferentConstantsAreDifferentFunctions) {
  const std::string text = "graph lists(" + repeated("x#: f32[100]", 20, ", ") + ") {\n" +
                           repeated("  y# = mul x#, 2.0", 10, "\n") + "\n" +
                           [] {
                             std::string rest;
                             for (int i = 10; i < 20; ++i)
                               rest += fmt::format("  y{0} = mul x{0}, 3.0\n", i);
                             return rest;
                           }() +
                           "  return " + repeated("y#", 20, ", ") + "\n}\n";
  const Program program = planned(text);
  ASSERT_THAT(program.kernels, SizeIs(1));
  EXPECT_EQ(count(emitted(program).text, "__forceinline__ void"), 2);
}

/// The sums and the differences of nine inputs need at most two functions.
TEST(ForeachTest, ListsMayExtendOverPhases) {
  std::string body;
  for (int i = 0; i < 9; ++i)
    body +=
        fmt::format("  s{0} = sum x{0} {{axes = [0], keep = true}}\n  y{0} = sub x{0}, s{0}\n", i);
  const Program program = planned("graph g(" + repeated("x#: f32[64, 40]", 9, ", ") + ") {\n" +
                                  body + "  return " + repeated("y#", 9, ", ") + "\n}\n");
  ASSERT_THAT(program.kernels, SizeIs(1));
  EXPECT_LE(count(emitted(program).text, "__forceinline__ void"), 2);
}

}  // namespace
}  // namespace sinter::test::foreach_test
