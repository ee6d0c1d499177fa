// Buckets of collectives: which ones share a call, and the graph that results.
#include "compiler/simplify/bucket_collectives.h"

#include "compiler/plan.h"
#include "compiler/target/target.h"
#include "ir/graph/opaque_node.h"
#include "ir/verify/verify.h"
#include "sinter/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::bucket_collectives_test {
namespace {

/// The text of `body` after bucketing, with the parameters a to d: f32[4].
std::string bucketed(const std::string& body, std::int64_t bytes = 1 << 20) {
  Graph graph = parse("graph g(a: f32[4], b: f32[6], c: f32[2, 4], d: f32[4]) {\n" + body + "}\n");
  bucket_collectives(graph.data(), bytes);
  verify(graph);
  return print(graph);
}

int calls_in(const std::string& text) {
  int count = 0;
  for (std::size_t at = text.find("group ="); at != std::string::npos;
       at = text.find("group =", at + 1))
    ++count;
  return count;
}

const std::string kSum = R"( {group = "data", ranks = 2}
)";

TEST(BucketCollectives, OperandsLieOneAfterAnother) {
  EXPECT_EQ(bucketed("  x = all_reduce a" + kSum + "  y = all_reduce c" + kSum + "  return x, y\n"),
            R"(graph g(a: f32[4], b: f32[6], c: f32[2, 4], d: f32[4]) {
  reshape_1 = reshape a {shape = [1, 4]}
  reshape_2 = reshape c {shape = [1, 8]}
  concat_3 = concat reshape_1, reshape_2 {axis = 1}
  reshape_4 = reshape concat_3 {shape = [12]}
  all_reduce_5 = all_reduce reshape_4 {group = "data", ranks = 2}
  reshape_6 = reshape all_reduce_5 {shape = [1, 12]}
  slice_7 = slice reshape_6 {axis = 1, begin = 0, end = 4, step = 1}
  x = reshape slice_7 {shape = [4]}
  slice_9 = slice reshape_6 {axis = 1, begin = 4, end = 12, step = 1}
  y = reshape slice_9 {shape = [2, 4]}
  return x, y
}
)");
}

TEST(BucketCollectives, EachRankHasTheColumnsOfItsPart) {
  const std::string text = bucketed("  x = reduce_scatter a" + kSum + "  y = reduce_scatter b" +
                                    kSum + "  return x, y\n");
  EXPECT_EQ(calls_in(text), 1) << text;
  EXPECT_THAT(text, testing::HasSubstr("reshape a {shape = [2, 2]}"));
  EXPECT_THAT(text, testing::HasSubstr("reshape b {shape = [2, 3]}"));
}

TEST(BucketCollectives, OnlyAlikeCallsShareOne) {
  const auto calls = [](const std::string& x, const std::string& y) {
    return calls_in(bucketed("  x = " + x + "\n  y = " + y + "\n  return x, y\n"));
  };
  const std::string sum = R"(all_reduce a {group = "data", ranks = 2})";
  EXPECT_EQ(calls(sum, R"(all_reduce b {group = "data", ranks = 2})"), 1);
  EXPECT_EQ(calls(sum, R"(all_reduce b {group = "model", ranks = 2})"), 2);
  EXPECT_EQ(calls(sum, R"(all_reduce b {group = "data", ranks = 2, reduction = "max"})"), 2);
  EXPECT_EQ(calls(sum, R"(all_gather b {group = "data", ranks = 2})"), 2);
  EXPECT_EQ(calls(R"(send_receive a {group = "data", ranks = 2, pairs = [0, 1]})",
                  R"(send_receive b {group = "data", ranks = 2, pairs = [0, 1]})"),
            1);
  EXPECT_EQ(calls(R"(send_receive a {group = "data", ranks = 2, pairs = [0, 1]})",
                  R"(send_receive b {group = "data", ranks = 2, pairs = [1, 0]})"),
            2);
}

