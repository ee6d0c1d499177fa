// The disk cache: entries, folder permissions, locks, eviction, and recovery from damage and
// crashes.
#include "runtime/cache/disk_cache.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <thread>
#include <utility>

#include "runtime/cache/cache_contents.h"
#include "runtime/cache/cache_directory.h"
#include "runtime/cache/cache_lock.h"
#include "tests/support/files/read_text.h"
#include "tests/support/files/scratch_folder.h"

/// Folders that were synced, by device and inode.
static std::set<std::pair<dev_t, ino_t>> synced_folders;

/// Replaces fsync of the C library and records the synced folders.
extern "C" int fsync(int file) {
  struct stat status = {};
  if (fstat(file, &status) == 0 && S_ISDIR(status.st_mode))
    synced_folders.emplace(status.st_dev, status.st_ino);
  return static_cast<int>(syscall(SYS_fsync, file));
}

namespace sinter::disk_cache_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::byte> bytes(std::string_view text) {
  const std::span<const std::byte> all = bytes_of(text);
  return {all.begin(), all.end()};
}

class DiskCacheTest : public ::testing::Test {
 protected:
  CacheOptions options(CacheMode mode = CacheMode::read_write) const {
    return {.mode = mode, .directory = folder.path() + "/cache"};
  }
  /// All reasons so far, each with its count.
  static std::string reasons(const DiskCache& cache) {
    std::string text;
    for (const DiskCounters::Reason& reason : cache.counters().reasons)
      text += reason.text + ": " + std::to_string(reason.count) + "; ";
    return text;
  }

  test::ScratchFolder folder;
  const CacheName name = name_of("a key");
};

