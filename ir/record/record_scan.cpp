// Recording of scans.
#include "ir/record/composite.h"
#include "ir/record/record.h"
#include "ir/types/casts.h"

#include <limits>

#include <fmt/format.h>

namespace sinter {

namespace {

/// The identity of a scan: the first element of an exclusive scan.
Literal identity_of(Op op, DType dtype) {
  const double infinity = std::numeric_limits<double>::infinity();
  const bool is_real = is_floating(dtype);
  switch (op) {
    case Op::cumsum: return is_real ? Literal::of(0.0) : integer_literal(0, dtype);
    case Op::cumprod: return is_real ? Literal::of(1.0) : integer_literal(1, dtype);
    case Op::cummax:
      return is_real ? Literal::of(-infinity) : integer_literal(lowest_integer(dtype), dtype);
    default:
      return is_real ? Literal::of(infinity) : integer_literal(highest_integer(dtype), dtype);
  }
}

}  // namespace

Tensor record_scan(Op op, const Operand& x, std::int64_t axis, ScanOptions options) {
  const LocationScope scope(x);
  const std::string_view op_name = info(op).name;
  const Node& node = node_of(op_name, x);
  const std::int64_t checked = checked_axis(op_name, axis, node, x.location);
  const int along = static_cast<int>(checked);
  if (node.dtype == c64)
    fail(op_name, fmt::format("{} is for storage only; cast it", type_text(node)), x.location);
  const Operand forward = with_location(options.reverse ? flip(x, {checked}) : x.tensor, x);
  Tensor result = record_unary(op, forward, reduction_result(op, node.dtype), node.shape,
                               {{.integer = checked}});
  const Extent extent = node.shape[static_cast<std::size_t>(checked)];
  if (options.exclusive && !extent.is(0)) {
    ShapeVector first(result.shape().begin(), result.shape().end());
    first[static_cast<std::size_t>(checked)] = 1;
    const Operand identity(identity_of(op, result.dtype()), x.location);
    const Tensor begin =
        broadcast_to(as_tensor(op_name, *x.tensor.graph(), identity, result.dtype()), first);
    if (extent.is(1))
      result = begin;
    else if (extent.is_number())
      result = concat({begin, slice(result, along, 0, extent - Extent(1))}, along);
    else  // a symbol may be 0
      result = slice(concat({begin, result}, along), along, 0, extent);
  }
  return options.reverse ? flip(result, {checked}) : result;
}

Tensor cumsum(Operand x, int axis, ScanOptions options) {
  return record_scan(Op::cumsum, x, axis, options);
}
Tensor cumprod(Operand x, int axis, ScanOptions options) {
  return record_scan(Op::cumprod, x, axis, options);
}
Tensor cummax(Operand x, int axis, ScanOptions options) {
  return record_scan(Op::cummax, x, axis, options);
}
Tensor cummin(Operand x, int axis, ScanOptions options) {
  return record_scan(Op::cummin, x, axis, options);
}

}  // namespace sinter
