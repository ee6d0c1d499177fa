// Where the disk cache lies, and whether what lies there can be trusted.
#pragma once

#include <string>

namespace sinter {

/// $SINTER_CACHE_DIR, else sinter in $XDG_CACHE_HOME, else in ~/.cache; "" where none of these is
/// known.
std::string default_cache_directory();

/// The folder of all entries of this format in the folder of the cache.
std::string entries_folder_of(const std::string& directory);

/// Who may have written what is there.
enum class CacheOwner {
  user,          ///< nobody but the user
  user_or_root,  ///< or the administrator: a cache that many read and nobody changes
};

/// Makes `path` if need be, for the user alone. Returns why it cannot be used, in a sentence: code
/// that others could have put there is never run. Empty: it can.
std::string open_cache_directory(const std::string& path, CacheOwner owner);

}  // namespace sinter
