#include "compiler/result_inputs.h"

namespace sinter {

namespace {

const Node* as_value(GraphData& data, const Node* node) {
  if (node->op != Op::input) return node;
  const Attribute shape = {.extents = node->shape};
  return data.make({.op = Op::reshape,
                    .dtype = node->dtype,
                    .operands = {&node, 1},
                    .shape = node->shape,
                    .attributes = {&shape, 1}},
                   data.location(node));
}

}  // namespace

void view_result_inputs(GraphData& data) {
  for (OutputInfo& output : data.outputs)
    if (!output.is_left_out) output.node = as_value(data, output.node);
  for (UpdateInfo& update : data.updates) update.value = as_value(data, update.value);
}

}  // namespace sinter
