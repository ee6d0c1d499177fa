// Compiles emitted kernels for NVIDIA GPUs with NVRTC, which is opened at run time and needs
// neither a GPU nor a driver.
#pragma once

#include "runtime/compile/compile_failure.h"
#include "runtime/compile/cubin_info.h"
#include "runtime/driver/cuda_abi.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

inline constexpr int kMinimumNvrtc = 12000;

/// The entry points that we use, with their own signatures.
struct NvrtcTable {
  cuda::nvrtcResult (*nvrtcVersion)(int* major, int* minor) = nullptr;
  const char* (*nvrtcGetErrorString)(cuda::nvrtcResult result) = nullptr;
  cuda::nvrtcResult (*nvrtcGetNumSupportedArchs)(int* count) = nullptr;
  cuda::nvrtcResult (*nvrtcGetSupportedArchs)(int* architectures) = nullptr;
  cuda::nvrtcResult (*nvrtcCreateProgram)(cuda::nvrtcProgram* program, const char* text,
                                          const char* name, int header_count,
                                          const char* const* headers,
                                          const char* const* header_names) = nullptr;
  cuda::nvrtcResult (*nvrtcDestroyProgram)(cuda::nvrtcProgram* program) = nullptr;
  cuda::nvrtcResult (*nvrtcCompileProgram)(cuda::nvrtcProgram program, int count,
                                           const char* const* options) = nullptr;
  cuda::nvrtcResult (*nvrtcGetProgramLogSize)(cuda::nvrtcProgram program,
                                              std::size_t* bytes) = nullptr;
  cuda::nvrtcResult (*nvrtcGetProgramLog)(cuda::nvrtcProgram program, char* log) = nullptr;
  cuda::nvrtcResult (*nvrtcGetCUBINSize)(cuda::nvrtcProgram program, std::size_t* bytes) = nullptr;
  cuda::nvrtcResult (*nvrtcGetCUBIN)(cuda::nvrtcProgram program, char* cubin) = nullptr;
  cuda::nvrtcResult (*nvrtcGetPTXSize)(cuda::nvrtcProgram program, std::size_t* bytes) = nullptr;
  cuda::nvrtcResult (*nvrtcGetPTX)(cuda::nvrtcProgram program, char* ptx) = nullptr;
};

struct NvrtcOutput {
  std::vector<std::byte> cubin;  // empty for a "compute_90" architecture
  std::string ptx;
  std::string log;
  double milliseconds = 0;
  std::vector<KernelResources> kernels;  // by name; empty without a cubin
};

class Nvrtc {
 public:
  /// Compiles the prelude and all kernels as one program for "sm_90" and the like. Throws
  /// CompileError if the text is wrong, UserError if NVRTC does not know the architecture. Any
  /// number of threads may compile at once.
  NvrtcOutput compile(std::string_view prelude, std::span<const SourcePart> kernels,
                      const std::string& architecture) const;

  int version() const { return version_; }  // 13000 is 13.0
  /// All that decides, beside the source and the architecture, what comes out: version, build,
  /// options.
  const std::string& version_text() const { return version_text_; }
  const std::string& path() const { return path_; }  ///< of the library
  /// Those it compiles for: 90 is sm_90.
  const std::vector<int>& architectures() const { return architectures_; }

 private:
  friend struct OpenedNvrtc open_nvrtc(const std::string& library);

  void check_architecture(const std::string& architecture) const;
  std::vector<std::string> options(const std::string& architecture) const;

  NvrtcTable table_;
  int version_ = 0;
  std::string version_text_;
  std::string path_;
  std::vector<int> architectures_;
};

/// The library, or why there is none.
struct OpenedNvrtc {
  const Nvrtc* nvrtc = nullptr;  // lives until the process ends
  std::string reason;            // one sentence; empty if there is a library
};

/// Opens one library by name or path. Never throws for what a machine lacks.
OpenedNvrtc open_nvrtc(const std::string& library);

/// The machine's NVRTC, opened at the first call: $SINTER_NVRTC alone if it is set, else what the
/// loader finds, else the toolkit's of $CUDA_HOME, $CUDAToolkit_ROOT or the default prefix.
const OpenedNvrtc& nvrtc();

}  // namespace sinter
