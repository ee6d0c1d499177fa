#include "runtime/disk_cache/file.h"

#include <cerrno>
#include <cstdio>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

namespace sinter {

namespace {

/// More than any entry has; a larger file is damaged.
constexpr off_t kLargestFile = off_t{1} << 30;

}  // namespace

File& File::operator=(File&& other) noexcept {
  if (this != &other) {
    if (descriptor_ >= 0) close(descriptor_);
    descriptor_ = other.release();
  }
  return *this;
}

File::~File() {
  if (descriptor_ >= 0) close(descriptor_);
}

int File::release() { return std::exchange(descriptor_, -1); }

FileContents read_whole_file(const std::string& path) {
  // Whatever else stands there is not waited for.
  const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return {.error = errno};
  struct stat status = {};
  if (fstat(file.descriptor(), &status) != 0) return {.error = errno};
  if (!S_ISREG(status.st_mode)) return {.error = EINVAL};
  if (status.st_size > kLargestFile) return {.error = EFBIG};
  FileContents result{.owner = status.st_uid,
                      .others_can_write = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0};
  result.bytes.resize(static_cast<std::size_t>(status.st_size));
  std::size_t done = 0;
  while (done < result.bytes.size()) {
    const ssize_t got =
        read(file.descriptor(), result.bytes.data() + done, result.bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return {.error = errno};
    if (got == 0) break;  // it was cut while we read
    done += static_cast<std::size_t>(got);
  }
  result.bytes.resize(done);
  return result;
}

int write_whole_file(const std::string& path, std::span<const std::byte> bytes,
                     Durability durability) {
  std::string unfinished = fmt::format("{}.XXXXXX{}", path, kUnfinished);
  const File file(mkostemps(unfinished.data(), static_cast<int>(kUnfinished.size()), O_CLOEXEC));
  if (!file) return errno;
  const auto give_up = [&](int error) {
    unlink(unfinished.c_str());
    return error;
  };
  while (!bytes.empty()) {
    const ssize_t put = write(file.descriptor(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return give_up(errno);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  if (durability == Durability::power && fsync(file.descriptor()) != 0) return give_up(errno);
  if (std::rename(unfinished.c_str(), path.c_str()) != 0) return give_up(errno);
  return 0;
}

}  // namespace sinter
