// Which kernels of a CUDA Graph wait for which.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/replay_graph.h"

namespace sinter {
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
  for (const LaunchEdge& edge : edges_of(three_kernels(), {.buffer_offsets = offsets}, {}))
    texts.push_back(std::to_string(edge.before) + " -> " + std::to_string(edge.after));
  return texts;
}

TEST(ReplayEdges, AreTheDependenciesWhereBuffersLieApart) {
  EXPECT_THAT(edges({0, 400}), ElementsAre("0 -> 1"));
}

TEST(ReplayEdges, KeepAWriterBehindAllUsersOfTheMemoryItReuses) {
  EXPECT_THAT(edges({0, 0}), ElementsAre("0 -> 1", "0 -> 2", "1 -> 2"));
  EXPECT_THAT(edges({0, 396}), ElementsAre("0 -> 1", "0 -> 2", "1 -> 2"));
}

/// Two kernels that write parts of one buffer do not wait for each other.
TEST(ReplayEdges, PartsSideBySideAreWrittenAtOnce) {
  Variant variant = three_kernels();
  variant.program.buffers.push_back({.dtype = f32, .elements = 200});
  variant.program.buffers[0].whole = variant.program.buffers[1].whole = 2;
  variant.program.buffers[1].offset = 100;
  std::vector<std::string> texts;
  for (const LaunchEdge& edge : edges_of(variant, {.buffer_offsets = {0, 400, 0}}, {}))
    texts.push_back(std::to_string(edge.before) + " -> " + std::to_string(edge.after));
  EXPECT_THAT(texts, ElementsAre("0 -> 1"));
}

}  // namespace
}  // namespace sinter
