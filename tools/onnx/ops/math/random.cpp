// Random numbers. They depend on the seed, on the place of the node in the model and on the
// position.
#include "sinter/views.h"
#include "tools/onnx/node/element_type_attribute.h"
#include "tools/onnx/node/limits.h"
#include "tools/onnx/node/operands.h"
#include "tools/onnx/ops/op_table.h"

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

/// The attribute `dtype`, which must be floating.
DType floating_dtype(const Call& call, DType otherwise) {
  const DType dtype = call.attributes().has("dtype") ? dtype_named(call, "dtype") : otherwise;
  if (!is_floating(dtype) || is_f8(dtype))
    refuse(fmt::format("its dtype is {}; it must be floating", name(dtype)));
  return dtype;
}

using Draw = Tensor (*)(const Call& call, const std::vector<Extent>& shape, DType dtype);

Tensor affine(const Tensor& x, double factor, double offset) {
  const Tensor product = factor == 1 ? x : x * factor;
  return offset == 0 ? product : product + offset;
}

/// Uniform in [low, high).
Tensor draw_uniform(const Call& call, const std::vector<Extent>& shape, DType dtype) {
  const double low = call.attributes().real("low", 0);
  const double high = call.attributes().real("high", 1);
  const Call::RandomStream stream = call.random_stream();
  return affine(random_uniform(stream.seed, shape, dtype, stream.offset), high - low, low);
}

Tensor draw_normal(const Call& call, const std::vector<Extent>& shape, DType dtype) {
  const double mean = call.attributes().real("mean", 0);
  const double deviation = call.attributes().real("scale", 1);
  const Call::RandomStream stream = call.random_stream();
  return affine(random_normal(stream.seed, shape, dtype, stream.offset), deviation, mean);
}

/// The shape is an attribute.
template <Draw draw>
Outputs record_random(const Call& call) {
  require_inputs(call, 0, 0);
  std::vector<Extent> shape;
  for (const std::int64_t extent : call.attributes().integers("shape")) {
    if (extent < 0) refuse(fmt::format("an extent of its shape is {}", extent));
    shape.emplace_back(extent);
  }
  return {draw(call, shape, floating_dtype(call, f32))};
}

/// The shape is that of the input.
template <Draw draw>
Outputs record_random_like(const Call& call) {
  require_inputs(call, 1, 1);
  return {draw(call, call.shape(0), floating_dtype(call, call.dtype(0)))};
}

/// True with the probabilities in the input.
Outputs record_bernoulli(const Call& call) {
  require_inputs(call, 1, 1);
  const DType dtype = call.attributes().has("dtype") ? dtype_named(call, "dtype") : call.dtype(0);
  const DType compute = call.dtype(0) == f64 ? f64 : f32;
  const Call::RandomStream stream = call.random_stream();
  const Tensor drawn = random_uniform(stream.seed, call.shape(0), compute, stream.offset);
  return {cast(drawn < cast(call.tensor(0), compute), dtype)};
}

/// The classes [batch, samples] for logarithms of weights [batch, classes].
Outputs record_multinomial(const Call& call) {
  require_inputs(call, 1, 1);
  if (call.rank(0) != 2)
    refuse(fmt::format("its input has rank {}; it must have rank 2", call.rank(0)));
  const DType dtype = call.attributes().has("dtype") ? dtype_named(call, "dtype") : i32;
  const std::int64_t samples = call.attributes().integer("sample_size", 1);
  if (samples < 1) refuse(fmt::format("sample_size is {}; it must be at least 1", samples));
  const Tensor x = call.tensor(0);
  const Tensor sums = cumsum(softmax(cast(x, x.dtype() == f64 ? f64 : f32), 1), 1);
  const Call::RandomStream stream = call.random_stream();
  const Tensor drawn =
      random_uniform(stream.seed, {x.shape()[0], samples}, sums.dtype(), stream.offset);
  // The last sum may round to less than 1, so the last class has no upper limit.
  const Tensor limits = slice(sums, 1, 0, x.shape()[1] - 1);
  const Tensor passed = unsqueeze(drawn, 2) >= unsqueeze(limits, 1);
  return {cast(sum(cast(passed, dtype), {2}), dtype)};
}

/// The ratio of elements that a dropout drops.
Operand dropout_ratio(const Call& call) {
  if (call.opset() < 12) return call.attributes().real("ratio", 0.5);
  call.attributes().ignore("ratio");
  return call.has_input(1) ? call.operand(1, 0) : Operand(0.5);
}

/// Drops elements only in training mode, which must be known. Before opset 12, sinter imports
/// inference.
Outputs record_dropout(const Call& call) {
  require_inputs(call, 1, 3);
  if (call.opset() < 7) call.attributes().ignore("is_test");
  const Tensor x = call.tensor(0);
  const Operand ratio = dropout_ratio(call);
  const bool is_training = call.has_input(2) && call.flag(2, "training mode");
  const DType mask = call.opset() < 10 ? x.dtype() : boolean;
  if (!is_training || (call.known(1) && call.real(1, "ratio") == 0)) {
    call.attributes().ignore("seed");
    return {x, full(call.graph(), x.shape(), number_of_dtype(1, mask), mask)};
  }
  const DType compute = x.dtype() == f64 ? f64 : f32;
  const Tensor drops = ratio.is_literal() ? full(call.graph(), {}, ratio.literal, compute)
                                          : cast(reshape(ratio.tensor, Extents()), compute);
  const Call::RandomStream stream = call.random_stream();
  const Tensor keeps = random_uniform(stream.seed, x.shape(), compute, stream.offset) >= drops;
  // A ratio of 1 drops all elements.
  const Tensor scaled = cast(x, compute) / (1 - drops);
  return {cast(where(keeps, scaled, 0), x.dtype()), keeps};
}

constexpr OpRow kRandom[] = {
    {"Bernoulli", record_bernoulli},
    {"Dropout", record_dropout},
    {"Multinomial", record_multinomial},
    {"RandomNormal", record_random<draw_normal>},
    {"RandomNormalLike", record_random_like<draw_normal>},
    {"RandomUniform", record_random<draw_uniform>},
    {"RandomUniformLike", record_random_like<draw_uniform>},
};

}  // namespace

std::span<const OpRow> random_ops() { return kRandom; }

}  // namespace sinter::onnx