TEST(BucketCollectives, ABucketHasAtMostSoManyBytes) {
  const std::string body = "  x = all_reduce a" + kSum + "  y = all_reduce b" + kSum +
                           "  z = all_reduce d" + kSum + "  return x, y, z\n";
  EXPECT_EQ(calls_in(bucketed(body, 14 * 4)), 1);
  EXPECT_EQ(calls_in(bucketed(body, 13 * 4)), 2);
  EXPECT_EQ(calls_in(bucketed(body, 9 * 4)), 3);
  EXPECT_EQ(calls_in(bucketed(body, 0)), 3);
}

TEST(BucketCollectives, NoCallWaitsForItself) {
  EXPECT_EQ(calls_in(bucketed("  x = all_reduce a" + kSum + "  s = exp x\n  y = all_reduce s" +
                              kSum + "  return x, y\n")),
            2);
  // The gather needs the first sum, and the last sum needs the gather.
  EXPECT_EQ(calls_in(bucketed("  x = all_reduce a" + kSum + "  g = all_gather x" + kSum +
                              "  s = sum g\n  t = mul d, s\n  y = all_reduce t" + kSum +
                              "  return x, y\n")),
            3);
}

// Each call alone could join the other bucket, but the two buckets would wait for each other.
TEST(BucketCollectives, NoBucketsWaitForEachOther) {
  EXPECT_EQ(calls_in(bucketed("  a0 = all_reduce a" + kSum + "  b0 = all_gather b" + kSum +
                              "  a1 = exp a0\n  g1 = all_gather a1" + kSum +
                              "  b1 = sum b0\n  d1 = mul d, b1\n  y = all_reduce d1" + kSum +
                              "  return g1, y\n")),
            3);
}

TEST(BucketCollectives, SymbolicSizesStayAlone) {
  Graph graph = parse(R"(graph g(a: f32[n], b: f32[n]) {
  x = all_reduce a {group = "data", ranks = 2}
  y = all_reduce b {group = "data", ranks = 2}
  return x, y
}
)");
  EXPECT_FALSE(bucket_collectives(graph.data(), 1 << 20));
}

// The third call is ready before the second, whose operand a rewrite makes later.
TEST(BucketCollectives, CallsKeepTheRecordedOrder) {
  const Program program = plan(parse(R"(graph g(a: f32[4], b: f32[6]) {
  x = all_reduce a {group = "data", ranks = 2, reduction = "max"}
  m = mean b {keep = true}
  y = all_gather m {group = "data", ranks = 2}
  z = all_reduce a {group = "data", ranks = 2, reduction = "min"}
  return x, y, z
}
)"),
                               *find_target("h200"), {});
  std::vector<std::string> calls;
  for (const Kernel& kernel : program.kernels)
    if (const Node& call = *kernel.nodes.front(); kernel.kind == KernelKind::opaque)
      calls.push_back(call.op == Op::all_reduce ? std::string(attribute(call, "reduction").text)
                                                : std::string(function_of(call)));
  EXPECT_THAT(calls, testing::ElementsAre("max", "all_gather", "min"));
}

// Kernels that were recorded before a collective run beside it, unless it needs them.
TEST(BucketCollectives, CollectivesBeginWhenTheirOperandIsReady) {
  const Program program = plan(parse(R"(graph g(a: f32[4], b: f32[9, 9], c: f32[7, 7]) {
  s = sum b {axes = [0]}
  t = sum c {axes = [1]}
  x = all_reduce a {group = "data", ranks = 2, reduction = "sum"}
  y = all_gather t {group = "data", ranks = 2}
  return s, x, y
}
)"),
                               *find_target("h200"), {}, {.skip = {"fuse_launches"}});
  std::vector<std::string> order;
  for (const Kernel& kernel : program.kernels)
    order.emplace_back(info(kernel.nodes.back()->op).name);
  EXPECT_THAT(order, testing::ElementsAre("all_reduce", "sum", "sum", "all_gather"));
}

}  // namespace
}  // namespace sinter::bucket_collectives_test
