#include "runtime/disk_cache/cache_sweep.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <vector>

#include "runtime/disk_cache/file.h"

namespace sinter {

namespace {

namespace fs = std::filesystem;

/// An entry with what lies beside it: files of one name but for what follows the dot.
struct Entry {
  std::vector<fs::path> files;
  std::int64_t bytes = 0;
  fs::file_time_type used = fs::file_time_type::min();
};

/// Adds the files of one folder to `entries`; what others take away meanwhile is left out.
void collect(const fs::path& folder, fs::file_time_type now, std::vector<Entry>& entries) {
  std::map<std::string, Entry> by_name;
  std::error_code failed;
  for (fs::directory_iterator file(folder, failed), end; !failed && file != end;
       file.increment(failed)) {
    std::error_code gone;
    const fs::file_time_type used = file->last_write_time(gone);
    const auto bytes = static_cast<std::int64_t>(file->file_size(gone));
    if (gone) continue;
    const std::string name = file->path().filename().string();
    if (name.ends_with(kUnfinished)) {
      if (now - used > std::chrono::hours(1)) fs::remove(file->path(), gone);
      continue;
    }
    Entry& entry = by_name[name.substr(0, name.find('.'))];
    entry.files.push_back(file->path());
    entry.bytes += bytes;
    entry.used = std::max(entry.used, used);
  }
  for (auto& [name, entry] : by_name) entries.push_back(std::move(entry));
}

}  // namespace

SweepResult sweep_cache(const std::string& directory, std::int64_t max_bytes) {
  std::vector<Entry> entries;
  const auto now = fs::file_time_type::clock::now();
  std::error_code failed;
  for (fs::directory_iterator folder(directory, failed), end; !failed && folder != end;
       folder.increment(failed)) {
    std::error_code gone;
    if (folder->is_directory(gone)) collect(folder->path(), now, entries);
  }
  SweepResult result;
  for (const Entry& entry : entries) result.bytes += entry.bytes;
  if (result.bytes <= max_bytes) return result;
  std::ranges::sort(entries, {}, &Entry::used);
  for (const Entry& entry : entries) {
    if (result.bytes <= max_bytes / 10 * 9) break;
    for (const fs::path& file : entry.files) {
      std::error_code ignored;
      fs::remove(file, ignored);
    }
    result.bytes -= entry.bytes;
    ++result.evicted;
  }
  return result;
}

}  // namespace sinter
