// Maintenance of the disk cache: listing, checking, repairing and pruning entries.
#include "runtime/cache/cache_contents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "runtime/cache/cache_directory.h"
#include "runtime/cache/cache_lock.h"
#include "runtime/cache/disk_cache.h"
#include "runtime/cache/stored_units.h"
#include "runtime/libraries/algorithms/stored_algorithm.h"
#include "tests/support/files/scratch_folder.h"

namespace sinter::cache_contents_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class CacheContentsTest : public ::testing::Test {
 protected:
  CacheContentsTest() {
    // Entry 0 was used least recently.
    for (int i = 0; i < 3; ++i) {
      const CacheName name = names[static_cast<std::size_t>(i)];
      cache.store(name, bytes_of("contents"), {.extension = "cu", .text = "// source"});
      for (const char* extension : {"entry", "cu"})
        fs::last_write_time(cache.path_of(name, extension),
                            fs::file_time_type::clock::now() - std::chrono::hours(48 - 10 * i));
    }
  }

  std::vector<std::string> listed() const {
    std::vector<std::string> result;
    for (const CachedEntry& entry : list_cache(entries).entries) result.push_back(entry.name);
    return result;
  }
  CachedEntry listed(std::size_t i) const { return list_cache(entries).entries[i]; }
  void overwrite(const CacheName& name) const {
    std::fstream file(cache.path_of(name, "entry"), std::ios::in | std::ios::out);
    file.seekp(70);
    file << 'X';
  }
  /// The damage that check_entry reports for `name`.
  std::string damage_of(const CacheName& name) const {
    for (const CachedEntry& entry : list_cache(entries).entries)
      if (entry.name == name.hex()) return check_entry(entry).damage;
    return "it is not listed";
  }

  test::ScratchFolder folder;
  const std::string directory = folder.path() + "/cache";
  const std::string entries = entries_folder_of(directory);
  DiskCache cache{{.directory = directory}};
  const std::vector<CacheName> names = {name_of("a"), name_of("b"), name_of("c")};
  const std::int64_t entry_bytes = 64 + 8 + 9;
};

TEST_F(CacheContentsTest, ListsEntriesWithSourcesOldestFirst) {
  EXPECT_THAT(listed(), ElementsAre(names[0].hex(), names[1].hex(), names[2].hex()));
  EXPECT_EQ(listed(0).files.size(), 2U);
  EXPECT_EQ(listed(0).files.front().extension(), ".entry");
  EXPECT_EQ(listed(0).bytes, entry_bytes);
  EXPECT_EQ(list_cache(entries).bytes(), 3 * entry_bytes);
}

TEST_F(CacheContentsTest, MissingFoldersAreEmpty) {
  EXPECT_THAT(list_cache(folder.path() + "/nothing").entries, IsEmpty());
}

TEST_F(CacheContentsTest, CheckingKeepsTheTimeOfUse) {
  const auto used = listed(0).used;
  const CheckedEntry checked = check_entry(listed(0));
  EXPECT_EQ(checked.damage, "");
  EXPECT_EQ(checked.payload.size(), 8U);
  EXPECT_EQ(listed(0).used, used);
}

TEST_F(CacheContentsTest, FindsDamage) {
  overwrite(names[0]);
  EXPECT_EQ(damage_of(names[0]), "its contents are changed");
  fs::resize_file(cache.path_of(names[1], "entry"), 10);
  EXPECT_EQ(damage_of(names[1]), "it is cut short");
  fs::remove(cache.path_of(names[2], "entry"));
  EXPECT_EQ(damage_of(names[2]), "the entry itself is missing");
}

TEST_F(CacheContentsTest, DistrustsFilesWritableByOthers) {
  ASSERT_EQ(chmod(cache.path_of(names[0], "entry").c_str(), 0666), 0);
  EXPECT_EQ(damage_of(names[0]), "it could be another user's");
}

TEST_F(CacheContentsTest, KeepsForeignFiles) {
  fs::create_directories(entries + "/zz");
  std::ofstream(entries + "/zz/notes.txt") << "mine";
  CachedEntry alien;
  for (const CachedEntry& entry : list_cache(entries).entries)
    if (entry.name == "zznotes") alien = entry;
  EXPECT_EQ(check_entry(alien).damage, "it is no file of the cache");
  EXPECT_TRUE(check_entry(alien).is_foreign);
  EXPECT_FALSE(remove_damaged(entries, alien));
  EXPECT_TRUE(fs::exists(entries + "/zz/notes.txt"));
}

