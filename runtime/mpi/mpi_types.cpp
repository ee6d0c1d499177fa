#include "runtime/mpi/mpi_types.h"

#include <array>
#include <cmath>
#include <cstdint>

#include "runtime/mpi/fast_half.h"
#include "runtime/mpi/mpi_library.h"
#include "sinter/error.h"

namespace sinter {

namespace {

/// The number of reductions without the mean.
constexpr std::size_t kMpiReductions = 4;

float combine_floats(RankReduction reduction, float a, float b) {
  if (reduction == RankReduction::sum) return a + b;
  if (reduction == RankReduction::prod) return a * b;
  if (std::isnan(a) || std::isnan(b)) return a + b;
  return reduction == RankReduction::max ? std::fmax(a, b) : std::fmin(a, b);
}

/// A function of MPI_Op_create: stores the combination of `in` and `in_out` in `in_out`.
template <class Format, RankReduction reduction>
void combine_halves(void* in, void* in_out, int* count, MPI_Datatype*) {
  const auto* const a = static_cast<const std::uint16_t*>(in);
  auto* const b = static_cast<std::uint16_t*>(in_out);
  for (int i = 0; i < *count; ++i)
    b[i] = Format::encode(combine_floats(reduction, Format::decode(a[i]), Format::decode(b[i])));
}

using HalfOperations = std::array<MPI_Op, kMpiReductions>;

template <class Format>
HalfOperations create_half_operations() {
  HalfOperations operations;
  const auto create = [&](RankReduction reduction, MPI_User_function* combine) {
    constexpr int kCommutes = 1;
    check_mpi(MPI_Op_create(combine, kCommutes, &operations[static_cast<std::size_t>(reduction)]),
              "MPI_Op_create");
  };
  create(RankReduction::sum, combine_halves<Format, RankReduction::sum>);
  create(RankReduction::prod, combine_halves<Format, RankReduction::prod>);
  create(RankReduction::max, combine_halves<Format, RankReduction::max>);
  create(RankReduction::min, combine_halves<Format, RankReduction::min>);
  return operations;
}

/// Created once: a process initialises MPI only once.
MPI_Op half_operation(DType dtype, RankReduction reduction) {
  const auto index = static_cast<std::size_t>(reduction);
  if (dtype == f16) {
    static const HalfOperations operations = create_half_operations<FastF16>();
    return operations[index];
  }
  static const HalfOperations operations = create_half_operations<FastBf16>();
  return operations[index];
}

MPI_Datatype type_of_words(int bytes) {
  switch (bytes) {
    case 1: return MPI_UINT8_T;
    case 2: return MPI_UINT16_T;
    case 4: return MPI_UINT32_T;
    default: return MPI_UINT64_T;
  }
}

}  // namespace

bool can_mpi_reduce(DType dtype) {
  switch (dtype) {
    case DType::i8:
    case DType::u8:
    case DType::i32:
    case DType::u32:
    case DType::i64:
    case DType::u64:
    case DType::f16:
    case DType::bf16:
    case DType::f32:
    case DType::f64: return true;
    default: return false;
  }
}

MPI_Datatype mpi_type(DType dtype) {
  switch (dtype) {
    case DType::i8: return MPI_INT8_T;
    case DType::i32: return MPI_INT32_T;
    case DType::i64: return MPI_INT64_T;
    case DType::f32: return MPI_FLOAT;
    case DType::f64: return MPI_DOUBLE;
    default: return type_of_words(size_of(dtype));
  }
}

MPI_Op mpi_operation(DType dtype, RankReduction reduction) {
  ensure(can_mpi_reduce(dtype) && reduction != RankReduction::mean, "a reduction that MPI has");
  if (dtype == f16 || dtype == bf16) return half_operation(dtype, reduction);
  switch (reduction) {
    case RankReduction::prod: return MPI_PROD;
    case RankReduction::max: return MPI_MAX;
    case RankReduction::min: return MPI_MIN;
    default: return MPI_SUM;
  }
}

}  // namespace sinter
