// Compiling what is saved: each kernel once, and by itself.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/saved/saved_program.h"
#include "runtime/service/compile_service.h"

namespace sinter {

/// The images of all kernels of one architecture.
struct SavedImages {
  std::vector<std::vector<std::byte>> images;
  std::map<std::string, int> image_of;         ///< by the name of the kernel
  std::map<std::string, CubinReport> reports;  ///< by NVRTC
};

/// Throws CompileError, and DriverError where there is no NVRTC. `arch` is one of NVRTC's, or
/// kHostArch.
SavedImages compile_images(const std::vector<const Source*>& sources, const std::string& arch,
                           const CompileSettings& settings);

}  // namespace sinter
