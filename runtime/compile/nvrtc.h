// Nvrtc: compiles emitted kernels for NVIDIA GPUs. NVRTC is opened at run time, and needs neither a
// GPU nor a driver.
#pragma once

#include "runtime/compile/compile_failure.h"
#include "runtime/compile/kernel_resources.h"
#include "runtime/driver/cuda_abi.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

inline constexpr int kMinimumNvrtc = 12000;

/// The entry points that sinter uses, with NVIDIA's names and signatures.
struct NvrtcTable {
#define SYMBOL(RESULT, NAME, PARAMETERS) RESULT(*NAME) PARAMETERS = nullptr;
#include "runtime/compile/nvrtc_symbols.def"
};

struct NvrtcOutput {
  std::vector<std::byte> cubin;  // empty for a "compute_90" architecture
  std::string ptx;
  std::string log;
  double milliseconds = 0;
  KernelResources kernels;  // empty without a cubin
};

class Nvrtc {
 public:
  /// Compiles the prelude and all kernels as one program for an architecture such as "sm_90" or
  /// "compute_90". Throws CompileError if the text has errors, UserError if NVRTC does not know the
  /// architecture, DriverError if NVRTC fails. Any number of threads may compile at once.
  NvrtcOutput compile(std::string_view prelude, std::span<const SourcePart> kernels,
                      const std::string& architecture) const;

  int version() const { return version_; }  // 13000 is 13.0
  /// Everything except source and architecture that determines the output: version, build, options.
  const std::string& version_text() const { return version_text_; }
  const std::string& path() const { return path_; }  ///< of the library
  /// The supported architectures: 90 is sm_90.
  const std::vector<int>& architectures() const { return architectures_; }

 private:
  friend struct NvrtcOrReason open_nvrtc(const std::string& library);

  void check_architecture(const std::string& architecture) const;
  std::vector<std::string> options(const std::string& architecture) const;

  NvrtcTable table_;
  int version_ = 0;
  std::string version_text_;
  std::string path_;
  std::vector<int> architectures_;
};

/// The library, or the reason why there is none.
struct NvrtcOrReason {
  const Nvrtc* nvrtc = nullptr;  // lives until the process ends
  std::string reason;            // one sentence; empty if there is a library
};

/// Opens one library by name or path. A missing library is not an exception: the result has the
/// reason.
NvrtcOrReason open_nvrtc(const std::string& library);

/// The NVRTC in use on this machine, opened at the first call: $SINTER_NVRTC, else the newest one
/// that the driver understands (nvrtc_choice.h).
const NvrtcOrReason& nvrtc();

}  // namespace sinter
