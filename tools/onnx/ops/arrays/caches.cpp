// TensorScatter, which updates a cache of keys or values.
#include "sinter/views.h"
#include "tools/onnx/node/operands.h"
#include "tools/onnx/ops/axes.h"
#include "tools/onnx/ops/op_table.h"

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

/// Writes `update` into a cache: for each index of axis 0, from a position along another axis on.
Outputs record_tensor_scatter(const Call& call) {
  require_inputs(call, 2, 3);
  const Tensor cache = call.tensor(0);
  const Tensor update = call.tensor(1);
  const int axis = checked_axis(call.attributes().integer("axis", -2), cache.rank());
  if (axis == 0) refuse("axis 0 is the batch axis; another axis is needed");
  if (update.rank() != cache.rank())
    refuse(fmt::format("its inputs have the ranks {} and {}; they must be equal", cache.rank(),
                       update.rank()));
  const std::string mode = call.attributes().text("mode", "linear");
  if (mode != "linear" && mode != "circular")
    refuse(fmt::format("mode is {}; it must be linear or circular", mode));
  Tensor position = iota(call.graph(), update.shape()[static_cast<std::size_t>(axis)]);
  if (call.has_input(2)) position = unsqueeze(call.tensor(2), 1) + position;
  if (mode == "circular")
    position = remainder(position, operand_of(call, cache.shape()[static_cast<std::size_t>(axis)]));
  const Tensor batch = unsqueeze(iota(call.graph(), cache.shape()[0]), 1);
  // The indexed axes come first.
  std::vector<std::int64_t> order = {0, axis};
  std::vector<std::int64_t> back(static_cast<std::size_t>(cache.rank()));
  for (int other = 1; other < cache.rank(); ++other)
    if (other != axis) order.push_back(other);
  for (std::size_t i = 0; i < order.size(); ++i)
    back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  const Tensor written =
      index_put(permute(cache, order), permute(update, order), {batch, position}, {0, 1});
  return {permute(written, back)};
}

constexpr OpRow kCaches[] = {{"TensorScatter", record_tensor_scatter}};

}  // namespace

std::span<const OpRow> cache_ops() { return kCaches; }

}  // namespace sinter::onnx
