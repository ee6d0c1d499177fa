// Opens one of NVIDIA's libraries at run time.
#pragma once

#include <functional>
#include <string>

#include "runtime/support/cuda_library_files.h"

namespace sinter {

/// A library, or the reason why there is none.
struct CudaLibrary {
  void* handle = nullptr;  ///< never closed
  std::string path;
  std::string reason;  ///< a clause, such as `was not found`; empty if there is a library
};

/// Opens the first file that the loader accepts and in which `accepts` finds no problem. `accepts`
/// returns a clause, such as `is version 11, sinter needs 12`. Files whose name has a later major
/// version than `newest_major` are left out, unless that is 0.
CudaLibrary open_cuda_library(const CudaLibraryNames& names, int newest_major,
                              const std::function<std::string(void* handle)>& accepts);

}  // namespace sinter
