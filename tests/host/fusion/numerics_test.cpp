// The effects of Rounding::wide and Math::fast, and that they are part of every kernel's key.
#include "ir/oracle/random_inputs.h"
#include "tests/support/run/run.h"

#include <cmath>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::test::numerics_test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A chain of bf16 ops. If `explicit_f32`, the same ops in f32, rounded once at the end.
Graph chain(bool explicit_f32) {
  Graph graph(explicit_f32 ? "explicit_f32" : "chain");
  const Tensor x = graph.input("x", bf16, {257});
  const Tensor w = graph.input("w", bf16, {257});
  const Tensor a = explicit_f32 ? cast(x, f32) : x;
  const Tensor b = explicit_f32 ? cast(w, f32) : w;
  const Tensor scaled = a * 1.1;
  const Tensor shifted = scaled + b;
  const Tensor powered = exp(shifted);
  graph.output("y", cast(powered / 3.0, bf16));
  return graph;
}

RunResult run_with(const Graph& graph, Rounding rounding, Math math = Math::accurate) {
  const HostArrays inputs = random_inputs(graph.data(), {}, 5);
  Options options{.rounding = rounding, .math = math};
  options.tune = Tune::off;
  return run_graph(graph, host_device(), inputs, {.options = options});
}

TEST(Numerics, WideRoundsOnlyStoredValues) {
  const RunResult wide = run_with(chain(false), Rounding::wide);
  const RunResult recorded = run_with(chain(false), Rounding::as_recorded);
  const RunResult explicit_f32 = run_with(chain(true), Rounding::as_recorded);
  EXPECT_TRUE(equal_bits(wide.results.at("y"), explicit_f32.results.at("y")));
  EXPECT_FALSE(equal_bits(recorded.results.at("y"), explicit_f32.results.at("y")));
}

TEST(Numerics, WideKeepsRecordedCasts) {
  Graph graph("casts");
  const Tensor x = graph.input("x", f32, {100});
  graph.output("y", cast(cast(x, f8e4m3), f32) + 1.0);
  EXPECT_TRUE(equal_bits(run_with(graph, Rounding::wide).results.at("y"),
                         run_with(graph, Rounding::as_recorded).results.at("y")));
}

TEST(Numerics, SourceStatesTheNumerics) {
  const auto source_of = [](Rounding rounding, Math math) {
    const RunResult run = run_with(chain(false), rounding, math);
    return run.report.kernels.at(0).source;
  };
  const std::string plain = source_of(Rounding::as_recorded, Math::accurate);
  EXPECT_THAT(plain, Not(HasSubstr("// rounding")));
  EXPECT_THAT(plain, HasSubstr("rounded<bf16>(expf("));
  const std::string wide = source_of(Rounding::wide, Math::accurate);
  EXPECT_THAT(wide, HasSubstr("// rounding wide, math accurate"));
  EXPECT_THAT(wide, Not(HasSubstr("rounded<bf16>(expf(")));
  const std::string fast = source_of(Rounding::as_recorded, Math::fast);
  EXPECT_THAT(fast, HasSubstr("// rounding as recorded, math fast"));
  EXPECT_THAT(fast, HasSubstr("rounded<bf16>(fast_exp("));
  EXPECT_THAT(fast, HasSubstr("fast_divide("));
}

std::string source_of_maximum(double literal) {
  Graph graph("larger");
  const Tensor x = graph.input("x", bf16, {9});
  const Tensor larger = maximum(x, literal);
  graph.output("y", larger * larger);
  return run_with(graph, Rounding::as_recorded).report.kernels.at(0).source;
}

TEST(Numerics, ExactResultsAreNotRounded) {
  EXPECT_THAT(source_of_maximum(0.25), Not(HasSubstr("rounded<bf16>(maximum(")));
}

TEST(Numerics, ConstantsKeepThePrecisionOfF32SoASelectedOneIsRounded) {
  EXPECT_THAT(source_of_maximum(0.3), HasSubstr("rounded<bf16>(maximum("));
}

/// NaN of all kinds: quiet and signalling ones, of both signs, with ones in the upper or lower
/// bits.
TEST(Numerics, EveryNanStaysOneWhenItIsRounded) {
  Graph graph("nan");
  const Tensor x = graph.input("x", f32, {8});
  const Tensor z = graph.input("z", bf16, {8});
  const Tensor a = cast(x, bf16);
  graph.output("cast", a);
  graph.output("scaled", maximum(a * 1.5, -100.0) * 0.75);
  graph.output("product", minimum(a * z, 100.0) + a);
  graph.output("larger", maximum(z, a) + 1.0);
  const auto of_words = [](DType dtype, const auto& words) {
    HostArray array(dtype, {8});
    std::memcpy(array.bytes().data(), words.data(), array.bytes().size());
    return array;
  };
  const std::vector<std::uint32_t> words = {0x7f800001, 0x7fffffff, 0xff800001, 0xffffffff,
                                            0x7f807fff, 0x7fff8000, 0x7fc00000, 0xffc0ffff};
  const std::vector<std::uint16_t> halves = {0x7f81, 0x7fff, 0xff81, 0xffff,
                                             0x3f80, 0x0000, 0x8001, 0xff7f};
  const RunResult run =
      run_graph(graph, host_device(), {{"x", of_words(f32, words)}, {"z", of_words(bf16, halves)}},
                {.options = {.tune = Tune::off}});
  for (const auto& [name, values] : run.results)
    for (std::int64_t i = 0; i < 8; ++i) EXPECT_TRUE(std::isnan(values.real_at(i))) << name << i;
}

TEST(Numerics, FastDoesNotAffectF64) {
  Graph graph("double");
  graph.output("y", exp(graph.input("x", f64, {9})));
  const RunResult run = run_with(graph, Rounding::as_recorded, Math::fast);
  EXPECT_THAT(run.report.kernels.at(0).source, HasSubstr("= exp(x"));
}

}  // namespace
}  // namespace sinter::test::numerics_test
