// The reference of matrix products.
#include <vector>

#include "ir/library_ops/reference.h"
#include "ir/shape/host_array.h"

namespace sinter {

namespace {

/// The strides of the matrices of an operand, in elements. Broadcast leading axes have stride 0.
struct MatrixStrides {
  std::vector<std::int64_t> batch;
  std::int64_t row = 0;
  std::int64_t column = 0;
};

MatrixStrides strides_of(std::span<const std::int64_t> shape, bool transpose,
                         std::span<const std::int64_t> batch) {
  const std::size_t last = shape.size() - 1;
  MatrixStrides strides;
  strides.row = transpose ? 1 : shape[last];
  strides.column = transpose ? shape[last] : 1;
  strides.batch = broadcast_strides(shape.first(last - 1), batch);
  for (std::int64_t& stride : strides.batch) stride *= shape[last] * shape[last - 1];
  return strides;
}

/// The offset of the matrix `index`, in row-major order of the leading axes `batch`.
std::int64_t batch_offset(std::int64_t index, std::span<const std::int64_t> batch,
                          const MatrixStrides& strides) {
  std::int64_t offset = 0;
  for (std::size_t axis = batch.size(); axis-- > 0;) {
    offset += index % batch[axis] * strides.batch[axis];
    index /= batch[axis];
  }
  return offset;
}

}  // namespace

void matmul_reference(const OpaqueReference& call) {
  const OpaqueValue& a = call.inputs[0];
  const OpaqueValue& b = call.inputs[1];
  const OpaqueExpected& c = call.outputs[0];
  const bool transpose_a = call.sizes.number("transpose_a") != 0;
  const std::span<const std::int64_t> leading = c.shape.first(c.shape.size() - 2);
  const MatrixStrides of_a = strides_of(a.shape, transpose_a, leading);
  const MatrixStrides of_b = strides_of(b.shape, call.sizes.number("transpose_b") != 0, leading);
  const std::int64_t m = c.shape[leading.size()];
  const std::int64_t n = c.shape[leading.size() + 1];
  const std::int64_t k = a.shape[a.shape.size() - (transpose_a ? 2 : 1)];
  const bool is_integer_result = is_integer(c.dtype);
  const bool allow_tf32 = call.sizes.number("allow_tf32") != 0;
  const std::int64_t count = element_count(c.shape);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t batch = i / (m * n);
    const std::int64_t at_a = batch_offset(batch, leading, of_a) + i / n % m * of_a.row;
    const std::int64_t at_b = batch_offset(batch, leading, of_b) + i % n * of_b.column;
    if (is_integer_result) {
      std::uint64_t total = 0;  // modulo 2^64; the oracle wraps it to the dtype
      for (std::int64_t j = 0; j < k; ++j)
        total += static_cast<std::uint64_t>(
            a.integers[static_cast<std::size_t>(at_a + j * of_a.column)] *
            b.integers[static_cast<std::size_t>(at_b + j * of_b.row)]);
      c.integers[static_cast<std::size_t>(i)] = static_cast<std::int64_t>(total);
      c.bounds[static_cast<std::size_t>(i)] = 0;
      continue;
    }
    SumOfProducts sum(a.dtype, allow_tf32);
    for (std::int64_t j = 0; j < k; ++j) {
      const auto left = static_cast<std::size_t>(at_a + j * of_a.column);
      const auto right = static_cast<std::size_t>(at_b + j * of_b.row);
      sum.add(a.reals[left], a.bounds[left], b.reals[right], b.bounds[right]);
    }
    c.reals[static_cast<std::size_t>(i)] = sum.value();
    c.bounds[static_cast<std::size_t>(i)] = sum.bound();
  }
}

}  // namespace sinter
