#include "tools/sinter/files/examples.h"

#include "ir/graph/node.h"
#include "tools/sinter/arguments/arguments.h"
#include "tools/sinter/files/npy.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include <fmt/format.h>

namespace sinter::command {

namespace {

bool has_example_axis(const Graph& graph, const std::string& name, const HostArray& array) {
  const auto input = std::ranges::find(graph.data().inputs, name, &InputInfo::name);
  return static_cast<int>(array.shape().size()) == input->node->rank() + 1;
}

std::int64_t examples_in(const Graph& graph, const HostArrays& inputs) {
  if (inputs.empty()) return 0;
  std::optional<std::int64_t> count;
  std::string first;
  for (const auto& [name, array] : inputs) {
    if (!has_example_axis(graph, name, array)) continue;
    const std::int64_t own = array.shape()[0];
    if (count && *count != own)
      throw UsageError(
          fmt::format("--inputs: {} has {} examples along its first axis, and {} has {}", first,
                      *count, name, own));
    count = own;
    first = name;
  }
  return count.value_or(1);
}

/// A copy in row-major order.
HostArray in_order(const HostArray& array) {
  HostArray result(array.dtype(), {array.shape().begin(), array.shape().end()});
  copy_elements(array, result);
  return result;
}

/// Element `index` along the first axis of a row-major array.
HostArray part(const HostArray& all, std::int64_t index) {
  HostArray result(all.dtype(), {all.shape().begin() + 1, all.shape().end()});
  const std::size_t bytes = result.bytes().size();
  std::ranges::copy(all.bytes().subspan(static_cast<std::size_t>(index) * bytes, bytes),
                    result.bytes().begin());
  return result;
}

}  // namespace

Examples::Examples(const Graph& graph, const HostArrays& inputs, const HostArrays& others,
                   const Stream& stream)
    : common_(stream) {
  const std::int64_t count = examples_in(graph, inputs);
  if (count == 0) return;
  std::map<std::string, HostArray> parted;
  for (const auto& [name, array] : inputs) {
    if (has_example_axis(graph, name, array))
      parted.emplace(name, in_order(array));
    else
      common_.add(graph, name, array);
  }
  for (const auto& [name, array] : others) common_.add(graph, name, array);
  for (std::int64_t i = 0; i < count; ++i) {
    DeviceArrays& arrays = arrays_.emplace_back(stream);
    for (const auto& [name, array] : parted) arrays.add(graph, name, part(array, i));
    std::vector<Binding>& bindings = bindings_.emplace_back(arrays.bindings());
    bindings.insert(bindings.end(), common_.bindings().begin(), common_.bindings().end());
  }
}

}  // namespace sinter::command
