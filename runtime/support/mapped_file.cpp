#include "runtime/support/mapped_file.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace sinter {

MappedFile::MappedFile(const std::string& path) {
  // O_NONBLOCK: if this is a pipe, opening it must not block.
  const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file)
    map(file);
  else
    error_ = errno;
}

void MappedFile::map(const File& file) {
  struct stat status = {};
  if (fstat(file.descriptor(), &status) != 0) {
    error_ = errno;
    return;
  }
  if (!S_ISREG(status.st_mode)) {
    error_ = EINVAL;
    return;
  }
  owner_ = status.st_uid;
  others_can_write_ = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return;  // there is no mapping of nothing
  const void* const memory = mmap(nullptr, size, PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (memory == MAP_FAILED)
    error_ = errno;
  else
    bytes_ = {static_cast<const std::byte*>(memory), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace sinter
