// Files of the cache: read whole, written so that they are there whole or not at all.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

namespace sinter {

/// An open file, closed with this. No program that we start inherits it.
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

FileContents read_whole_file(const std::string& path);

enum class Durability {
  process,  ///< survives the process, however that ends
  power,    ///< survives the machine too: waits for the disk, where the file system can
};

/// Whom a written file is for.
enum class Readers {
  user,      ///< nobody else may read it
  everybody  ///< it is there to be handed on: as the umask says, but others never write to it
};

/// More than any entry has; a larger file is damaged. None is written, either.
inline constexpr std::size_t kLargestFile = std::size_t{1} << 30;

/// Writes where a user says: through links, straight into what is no regular file (a pipe, a
/// device), else as write_whole_file does. Everybody may read it. Returns errno, 0 where it is
/// done.
int write_named_file(const std::string& path, std::span<const std::byte> bytes);

/// Writes `path` by way of a file beside it, so that nobody ever sees a part of it. Returns errno,
/// 0 where it is done; EFBIG where it is larger than kLargestFile.
int write_whole_file(const std::string& path, std::span<const std::byte> bytes,
                     Durability durability, Readers readers = Readers::user);

/// Has the disk keep the names in a folder. Some file systems have no such thing; then they are
/// kept as well as these do.
void sync_folder(const std::string& path);

/// Ends the names of files that are still being written.
inline constexpr std::string_view kUnfinished = ".tmp";

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace sinter
