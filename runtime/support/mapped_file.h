// MappedFile: the bytes of a file in memory. The system reads them from the disk when they are
// first used, and processes share them.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "runtime/support/atomic_file.h"

namespace sinter {

class MappedFile {
 public:
  /// Maps a regular file read-only. If that fails, `error()` says why, and there are no bytes.
  explicit MappedFile(const std::string& path);
  explicit MappedFile(const File& file) { map(file); }
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  int error() const { return error_; }  ///< errno; 0 for success
  std::span<const std::byte> bytes() const { return bytes_; }
  uid_t owner() const { return owner_; }
  bool others_can_write() const { return others_can_write_; }

 private:
  void map(const File& file);

  std::span<const std::byte> bytes_;
  uid_t owner_ = 0;
  bool others_can_write_ = false;
  int error_ = 0;
};

}  // namespace sinter
