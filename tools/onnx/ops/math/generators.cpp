// Operators that make arrays from sizes and numbers.
#include "ir/shape/extent.h"
#include "tools/onnx/model/tensor_data.h"
#include "tools/onnx/node/operands.h"
#include "tools/onnx/ops/op_table.h"
#include "tools/onnx/values/recording.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

/// Reached for shapes that depend on symbols or are large; others are evaluated.
Outputs record_constant_of_shape(const Call& call) {
  require_inputs(call, 1, 1);
  const std::vector<Extent> shape = call.extents(0, "shape");
  const TensorProto* const tensor = call.attributes().tensor("value");
  if (!tensor) return {full(call.graph(), shape, 0.0, f32)};
  const HostArray value = array_of(*tensor, call.folder());
  if (value.size() != 1)
    refuse(fmt::format("its value has {} elements; it must have one", value.size()));
  return {full(call.graph(), shape, literal_of(value), value.dtype())};
}

Outputs record_range(const Call& call) {
  require_inputs(call, 3, 3);
  require_one_dtype(call);
  call.attributes().ignore("stash_type");  // sinter rounds once, from f32
  const DType dtype = call.dtype(0);
  const KnownValue* parts[3];
  for (std::size_t i = 0; i < 3; ++i) {
    parts[i] = &call.known(i, "bounds");
    if (parts[i]->items.size() != 1) refuse("its bounds must be numbers");
  }
  const Number start = parts[0]->items[0];
  const Number limit = parts[1]->items[0];
  const Number step = parts[2]->items[0];
  if (!step.is_fixed() || step.as_real() == 0) refuse("its step must be a number other than 0");
  if (is_floating(dtype)) {
    if (!start.is_fixed() || !limit.is_fixed()) refuse("its bounds depend on symbols");
    const double count = std::ceil((limit.as_real() - start.as_real()) / step.as_real());
    if (!(count < 0x1p40)) refuse("it has too many elements");
    const Tensor positions =
        iota(call.graph(), static_cast<std::int64_t>(std::fmax(count, 0)), 0, 1, i64);
    const DType wide = dtype == f64 ? f64 : f32;
    return {cast(cast(positions, wide) * step.as_real() + start.as_real(), dtype)};
  }
  const std::int64_t by = step.extent.number();
  if (by == std::numeric_limits<std::int64_t>::min()) refuse("its step is too large");
  if (by < 0 && !(start.is_fixed() && limit.is_fixed()))
    refuse("its bounds depend on symbols, and its step is negative");
  const Extent span = by > 0 ? limit.extent - start.extent : start.extent - limit.extent;
  if (provably_negative(span)) return {iota(call.graph(), 0, 0, 1, dtype)};
  const Extent count = ceil_div(span, by > 0 ? by : -by);
  if (start.is_integer()) return {iota(call.graph(), count, start.extent.number(), by, dtype)};
  return {iota(call.graph(), count, 0, by, dtype) + call.size_value(start.extent, dtype)};
}

constexpr OpRow kGenerators[] = {
    {"ConstantOfShape", record_constant_of_shape},
    {"Range", record_range},
};

}  // namespace

std::span<const OpRow> generator_ops() { return kGenerators; }

}  // namespace sinter::onnx
