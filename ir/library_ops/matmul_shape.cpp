#include "ir/library_ops/matmul_shape.h"

#include <fmt/format.h>

namespace sinter {

namespace {

/// `a [m, k] = f32[3, 4]`, for messages.
std::string described(std::string_view letter, const Node& node, bool transpose,
                      std::string_view rows, std::string_view columns) {
  return fmt::format("{} [{}, {}] is {}", letter, transpose ? columns : rows,
                     transpose ? rows : columns, type_text(node));
}

}  // namespace

ShapeVector matmul_shape(const Node& a, const Node& b, bool transpose_a, bool transpose_b,
                         Location location) {
  const std::size_t last_a = a.shape.size() - 1;
  const std::size_t last_b = b.shape.size() - 1;
  const Extent m = a.shape[transpose_a ? last_a : last_a - 1];
  const Extent n = b.shape[transpose_b ? last_b - 1 : last_b];
  const Extent k_of_a = a.shape[transpose_a ? last_a - 1 : last_a];
  const Extent k_of_b = b.shape[transpose_b ? last_b : last_b - 1];
  if (k_of_a != k_of_b)
    fail(kMatmul,
         fmt::format("{} and {}, so k is {} and {}; the two must be equal",
                     described("a", a, transpose_a, "m", "k"),
                     described("b", b, transpose_b, "k", "n"), to_string(k_of_a),
                     to_string(k_of_b)),
         location);
  const std::span<const Extent> axes_a = a.shape.first(last_a - 1);
  const std::span<const Extent> axes_b = b.shape.first(last_b - 1);
  const std::size_t rank = std::max(axes_a.size(), axes_b.size());
  ShapeVector result;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const auto extent = [&](std::span<const Extent> axes) {
      const std::size_t missing = rank - axes.size();
      return axis < missing ? Extent(1) : axes[axis - missing];
    };
    const Extent one = extent(axes_a);
    const Extent other = extent(axes_b);
    if (one != other && !one.is(1) && !other.is(1))
      fail(kMatmul,
           fmt::format("the leading axes of {} and {} do not broadcast: axis {} is {} and {}",
                       type_text(a), type_text(b), axis, to_string(one), to_string(other)),
           location);
    result.push_back(one.is(1) ? other : one);
  }
  result.push_back(m);
  result.push_back(n);
  return result;
}

DType matmul_dtype(const Node& a, const Node& b, Location location) {
  if (is_f8(a.dtype) && is_f8(b.dtype)) return bf16;
  const bool is_known = a.dtype == f16 || a.dtype == bf16 || a.dtype == f32 || a.dtype == f64 ||
                        a.dtype == i8;
  if (a.dtype == b.dtype && is_known) return a.dtype == i8 ? i32 : a.dtype;
  fail(kMatmul,
       fmt::format("a is {} and b {}; both must be f16, bf16, f32, f64 or i8, or each f8e4m3 or "
                   "f8e5m2; cast them",
                   type_text(a), type_text(b)),
       location);
}

bool is_matmul_result(DType operand, DType result) {
  switch (operand) {
    case f16:
    case bf16: return result == operand || result == f32;
    case i8: return result == i32;
    case f8e4m3:
    case f8e5m2: return result == f16 || result == bf16 || result == f32;
    default: return result == operand;
  }
}

bool swaps_last_axes(const Node& node) {
  if (node.op != Op::permute || node.rank() < 2) return false;
  const std::span<const std::int64_t> axes = attribute(node, "axes").integers;
  const auto last = static_cast<std::int64_t>(axes.size()) - 1;
  for (std::int64_t i = 0; i + 2 <= last; ++i)
    if (axes[static_cast<std::size_t>(i)] != i) return false;
  return axes[static_cast<std::size_t>(last)] == last - 1;
}

}  // namespace sinter
