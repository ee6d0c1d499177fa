// Nccl: NVIDIA's library of collectives, opened at run time.
#pragma once

#include <string>

#include "runtime/collectives/nccl/nccl_abi.h"
#include "runtime/driver/cuda_abi.h"

namespace sinter {

namespace nccl {
/// The entry points that sinter uses, with NVIDIA's names and signatures.
struct Table {
#define SYMBOL(RESULT, NAME, PARAMETERS) RESULT(*NAME) PARAMETERS = nullptr;
#include "runtime/collectives/nccl/nccl_symbols.def"
};
}  // namespace nccl

struct Nccl {
  nccl::Table table;
  int version = 0;  ///< 23203 is 2.32.3
  std::string path;

  std::string version_text() const;  ///< `2.32.3`
  /// The text of a result, with the details of NCCL's last failure. `communicator` may be null.
  std::string describe(nccl::ncclResult_t result, nccl::ncclComm_t communicator) const;
};

/// The library, or the reason why there is none.
struct NcclOrReason {
  const Nccl* library = nullptr;  ///< lives until the process ends
  std::string reason;             ///< `NCCL 2.18 or later, which was not found; install …`
};

/// The library of this machine, opened at the first call: $SINTER_NCCL, else the first one found.
const NcclOrReason& find_nccl();

/// The same without memory, for tests.
NcclOrReason open_nccl();

/// The library. Throws UserError if there is none; `what` needs it.
const Nccl& require_nccl(const char* what);

}  // namespace sinter
