#include "tools/onnx/importer/flex_attention.h"

#include "ir/graph/node.h"
#include "sinter/views.h"
#include "tools/onnx/importer/subgraph.h"
#include "tools/onnx/node/element_type_attribute.h"
#include "tools/onnx/node/operands.h"
#include "tools/onnx/ops/axes.h"
#include "tools/onnx/ops/products/matrix_product.h"

#include <cmath>

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

/// The result of the graph in attribute `name` for x; x itself without the attribute. nullopt if a
/// node of the graph cannot be imported.
std::optional<Tensor> modified(ImportState& state, const Call& call, const char* name,
                               const Tensor& x, const Scope& scope,
                               const NodeSurroundings& around) {
  if (!call.attributes().has(name)) return x;
  const std::string what = fmt::format("{} of a FlexAttention", name);
  const ValueRef input = value_of_tensor(x);
  const std::vector<ValueRef> outputs = import_subgraph(
      state,
      {.graph = call.attributes().graph(name), .name = what, .scope = scope, .around = around},
      {&input, 1});
  if (outputs.size() != 1)
    refuse(fmt::format("{} has {} outputs; it must have one", name, outputs.size()));
  if (has_failed(outputs)) return std::nullopt;
  const Tensor result = state.recording.tensor(*outputs[0]);
  if (type_text(*result.node()) != type_text(*x.node()))
    refuse(fmt::format("{} makes {} from {}; it must keep the type", name,
                       type_text(*result.node()), type_text(*x.node())));
  return result;
}

/// The heads of keys or values, each `times` times in succession.
Tensor shared_heads(const Tensor& x, std::int64_t heads, const char* what) {
  const std::int64_t own = number_of(x.shape()[1]);
  if (own < 1 || heads % own != 0)
    refuse(fmt::format("{} heads cannot share {} heads of {}", heads, own, what));
  return own == heads ? x : repeat(x, heads / own, 1);
}

}  // namespace

std::vector<ValueRef> import_flex_attention(ImportState& state, const Call& call,
                                            std::span<const ValueRef> /*inputs*/,
                                            const Scope& scope, const NodeSurroundings& around) {
  require_inputs(call, 3, 3);
  const Tensor q = call.tensor(0);
  for (std::size_t i = 0; i < 3; ++i)
    if (call.rank(i) != 4)
      refuse(fmt::format("input {} has rank {}; it must have rank 4", i, call.rank(i)));
  const std::int64_t heads = number_of(q.shape()[1]);
  const Tensor k = shared_heads(call.tensor(1), heads, "keys");
  const Tensor v = shared_heads(call.tensor(2), heads, "values");
  const double width = static_cast<double>(number_of(q.shape()[3]));
  // As in the definition, both factors are scaled and the scores are rounded to the inputs' dtype.
  const double scale = std::sqrt(call.attributes().real("scale", 1 / std::sqrt(width)));
  const DType precision = call.attributes().has("softmax_precision")
                              ? dtype_named(call, "softmax_precision")
                          : q.dtype() == f64 ? f64
                                             : f32;
  const Tensor scores =
      cast(matrix_product(q * scale, k * scale, {.transpose_b = true}), precision);
  const auto failed = [] { return std::vector{std::make_shared<Value>(Value{.is_failed = true})}; };
  const auto changed = modified(state, call, "score_mod", scores, scope, around);
  if (!changed) return failed();
  const auto weights = modified(state, call, "prob_mod", softmax(*changed, -1), scope, around);
  if (!weights) return failed();
  return {value_of_tensor(cast(matrix_product(*weights, cast(v, precision)), q.dtype()))};
}

}  // namespace sinter::onnx
