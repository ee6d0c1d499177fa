#include "compiler/kernel_body.h"

#include <fmt/format.h>

#include "sinter/error.h"

namespace sinter {

Body body_of(const Program& program, const Kernel& kernel) {
  const auto strides = [&](int buffer) -> std::span<const Extent> {
    return program.buffers[static_cast<std::size_t>(buffer)].strides;
  };
  std::vector<StoreRequest> stores;
  for (const Store& store : kernel.stores)
    stores.push_back({.node = store.node, .strides = strides(store.buffer)});
  const auto read_strides = [&](const Node* node) -> std::span<const Extent> {
    const auto buffer = program.buffer_of.find(node);
    return buffer == program.buffer_of.end() ? std::span<const Extent>() : strides(buffer->second);
  };
  BodyAnswer answer = build_body(
      {.nodes = kernel.nodes, .stores = stores, .strides = read_strides},
      [](const Node* node) { return fmt::format("{}_{}", info(node->op).name, node->id); });
  ensure(static_cast<bool>(answer),
         fmt::format("kernel {} has no body: {}", kernel.name, answer.why_not));
  return collapse_axes(std::move(answer.body));
}

}  // namespace sinter