TEST_F(CacheContentsTest, ToleratesEntriesRemovedMeanwhile) {
  const CachedEntry entry = listed(0);
  fs::remove(cache.path_of(names[0], "entry"));
  EXPECT_TRUE(check_entry(entry).is_gone);
  EXPECT_TRUE(remove_damaged(entries, entry));
}

TEST_F(CacheContentsTest, RepairRemovesOnlyDamagedEntries) {
  const CachedEntry sound = listed(1);
  overwrite(names[0]);
  const CachedEntry damaged = listed(2);  // writing it made it the most recent
  ASSERT_EQ(damaged.name, names[0].hex());
  EXPECT_TRUE(remove_damaged(entries, damaged));
  EXPECT_FALSE(remove_damaged(entries, sound));
  EXPECT_THAT(listed(), ElementsAre(names[1].hex(), names[2].hex()));
}

TEST_F(CacheContentsTest, RepairKeepsEntriesStoredAgainMeanwhile) {
  overwrite(names[0]);
  const CachedEntry damaged = listed(2);
  cache.store(names[0], bytes_of("contents"));
  EXPECT_FALSE(remove_damaged(entries, damaged));
  EXPECT_EQ(damage_of(names[0]), "");
}

TEST_F(CacheContentsTest, PruneRemovesTheOldestDownToASize) {
  const PruneResult result = prune_cache(entries, {.bytes = 2 * entry_bytes, .age = {}});
  EXPECT_TRUE(result.is_done);
  EXPECT_EQ(result.entries, 1);
  EXPECT_EQ(result.bytes, entry_bytes);
  EXPECT_THAT(listed(), ElementsAre(names[1].hex(), names[2].hex()));
}

TEST_F(CacheContentsTest, PruneRemovesUnusedEntriesByAge) {
  EXPECT_EQ(prune_cache(entries, {.bytes = {}, .age = std::chrono::hours(30)}).entries, 2);
  EXPECT_THAT(listed(), ElementsAre(names[2].hex()));
}

TEST_F(CacheContentsTest, PruneKeepsFilesBeingWritten) {
  const std::string part = cache.path_of(names[0], "entry.abcdef.tmp");
  const std::string left = cache.path_of(names[1], "entry.abcdef.tmp");
  std::ofstream{part} << "part";
  std::ofstream{left} << "part";
  fs::last_write_time(left, fs::file_time_type::clock::now() - std::chrono::hours(2));
  EXPECT_EQ(prune_cache(entries, {.bytes = 0, .age = {}}).entries, 3);
  EXPECT_TRUE(fs::exists(part));
  EXPECT_FALSE(fs::exists(left));
}

TEST_F(CacheContentsTest, WaitsForTheGlobalLockUntilATimeout) {
  const CacheLock held = CacheLock::lock_all(entries + "/locks", {});
  ASSERT_TRUE(held.is_held());
  EXPECT_FALSE(CacheLock::lock_all(entries + "/locks", std::chrono::milliseconds(5)).is_held());
}

TEST_F(CacheContentsTest, DescribesStoredContents) {
  NvrtcUnit unit;
  unit.image = {std::byte{1}};
  unit.ptx = ".version 8.0\n.target sm_90\n.address_size 64";
  unit.entries = {"softmax_0"};
  const StoredDescription gpu = describe_stored(pack(unit));
  EXPECT_EQ(gpu.kind, StoredKind::gpu_kernels);
  EXPECT_EQ(gpu.arch, "sm_90");
  EXPECT_THAT(gpu.entries, ElementsAre("softmax_0"));
  const StoredDescription host = describe_stored(pack(StoredHostUnit{names[0], {"add_0"}}));
  EXPECT_EQ(host.kind, StoredKind::host_kernels);
  EXPECT_THAT(host.entries, ElementsAre("add_0"));
  EXPECT_EQ(describe_stored(bytes_of("\x7f"
                                     "ELF and more"))
                .kind,
            StoredKind::host_object);
  EXPECT_EQ(describe_stored(bytes_of("{\n}")).kind, StoredKind::tunings);
  EXPECT_EQ(describe_stored(to_bytes({.library = "cuDNN 91900"}, {})).kind, StoredKind::algorithm);
  EXPECT_EQ(describe_stored(bytes_of("")).kind, StoredKind::compiler);
}

}  // namespace
}  // namespace sinter::cache_contents_test
