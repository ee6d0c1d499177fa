#include "runtime/cache/cache_contents.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>

#include "runtime/cache/cache_entry.h"
#include "runtime/cache/cache_lock.h"
#include "runtime/support/atomic_file.h"

namespace sinter {

namespace {

namespace fs = std::filesystem;

void collect(const fs::path& folder, CacheContents& contents) {
  std::map<std::string, CachedEntry> by_name;
  std::error_code failed;
  for (fs::directory_iterator file(folder, failed), end; !failed && file != end;
       file.increment(failed)) {
    std::error_code gone;
    const fs::file_time_type used = file->last_write_time(gone);
    const auto bytes = static_cast<std::int64_t>(file->file_size(gone));
    if (gone) continue;
    const std::string name = file->path().filename().string();
    if (name.ends_with(kTemporarySuffix)) {
      contents.unfinished.push_back(file->path());
      continue;
    }
    const std::string stem = name.substr(0, name.find('.'));
    CachedEntry& entry = by_name[stem];
    entry.name = folder.filename().string() + stem;
    const bool is_entry = file->path().extension() == ".entry";
    entry.files.insert(is_entry ? entry.files.begin() : entry.files.end(), file->path());
    entry.bytes += bytes;
    entry.used = std::max(entry.used, used);
  }
  for (auto& [name, entry] : by_name) contents.entries.push_back(std::move(entry));
}

/// The inverse of CacheName::hex; nothing for any other text.
std::optional<CacheName> name_from_hex(const std::string& hex) {
  CacheName name;
  std::string bytes;
  if (!llvm::tryGetFromHex(hex, bytes) || bytes.size() != name.hash.size()) return std::nullopt;
  std::memcpy(name.hash.data(), bytes.data(), bytes.size());
  return name.hex() == hex ? std::optional(name) : std::nullopt;
}

/// Removes the files of an entry, the entry itself first; returns errno.
int remove_files(const CachedEntry& entry) {
  for (const fs::path& file : entry.files) {
    std::error_code failed;
    fs::remove(file, failed);
    if (failed) return failed.value();
  }
  return 0;
}

/// Removes temporary files that were last written more than an hour ago.
void remove_unfinished(const CacheContents& contents) {
  const auto now = fs::file_time_type::clock::now();
  for (const fs::path& file : contents.unfinished) {
    std::error_code gone;
    const fs::file_time_type written = fs::last_write_time(file, gone);
    if (!gone && now - written > std::chrono::hours(1)) fs::remove(file, gone);
  }
}

}  // namespace

std::int64_t CacheContents::bytes() const {
  std::int64_t sum = 0;
  for (const CachedEntry& entry : entries) sum += entry.bytes;
  return sum;
}

CacheContents list_cache(const std::string& entries_folder) {
  CacheContents contents;
  std::error_code failed;
  for (fs::directory_iterator folder(entries_folder, failed), end; !failed && folder != end;
       folder.increment(failed)) {
    std::error_code gone;
    if (folder->is_directory(gone)) collect(folder->path(), contents);
  }
  std::ranges::sort(contents.entries, {},
                    [](const CachedEntry& entry) { return std::pair(entry.used, entry.name); });
  return contents;
}

CheckedEntry check_entry(const CachedEntry& entry) {
  const std::optional<CacheName> name = name_from_hex(entry.name);
  if (!name) return {.damage = "it is no file of the cache", .is_foreign = true};
  const fs::path& file = entry.files.front();
  if (file.extension() != ".entry") return {.damage = "the entry itself is missing"};
  const FileContents contents = read_whole_file(file.string());
  if (contents.error == ENOENT) return {.is_gone = true};
  if (contents.error != 0)
    return {.damage = fmt::format("it cannot be read: {}", std::strerror(contents.error))};
  if ((contents.owner != geteuid() && contents.owner != 0) || contents.others_can_write)
    return {.damage = "it could be another user's"};
  const UnpackedEntry unpacked = unpack_entry(*name, contents.bytes);
  return {.payload = {unpacked.payload.begin(), unpacked.payload.end()},
          .damage = std::string(unpacked.damage)};
}

bool remove_damaged(const std::string& entries_folder, const CachedEntry& entry) {
  const std::optional<CacheName> name = name_from_hex(entry.name);
  if (!name) return false;
  const CacheLock lock =
      CacheLock::wait_for(entries_folder + "/locks", {&*name, 1}, kLongestCacheWait);
  if (!lock.is_held()) return false;
  const CheckedEntry now = check_entry(entry);
  return now.is_gone || (!now.damage.empty() && remove_files(entry) == 0);
}

PruneResult prune_cache(const std::string& entries_folder, const PruneLimits& limits,
                        std::chrono::milliseconds wait) {
  PruneResult result;
  const CacheLock lock = CacheLock::lock_all(entries_folder + "/locks", wait);
  if (!lock.is_held()) return result;
  const auto now = fs::file_time_type::clock::now();
  const CacheContents contents = list_cache(entries_folder);
  std::int64_t left = contents.bytes();
  const bool is_too_large = limits.bytes && left > *limits.bytes;
  for (const CachedEntry& entry : contents.entries) {
    const bool is_beyond = is_too_large && left > *limits.bytes - limits.headroom;
    const bool is_old = limits.age && now - entry.used > *limits.age;
    if (!is_beyond && !is_old) continue;
    if (const int error = remove_files(entry); error != 0) {
      if (result.error == 0) result.error = error;
      continue;
    }
    left -= entry.bytes;
    ++result.entries;
    result.bytes += entry.bytes;
  }
  remove_unfinished(contents);
  result.is_done = true;
  return result;
}

}  // namespace sinter
