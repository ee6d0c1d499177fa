// Cublaslt: NVIDIA's library of matrix products, opened at run time.
#pragma once

#include <string>

#include "runtime/driver/cuda_abi.h"
#include "runtime/libraries/cuda/cublaslt_abi.h"

namespace sinter {

namespace cublaslt {
/// The entry points that sinter uses, with NVIDIA's names and signatures.
struct Table {
#define SYMBOL(RESULT, NAME, PARAMETERS) RESULT(*NAME) PARAMETERS = nullptr;
#include "runtime/libraries/cuda/cublaslt_symbols.def"
};
}  // namespace cublaslt

struct Cublaslt {
  cublaslt::Table table;
  int major = 0, minor = 0;
  std::string path;

  std::string version_text() const;  ///< `13.1`
};

/// The library, or the reason why there is none.
struct CublasltOrReason {
  const Cublaslt* library = nullptr;  ///< lives until the process ends
  std::string reason;                 ///< `cuBLASLt 12 or 13, which was not found; install …`
};

/// The library of this machine, opened at the first call: $SINTER_CUBLASLT, else the newest one
/// that the driver supports.
const CublasltOrReason& find_cublaslt();

}  // namespace sinter
