// Reads whole files, and writes files atomically: readers see the whole file or none of it.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

namespace sinter {

/// Owns a file descriptor and closes it. Child processes do not inherit it: all files are opened
/// with O_CLOEXEC.
class File {
 public:
  explicit File(int descriptor = -1) : descriptor_(descriptor) {}
  File(File&& other) noexcept : descriptor_(other.release()) {}
  File& operator=(File&& other) noexcept;
  ~File();

  explicit operator bool() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  int release();

 private:
  int descriptor_;
};

struct FileContents {
  std::vector<std::byte> bytes;
  uid_t owner = 0;
  bool others_can_write = false;
  int error = 0;  ///< errno; ENOENT where there is no such file
};

/// Reads a regular file of up to kLargestFile bytes; anything else is an error.
FileContents read_whole_file(const std::string& path);

enum class Durability {
  process,  ///< survives a crash of the process
  power,    ///< also survives a power failure: waits for the disk, if the file system supports that
};

/// The users that may read a written file.
enum class FileReaders {
  user,      ///< only the owner
  everybody  ///< as the umask says; others can never write to it
};

/// The treatment of a file that exists already.
enum class Existing {
  replace,  ///< the new one takes its place
  keep,     ///< nothing is written, and the error is EEXIST
};

/// The largest file that is read or written as a whole. No cache entry is that large.
inline constexpr std::size_t kLargestFile = std::size_t{1} << 30;

/// Writes to a path that the user chose. Follows links. Writes directly to a pipe or a device, and
/// like write_whole_file to a regular file, which everybody may read. Returns errno, or 0 for
/// success.
int write_named_file(const std::string& path, std::span<const std::byte> bytes);

/// Fills an empty file, which it may also read. Returns errno, or 0 for success.
using FillFile = std::function<int(const File&)>;
/// The same for contents that `fill` writes. For a pipe or a device, it fills a temporary file,
/// which is copied there. Removes temporary files if `fill` throws.
int write_named_file(const std::string& path, const FillFile& fill);

/// Writes a temporary file next to `path` and renames it, so that readers never see a part of it.
/// With Existing::keep, exactly one of several writers succeeds. Returns errno, or 0 for success;
/// EFBIG if there are more than kLargestFile bytes.
int write_whole_file(const std::string& path, std::span<const std::byte> bytes,
                     Durability durability, FileReaders readers = FileReaders::user,
                     Existing existing = Existing::replace);

/// Writes all bytes at the current position of `file`. Returns errno, or 0 for success.
int write_all(const File& file, std::span<const std::byte> bytes);
/// The same at `offset`. Bytes that are never written are 0.
int write_all_at(const File& file, std::span<const std::byte> bytes, std::size_t offset);

/// Flushes the names in a folder to disk. Ignores errors: some file systems do not support this.
void sync_folder(const std::string& path);

/// The suffix of files that are still being written.
inline constexpr std::string_view kTemporarySuffix = ".tmp";

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace sinter
