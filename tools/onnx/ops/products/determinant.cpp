// Det, by Gaussian elimination with pivoting. Every step is recorded.
#include "sinter/views.h"
#include "tools/onnx/node/operands.h"
#include "tools/onnx/ops/axes.h"
#include "tools/onnx/ops/op_table.h"

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

constexpr std::int64_t kMostRows = 64;

/// The matrices [..., n, n] after the elimination of the first row and column, and the factor of
/// the determinant that they were.
struct Elimination {
  Tensor rest;    ///< [..., n - 1, n - 1]
  Tensor factor;  ///< [...]
};

/// The pivot is the largest element of the first column. Its row and the first one are exchanged.
Elimination eliminated(const Call& call, const Tensor& x, std::int64_t n) {
  const Tensor at = argmax(abs(slice(x, -1, 0, 1)), {-2}, keep);  // [..., 1, 1]
  const Tensor position = reshape(iota(call.graph(), n), {n, 1});
  std::vector<Extent> row_shape(x.shape().begin(), x.shape().end());
  row_shape[row_shape.size() - 2] = 1;
  const Tensor row = take_along_axis(x, broadcast_to(at, row_shape), -2);  // [..., 1, n]
  const Tensor pivot = slice(row, -1, 0, 1);                               // [..., 1, 1]
  const Tensor below = slice(where(eq(position, at), slice(x, -2, 0, 1), x), -2, 1, n);
  // All elements of the column are 0 if the pivot is 0.
  const Tensor multiple = slice(below, -1, 0, 1) / where(eq(pivot, 0), 1, pivot);
  const Tensor rest = slice(below, -1, 1, n) - multiple * slice(row, -1, 1, n);
  return {rest, squeeze(squeeze(where(eq(at, 0), pivot, -pivot), -1), -1)};
}

Outputs record_det(const Call& call) {
  require_inputs(call, 1, 1);
  const Tensor x = call.tensor(0);
  if (x.rank() < 2) refuse(fmt::format("its input has rank {}; it must be at least 2", x.rank()));
  const std::int64_t n = number_of(x.shape().back());
  const std::int64_t rows = number_of(x.shape()[static_cast<std::size_t>(x.rank() - 2)]);
  if (n != rows || n < 1 || n > kMostRows)
    refuse(fmt::format("its matrices are {} by {}; sinter imports square ones of 1 to {} rows",
                       rows, n, kMostRows));
  Tensor rest = cast(x, x.dtype() == f64 ? f64 : f32);
  Tensor result;
  for (std::int64_t left = n; left > 1; --left) {
    const Elimination step = eliminated(call, rest, left);
    rest = step.rest;
    result = result.node() ? result * step.factor : step.factor;
  }
  const Tensor last = squeeze(squeeze(rest, -1), -1);
  return {cast(result.node() ? result * last : last, x.dtype())};
}

constexpr OpRow kDeterminant[] = {{"Det", record_det}};

}  // namespace

std::span<const OpRow> determinant_ops() { return kDeterminant; }

}  // namespace sinter::onnx
