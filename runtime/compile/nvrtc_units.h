// Compiling a unit by NVRTC: one kernel under each of its candidate schedules, as one program.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "codegen/text/source.h"
#include "sinter/report.h"

namespace sinter {

struct NvrtcUnit {
  std::vector<std::byte> image;  ///< a cubin, or PTX for a GPU newer than NVRTC
  std::string ptx;
  std::vector<std::string> entries;  ///< names of the functions, one per source
  std::vector<CubinReport> reports;  ///< as many
  double milliseconds = 0;
};

/// Throws CompileError, and DriverError where there is no NVRTC.
NvrtcUnit compile_unit(std::span<const Source> sources, const std::string& arch);

/// Why NVRTC cannot be used, in a sentence; empty if it can.
std::string why_no_nvrtc();

}  // namespace sinter
