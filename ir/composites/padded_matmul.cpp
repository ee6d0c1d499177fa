#include "ir/composites/padded_matmul.h"

#include "ir/library_ops/matmul_shape.h"
#include "ir/record/composite.h"
#include "ir/record/record.h"
#include "ir/support/round_up.h"
#include "sinter/views.h"

namespace sinter {

namespace {

/// The zeros that make `extent` a multiple of `multiple`; none for symbols.
std::int64_t missing(Extent extent, std::int64_t multiple) {
  return extent.is_number() ? round_up(extent.number(), multiple) - extent.number() : 0;
}

/// `x` with zeros behind its axes -2 and -1.
Operand with_zeros(const Operand& x, std::int64_t rows, std::int64_t columns) {
  if (rows == 0 && columns == 0) return x;
  const auto rank = static_cast<std::size_t>(x.tensor.rank());
  const AxesVector low(rank, 0);
  AxesVector high(rank, 0);
  high[rank - 2] = rows;
  high[rank - 1] = columns;
  return with_location(pad(x, low, high), x);
}

/// The operand of a view that swaps the last two axes, with `transpose` changed; else `x`.
Operand without_swap(const Operand& x, bool& transpose) {
  if (!swaps_last_axes(*x.tensor.node())) return x;
  transpose = !transpose;
  return with_location(tensor(*x.tensor.graph(), x.tensor.node()->operand(0)), x);
}

}  // namespace

Tensor padded_matmul(const Operand& a, const Operand& b, const MatmulOptions& options,
                     std::int64_t multiple) {
  // The zeros are added to what a transposed view transposes, so that `matmul` sees the view.
  MatmulOptions seen = options;
  const Operand left = without_swap(a, seen.transpose_a);
  const Operand right = without_swap(b, seen.transpose_b);
  const std::span<const Extent> shape = right.tensor.shape();
  const Extent rows = shape[shape.size() - 2];
  const Extent columns = shape[shape.size() - 1];
  const Extent n = seen.transpose_b ? rows : columns;
  const std::int64_t more_k = missing(seen.transpose_b ? columns : rows, multiple);
  const std::int64_t more_n = missing(n, multiple);
  const Tensor product =
      matmul(seen.transpose_a ? with_zeros(left, more_k, 0) : with_zeros(left, 0, more_k),
             seen.transpose_b ? with_zeros(right, more_n, more_k)
                              : with_zeros(right, more_k, more_n),
             seen);
  return more_n == 0 ? product : slice(product, -1, 0, n);
}

}  // namespace sinter
