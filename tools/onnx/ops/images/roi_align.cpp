// RoiAlign: samples each region on a regular grid, and pools the samples of each of its bins.
#include "sinter/nn.h"
#include "sinter/views.h"
#include "tools/onnx/node/operands.h"
#include "tools/onnx/ops/axes.h"
#include "tools/onnx/ops/images/sampling.h"
#include "tools/onnx/ops/op_table.h"

#include <array>

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

/// The samples along one axis: each reads two elements with weights, if it counts.
struct RoiTaps {
  std::array<Tensor, 2> index;   ///< [regions, samples]
  std::array<Tensor, 2> weight;  ///< [regions, samples]; 0 for samples far outside
};

/// The two neighbours of positions along an axis of extent n.
RoiTaps roi_taps(const Tensor& position, std::int64_t n) {
  const auto last = static_cast<double>(n - 1);
  const Tensor counts = logical_and(position >= -1.0, position <= static_cast<double>(n));
  const Tensor inner = clamp(position, 0.0, last);
  const Tensor low = floor(inner);
  const Tensor t = inner - low;
  return {{cast(low, i64), cast(minimum(low + 1, last), i64)},
          {where(counts, 1 - t, 0), where(counts, t, 0)}};
}

/// The positions of all samples along an axis: [regions, bins * samples].
Tensor sample_positions(const Call& call, const Tensor& begin, const Tensor& end, bool is_centred,
                        std::int64_t bins, std::int64_t samples) {
  Tensor length = end - begin;
  if (!is_centred) length = maximum(length, 1.0);
  const Tensor number = cast(iota(call.graph(), bins * samples), begin.dtype());
  const auto count = static_cast<double>(bins * samples);
  return unsqueeze(begin, 1) + (number + 0.5) * unsqueeze(length / count, 1);
}

Outputs record_roi_align(const Call& call) {
  require_inputs(call, 3, 3);
  const Tensor x = call.tensor(0);
  if (x.rank() != 4 || call.rank(1) != 2 || call.rank(2) != 1)
    refuse(fmt::format("its inputs have the ranks {}, {} and {}; they must be 4, 2 and 1", x.rank(),
                       call.rank(1), call.rank(2)));
  const Attributes& attributes = call.attributes();
  const std::int64_t rows = attributes.integer("output_height", 1);
  const std::int64_t columns = attributes.integer("output_width", 1);
  const std::int64_t samples = attributes.integer("sampling_ratio", 0);
  if (samples < 1)
    refuse(
        fmt::format("sampling_ratio is {}: the number of samples would depend on the regions; "
                    "export the model with a ratio of at least 1",
                    samples));
  const bool is_centred =
      attributes.text("coordinate_transformation_mode",
                      call.opset() < 16 ? "output_half_pixel" : "half_pixel") == "half_pixel";
  const std::string mode = attributes.text("mode", "avg");
  if (mode != "avg" && mode != "max")
    refuse(fmt::format("mode is {}; it must be avg or max", mode));

  const DType compute = x.dtype() == f64 ? f64 : f32;
  // Each region is x1, y1, x2, y2.
  const Tensor regions = cast(call.tensor(1), compute) * attributes.real("spatial_scale", 1.0) -
                         (is_centred ? 0.5 : 0.0);
  const auto corner = [&](int i) { return select(regions, 1, i); };
  const RoiTaps y =
      roi_taps(sample_positions(call, corner(1), corner(3), is_centred, rows, samples),
               number_of(x.shape()[2]));
  const RoiTaps at_x =
      roi_taps(sample_positions(call, corner(0), corner(2), is_centred, columns, samples),
               number_of(x.shape()[3]));
  Tensor result;
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 2; ++j) {
      const Tensor elements = elements_at(cast(x, compute), call.tensor(2),
                                          {unsqueeze(y.index[i], 2), unsqueeze(at_x.index[j], 1)});
      const Tensor weight = unsqueeze(y.weight[i], 2) * unsqueeze(at_x.weight[j], 1);
      const Tensor term = elements * unsqueeze(weight, -1);
      if (!result.node())
        result = term;
      else
        result = mode == "avg" ? result + term : maximum(result, term);
    }
  const auto shape = result.shape();
  const Tensor by_bin = reshape(result, {shape[0], rows, samples, columns, samples, shape.back()});
  const Tensor pooled = mode == "avg" ? mean(by_bin, {2, 4}) : max(by_bin, {2, 4});
  return {cast(with_channels_second(pooled), x.dtype())};
}

constexpr OpRow kRoiOps[] = {{"RoiAlign", record_roi_align}};

}  // namespace

std::span<const OpRow> roi_ops() { return kRoiOps; }

}  // namespace sinter::onnx
