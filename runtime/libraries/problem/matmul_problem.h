// MatmulProblem: one call of the function matmul as sizes, strides and dtypes.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "sinter/opaque.h"

namespace sinter {

/// The product of row-major matrices a [m, k] and b [k, n], for each index of the batch. With
/// `transpose_a` a is [k, m], with `transpose_b` b is [n, k].
struct MatmulProblem {
  /// A batch axis. Strides are in elements, and 0 for an operand that broadcasts along the axis.
  struct Axis {
    std::int64_t extent = 1;
    std::int64_t a_stride = 0;
    std::int64_t b_stride = 0;
    friend auto operator<=>(const Axis&, const Axis&) = default;
  };
  /// The first element of each matrix at one index of the batch.
  struct Offsets {
    std::int64_t a = 0, b = 0, result = 0;
  };

  DType a_dtype = f32;
  DType b_dtype = f32;
  DType result_dtype = f32;
  bool transpose_a = false;
  bool transpose_b = false;
  bool allow_tf32 = false;
  std::int64_t m = 0, n = 0, k = 0;
  std::vector<Axis> batch;  ///< outermost first

  std::int64_t batches() const;
  Offsets offsets(std::int64_t index) const;
  bool is_empty() const { return m == 0 || n == 0 || batches() == 0; }
  /// The extent of the innermost batch axis; 1 without a batch.
  std::int64_t inner_extent() const { return batch.empty() ? 1 : batch.back().extent; }
  /// The same product for up to `most` indices of that axis, from `begin` on.
  MatmulProblem part(std::int64_t begin, std::int64_t most) const;
  friend auto operator<=>(const MatmulProblem&, const MatmulProblem&) = default;
};

/// Reads a call. Batch axes merge with one another where strides permit. Rows of a also merge with
/// a batch along which b broadcasts, unless they would not fit an int. Throws UserError if the
/// arrays do not fit one another, which only a damaged saved program contains.
MatmulProblem matmul_problem(const OpaqueSizes& call);

/// `a f16[8, 64], b f16[64, 32]` for messages about a call.
std::string operands_text(const OpaqueSizes& call);

}  // namespace sinter
