// Simplifies every short chain of casts, and of views, and compares the results bit by bit.
#include "compiler/simplify/graph_sweep.h"
#include "compiler/simplify/simplify.h"
#include "ir/oracle/interpret.h"
#include "ir/verify/verify.h"
#include "sinter/sinter.h"
#include "sinter/text.h"
#include "tests/support/graphs/oracle_support.h"

#include <functional>
#include <numeric>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace sinter::simplify_chains_test {
namespace {

/// The names of the outputs whose bits differ after simplification.
std::string changed(const Graph& recorded, const HostArrays& inputs) {
  Graph simplified = clone(recorded);
  simplify(simplified.data());
  verify(simplified);
  const Interpretation expected = interpret(recorded, inputs, {});
  const Interpretation actual = interpret(simplified, inputs, {});
  std::string names;
  for (const auto& [name, value] : expected.outputs)
    if (!equal_bits(to_array(value), to_array(actual.outputs.at(name)))) names += name + " ";
  return names;
}

/// Values of `dtype` with random bits. They include the limits of narrower dtypes.
HostArray any_values(DType dtype, std::mt19937& random) {
  constexpr std::int64_t kCount = 300;
  HostArray values(dtype, {kCount});
  for (std::byte& byte : values.bytes())
    byte = static_cast<std::byte>(dtype == boolean ? random() % 2 : random() % 256);
  // Replaces the high bytes of half of the integers by 0 or 0xff, so that narrower dtypes hold
  // them.
  const auto wide = static_cast<std::int64_t>(size_of(dtype));
  for (std::int64_t i = 0; i < kCount / 2 && !is_floating(dtype) && dtype != boolean; ++i)
    for (std::int64_t byte = i % wide + 1; byte < wide; ++byte)
      values.bytes()[static_cast<std::size_t>(i * wide + byte)] = std::byte(i % 3 == 0 ? 0xff : 0);
  return values;
}

TEST(SimplifyChainsTest, ChainsOfCastsKeepAllBits) {
  std::mt19937 random(7);
  std::vector<DType> dtypes;
  for (const DTypeInfo& one : kDTypes)
    if (one.dtype != c64) dtypes.push_back(one.dtype);
  for (const DType from : dtypes) {
    Graph recorded("casts");
    const Tensor x = recorded.input("x", from, {300});
    for (const DType between : dtypes)
      for (const DType to : dtypes)
        recorded.output(std::string(name(between)) + "_" + std::string(name(to)),
                        cast(cast(x, between), to));
    EXPECT_EQ(changed(recorded, {{"x", any_values(from, random)}}), "") << "from " << name(from);
  }
}

struct View {
  const char* name;
  std::function<Tensor(Tensor)> apply;
};

Extent size_of_axis(Tensor x, int axis) { return x.shape()[static_cast<std::size_t>(axis)]; }

/// Views and ops of matrices of any extents of at least 2.
std::vector<View> views() {
  return {
      {"turned",
       [](Tensor x) {
         return permute(x, {1, 0});
       }},
      {"flat",
       [](Tensor x) {
         return reshape(x, {1, -1});
       }},
      {"tall",
       [](Tensor x) {
         return reshape(x, {-1, 1});
       }},
      {"swapped",
       [](Tensor x) {
         return reshape(x, {size_of_axis(x, 1), size_of_axis(x, 0)});
       }},
      {"first", [](Tensor x) { return slice(x, 0, 0, 1); }},
      {"last", [](Tensor x) { return slice(x, 1, size_of_axis(x, 1) - 1, size_of_axis(x, 1)); }},
      {"whole", [](Tensor x) { return slice(x, 0, 0, size_of_axis(x, 0)); }},
      {"even", [](Tensor x) { return slice(x, 1, 0, size_of_axis(x, 1), 2); }},
      {"third", [](Tensor x) { return slice(x, 0, 1, size_of_axis(x, 0), 3); }},
      {"backwards", [](Tensor x) { return flip(x, {1}); }},
      {"twice",
       [](Tensor x) {
         return concat({x, x}, 0);
       }},
      {"between",
       [](Tensor x) {
         return concat({slice(x, 1, 0, 1), x, slice(x, 1, 0, 1)}, 1);
       }},
      {"framed",
       [](Tensor x) {
         return pad(x, {1, 0}, {0, 2}, 3.0);
       }},
      {"rolled",
       [](Tensor x) {
         return concat({slice(x, 0, 1, size_of_axis(x, 0)), slice(x, 0, 0, 1)}, 0);
       }},
      {"wide",
       [](Tensor x) {
         return reshape(broadcast_to(x, {2, size_of_axis(x, 0), size_of_axis(x, 1)}),
                        {-1, size_of_axis(x, 1)});
       }},
      {"negative", [](Tensor x) { return -x; }},
  };
}

TEST(SimplifyChainsTest, ChainsOfViewsKeepAllBits) {
  std::vector<double> values(6 * 4);
  std::iota(values.begin(), values.end(), 1.0);
  const HostArrays inputs = {{"x", array(f32, {6, 4}, values)}};
  const std::vector<View> all = views();
  int chains = 0;
  for (const View& first : all) {
    Graph recorded("views");
    const Tensor x = recorded.input("x", f32, {6, 4});
    for (const View& second : all)
      for (const View& third : all) {
        try {
          recorded.output(fmt::format("{}_{}_{}", first.name, second.name, third.name),
                          third.apply(second.apply(first.apply(x))));
          ++chains;
        } catch (const UserError&) {  // a slice out of bounds
        }
      }
    EXPECT_EQ(changed(recorded, inputs), "");
  }
  EXPECT_GT(chains, 3000);
}

}  // namespace
}  // namespace sinter::simplify_chains_test
