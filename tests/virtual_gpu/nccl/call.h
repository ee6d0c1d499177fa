// Calls of NCCL that put work on a stream.
#pragma once

#include <span>

#include "runtime/driver/cuda_abi.h"
#include "tests/virtual_gpu/nccl/communicator.h"

namespace sinter::nccl_double {

/// One call. Sends and receives have no collective.
struct StreamCall {
  enum class Kind { collective, send, receive };
  Kind kind = Kind::collective;
  Collective collective = Collective::all_reduce;
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t sent = 0;      ///< elements at `from`
  std::size_t received = 0;  ///< elements at `to`
  nccl::ncclDataType_t type = nccl::ncclUint8;
  nccl::ncclRedOp_t operation = nccl::ncclSum;
  int peer = 0;  ///< or root
  nccl::ncclComm_t communicator = nullptr;
  cuda::CUstream stream = nullptr;
};

/// Puts the calls of one group on their streams. The group has one collective, or only sends and
/// receives of one communicator on one stream.
nccl::ncclResult_t put_on_stream(std::span<const StreamCall> calls);

}  // namespace sinter::nccl_double
