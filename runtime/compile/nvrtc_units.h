// Compiles a unit with NVRTC: one kernel with all its candidate schedules, as one program.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/text/source.h"
#include "runtime/compile/nvrtc_choice.h"
#include "sinter/report.h"

namespace sinter {

struct NvrtcUnit {
  std::vector<std::byte> image;  ///< a cubin, or PTX for a GPU newer than NVRTC
  std::string ptx;
  std::vector<std::string> entries;  ///< names of the functions, one per source
  std::vector<CubinReport> reports;  ///< one per source
  double milliseconds = 0;
  const Nvrtc* compiler = nullptr;  ///< that made it; null if the unit is from a cache
};

/// Compiles `sources` as one program for `arch`. Throws CompileError if they do not compile,
/// DriverError if NVRTC is missing.
NvrtcUnit compile_unit(std::span<const Source> sources, const std::string& arch);

/// Compiles a unit and calls `load`, which hands it to the driver and throws DriverError if that
/// fails. If the driver does not understand the output of the current NVRTC, the next library of
/// `choice` compiles the unit. The library that succeeds becomes the current one. Throws as
/// compile_unit, and the error of the last `load` with advice.
NvrtcUnit compile_and_load(NvrtcChoice& choice, std::span<const Source> sources,
                           const std::string& arch,
                           const std::function<void(const NvrtcUnit&)>& load);

/// The architecture that NVRTC compiles for: `arch`, or with `ptx` its virtual architecture, such
/// as `compute_90` of `sm_90`, whose output is PTX.
std::string nvrtc_arch(std::string_view arch, bool ptx);

/// The reason why NVRTC cannot be used, in one sentence; empty if it can.
std::string nvrtc_problem();

}  // namespace sinter
