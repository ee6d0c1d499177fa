#include "quantized.h"

#include "model.h"

namespace mlp {

using namespace sinter;  // NOLINT: typical for user code

Graph quantized_accuracy(int images, DType dtype, const Stream& stream,
                         const std::vector<Binding>& parameters,
                         const std::vector<Binding>& examples) {
  std::vector<std::string> weights;
  for (const Parameter& one : mlp::parameters()) weights.emplace_back(one.name);
  const auto measured = static_cast<int>(examples.at(0).array->shape()[0]);
  const std::vector<std::vector<Binding>> all = {examples};
  const std::vector<ValueRange> ranges =
      calibrate(accuracy(measured), stream, parameters, all, {.method = RangeMethod::percentile});
  const QuantizedGraph rounded =
      quantize_products(accuracy(images), weights, ranges, {.dtype = dtype});
  return fold_dequantization(rounded.graph).graph;
}

}  // namespace mlp
