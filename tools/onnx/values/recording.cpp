#include "tools/onnx/values/recording.h"

#include "ir/record/record.h"
#include "sinter/error.h"
#include "sinter/ops.h"

#include <algorithm>

namespace sinter::onnx {

namespace {

std::vector<Extent> fixed_extents(std::span<const std::int64_t> shape) {
  return {shape.begin(), shape.end()};
}

}  // namespace

Literal literal_of(const HostArray& array) {
  if (array.dtype() == boolean) return Literal::of(array.integer_at(0) != 0);
  if (is_floating(array.dtype())) return Literal::of(array.real_at(0));
  if (array.dtype() == u64) return Literal::of(static_cast<std::uint64_t>(array.integer_at(0)));
  return Literal::of(array.integer_at(0));
}

Tensor Recording::constant(const HostArray& array) {
  return full(graph, fixed_extents(array.shape()), literal_of(array), array.dtype());
}

Tensor Recording::weight(std::string_view name, std::shared_ptr<const HostArray> array) {
  const std::string unique = names.add(name);
  const Tensor tensor = graph.input(unique, array->dtype(), fixed_extents(array->shape()));
  weights.push_back({.name = unique, .array = std::move(array)});
  return tensor;
}

/// One element per extent, which the program computes from its symbols.
Tensor Recording::extents(const KnownValue& value) {
  std::vector<Tensor> parts;
  for (const Number& item : value.items) {
    const Tensor number =
        item.is_real ? full(graph, {}, item.real, value.dtype)
                     : record_size(graph.data(), item.extent, value.dtype, /*location=*/{});
    parts.push_back(reshape(number, {1}));
  }
  return reshape(concat(parts, 0), fixed_extents(value.shape));
}

Tensor Recording::random_seed() {
  if (!random_seed_.node())
    random_seed_ =
        weight("random_seed", std::make_shared<const HostArray>(i64, std::vector<std::int64_t>()));
  return random_seed_;
}

Tensor Recording::tensor(Value& value) {
  if (value.tensor.node()) return value.tensor;
  if (!value.array && value.known->is_fixed())
    value.array = std::make_shared<const HostArray>(array_of(*value.known));
  if (!value.array)
    value.tensor = extents(*value.known);
  else if (value.array->size() == 1 && !value.is_default)
    value.tensor = constant(*value.array);
  else
    value.tensor = weight(value.name, value.array);
  return value.tensor;
}

}  // namespace sinter::onnx
