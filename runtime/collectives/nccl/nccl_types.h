// The types and operations of NCCL for sinter's dtypes and reductions.
#pragma once

#include "runtime/collectives/nccl/nccl_abi.h"
#include "sinter/collectives.h"
#include "sinter/dtype.h"

namespace sinter {

/// True if NCCL reduces values of `dtype`.
bool can_nccl_reduce(DType dtype);

/// The type of values that NCCL reduces.
nccl::ncclDataType_t nccl_type(DType dtype);

/// The operation of a reduction other than the mean.
nccl::ncclRedOp_t nccl_operation(RankReduction reduction);

}  // namespace sinter
