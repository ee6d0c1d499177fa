// Windows of signals.
#include "tools/onnx/node/element_type_attribute.h"
#include "tools/onnx/node/operands.h"
#include "tools/onnx/ops/axes.h"
#include "tools/onnx/ops/op_table.h"

#include <numbers>

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

/// a0 - a1 cos(2πi / n) + a2 cos(4πi / n), with n - 1 instead of n if the window is symmetric.
Tensor cosine_window(const Call& call, double a0, double a1, double a2) {
  const std::vector<Extent> size = call.extents(0, "size");
  if (size.size() != 1) refuse(fmt::format("the size has {} numbers", size.size()));
  const DType dtype =
      call.attributes().has("output_datatype") ? dtype_named(call, "output_datatype") : f32;
  const DType compute = dtype == f64 ? f64 : f32;
  const bool is_periodic = call.attributes().flag("periodic", true);
  const Extent steps = is_periodic ? size[0] : size[0] - 1;
  const Operand count = operand_of(call, steps);
  const Tensor number = cast(iota(call.graph(), size[0]), compute);
  const Tensor part = count.is_literal()
                          ? number * (2 * std::numbers::pi / static_cast<double>(steps.number()))
                          : number * (2 * std::numbers::pi / cast(count, compute));
  const Tensor window = a0 - cos(part) * a1;
  return cast(a2 == 0 ? window : window + cos(part * 2) * a2, dtype);
}

Outputs record_hann_window(const Call& call) { return {cosine_window(call, 0.5, 0.5, 0)}; }
Outputs record_hamming_window(const Call& call) {
  return {cosine_window(call, 25.0 / 46, 21.0 / 46, 0)};
}
Outputs record_blackman_window(const Call& call) { return {cosine_window(call, 0.42, 0.5, 0.08)}; }

constexpr OpRow kSignals[] = {
    {"BlackmanWindow", record_blackman_window},
    {"HammingWindow", record_hamming_window},
    {"HannWindow", record_hann_window},
};

}  // namespace

std::span<const OpRow> signal_ops() { return kSignals; }

}  // namespace sinter::onnx
