// Algorithms of libraries in the disk cache.
#include "runtime/cache/disk_algorithms.h"

#include <barrier>
#include <set>
#include <string>
#include <thread>
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
  EXPECT_EQ(DiskAlgorithms(options()).publish(kKey, kBytes, {}), kBytes);
  DiskAlgorithms later(options());
  EXPECT_EQ(later.find(kKey), kBytes);
  AlgorithmKey newer = kKey;
  newer.library = "cuDNN 92000";
  EXPECT_EQ(later.find(newer), std::nullopt);
}

TEST_F(DiskAlgorithmsTest, ACacheThatIsOffStoresNothing) {
  EXPECT_EQ(DiskAlgorithms(options(CacheMode::off)).publish(kKey, kBytes, {}), kBytes);
  EXPECT_EQ(DiskAlgorithms(options()).find(kKey), std::nullopt);
  DiskAlgorithms(options()).publish(kKey, kBytes, {});
  EXPECT_EQ(DiskAlgorithms(options(CacheMode::off)).find(kKey), std::nullopt);
  EXPECT_EQ(DiskAlgorithms(options(CacheMode::read_only)).find(kKey), kBytes);
}

TEST_F(DiskAlgorithmsTest, TheFirstBytesStay) {
  const std::vector<std::byte> other = {std::byte{3}}, third = {std::byte{4}};
  DiskAlgorithms first(options()), second(options());
  EXPECT_EQ(first.publish(kKey, kBytes, {}), kBytes);
  EXPECT_EQ(second.publish(kKey, other, {}), kBytes);
  EXPECT_EQ(first.find(kKey), kBytes);
  // Two processes refuse the entry: the first one replaces it, and the second one takes that.
  EXPECT_EQ(first.publish(kKey, other, kBytes), other);
  EXPECT_EQ(second.publish(kKey, third, kBytes), other);
  EXPECT_EQ(first.find(kKey), other);
}

/// The bytes that eight threads get when all publish under `key` at once.
std::set<std::vector<std::byte>> published_at_once(const Options& options, const AlgorithmKey& key,
                                                   std::span<const std::byte> refused) {
  constexpr std::size_t kThreads = 8;
  std::vector<std::vector<std::byte>> results(kThreads);
  std::barrier start(static_cast<std::ptrdiff_t>(kThreads));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      DiskAlgorithms own(options);
      const std::vector<std::byte> bytes = {static_cast<std::byte>(i), std::byte{9}};
      start.arrive_and_wait();
      results[i] = own.publish(key, bytes, refused);
    });
  for (std::thread& thread : threads) thread.join();
  return {results.begin(), results.end()};
}

TEST_F(DiskAlgorithmsTest, AllThatPublishAtOnceGetTheSameBytes) {
  for (int round = 0; round < 10; ++round) {
    AlgorithmKey key = kKey;
    key.problem += std::to_string(round);
    const auto first = published_at_once(options(), key, {});
    ASSERT_THAT(first, testing::SizeIs(1));
    EXPECT_EQ(DiskAlgorithms(options()).find(key), *first.begin());
    DiskAlgorithms(options()).publish(key, kBytes, *first.begin());
    const auto second = published_at_once(options(), key, kBytes);
    ASSERT_THAT(second, testing::SizeIs(1));
    EXPECT_EQ(DiskAlgorithms(options()).find(key), *second.begin());
  }
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
