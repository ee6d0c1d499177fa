#include "tools/sinter/files/device_arrays.h"

#include "ir/graph/operand_index.h"
#include "ir/verify/symbol_sizes.h"
#include "runtime/device/device_state.h"
#include "sinter/error.h"
#include "tools/sinter/files/npy.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sinter::command {

namespace {

/// The strides with which the graph declares an input of this shape; empty: row-major.
std::vector<std::int64_t> declared_strides(const GraphData& graph, const InputInfo& input,
                                           std::span<const std::int64_t> shape) {
  if (attribute(*input.node, "strides").extents.empty()) return {};
  const InputShape given{.name = input.name, .shape = shape};
  const std::vector<std::int64_t> symbols =
      solve_symbols(graph, std::span(&given, 1),
                    std::vector<std::int64_t>(graph.extents->symbols().size(), kUnknownSize));
  std::vector<std::int64_t> strides;
  for (const Extent stride : strides_of(*input.node)) {
    const std::vector<int> unknown = unknown_symbols(stride, symbols);
    if (!unknown.empty())
      throw UserError(
          fmt::format("input {}: the stride {} of axis {} has the size {}, which does not follow "
                      "from the shape "
                      "[{}] of the array; declare strides of numbers and of sizes in the shape",
                      input.name, to_string(stride), strides.size(),
                      graph.extents->symbols()[static_cast<std::size_t>(unknown[0])]->name,
                      fmt::join(shape, ", ")));
    strides.push_back(evaluate(stride, symbols));
  }
  return strides;
}

}  // namespace

void DeviceArrays::add(const Graph& graph, const std::string& name, const HostArray& values) {
  const auto input = std::ranges::find(graph.data().inputs, name, &InputInfo::name);
  const std::string& own_name = names_.emplace_back(name);
  if (input != graph.data().inputs.end() && input->node->op == Op::scalar) {
    if (values.size() != 1)
      throw UserError(
          fmt::format("input {}: shape [{}] has {} elements but the graph says a number", name,
                      fmt::join(values.shape(), ", "), values.size()));
    bindings_.push_back(is_floating(values.dtype()) ? Binding(own_name, values.real_at(0))
                                                    : Binding(own_name, values.integer_at(0)));
    return;
  }
  const std::vector<std::int64_t> shape(values.shape().begin(), values.shape().end());
  const std::vector<std::int64_t> strides = input != graph.data().inputs.end()
                                                ? declared_strides(graph.data(), *input, shape)
                                                : std::vector<std::int64_t>();
  const auto upload = [&](const HostArray& in_order) {
    return upload_strided(stream_, in_order.bytes().data(), values.dtype(), shape, strides);
  };
  if (std::ranges::equal(values.strides(), row_major(shape))) {
    arrays_.push_back(upload(values));
  } else {
    HostArray in_order(values.dtype(), shape);
    copy_elements(values, in_order);
    arrays_.push_back(upload(in_order));
  }
  const Array& array = arrays_.back();
  stream_.synchronize();
  bindings_.emplace_back(own_name, array);
}

void DeviceArrays::add_all(const Graph& graph, HostArrays arrays) {
  for (const InputInfo& input : graph.data().inputs)
    if (const auto found = arrays.extract(input.name)) add(graph, input.name, found.mapped());
}

HostArray downloaded(const Array& array, const Stream& stream) {
  HostArray result(array.dtype(), {array.shape().begin(), array.shape().end()});
  array.device().download(array, static_cast<void*>(result.bytes().data()), stream);
  stream.synchronize();
  return result;
}

}  // namespace sinter::command