TEST_F(DiskCacheTest, NamesAreTheSha256OfKeys) {
  EXPECT_EQ(name_of("abc").hex(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_F(DiskCacheTest, FindsStoredEntries) {
  DiskCache cache(options());
  ASSERT_EQ(cache.off_reason(), "");
  EXPECT_FALSE(cache.find(name));
  EXPECT_TRUE(cache.store(name, bytes("contents"), {.extension = "cu", .text = "// source"}));
  EXPECT_EQ(cache.find(name), bytes("contents"));
  EXPECT_FALSE(cache.find(name_of("another key")));
  const DiskCounters counters = cache.counters();
  EXPECT_EQ(counters.hits, 1);
  EXPECT_EQ(counters.misses, 2);
  EXPECT_EQ(counters.stored, 1);
  EXPECT_EQ(reasons(cache), "there is no such entry: 2; ");
  EXPECT_EQ(test::read_text(cache.path_of(name, "cu")), "// source");
}

TEST_F(DiskCacheTest, SharesEntriesAcrossProcesses) {
  const pid_t child = fork();
  if (child == 0) {
    DiskCache cache(options());
    _exit(cache.store(name, bytes("contents")) ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(DiskCache(options()).find(name), bytes("contents"));
}

TEST_F(DiskCacheTest, FolderIsPrivateToTheUser) {
  DiskCache cache(options());
  cache.store(name, bytes("contents"));
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder.path()))
    EXPECT_EQ(entry.status().permissions() & (fs::perms::group_all | fs::perms::others_all),
              fs::perms::none)
        << entry.path();
}

TEST_F(DiskCacheTest, RejectsFoldersThatOthersCanWriteTo) {
  fs::create_directory(options().directory);
  fs::permissions(options().directory, fs::perms::all);
  DiskCache cache(options());
  EXPECT_EQ(cache.off_reason(), options().directory +
                                    " can be written by others (mode 777), so that code in it "
                                    "could be anybody's; empty it, then run chmod "
                                    "go-w " +
                                    options().directory);
  EXPECT_FALSE(cache.store(name, bytes("contents")));
  EXPECT_FALSE(cache.find(name));
  EXPECT_TRUE(fs::is_empty(options().directory));
}

TEST_F(DiskCacheTest, RejectsFoldersOfAnotherUser) {
  // "/" belongs to root. Root itself gives a folder to another user instead.
  std::string theirs = "/";
  if (geteuid() == 0) {
    theirs = options().directory;
    fs::create_directory(theirs);
    ASSERT_EQ(chown(theirs.c_str(), 12345, 12345), 0);
  }
  EXPECT_EQ(
      open_cache_directory(theirs, CacheOwner::user),
      fmt::format("{} belongs to user {}, not to user {}; set SINTER_CACHE_DIR to a folder of "
                  "your own",
                  theirs, geteuid() == 0 ? 12345 : 0, geteuid()));
}

TEST_F(DiskCacheTest, RejectsPathsThatAreNoFolders) {
  std::ofstream(options().directory) << "a file";
  for (const CacheMode mode : {CacheMode::read_only, CacheMode::read_write})
    EXPECT_EQ(DiskCache(options(mode)).off_reason(), options().directory + " is not a folder");
  CacheOptions below = options();
  below.directory += "/below";
  EXPECT_EQ(DiskCache(below).off_reason(), below.directory + " cannot be made: Not a directory");
}

/// Others could have replaced entries while the folder was writable, even if it no longer is.
TEST_F(DiskCacheTest, IgnoresEntriesWritableByOthers) {
  DiskCache cache(options());
  cache.store(name, bytes("contents"));
  fs::permissions(cache.path_of(name, "entry"), fs::perms::others_write, fs::perm_options::add);
  EXPECT_FALSE(cache.find(name));
  EXPECT_FALSE(fs::exists(cache.path_of(name, "entry")));
  EXPECT_EQ(reasons(cache), "the entry could be another user's: 1; ");
  fs::permissions(options().directory + "/1", fs::perms::all);
  EXPECT_THAT(DiskCache(options()).off_reason(), HasSubstr("/cache/1 can be written by others"));
}

TEST_F(DiskCacheTest, IsOffWithoutAFolder) {
  EXPECT_THAT(open_cache_directory("", CacheOwner::user), HasSubstr("SINTER_CACHE_DIR"));
  EXPECT_EQ(DiskCache({.mode = CacheMode::off}).off_reason(), "it was turned off");
}

TEST_F(DiskCacheTest, ReadOnlyModeStoresNothing) {
  DiskCache(options()).store(name, bytes("contents"));
  const CacheName other = name_of("another key");
  DiskCache cache(options(CacheMode::read_only));
  EXPECT_EQ(cache.find(name), bytes("contents"));
  EXPECT_FALSE(cache.store(other, bytes("other")));
  EXPECT_FALSE(fs::exists(cache.path_of(other, "entry")));
}

TEST_F(DiskCacheTest, RecreatesARemovedFolder) {
  DiskCache cache(options());
  cache.store(name, bytes("contents"));
  fs::remove_all(options().directory);
  EXPECT_FALSE(cache.find(name));
  EXPECT_TRUE(cache.store(name, bytes("contents")));
  EXPECT_EQ(cache.find(name), bytes("contents"));
}

/// A file size limit simulates a full disk. It also applies to root, unlike permissions.
TEST_F(DiskCacheTest, SurvivesAFullDisk) {
  DiskCache cache(options());
  cache.store(name, bytes("contents"));
  const CacheName large = name_of("a large one");
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = 4096, .rlim_max = 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    const bool is_stored = cache.store(large, std::vector<std::byte>(100'000));
    const DiskCounters counters = cache.counters();
    const bool is_logged = counters.last_failure.find("File too large") != std::string::npos &&
                           counters.last_failure.starts_with(cache.path_of(large, "entry"));
    const bool others_are_there = cache.find(name) == bytes("contents") && !cache.find(large);
    _exit((is_stored ? 1 : 0) + (is_logged ? 0 : 2) + (others_are_there ? 0 : 4));
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder.path()))
    EXPECT_FALSE(entry.path().string().ends_with(kTemporarySuffix)) << entry.path();
}

/// Root may write anywhere, so under root the test changes to an unprivileged user.
TEST_F(DiskCacheTest, SurvivesAReadOnlyFolder) {
  constexpr uid_t kSomebody = 12345;
  if (geteuid() == 0) {
    ASSERT_EQ(chown(folder.path().c_str(), kSomebody, kSomebody), 0);
  }
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && setuid(kSomebody) != 0) _exit(100);
    DiskCache cache(options());
    int wrong = cache.store(name, bytes("contents")) ? 0 : 1;
    const auto allow = [&](fs::perms perms) {
      fs::permissions(options().directory + "/1", perms);
      for (const fs::directory_entry& entry : fs::directory_iterator(options().directory + "/1"))
        if (entry.is_directory()) fs::permissions(entry.path(), perms);
    };
    allow(fs::perms::owner_read | fs::perms::owner_exec);
    const CacheName other = name_of("another key");
    wrong += cache.find(name) == bytes("contents") ? 0 : 2;
    wrong += cache.store(other, bytes("other")) ? 4 : 0;
    wrong += cache.counters().last_failure.ends_with("Permission denied") ? 0 : 8;
    allow(fs::perms::owner_all);
    wrong += cache.store(other, bytes("other")) && cache.find(other) == bytes("other") ? 0 : 16;
    _exit(wrong);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

/// 10,000 entries that were truncated, flipped or exchanged: none is accepted.
TEST_F(DiskCacheTest, NeverUsesADamagedEntry) {
  constexpr int kMutations = 10'000;
  std::mt19937_64 random(7);
  const auto below = [&](std::size_t end) { return static_cast<std::size_t>(random() % end); };
  const std::vector<std::byte> contents(777, std::byte{42});
  const std::vector<std::byte> good = pack_entry(name, contents);
  const std::vector<std::byte> others = pack_entry(name_of("another key"), contents);
  int cut = 0, flipped = 0, exchanged = 0;
  for (int i = 0; i < kMutations; ++i) {
    std::vector<std::byte> bad = good;
    if (i % 3 == 0) {
      bad.resize(below(bad.size()));
      ++cut;
    } else if (i % 3 == 1) {
      bad[below(bad.size())] ^= static_cast<std::byte>(1 << below(8));
      ++flipped;
    } else {
      bad = others;
      if (i % 2 == 0) bad.insert(bad.end(), below(100), std::byte{0});
      ++exchanged;
    }
    const UnpackedEntry entry = unpack_entry(name, bad);
    ASSERT_NE(entry.damage, "") << "mutation " << i;
    ASSERT_THAT(entry.payload, IsEmpty());
  }
  EXPECT_EQ(unpack_entry(name, good).damage, "");
  RecordProperty("cut", cut);
  RecordProperty("flipped", flipped);
  RecordProperty("exchanged", exchanged);
  std::printf("%d cut, %d flipped, %d exchanged: none was used\n", cut, flipped, exchanged);
}

TEST_F(DiskCacheTest, ReplacesDamagedEntries) {
  DiskCache cache(options());
  cache.store(name, bytes("contents"));
  fs::resize_file(cache.path_of(name, "entry"), 70);
  EXPECT_FALSE(cache.find(name));
  EXPECT_FALSE(fs::exists(cache.path_of(name, "entry")));
  EXPECT_EQ(reasons(cache), "the entry is damaged: it is not as long as it says: 1; ");
  cache.store(name, bytes("contents"));
  EXPECT_EQ(cache.find(name), bytes("contents"));
}

TEST_F(DiskCacheTest, OneProcessCreatesAnEntryWhileOthersWait) {
  DiskCache cache(options());
  const std::vector<CacheName> names = {name};
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const CacheLock lock = cache.lock(names, std::chrono::seconds(10));
    const char held = lock.is_held() ? 'y' : 'n';
    if (write(ready[1], &held, 1) != 1) _exit(1);
    pause();  // until the parent kills it
  }
  char held = 0;
  ASSERT_EQ(read(ready[0], &held, 1), 1);
  EXPECT_EQ(held, 'y');
  EXPECT_FALSE(cache.lock(names, std::chrono::milliseconds(20)).is_held());
  EXPECT_TRUE(cache.lock(std::vector{name_of("another key")}, {}).is_held());
  // The lock of a killed process is free.
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  const CacheLock lock = cache.lock(names, std::chrono::seconds(10));
  EXPECT_TRUE(lock.is_held());
  // Locks also exclude other threads of the process.
  EXPECT_FALSE(cache.lock(names, std::chrono::milliseconds(20)).is_held());
}

/// A process that is forked while a lock is held inherits it, and may outlive the owner.
TEST_F(DiskCacheTest, ReleasesLocksDespiteForkedChildren) {
  const std::string path = folder.path() + "/locks";
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  pid_t child = 0;
  {
    const CacheLock lock = CacheLock::wait_for(path, {&name, 1}, std::chrono::seconds(1));
    ASSERT_TRUE(lock.is_held());
    child = fork();
    if (child == 0) {
      close(ends[1]);
      char end = 0;
      const bool is_read = read(ends[0], &end, 1) >= 0;  // until the parent closes its end
      _exit(is_read ? 0 : 1);
    }
    EXPECT_FALSE(CacheLock::wait_for(path, {&name, 1}, std::chrono::milliseconds(1)).is_held());
  }
  EXPECT_TRUE(CacheLock::wait_for(path, {&name, 1}, std::chrono::milliseconds(1)).is_held());
  close(ends[0]);
  close(ends[1]);
  waitpid(child, nullptr, 0);
}

TEST_F(DiskCacheTest, EvictsLeastRecentlyUsedEntriesFirst) {
  DiskCache cache(options());
  const auto now = fs::file_time_type::clock::now();
  std::vector<CacheName> names;
  for (int i = 0; i < 20; ++i) {
    names.push_back(name_of("key " + std::to_string(i)));
    cache.store(names.back(), std::vector<std::byte>(1000 - 64),
                {.extension = "cu", .text = "source"});
    for (const std::string extension : {"entry", "cu"})
      fs::last_write_time(cache.path_of(names.back(), extension), now - std::chrono::hours(20 - i));
  }
  ASSERT_TRUE(cache.find(names[0]));  // becomes the most recently used
  const std::string entries = options().directory + "/1";
  const PruneResult pruned = prune_cache(entries, {.bytes = 11'000, .headroom = 1'100});
  EXPECT_EQ(pruned.entries, 11);
  EXPECT_LE(list_cache(entries).bytes(), 9'900);
  EXPECT_TRUE(cache.find(names[0]));
  for (int i = 1; i < 20; ++i) {
    EXPECT_EQ(cache.find(names[static_cast<std::size_t>(i)]).has_value(), i > 11) << i;
    EXPECT_EQ(fs::exists(cache.path_of(names[static_cast<std::size_t>(i)], "cu")), i > 11) << i;
  }
}

TEST_F(DiskCacheTest, StaysWithinItsSizeLimit) {
  CacheOptions small = options();
  small.max_bytes = 100'000;
  DiskCache cache(small);
  for (int i = 0; i < 300; ++i)
    ASSERT_TRUE(cache.store(name_of("key " + std::to_string(i)), std::vector<std::byte>(2000)));
  std::int64_t total = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder.path()))
    if (entry.is_regular_file()) total += static_cast<std::int64_t>(entry.file_size());
  EXPECT_LE(total, small.max_bytes + small.max_bytes / 16 + 2064);
  EXPECT_GT(cache.counters().evicted, 200);
}

TEST_F(DiskCacheTest, RemovesUnfinishedFiles) {
  DiskCache cache(options());
  cache.store(name, bytes("contents"));
  const std::string old = cache.path_of(name, "entry.abcdef.tmp");
  const std::string young = cache.path_of(name, "entry.ghijkl.tmp");
  std::ofstream(old) << "half";
  std::ofstream(young) << "half";
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(2));
  prune_cache(options().directory + "/1", {});
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(young));
  EXPECT_TRUE(cache.find(name));
}

