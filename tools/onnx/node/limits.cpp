#include "tools/onnx/node/limits.h"

#include <limits>

namespace sinter::onnx {

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

}  // namespace

Literal number_of_dtype(std::int64_t value, DType dtype) {
  if (dtype == boolean) return Literal::of(value != 0);
  if (is_floating(dtype)) return Literal::of(static_cast<double>(value));
  return Literal::of(value);
}

Literal lowest_value(DType dtype) {
  if (is_floating(dtype)) return Literal::of(-kInfinite);
  if (!is_signed(dtype)) return number_of_dtype(0, dtype);
  return Literal::of(std::numeric_limits<std::int64_t>::min() >> (64 - 8 * size_of(dtype)));
}

Literal highest_value(DType dtype) {
  if (is_floating(dtype)) return Literal::of(kInfinite);
  if (dtype == boolean) return Literal::of(true);
  if (is_signed(dtype))
    return Literal::of(std::numeric_limits<std::int64_t>::max() >> (64 - 8 * size_of(dtype)));
  return Literal::of(std::numeric_limits<std::uint64_t>::max() >> (64 - 8 * size_of(dtype)));
}

}  // namespace sinter::onnx
