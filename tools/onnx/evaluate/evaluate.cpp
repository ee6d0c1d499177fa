#include "tools/onnx/evaluate/evaluate.h"

#include "ir/shape/strided_iterator.h"
#include "tools/onnx/evaluate/evaluators.h"

#include <algorithm>
#include <unordered_map>

namespace sinter::onnx {

namespace {

using EvaluatorIndex = std::unordered_map<std::string_view, EvaluateNode>;

EvaluatorIndex make_evaluator_index() {
  EvaluatorIndex index;
  for (const auto family :
       {arithmetic_evaluators(), movement_evaluators(), reduction_evaluators(), shape_evaluators()})
    for (const EvaluatorRow& row : family) index.emplace(row.type, row.evaluate);
  return index;
}

const EvaluatorIndex& evaluator_index() {
  static const EvaluatorIndex index = make_evaluator_index();
  return index;
}

/// The number of inputs whose contents an operator reads; of others it needs only the type.
std::size_t inputs_read(const Call& call) {
  const std::string_view type = call.node().op_type;
  if (type == "Shape" || type == "Size") return 0;
  return type == "CastLike" ? 1 : call.input_count();
}

}  // namespace

std::optional<std::vector<KnownValue>> evaluate(const Call& call, std::int64_t& elements_left) {
  const EvaluatorIndex& index = evaluator_index();
  const auto found = index.find(call.node().op_type);
  if (found == index.end()) return std::nullopt;
  std::size_t elements = 0;
  for (std::size_t i = 0; i < std::min(inputs_read(call), call.input_count()); ++i) {
    if (!call.has_input(i)) continue;
    const KnownValue* const input = call.known(i);
    if (!input) return std::nullopt;
    elements += input->items.size();
  }
  elements_left -= static_cast<std::int64_t>(elements);
  if (elements_left < 0) return std::nullopt;
  auto outputs = found->second(call);
  if (outputs)
    for (const KnownValue& output : *outputs)
      elements_left -= static_cast<std::int64_t>(output.items.size());
  return outputs;
}

bool is_evaluated(std::string_view type) { return evaluator_index().contains(type); }

std::optional<std::int64_t> known_count(std::span<const std::int64_t> shape) {
  // Gather adds the ranks of its inputs, so that a chain of them would double the rank each time.
  if (shape.size() > static_cast<std::size_t>(kMaxRank)) return std::nullopt;
  std::int64_t count = 1;
  for (const std::int64_t extent : shape)
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count) || count > kMostKnown)
      return std::nullopt;
  return count;
}

std::optional<std::vector<std::int64_t>> broadcast_shape(
    std::span<const KnownValue* const> values) {
  std::vector<std::int64_t> shape;
  for (const KnownValue* value : values) {
    if (value->shape.size() > shape.size())
      shape.insert(shape.begin(), value->shape.size() - shape.size(), 1);
    for (std::size_t i = 0; i < value->shape.size(); ++i) {
      const std::int64_t extent = value->shape[value->shape.size() - 1 - i];
      std::int64_t& common = shape[shape.size() - 1 - i];
      if (extent == common || extent == 1) continue;
      if (common != 1) return std::nullopt;
      common = extent;
    }
  }
  if (!known_count(shape)) return std::nullopt;
  return shape;
}

std::vector<Number> broadcast_items(const KnownValue& value, std::span<const std::int64_t> shape) {
  std::vector<Number> items;
  const std::int64_t count = element_count(shape);
  StridedIterator iterator(shape, {broadcast_strides(value.shape, shape)});
  for (std::int64_t i = 0; i < count; ++i, iterator.next())
    items.push_back(value.items[static_cast<std::size_t>(iterator.offset(0))]);
  return items;
}

}  // namespace sinter::onnx
