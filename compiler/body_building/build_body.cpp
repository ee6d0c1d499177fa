#include "compiler/body_building/build_body.h"

#include <fmt/format.h>

#include "compiler/body/collapse_axes.h"
#include "compiler/body/sub_buffer.h"
#include "compiler/body_building/body_builder.h"
#include "sinter/error.h"

namespace sinter {

BodyAnswer build_body(const BodyRequest& request, const NodeNames& names) {
  BodyAnswer answer;
  BodyBuilder builder(request, names);
  try {
    answer.body = split_concat_if_fewer_bytes(builder.build(), request, names);
  } catch (Refusal& refusal) {
    answer.reason = std::move(refusal.reason);
  }
  if (answer || !builder.may_store_transposed()) return answer;
  try {
    BodyBuilder other(request, names, {}, TransposedStores::in_place);
    Body body = other.build();
    if (!other.stores_transposed()) return answer;
    answer.body = std::move(body);
    answer.reason.clear();
  } catch (const Refusal&) {
    // Keep the first reason, which is the simpler one.
  }
  return answer;
}

std::vector<StoreRequest> stores_of(const Program& program, const Kernel& kernel) {
  std::vector<StoreRequest> stores;
  stores.reserve(kernel.stores.size());
  for (const Store& store : kernel.stores)
    stores.push_back({.node = store.node,
                      .strides = program.buffers[static_cast<std::size_t>(store.buffer)].strides,
                      .aligned = aligned_elements(program, store.buffer)});
  return stores;
}

BodyRequest request_of(const Program& program, const Kernel& kernel,
                       std::span<const StoreRequest> stores) {
  const auto strides = [&program](const Node* node) -> std::span<const Extent> {
    const auto buffer = program.buffer_of.find(node);
    if (buffer == program.buffer_of.end()) return {};
    return program.buffers[static_cast<std::size_t>(buffer->second)].strides;
  };
  const auto aligned = [&program](const Node* node) {
    const auto buffer = program.buffer_of.find(node);
    return buffer == program.buffer_of.end() ? kWellAligned
                                             : aligned_elements(program, buffer->second);
  };
  return {.nodes = kernel.nodes, .stores = stores, .strides = strides, .aligned = aligned};
}

Body body_of(const Program& program, const Kernel& kernel) {
  const std::vector<StoreRequest> stores = stores_of(program, kernel);
  BodyAnswer answer = build_body(request_of(program, kernel, stores), [](const Node* node) {
    return fmt::format("{}_{}", info(node->op).name, node->id);
  });
  ensure(static_cast<bool>(answer),
         fmt::format("kernel {} has no body: {}", kernel.name, answer.reason));
  return collapse_axes(std::move(answer.body));
}

}  // namespace sinter
