#include "runtime/collectives/nccl/nccl_types.h"

#include <optional>

#include "sinter/error.h"

namespace sinter {

namespace {

std::optional<nccl::ncclDataType_t> find_type(DType dtype) {
  switch (dtype) {
    case DType::i8: return nccl::ncclInt8;
    case DType::u8: return nccl::ncclUint8;
    case DType::i32: return nccl::ncclInt32;
    case DType::u32: return nccl::ncclUint32;
    case DType::i64: return nccl::ncclInt64;
    case DType::u64: return nccl::ncclUint64;
    case DType::f16: return nccl::ncclFloat16;
    case DType::bf16: return nccl::ncclBfloat16;
    case DType::f32: return nccl::ncclFloat32;
    case DType::f64: return nccl::ncclFloat64;
    default: return std::nullopt;
  }
}

}  // namespace

bool can_nccl_reduce(DType dtype) { return find_type(dtype).has_value(); }

nccl::ncclDataType_t nccl_type(DType dtype) {
  const std::optional<nccl::ncclDataType_t> type = find_type(dtype);
  ensure(type.has_value(), "a dtype that NCCL reduces");
  return *type;
}

nccl::ncclRedOp_t nccl_operation(RankReduction reduction) {
  ensure(reduction != RankReduction::mean, "a reduction that NCCL gets");
  switch (reduction) {
    case RankReduction::prod: return nccl::ncclProd;
    case RankReduction::max: return nccl::ncclMax;
    case RankReduction::min: return nccl::ncclMin;
    default: return nccl::ncclSum;
  }
}

}  // namespace sinter
