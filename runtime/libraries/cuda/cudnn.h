// Cudnn: NVIDIA's library of convolutions, opened at run time.
#pragma once

#include <string>

#include "runtime/driver/cuda_abi.h"
#include "runtime/libraries/cuda/cudnn_abi.h"

namespace sinter {

namespace cudnn {
/// The entry points that sinter uses, with NVIDIA's names and signatures.
struct Table {
#define SYMBOL(RESULT, NAME, PARAMETERS) RESULT(*NAME) PARAMETERS = nullptr;
#include "runtime/libraries/cuda/cudnn_symbols.def"
};
}  // namespace cudnn

struct Cudnn {
  cudnn::Table table;
  int major = 0, minor = 0;
  std::string path;

  std::string version_text() const;  ///< `9.19`
  /// The text of a status, with the details of the last failure on this thread.
  std::string describe(cudnn::cudnnStatus_t status) const;
  /// Throws DriverError if the call failed.
  void check(cudnn::cudnnStatus_t status, const char* call) const;
};

/// The library, or the reason why there is none.
struct CudnnOrReason {
  const Cudnn* library = nullptr;  ///< lives until the process ends
  std::string reason;              ///< `cuDNN 9, which was not found; install …`
};

/// The library of this machine, opened at the first call: $SINTER_CUDNN, else the first one for the
/// driver's CUDA version.
const CudnnOrReason& find_cudnn();

}  // namespace sinter
