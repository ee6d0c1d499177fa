#include "runtime/cache/cache_lock.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include <fcntl.h>

namespace sinter {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kAllOffset = std::numeric_limits<std::int64_t>::max() - 1;

std::int64_t lock_offset(const CacheName& name) {
  std::uint64_t first = 0;
  std::memcpy(&first, name.hash.data(), sizeof first);
  return static_cast<std::int64_t>(first >> 2);
}

}  // namespace

CacheLock::CacheLock(const std::string& path)
    : file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {}

CacheLock::~CacheLock() {
  if (!file_) return;
  struct flock all = {};
  all.l_type = F_UNLCK;
  all.l_whence = SEEK_SET;
  fcntl(file_.descriptor(), F_OFD_SETLK, &all);
}

bool CacheLock::take_before(std::int64_t offset, Clock::time_point deadline) const {
  struct flock range = {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = offset;
  range.l_len = 1;
  auto pause = std::chrono::microseconds(500);
  while (fcntl(file_.descriptor(), F_OFD_SETLK, &range) != 0) {
    const bool is_held_by_others = errno == EAGAIN || errno == EACCES;
    if (!is_held_by_others || Clock::now() > deadline) return false;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(10'000));
  }
  return true;
}

CacheLock CacheLock::wait_for(const std::string& path, std::span<const CacheName> names,
                              std::chrono::milliseconds limit) {
  CacheLock lock(path);
  if (!lock.file_) return lock;
  // Every process takes its locks in the same order, which rules out deadlocks.
  std::vector<std::int64_t> offsets;
  for (const CacheName& name : names) offsets.push_back(lock_offset(name));
  std::ranges::sort(offsets);
  const Clock::time_point deadline = Clock::now() + limit;
  for (const std::int64_t offset : offsets)
    if (!lock.take_before(offset, deadline)) return lock;
  lock.is_held_ = true;
  return lock;
}

CacheLock CacheLock::lock_all(const std::string& path, std::chrono::milliseconds limit) {
  CacheLock lock(path);
  lock.is_held_ = lock.file_ && lock.take_before(kAllOffset, Clock::now() + limit);
  return lock;
}

}  // namespace sinter
