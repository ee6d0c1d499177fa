// The file and the build of a library that dlopen opened.
#pragma once

#include <string>

namespace sinter {

struct LibraryFile {
  std::string path;
  /// The linker's build id in hexadecimal digits, or without one the size of the file. "" if
  /// neither is known.
  std::string id;
};

/// `handle` is the result of dlopen.
LibraryFile library_file(void* handle);

}  // namespace sinter
