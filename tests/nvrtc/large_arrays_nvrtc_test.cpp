// Kernels over more than 2^31 elements compile, also if the last vectors are incomplete.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "codegen/emit.h"
#include "compiler/plan.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/compile/nvrtc_units.h"
#include "sinter/text.h"

namespace sinter::test::large_arrays_nvrtc_test {
namespace {

constexpr const char* kGraphs[] = {
    R"(
graph negated(x: i8[n]) {
  y = neg x
  return y
})",
    R"(
graph rows(x: i8[n, 1001]) {
  h = cast x {to = f32}
  m = max h {axes = [1], keep = true}
  y = sub h, m
  return y
})",
    R"(
graph columns(x: i8[n, 1001]) {
  h = cast x {to = f32}
  s = sum h {axes = [0]}
  return s
})",
    R"(
graph scanned(x: f32[n, 1001]) {
  y = cumsum x {axis = 1}
  return y
})",
};

TEST(LargeArrays, KernelsWith64BitIndicesCompile) {
  if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().reason;
  for (const char* const text : kGraphs) {
    const Graph graph = parse(text);
    for (const std::int64_t n : {std::int64_t{3000000}, std::int64_t{3000000003}}) {
      const Program program = plan(graph, *find_target("h200"), {.symbols = {n}}, {});
      for (const Kernel& kernel : program.kernels)
        for (const Schedule& schedule : kernel.candidates) {
          const Source source = emit(program, kernel, schedule, "k");
          EXPECT_NO_THROW(compile_unit({&source, 1}, "sm_90")) << to_string(schedule) << "\n"
                                                               << source.text;
        }
    }
  }
}

}  // namespace
}  // namespace sinter::test::large_arrays_nvrtc_test
