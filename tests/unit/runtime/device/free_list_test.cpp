// Idle memory of the pool: how sizes are rounded, and which block is taken.
#include "runtime/device/free_list.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace sinter::free_list_test {
namespace {

FreeList::Node block_of(std::int64_t bytes, CUdeviceptr pointer) {
  FreeList::Node node = FreeList::make_node();
  node.mapped().bytes = bytes;
  node.mapped().pointer = pointer;
  return node;
}

constexpr auto kAny = [](const MemoryBlock&) { return true; };

TEST(BlockBytes, RoundToEighthsOfPowersOfTwo) {
  EXPECT_EQ(rounded_block_size(1), 512);
  EXPECT_EQ(rounded_block_size(512), 512);
  EXPECT_EQ(rounded_block_size(513), 1024);
  EXPECT_EQ(rounded_block_size(4097), 4608);
  EXPECT_EQ(rounded_block_size(1 << 20), 1 << 20);
  EXPECT_EQ(rounded_block_size((1 << 20) + 1), (1 << 20) + (1 << 17));
}

TEST(BlockBytes, WasteLittleOfLargeSizes) {
  EXPECT_EQ(rounded_block_size((std::int64_t{100} << 30) + 1),
            (std::int64_t{100} << 30) + (2 << 20));
}

TEST(BlockBytes, WasteAtMostAnEighth) {
  for (std::int64_t bytes = 4096; bytes < std::int64_t{1} << 40; bytes += bytes / 7 + 1) {
    EXPECT_GE(rounded_block_size(bytes), bytes);
    EXPECT_LE(rounded_block_size(bytes), bytes + bytes / 8) << bytes;
  }
}

TEST(BlockBytes, HugeSizesDoNotOverflow) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(rounded_block_size(kMost), kMost);
}

TEST(FreeList, TakesTheSmallestSufficientBlock) {
  FreeList blocks;
  for (const std::int64_t bytes : {2048, 512, 1024, 4096})
    blocks.add(block_of(bytes, static_cast<CUdeviceptr>(bytes)));
  EXPECT_EQ(blocks.bytes(), 7680);
  EXPECT_EQ(blocks.take(600, 3000, kAny).mapped().pointer, 1024u);
  EXPECT_EQ(blocks.take(600, 3000, kAny).mapped().pointer, 2048u);
  EXPECT_FALSE(blocks.take(600, 3000, kAny));
  EXPECT_EQ(blocks.bytes(), 4608);
}

TEST(FreeList, TakesEqualSizesInOrderOfReturn) {
  FreeList blocks;
  for (const CUdeviceptr pointer : {3, 1, 2}) blocks.add(block_of(512, pointer));
  EXPECT_EQ(blocks.take(512, 512, kAny).mapped().pointer, 3u);
  const auto is_2 = [](const MemoryBlock& block) { return block.pointer == 2; };
  EXPECT_EQ(blocks.take(512, 512, is_2).mapped().pointer, 2u);
  EXPECT_EQ(blocks.take(512, 512, kAny).mapped().pointer, 1u);
}

TEST(FreeList, ReinsertedBlocksGoLast) {
  FreeList blocks;
  for (const CUdeviceptr pointer : {1, 2}) blocks.add(block_of(512, pointer));
  blocks.reinsert(blocks.take(512, 512, kAny));
  EXPECT_EQ(blocks.bytes(), 1024);
  EXPECT_EQ(blocks.take(512, 512, kAny).mapped().pointer, 2u);
  EXPECT_EQ(blocks.take(512, 512, kAny).mapped().pointer, 1u);
}

TEST(FreeList, TakesTheOldestFirst) {
  FreeList blocks;
  EXPECT_FALSE(blocks.take_oldest());
  blocks.add(block_of(4096, 1));
  blocks.add(block_of(512, 2));
  blocks.add(block_of(1024, 3));
  blocks.reinsert(blocks.take(4096, 4096, kAny));
  for (const CUdeviceptr pointer : {1, 2, 3})
    EXPECT_EQ(blocks.take_oldest().mapped().pointer, pointer);
  EXPECT_EQ(blocks.bytes(), 0);
}

}  // namespace
}  // namespace sinter::free_list_test
