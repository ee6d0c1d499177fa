// The folders of the disk cache, and the checks of who may write to them.
#pragma once

#include <string>

namespace sinter {

/// $SINTER_CACHE_DIR, else sinter in $XDG_CACHE_HOME, else in ~/.cache; "" if none of these is
/// known.
std::string default_cache_directory();

/// The folder of all entries of this format, inside the cache's folder.
std::string entries_folder_of(const std::string& directory);

/// The users who may have written the folder's contents.
enum class CacheOwner {
  user,          ///< only the user
  user_or_root,  ///< also root: a read-only cache that many users share
};

/// Creates `path` with mode 0700 if `owner` is `user` and it is missing. Returns a sentence that
/// says why the folder cannot be used; empty: it can. Code that others could have put there is
/// never run.
std::string open_cache_directory(const std::string& path, CacheOwner owner);

}  // namespace sinter
