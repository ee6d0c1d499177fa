// Scans and orders along an axis: CumProd and TopK.
#include "sinter/nn.h"
#include "sinter/views.h"
#include "tools/onnx/node/operands.h"
#include "tools/onnx/node/positions.h"
#include "tools/onnx/ops/axes.h"
#include "tools/onnx/ops/op_table.h"

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

Outputs record_cum_prod(const Call& call) {
  require_inputs(call, 2, 2);
  const Tensor x = call.tensor(0);
  const int axis = checked_axis(call.integer(1, "axes"), x.rank());
  const ScanOptions options{.exclusive = call.attributes().flag("exclusive", false),
                            .reverse = call.attributes().flag("reverse", false)};
  return {cast(cumprod(x, axis, options), x.dtype())};
}

/// The largest extent of an axis whose elements are all compared with one another.
constexpr std::int64_t kMostRanked = 8192;

/// The elements in order, by counting for each element how many come before it.
Outputs record_top_k(const Call& call) {
  require_inputs(call, 1, 2);
  const Tensor x = call.tensor(0);
  const int axis = checked_axis(call.attributes().integer("axis", -1), x.rank());
  const std::int64_t n = number_of(x.shape()[static_cast<std::size_t>(axis)]);
  const std::int64_t k =
      call.opset() < 10 ? call.attributes().integer("k") : call.integer(1, "number of elements");
  if (k < 0 || k > n) refuse(fmt::format("it asks for {} of {} elements", k, n));
  if (n > kMostRanked)
    refuse(fmt::format("the axis has {} elements; up to {} can be put in order", n, kMostRanked));
  const Tensor values = transpose(x, axis, -1);
  const int rank = x.rank();
  const Tensor each = unsqueeze(values, -1);   // [..., n, 1]
  const Tensor other = unsqueeze(values, -2);  // [..., 1, n]
  const Tensor at = aligned_to_axis(iota(call.graph(), n), rank - 1, rank + 1);
  const Tensor other_at = aligned_to_axis(iota(call.graph(), n), rank, rank + 1);
  const bool is_largest = call.attributes().flag("largest", true);
  call.attributes().ignore("sorted");
  const Tensor is_before = logical_or(is_largest ? other > each : other < each,
                                      logical_and(eq(other, each), other_at < at));
  const Tensor place = sum(is_before, {-1});  // [..., n]
  const Tensor wanted = aligned_to_axis(iota(call.graph(), k), rank - 1, rank + 1);
  const Tensor index = sum(where(eq(unsqueeze(place, -2), wanted), iota(call.graph(), n), 0), {-1});
  return {transpose(take_along_axis(values, index, rank - 1), axis, -1),
          transpose(index, axis, -1)};
}

constexpr OpRow kOrdering[] = {
    {"CumProd", record_cum_prod},
    {"TopK", record_top_k},
};

}  // namespace

std::span<const OpRow> ordering_ops() { return kOrdering; }

}  // namespace sinter::onnx
