// Kernels that read the same arrays, but not each other's results, become one.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "compiler/plan.h"
#include "compiler/program/print_program.h"
#include "sinter/text.h"

namespace sinter::merge_siblings_test {
namespace {

/// The sums of `count` arrays, and of their products with the first one, over all axes but the
/// channels.
std::string sums_of_products(int count) {
  std::string inputs, statements, results = "s0";
  for (int i = 0; i < count; ++i) {
    inputs += fmt::format("{}x{}: f32[16, 1024, 196]", i == 0 ? "" : ", ", i);
    statements += fmt::format("  s{0} = sum x{0} {{axes = [0, 2]}}\n", i);
    if (i == 0) continue;
    statements += fmt::format("  p{0} = mul x0, x{0}\n  t{0} = sum p{0} {{axes = [0, 2]}}\n", i);
    results += fmt::format(", s{0}, t{0}", i);
  }
  return fmt::format("graph sums({}) {{\n{}  return {}\n}}", inputs, statements, results);
}

TEST(MergeSiblingsTest, SumsOfSeveralArraysAreOneKernel) {
  for (const int count : {2, 3, 4}) {
    const Program program = plan(parse(sums_of_products(count)), *find_target("h200"),
                                 {.symbols = {}}, {.skip = {"fuse_launches"}});
    EXPECT_EQ(program.kernels.size(), 1U) << count << " arrays\n" << print(program);
  }
}

}  // namespace
}  // namespace sinter::merge_siblings_test
