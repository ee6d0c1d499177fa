// The edges of a replayed CUDA Graph: which kernels wait for which.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/execution/launch_order.h"

namespace sinter::replay_edges_test {
namespace {

using ::testing::ElementsAre;

Source touching(std::vector<int> buffers) {
  Source source;
  for (const int buffer : buffers)
    source.arguments.push_back({.kind = Argument::Kind::buffer, .index = buffer});
  return source;
}

/// Kernel 0 writes buffer 0, kernel 1 reads it, kernel 2 writes buffer 1 and depends on nothing.
Variant three_kernels() {
  Variant variant;
  variant.program.buffers = {{.dtype = f32, .elements = 100}, {.dtype = f32, .elements = 100}};
  variant.program.kernels.resize(3);
  variant.program.kernels[0].stores = {{.buffer = 0}};
  variant.program.kernels[1].depends_on = {0};
  variant.program.kernels[2].stores = {{.buffer = 1}};
  variant.kernels = {
      {.source = touching({0})}, {.source = touching({0})}, {.source = touching({1})}};
  return variant;
}

std::vector<std::string> edges(std::vector<std::int64_t> offsets) {
  std::vector<std::string> texts;
  const Variant variant = three_kernels();
  for (const LaunchEdge& edge : LaunchOrder(variant).edges({.buffer_offsets = offsets}, {}))
    texts.push_back(std::to_string(edge.before) + " -> " + std::to_string(edge.after));
  return texts;
}

TEST(ReplayEdges, AreTheDependenciesForDisjointBuffers) {
  EXPECT_THAT(edges({0, 400}), ElementsAre("0 -> 1"));
}

TEST(ReplayEdges, OrderWritersAfterUsersOfReusedMemory) {
  EXPECT_THAT(edges({0, 0}), ElementsAre("0 -> 1", "1 -> 2"));
  EXPECT_THAT(edges({0, 396}), ElementsAre("0 -> 1", "1 -> 2"));
}

/// Kernels that alternate between two memory ranges wait only for their predecessor. The number of
/// edges stays linear in the number of kernels.
TEST(ReplayEdges, AreLinearInTheKernels) {
  constexpr int kKernels = 500;
  Variant variant;
  variant.program.kernels.resize(kKernels);
  std::vector<std::int64_t> offsets;
  for (int i = 0; i < kKernels; ++i) {
    const auto kernel = static_cast<std::size_t>(i);
    variant.program.buffers.push_back({.dtype = f32, .elements = 100});
    offsets.push_back(400 * (i % 2));
    variant.program.kernels[kernel].stores = {{.buffer = i}};
    if (i > 0) variant.program.kernels[kernel].depends_on = {i - 1};
    variant.kernels.push_back({.source = i > 0 ? touching({i - 1, i}) : touching({i})});
  }
  const std::vector<LaunchEdge> edges = LaunchOrder(variant).edges({.buffer_offsets = offsets}, {});
  ASSERT_EQ(edges.size(), kKernels - 1U);
  for (const LaunchEdge& edge : edges) EXPECT_EQ(edge.before, edge.after - 1);
}

/// Two small buffers reuse the memory of a large one. The writer of each waits for the users of the
/// large buffer, not for the other writer.
TEST(ReplayEdges, SplitLargeBuffers) {
  Variant variant;
  variant.program.buffers = {{.dtype = f32, .elements = 200},
                             {.dtype = f32, .elements = 100},
                             {.dtype = f32, .elements = 100}};
  variant.program.kernels.resize(3);
  for (int i = 0; i < 3; ++i) {
    variant.program.kernels[static_cast<std::size_t>(i)].stores = {{.buffer = i}};
    variant.kernels.push_back({.source = touching({i})});
  }
  const std::vector<LaunchEdge> edges =
      LaunchOrder(variant).edges({.buffer_offsets = {0, 0, 400}}, {});
  EXPECT_THAT(edges, ElementsAre(LaunchEdge{0, 1}, LaunchEdge{0, 2}));
}

/// Two kernels that write parts of one buffer do not wait for each other.
TEST(ReplayEdges, DoNotOrderWritersOfDisjointParts) {
  Variant variant = three_kernels();
  variant.program.buffers.push_back({.dtype = f32, .elements = 200});
  variant.program.buffers[0].parent = variant.program.buffers[1].parent = 2;
  variant.program.buffers[1].offset = 100;
  std::vector<std::string> texts;
  for (const LaunchEdge& edge : LaunchOrder(variant).edges({.buffer_offsets = {0, 400, 0}}, {}))
    texts.push_back(std::to_string(edge.before) + " -> " + std::to_string(edge.after));
  EXPECT_THAT(texts, ElementsAre("0 -> 1"));
}

}  // namespace
}  // namespace sinter::replay_edges_test
