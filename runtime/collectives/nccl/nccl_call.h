// One collective as calls of NCCL.
#pragma once

#include "runtime/collectives/nccl/nccl.h"
#include "runtime/driver/driver.h"
#include "sinter/communicator.h"

namespace sinter {

/// The rank whose calls they are.
struct NcclRank {
  int rank = 0;
  int size = 1;
  int device = 0;  ///< its number: cuda:N
};

/// Throws UserError if NCCL cannot carry out `call`: its device, dtype or sizes.
void check_nccl_call(const CollectiveCall& call, const NcclRank& own);

/// Puts the collective on the stream of `call`, which may be captured. The context of the device
/// must be current. Throws DriverError if the driver fails. Otherwise returns the result of NCCL.
/// It may be ncclInProgress.
nccl::ncclResult_t put_on_stream(const Nccl& library, const Driver& driver,
                                 nccl::ncclComm_t communicator, const CollectiveCall& call,
                                 const NcclRank& own);

}  // namespace sinter
