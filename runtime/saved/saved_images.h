// Compiles the kernels to save. For GPUs, each kernel has an image of its own.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/compile_service/compile_service.h"
#include "runtime/saved/saved_program.h"

namespace sinter {

/// The images of all kernels of one architecture.
struct SavedImages {
  std::vector<std::vector<std::byte>> images;
  std::map<std::string, int> image_of;         ///< by the name of the kernel
  std::map<std::string, CubinReport> reports;  ///< from NVRTC, by the name of the kernel
};

/// Compiles each distinct kernel once. `arch` is an architecture of NVRTC, or kHostArch. Throws
/// CompileError, or DriverError if NVRTC is missing.
SavedImages compile_images(const std::vector<const Source*>& sources, const std::string& arch,
                           const CompileSettings& settings);

}  // namespace sinter
