// Algorithms of libraries in the disk cache.
#include "runtime/cache/disk_algorithms.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/files/scratch_folder.h"

namespace sinter::disk_algorithms_test {
namespace {

const AlgorithmKey kKey{.library = "cuDNN 91900", .device = "a GPU", .problem = "conv"};
const std::vector<std::byte> kBytes = {std::byte{1}, std::byte{2}};

class DiskAlgorithmsTest : public testing::Test {
 protected:
  Options options(CacheMode mode = CacheMode::read_write) {
    Options options;
    options.cache = {.mode = mode, .directory = folder.path()};
    options.log = [this](std::string_view line) { lines.emplace_back(line); };
    return options;
  }
  const test::ScratchFolder folder;
  std::vector<std::string> lines;
};

TEST_F(DiskAlgorithmsTest, AnotherStoreFindsTheBytes) {
  DiskAlgorithms(options()).put(kKey, kBytes);
  DiskAlgorithms later(options());
  EXPECT_EQ(later.find(kKey), kBytes);
  AlgorithmKey newer = kKey;
  newer.library = "cuDNN 92000";
  EXPECT_EQ(later.find(newer), std::nullopt);
}

TEST_F(DiskAlgorithmsTest, ACacheThatIsOffStoresNothing) {
  DiskAlgorithms(options(CacheMode::off)).put(kKey, kBytes);
  EXPECT_EQ(DiskAlgorithms(options()).find(kKey), std::nullopt);
  DiskAlgorithms(options()).put(kKey, kBytes);
  EXPECT_EQ(DiskAlgorithms(options(CacheMode::off)).find(kKey), std::nullopt);
  EXPECT_EQ(DiskAlgorithms(options(CacheMode::read_only)).find(kKey), kBytes);
}

TEST_F(DiskAlgorithmsTest, ARefusalIsANote) {
  DiskAlgorithms(options()).log_refusal(kKey, "CUBLAS_STATUS_NOT_SUPPORTED");
  EXPECT_THAT(lines, testing::ElementsAre(
                         "the stored algorithm of cuDNN 91900 on a GPU for conv is not used: "
                         "CUBLAS_STATUS_NOT_SUPPORTED; the library chooses another one, so bits "
                         "may differ from earlier runs"));
}

}  // namespace
}  // namespace sinter::disk_algorithms_test
