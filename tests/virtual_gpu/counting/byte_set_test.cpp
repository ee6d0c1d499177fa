// ByteSet: bytes count once, in each allocation.
#include "tests/virtual_gpu/counting/byte_set.h"

#include <gtest/gtest.h>

namespace sinter::virtual_gpu::byte_set_test {
namespace {

TEST(ByteSet, CountsEachByteOnce) {
  const int array = 0;
  ByteSet bytes;
  EXPECT_EQ(bytes.size(), 0U);
  bytes.add(&array, 60, 8);  // in two words
  bytes.add(&array, 62, 4);
  bytes.add(&array, 66, 4);
  bytes.add(&array, 0, 0);
  EXPECT_EQ(bytes.size(), 10U);
}

TEST(ByteSet, CountsWholeWords) {
  const int array = 0;
  ByteSet bytes;
  bytes.add(&array, 64, 64);
  bytes.add(&array, 1, 512);
  EXPECT_EQ(bytes.size(), 512U);
}

TEST(ByteSet, TellsAllocationsApart) {
  const int arrays[2] = {};
  ByteSet bytes;
  for (int round = 0; round < 2; ++round) {
    bytes.add(&arrays[0], 1000, 16);
    bytes.add(&arrays[1], 1000, 4);
    bytes.add(&arrays[1], 1002, 4);
  }
  EXPECT_EQ(bytes.size(), 22U);
}

}  // namespace
}  // namespace sinter::virtual_gpu::byte_set_test
