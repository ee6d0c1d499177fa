// The types and operations of MPI for sinter's dtypes and reductions.
#pragma once

#include <mpi.h>

#include "sinter/collectives.h"
#include "sinter/dtype.h"

namespace sinter {

/// True if MPI reduces values of `dtype`.
bool can_mpi_reduce(DType dtype);

/// The type of elements of `dtype`. It is that of a word of the same size if MPI only moves them.
MPI_Datatype mpi_type(DType dtype);

/// The operation that combines values of `dtype`, which can_mpi_reduce. Those of f16 and bf16
/// compute in f32, and round once per combination. Their maximum and minimum of NaN is NaN.
MPI_Op mpi_operation(DType dtype, RankReduction reduction);

}  // namespace sinter
