// Operators that read elements at indices. Negative indices count from the end.
#include "sinter/views.h"
#include "tools/onnx/node/element_type_attribute.h"
#include "tools/onnx/node/operands.h"
#include "tools/onnx/node/positions.h"
#include "tools/onnx/ops/op_table.h"

#include <algorithm>

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

/// Recording takes no number as the indexed operand, so constants become Tensors.
Outputs record_gather(const Call& call) {
  require_inputs(call, 2, 2);
  const Tensor x = call.tensor(0);
  const int axis = checked_axis(call.attributes().integer("axis", 0), x.rank());
  return {take(x, call.tensor(1), axis)};
}

/// The other axes of the indices may be shorter than those of x, whose ends are then not read.
Outputs record_gather_elements(const Call& call) {
  require_inputs(call, 2, 2);
  Tensor x = call.tensor(0);
  const Tensor indices = call.tensor(1);
  const int axis = checked_axis(call.attributes().integer("axis", 0), x.rank());
  if (indices.rank() != x.rank())
    refuse(fmt::format("its inputs have the ranks {} and {}; they must be equal", x.rank(),
                       indices.rank()));
  for (int other = 0; other < x.rank(); ++other) {
    const Extent extent = indices.shape()[static_cast<std::size_t>(other)];
    if (other != axis && !(extent == x.shape()[static_cast<std::size_t>(other)]))
      x = slice(x, other, 0, extent);
  }
  return {take_along_axis(x, indices, axis)};
}

/// Column `i` of the last axis.
Tensor component(const Tensor& indices, std::int64_t i) { return select(indices, -1, i); }

Outputs record_gather_nd(const Call& call) {
  require_inputs(call, 2, 2);
  const Tensor x = call.tensor(0);
  const Tensor indices = call.tensor(1);
  const std::int64_t batch = call.attributes().integer("batch_dims", 0);
  if (indices.rank() == 0 || !indices.shape().back().is_number())
    refuse("the last axis of its indices must have a fixed extent");
  const std::int64_t count = indices.shape().back().number();
  if (batch < 0 || batch >= std::min(x.rank(), indices.rank()) || count > x.rank() - batch ||
      count < 1)
    refuse(
        fmt::format("batch_dims is {} and the last axis of the indices is {}, for an input of "
                    "rank {}",
                    batch, count, x.rank()));
  std::vector<Tensor> positions;
  std::vector<std::int64_t> axes;
  const Tensor first = component(indices, 0);
  for (int axis = 0; axis < batch; ++axis) positions.push_back(positions_along(call, first, axis));
  for (std::int64_t i = 0; i < count; ++i) positions.push_back(component(indices, i));
  for (std::size_t i = 0; i < positions.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  return {index(x, positions, axes)};
}

/// The values are [off, on]. Indices outside [-depth, depth) give only `off`.
Outputs record_one_hot(const Call& call) {
  require_inputs(call, 3, 3);
  const Tensor indices = call.tensor(0);
  const KnownValue& depths = call.known(1, "depths");
  const Tensor values = call.tensor(2);
  if (depths.items.size() != 1 || values.rank() != 1)
    refuse("its depth must be one number, and its values two");
  const Number given = depths.items[0];
  if (given.is_real && !(given.real >= 0 && given.real < 0x1p48))
    refuse(fmt::format("its depth is {}; it must be at least 0 and below 2^48", given.real));
  const Extent depth = given.is_real ? Extent(static_cast<std::int64_t>(given.real)) : given.extent;
  const int rank = indices.rank() + 1;
  const int axis = checked_axis(call.attributes().integer("axis", -1), rank);
  const Tensor at = unsqueeze(from_front(call, indices, depth), axis);
  const Tensor is_on = eq(at, aligned_to_axis(iota(call.graph(), depth), axis, rank));
  return {where(is_on, select(values, 0, 1), select(values, 0, 0))};
}

Outputs record_trilu(const Call& call) {
  require_inputs(call, 1, 2);
  const Tensor x = call.tensor(0);
  const std::int64_t diagonal = call.has_input(1) ? call.integer(1, "diagonals") : 0;
  return {call.attributes().flag("upper", true) ? triu(x, diagonal) : tril(x, diagonal)};
}

Outputs record_eye_like(const Call& call) {
  require_inputs(call, 1, 1);
  const std::vector<Extent> shape = call.shape(0);
  if (shape.size() != 2)
    refuse(fmt::format("its input has rank {}; it must be a matrix", shape.size()));
  const DType dtype = call.attributes().has("dtype") ? dtype_named(call, "dtype") : call.dtype(0);
  const Tensor rows = aligned_to_axis(iota(call.graph(), shape[0]), 0, 2);
  const Tensor columns = aligned_to_axis(iota(call.graph(), shape[1]), 1, 2);
  return {cast(eq(rows + call.attributes().integer("k", 0), columns), dtype)};
}

Outputs record_cum_sum(const Call& call) {
  require_inputs(call, 2, 2);
  const Tensor x = call.tensor(0);
  const int axis = checked_axis(call.integer(1, "axes"), x.rank());
  const ScanOptions options{.exclusive = call.attributes().flag("exclusive", false),
                            .reverse = call.attributes().flag("reverse", false)};
  return {cast(cumsum(x, axis, options), x.dtype())};
}

/// Reverses the first lengths[i] elements along the time axis of each batch element.
Outputs record_reverse_sequence(const Call& call) {
  require_inputs(call, 2, 2);
  const Tensor x = call.tensor(0);
  const int batch = checked_axis(call.attributes().integer("batch_axis", 1), x.rank());
  const int time = checked_axis(call.attributes().integer("time_axis", 0), x.rank());
  if (batch == time || call.rank(1) != 1)
    refuse("its batch and time axes must differ, and its lengths must be a vector");
  const Tensor lengths = aligned_to_axis(cast(call.tensor(1), i64), batch, x.rank());
  const Tensor position = positions_along(call, x, time);
  const Tensor source = where(position < lengths, lengths - 1 - position, position);
  return {take_along_axis(x, broadcast_to(source, x.shape()), time)};
}

constexpr OpRow kIndexing[] = {
    {"CumSum", record_cum_sum},
    {"EyeLike", record_eye_like},
    {"Gather", record_gather},
    {"GatherElements", record_gather_elements},
    {"GatherND", record_gather_nd},
    {"OneHot", record_one_hot},
    {"ReverseSequence", record_reverse_sequence},
    {"Trilu", record_trilu},
};

}  // namespace

std::span<const OpRow> indexing_ops() { return kIndexing; }

}  // namespace sinter::onnx
