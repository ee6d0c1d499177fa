// The functions, the file and the build of a library that dlopen opened.
#pragma once

#include <string>

#include <dlfcn.h>

namespace sinter {

struct LibraryFile {
  std::string path;
  /// The linker's build id in hexadecimal digits, or without one the size of the file. "" if
  /// neither is known.
  std::string id;
};

/// Finds a function by its name. False, and a null pointer, if the library has none.
template <class Function>
bool find_symbol(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

/// `handle` is the result of dlopen.
LibraryFile library_file(void* handle);

}  // namespace sinter
