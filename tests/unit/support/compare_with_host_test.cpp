// Tests which results are compared with the host device bit by bit, and how.
#include "tests/support/run/compare_with_host.h"

#include <cmath>
#include <cstdint>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

namespace sinter::test::compare_with_host_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(CompareWithHostTest, CorrectlyRoundedResultsAreExact) {
  const Graph graph = parse(R"(
graph step(p: f32[8, 4], g: f32[8, 4], m: f32[8, 4]) {
  mean = mean g {axes = [0]}
  root = sqrt m
  ratio = div g, root
  new = sub p, ratio
  update p, new
  return mean, ratio
})");
  EXPECT_THAT(exact_results(graph), ElementsAre("mean", "p", "ratio"));
}

TEST(CompareWithHostTest, ResultsOfApproximationsAreNotExact) {
  const Graph graph = parse(R"(
graph mixed(x: f32[8, 4], m: f32[8]) {
  e = exp x
  is_large = gt e, 2.0
  l = logsumexp x {axes = [1]}
  new = add m, l
  s = sum x {axes = [1]}
  update m, new
  return is_large, l, s
})");
  EXPECT_THAT(exact_results(graph), ElementsAre("s"));
}

TEST(CompareWithHostTest, ResultsOfTheUsersFunctionsAreNotExact) {
  Graph graph("custom");
  const Tensor x = graph.input("x", f32, {8});
  graph.output("y", custom_op("doubled", "float doubled(float x) { return 2.0f * x; }", {x}));
  EXPECT_THAT(exact_results(graph), IsEmpty());
}

HostArray half(std::uint16_t bits) {
  HostArray array(f16, {1});
  std::memcpy(array.bytes().data(), &bits, sizeof bits);
  return array;
}

/// The host device makes the NaN 0x7fff, and PTX instructions make 0x7fff or others.
TEST(CompareWithHostTest, NaNsOfAnyPayloadAreEqual) {
  const HostArrays ours{{"y", half(0x7fff)}};
  for (const std::uint16_t payload : {0x7e00, 0xfe00, 0x7fff, 0xffff, 0x7c01})
    expect_host_bits("a GPU", {"y"}, ours, {{"y", half(payload)}});
}

TEST(CompareWithHostTest, SignsOfZerosAndNamesOfDevicesAreReported) {
  static const HostArrays ours{{"y", half(0x8000)}};
  static const HostArrays theirs{{"y", half(0)}};
  EXPECT_NONFATAL_FAILURE(expect_host_bits("a GPU", {"y"}, ours, theirs),
                          "y[0] is -0 on a GPU, but 0 on the host device");
}

}  // namespace
}  // namespace sinter::test::compare_with_host_test
