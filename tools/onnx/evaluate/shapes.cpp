// Operators that turn shapes into values, and values into arrays of a shape.
#include "ir/shape/extent.h"
#include "tools/onnx/evaluate/evaluators.h"
#include "tools/onnx/model/tensor_data.h"

#include <algorithm>

namespace sinter::onnx {

namespace {

/// The elements [start, end) of the shape, since opset 15; negative numbers count from the end.
KnownOutputs evaluate_shape(const Call& call) {
  const std::vector<Extent> shape = call.shape(0);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto bounded = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const std::int64_t begin = bounded(call.attributes().integer("start", 0));
  const std::int64_t end = std::max(begin, bounded(call.attributes().integer("end", rank)));
  return std::vector{vector_of(std::span(shape).subspan(static_cast<std::size_t>(begin),
                                                        static_cast<std::size_t>(end - begin)))};
}

KnownOutputs evaluate_size(const Call& call) {
  return std::vector{
      KnownValue{.dtype = i64, .shape = {}, .items = {Number::of(product(call.shape(0)))}}};
}

KnownOutputs evaluate_constant_of_shape(const Call& call) {
  const std::vector<Extent> extents = call.extents(0, "shape");
  const TensorProto* const tensor = call.attributes().tensor("value");
  KnownValue item{.dtype = f32, .shape = {1}, .items = {Number::of_real(0)}};
  if (tensor) {
    const auto given = known_value_of(array_of(*tensor, call.folder()));
    if (!given || given->items.size() != 1) return std::nullopt;
    item = *given;
  }
  std::vector<std::int64_t> shape;
  for (const Extent extent : extents) {
    if (!extent.is_number()) return std::nullopt;
    shape.push_back(extent.number());
  }
  const auto count = known_count(shape);
  if (!count) return std::nullopt;
  return std::vector{
      KnownValue{.dtype = item.dtype,
                 .shape = shape,
                 .items = std::vector<Number>(static_cast<std::size_t>(*count), item.items[0])}};
}

KnownOutputs evaluate_range(const Call& call) {
  call.attributes().ignore("stash_type");
  const KnownValue* parts[3];
  for (std::size_t i = 0; i < 3; ++i) {
    parts[i] = &call.known(i, "bounds");
    if (parts[i]->items.size() != 1 || !parts[i]->items[0].is_integer()) return std::nullopt;
  }
  const std::int64_t begin = parts[0]->items[0].extent.number();
  const std::int64_t end = parts[1]->items[0].extent.number();
  const std::int64_t step = parts[2]->items[0].extent.number();
  if (step == 0) refuse("its step is 0");
  KnownValue result{.dtype = parts[0]->dtype, .shape = {0}};
  for (std::int64_t at = begin; step > 0 ? at < end : at > end;) {
    if (++result.shape[0] > kMostKnown) return std::nullopt;
    result.items.push_back(Number::of(at));
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  return std::vector{std::move(result)};
}

constexpr EvaluatorRow kShapes[] = {
    {"ConstantOfShape", evaluate_constant_of_shape},
    {"Range", evaluate_range},
    {"Shape", evaluate_shape},
    {"Size", evaluate_size},
};

}  // namespace

std::span<const EvaluatorRow> shape_evaluators() { return kShapes; }

}  // namespace sinter::onnx
