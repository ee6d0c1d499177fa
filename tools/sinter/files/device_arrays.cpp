#include "tools/sinter/files/device_arrays.h"

#include "ir/graph/node.h"
#include "sinter/error.h"
#include "tools/sinter/files/npy.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sinter::command {

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
  const Array& array = arrays_.emplace_back(stream_.device().empty(values.dtype(), shape));
  if (std::ranges::equal(values.strides(), row_major(shape))) {
    stream_.device().upload(array, static_cast<const void*>(values.bytes().data()), stream_);
  } else {
    HostArray in_order(values.dtype(), shape);
    copy_elements(values, in_order);
    stream_.device().upload(array, static_cast<const void*>(in_order.bytes().data()), stream_);
  }
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
