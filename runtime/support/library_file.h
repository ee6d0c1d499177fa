// Which file an opened library is, and which build of it.
#pragma once

#include <string>

namespace sinter {

struct LibraryFile {
  std::string path;
  /// The build id that the linker gave it, as hexadecimal digits; else the size of its file; ""
  /// where neither can be found out.
  std::string id;
};

/// Of what dlopen returned.
LibraryFile library_file(void* handle);

}  // namespace sinter
