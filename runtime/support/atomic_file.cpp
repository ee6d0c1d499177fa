#include "runtime/support/atomic_file.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <llvm/ADT/ScopeExit.h>
#include <sys/stat.h>

#include "runtime/support/mapped_file.h"

namespace sinter {

namespace {

std::string folder_of(const std::string& path) {
  const std::size_t end = path.rfind('/');
  return end == std::string::npos ? "." : path.substr(0, end + 1);
}

/// Creates a new file next to `path` and sets `name` to its name. Returns the descriptor, or -1.
int create_temporary(const std::string& path, FileReaders readers, std::string& name) {
  if (readers == FileReaders::user) {
    name = fmt::format("{}.XXXXXX{}", path, kTemporarySuffix);
    return mkostemps(name.data(), static_cast<int>(kTemporarySuffix.size()), O_CLOEXEC);
  }
  // mkostemps sets its own mode; only open applies the umask.
  static std::atomic<unsigned> count = 0;
  constexpr mode_t kMode = S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH;
  for (;;) {
    name = fmt::format("{}.{}-{}{}", path, getpid(), count.fetch_add(1), kTemporarySuffix);
    const int descriptor = open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kMode);
    if (descriptor >= 0 || errno != EEXIST) return descriptor;
  }
}

/// A file without a name, which is gone when it is closed.
File create_unnamed() {
  std::FILE* const file = std::tmpfile();
  if (!file) return File();
  File own(fcntl(fileno(file), F_DUPFD_CLOEXEC, 0));
  std::fclose(file);
  return own;
}

/// Gives a file its final name. Returns errno, or 0 for success.
int rename_file(const std::string& from, const std::string& to, Existing existing) {
  if (existing == Existing::replace) return std::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
  // A new link fails atomically if the name exists. Without hard links, the kernel may rename so.
  if (link(from.c_str(), to.c_str()) == 0) {
    unlink(from.c_str());
    return 0;
  }
  if (errno == EEXIST || errno == ENOENT) return errno;
  return renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0 ? 0 : errno;
}

/// Fills a temporary file next to `path` and renames it. Returns errno, or 0 for success.
int replace_file(const std::string& path, const FillFile& fill, Durability durability,
                 FileReaders readers, Existing existing = Existing::replace) {
  std::string temporary;
  const File file(create_temporary(path, readers, temporary));
  if (!file) return errno;
  auto abandon = llvm::make_scope_exit([&] { unlink(temporary.c_str()); });
  if (const int error = fill(file); error != 0) return error;
  if (durability == Durability::power && fsync(file.descriptor()) != 0) return errno;
  if (const int error = rename_file(temporary, path, existing); error != 0) return error;
  abandon.release();
  if (durability == Durability::power) sync_folder(folder_of(path));
  return 0;
}

/// The target of a chain of links, which need not exist. For a cycle, one of its links.
std::string without_links(std::string path) {
  constexpr int kMaxLinks = 40;  // the limit of the Linux kernel
  std::error_code error;
  for (int i = 0; i < kMaxLinks && std::filesystem::is_symlink(path, error); ++i) {
    const std::filesystem::path target = std::filesystem::read_symlink(path, error);
    if (error) break;
    path = std::filesystem::path(path).parent_path() / target;
  }
  return path;
}

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
  // O_NONBLOCK: if this is a pipe, opening it must not block.
  const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return {.error = errno};
  struct stat status = {};
  if (fstat(file.descriptor(), &status) != 0) return {.error = errno};
  if (!S_ISREG(status.st_mode)) return {.error = EINVAL};
  if (static_cast<std::size_t>(status.st_size) > kLargestFile) return {.error = EFBIG};
  FileContents result{.owner = status.st_uid,
                      .others_can_write = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0};
  result.bytes.resize(static_cast<std::size_t>(status.st_size));
  std::size_t done = 0;
  while (done < result.bytes.size()) {
    const ssize_t got =
        read(file.descriptor(), result.bytes.data() + done, result.bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return {.error = errno};
    if (got == 0) break;  // the file was truncated meanwhile
    done += static_cast<std::size_t>(got);
  }
  result.bytes.resize(done);
  return result;
}

int write_whole_file(const std::string& path, std::span<const std::byte> bytes,
                     Durability durability, FileReaders readers, Existing existing) {
  if (bytes.size() > kLargestFile) return EFBIG;
  const auto fill = [&](const File& file) { return write_all(file, bytes); };
  return replace_file(path, fill, durability, readers, existing);
}

int write_named_file(const std::string& path, std::span<const std::byte> bytes) {
  return write_named_file(path, [&](const File& file) { return write_all(file, bytes); });
}

int write_named_file(const std::string& path, const FillFile& fill) {
  std::error_code error;
  const std::string real = without_links(path);
  if (std::filesystem::is_symlink(real, error)) return ELOOP;
  if (!std::filesystem::exists(real, error) || std::filesystem::is_regular_file(real, error))
    return replace_file(real, fill, Durability::power, FileReaders::everybody);
  const File to(open(real.c_str(), O_WRONLY | O_CLOEXEC));
  if (!to) return errno;
  const File filled = create_unnamed();
  if (!filled) return errno;
  if (const int failed = fill(filled); failed != 0) return failed;
  const MappedFile copied(filled);
  return copied.error() != 0 ? copied.error() : write_all(to, copied.bytes());
}

int write_all(const File& file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(file.descriptor(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return 0;
}

int write_all_at(const File& file, std::span<const std::byte> bytes, std::size_t offset) {
  while (!bytes.empty()) {
    const ssize_t put =
        pwrite(file.descriptor(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    bytes = bytes.subspan(static_cast<std::size_t>(put));
    offset += static_cast<std::size_t>(put);
  }
  return 0;
}

void sync_folder(const std::string& path) {
  const File folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) fsync(folder.descriptor());
}

}  // namespace sinter
