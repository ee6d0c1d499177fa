#include "runtime/cache/cache_directory.h"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/support/environment.h"

namespace sinter {

namespace {

/// Like mkdir -p, with folders of mode 0700; returns errno.
int make_folders(const std::string& path) {
  for (std::size_t end = 1; end != std::string::npos;) {
    end = path.find('/', end);
    const std::string part = path.substr(0, end);
    if (mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) {
      const int error = errno;
      struct stat status = {};
      if (stat(part.c_str(), &status) != 0) return error;  // an unwritable parent may exist
    }
    if (end != std::string::npos) ++end;
  }
  return 0;
}

}  // namespace

std::string default_cache_directory() {
  if (std::string chosen = environment_variable("SINTER_CACHE_DIR"); !chosen.empty()) return chosen;
  // The XDG base directory specification says to ignore relative paths.
  if (const std::string base = environment_variable("XDG_CACHE_HOME"); base.starts_with('/'))
    return base + "/sinter";
  if (const std::string home = environment_variable("HOME"); home.starts_with('/'))
    return home + "/.cache/sinter";
  return {};
}

std::string entries_folder_of(const std::string& directory) {
  return directory + "/1";  // the number of the format
}

std::string open_cache_directory(const std::string& path, CacheOwner owner) {
  if (path.empty())
    return "neither SINTER_CACHE_DIR, XDG_CACHE_HOME nor HOME names a folder for it";
  if (owner == CacheOwner::user)
    if (const int error = make_folders(path))
      return fmt::format("{} cannot be made: {}", path, std::strerror(error));
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0)
    return fmt::format("{} cannot be read: {}", path, std::strerror(errno));
  if (!S_ISDIR(status.st_mode)) return fmt::format("{} is not a folder", path);
  const bool is_ours = status.st_uid == geteuid();
  if (!is_ours && !(owner == CacheOwner::user_or_root && status.st_uid == 0))
    return fmt::format(
        "{} belongs to user {}, not to user {}; set SINTER_CACHE_DIR to a folder "
        "of your own",
        path, status.st_uid, geteuid());
  if (status.st_mode & (S_IWGRP | S_IWOTH))
    return fmt::format(
        "{} can be written by others (mode {:o}), so that code in it could be anybody's; empty it, "
        "then run chmod go-w {}",
        path, status.st_mode & 07777, path);
  return {};
}

}  // namespace sinter