/// Eight processes write 500 entries and are killed at random points. Every entry that a process
/// reported as written is complete, and no damaged entry is visible.
TEST_F(DiskCacheTest, SurvivesKilledWriters) {
  constexpr int kProcesses = 8;
  constexpr int kEntries = 500;
  const auto key = [](int i) { return "key " + std::to_string(i); };
  const auto contents = [](int i) {
    std::mt19937 random(static_cast<unsigned>(i));
    std::vector<std::byte> result(1000 + random() % 100'000);
    for (std::byte& byte : result) byte = static_cast<std::byte>(random());
    return result;
  };
  int written[2];
  ASSERT_EQ(pipe(written), 0);
  const auto start = [&](int first) {
    const pid_t child = fork();
    if (child != 0) return child;
    DiskCache cache(options());
    for (int i = first; i < kEntries; i += kProcesses)
      if (cache.store(name_of(key(i)), contents(i), {.extension = "cu", .text = key(i)}) &&
          write(written[1], &i, sizeof i) != sizeof i)
        _exit(1);
    _exit(0);
  };
  // A restarted process continues after the last entry that it wrote.
  std::vector<pid_t> children(kProcesses);
  std::vector<int> next(kProcesses);
  for (int i = 0; i < kProcesses; ++i) {
    next[static_cast<std::size_t>(i)] = i;
    children[static_cast<std::size_t>(i)] = start(i);
  }
  std::mt19937 random(1);
  std::vector<bool> is_written(kEntries);
  int kills = 0;
  const auto drain = [&] {
    fd_set waiting;
    for (;;) {
      FD_ZERO(&waiting);
      FD_SET(written[0], &waiting);
      timeval none = {};
      if (select(written[0] + 1, &waiting, nullptr, nullptr, &none) <= 0) return;
      int entry = 0;
      if (read(written[0], &entry, sizeof entry) != sizeof entry) return;
      is_written[static_cast<std::size_t>(entry)] = true;
      int& from = next[static_cast<std::size_t>(entry % kProcesses)];
      from = std::max(from, entry + kProcesses);
    }
  };
  for (int running = kProcesses; running > 0;) {
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
    const std::size_t victim = random() % kProcesses;
    if (children[victim] > 0) kill(children[victim], SIGKILL);
    for (std::size_t i = 0; i < children.size(); ++i) {
      int status = 0;
      if (children[i] <= 0 || waitpid(children[i], &status, WNOHANG) != children[i]) continue;
      drain();
      if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
        ++kills;
        // After 400 kills, the remaining processes finish undisturbed.
        children[i] = kills < 400 ? start(next[i]) : (waitpid(start(next[i]), &status, 0), -1);
        if (children[i] < 0) --running;
      } else {
        EXPECT_EQ(status, 0);
        children[i] = -1;
        --running;
      }
      drain();
    }
  }
  drain();
  DiskCache cache(options());
  int lost = 0, damaged = 0;
  for (int i = 0; i < kEntries; ++i) {
    const auto found = cache.find(name_of(key(i)));
    if (is_written[static_cast<std::size_t>(i)] && !found) ++lost;
    if (found && *found != contents(i)) ++damaged;
  }
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(damaged, 0);
  EXPECT_EQ(cache.counters().hits, kEntries);
  EXPECT_GT(kills, 50);
  std::printf("%d writers killed, %d entries of %lld found, %d lost, %d damaged\n", kills, kEntries,
              static_cast<long long>(cache.counters().hits), lost, damaged);
}

/// After a power failure, a new file is lost unless its folder was synced too.
TEST_F(DiskCacheTest, SyncsFoldersOfNewEntries) {
  DiskCache cache(options());
  synced_folders.clear();
  ASSERT_TRUE(cache.store(name, bytes("contents")));
  const auto is_synced = [](const fs::path& folder) {
    struct stat status = {};
    EXPECT_EQ(stat(folder.c_str(), &status), 0) << folder;
    return synced_folders.contains({status.st_dev, status.st_ino});
  };
  const fs::path entry = cache.path_of(name, "entry");
  EXPECT_TRUE(is_synced(entry.parent_path()));
  EXPECT_TRUE(is_synced(entry.parent_path().parent_path()));
}

}  // namespace
}  // namespace sinter::disk_cache_test
