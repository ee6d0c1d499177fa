// Compiles a unit with NVRTC: one kernel with all its candidate schedules, as one program.
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
  std::vector<CubinReport> reports;  ///< one per source
  double milliseconds = 0;
};

/// Compiles `sources` as one program for `arch`. Throws CompileError if they do not compile,
/// DriverError if NVRTC is missing.
NvrtcUnit compile_unit(std::span<const Source> sources, const std::string& arch);

/// The reason why NVRTC cannot be used, in one sentence; empty if it can.
std::string nvrtc_problem();

}  // namespace sinter
