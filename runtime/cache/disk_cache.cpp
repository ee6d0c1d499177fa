#include "runtime/cache/disk_cache.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <tuple>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "runtime/cache/cache_contents.h"
#include "runtime/cache/cache_directory.h"

namespace sinter {

namespace {

constexpr std::string_view kEntry = "entry";
/// Uses are recorded at most this often. The order of eviction needs no more than minutes.
constexpr std::time_t kSecondsBetweenUses = 60;

/// Sets the file's time to now, unless it is recent.
void mark_used(const std::string& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) return;
  if (std::time(nullptr) - status.st_mtime >= kSecondsBetweenUses)
    utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
}

CacheOptions with_directory(CacheOptions options) {
  if (options.directory.empty()) options.directory = default_cache_directory();
  return options;
}

}  // namespace

DiskCache::DiskCache(const CacheOptions& options)
    : options_(with_directory(options)),
      entries_(entries_folder_of(options_.directory)),
      off_reason_(options_.mode == CacheMode::off ? "it was turned off" : open_folders()) {}

std::string DiskCache::open_folders() const {
  const bool writes = options_.mode == CacheMode::read_write;
  const CacheOwner owner = writes ? CacheOwner::user : CacheOwner::user_or_root;
  if (std::string reason = open_cache_directory(options_.directory, owner); !reason.empty())
    return reason;
  struct stat status = {};
  const bool is_empty = !writes && stat(entries_.c_str(), &status) != 0 && errno == ENOENT;
  return is_empty ? std::string() : open_cache_directory(entries_, owner);
}

std::string DiskCache::path_of(const CacheName& name, std::string_view extension) const {
  const std::string hex = name.hex();
  return fmt::format("{}/{}/{}.{}", entries_, std::string_view(hex).substr(0, 2),
                     std::string_view(hex).substr(2), extension);
}

std::optional<std::vector<std::byte>> DiskCache::find(const CacheName& name, Lookup lookup) {
  if (!is_on()) return std::nullopt;
  const std::string path = path_of(name, kEntry);
  FileContents file = read_whole_file(path);
  if (file.error == ENOENT) {
    if (lookup == Lookup::counted) count_miss("there is no such entry");
    return std::nullopt;
  }
  if (file.error != 0) {
    ++misses_;
    record_failure("cannot be read", path, file.error);
    return std::nullopt;
  }
  const bool is_ours =
      file.owner == geteuid() || (file.owner == 0 && options_.mode == CacheMode::read_only);
  const bool is_trusted = is_ours && !file.others_can_write;
  const UnpackedEntry entry = is_trusted ? unpack_entry(name, file.bytes) : UnpackedEntry();
  if (!is_trusted || !entry.damage.empty()) {
    count_miss(is_trusted ? fmt::format("the entry is damaged: {}", entry.damage)
                          : "the entry could be another user's");
    if (can_store()) unlink(path.c_str());
    return std::nullopt;
  }
  if (lookup != Lookup::uncounted) ++hits_;
  if (can_store()) mark_used(path);
  file.bytes.erase(file.bytes.begin(),
                   file.bytes.end() - static_cast<std::ptrdiff_t>(entry.payload.size()));
  return std::move(file.bytes);
}

void DiskCache::reject(const CacheName& name, std::string_view why, std::string_view more) {
  --hits_;
  count_miss(why);
  const std::string path = path_of(name, kEntry);
  if (can_store()) unlink(path.c_str());
  const std::lock_guard lock(mutex_);
  if (!more.empty()) last_failure_ = fmt::format("{}: {}: {}", path, why, more);
}

void DiskCache::count_miss(std::string_view why) {
  ++misses_;
  count_reason(why);
}

bool DiskCache::store(const CacheName& name, std::span<const std::byte> payload,
                      const Companion& companion, Durability durability, Existing existing) {
  if (!can_store()) return false;
  const std::string path = path_of(name, kEntry);
  const std::string folder = path.substr(0, path.rfind('/'));
  const std::vector<std::byte> file = pack_entry(name, payload);
  const auto put = [&](const std::string& to, std::span<const std::byte> bytes, Durability how,
                       Existing present) {
    const auto write = [&] { return write_whole_file(to, bytes, how, FileReaders::user, present); };
    int error = write();
    if (error == ENOENT) {  // the first entry of its folder, or the cache was cleared
      if (!open_folders().empty()) return false;
      if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
        error = errno;
      } else {
        sync_folder(entries_);
        error = write();
      }
    }
    if (error != 0 && (error != EEXIST || present == Existing::replace))
      record_failure("cannot be written", to, error);
    return error == 0;
  };
  // The companion goes first, so that every entry has its source next to it.
  if (!companion.text.empty() && !put(path_of(name, companion.extension), bytes_of(companion.text),
                                      Durability::process, Existing::replace))
    return false;
  if (!put(path, file, durability, existing)) return false;
  ++stored_;
  sweep_after(static_cast<std::int64_t>(file.size() + companion.text.size()));
  return true;
}

CacheLock DiskCache::lock(std::span<const CacheName> names, std::chrono::milliseconds limit) const {
  if (!can_store()) return CacheLock::none();
  return CacheLock::wait_for(entries_ + "/locks", names, limit);
}

void DiskCache::sweep_after(std::int64_t bytes) {
  const std::int64_t before = unswept_.fetch_add(bytes);
  if (before >= 0 && before + bytes < options_.max_bytes / 16) return;
  const std::int64_t unswept = unswept_.exchange(0);
  const std::int64_t max = options_.max_bytes;
  const PruneResult pruned = prune_cache(entries_, {.bytes = max, .headroom = max - max / 10 * 9},
                                         std::chrono::milliseconds(0));
  if (pruned.is_done)
    evicted_ += pruned.entries;
  else
    unswept_ += unswept;  // another process sweeps
}

void DiskCache::count_reason(std::string_view what) {
  const std::lock_guard lock(mutex_);
  const auto known = std::ranges::find(reasons_, what, &DiskCounters::Reason::text);
  if (known != reasons_.end())
    ++known->count;
  else
    reasons_.push_back({.text = std::string(what), .count = 1});
}

void DiskCache::record_failure(std::string_view what, const std::string& path, int error) {
  count_reason(fmt::format("{}: {}", what, std::strerror(error)));
  const std::lock_guard lock(mutex_);
  last_failure_ = fmt::format("{} {}: {}", path, what, std::strerror(error));
}

DiskCounters DiskCache::counters() const {
  const std::lock_guard lock(mutex_);
  return {.hits = hits_,
          .misses = misses_,
          .stored = stored_,
          .evicted = evicted_,
          .reasons = reasons_,
          .last_failure = last_failure_,
          .directory = options_.directory,
          .why_off = off_reason_};
}

DiskCache& disk_cache(const CacheOptions& options) {
  static std::mutex mutex;
  // Never destroyed: threads may still compile while the process ends.
  static auto* const caches =
      new std::map<std::tuple<CacheMode, std::string, std::int64_t>, std::unique_ptr<DiskCache>>;
  const CacheOptions chosen = with_directory(options);
  const std::lock_guard lock(mutex);
  std::unique_ptr<DiskCache>& cache = (*caches)[{chosen.mode, chosen.directory, chosen.max_bytes}];
  if (!cache) cache = std::make_unique<DiskCache>(chosen);
  return *cache;
}

}  // namespace sinter
