// Windows of signals, and the triangles of mel spectrograms.
#include "tools/onnx/node/element_type_attribute.h"
#include "tools/onnx/node/operands.h"
#include "tools/onnx/ops/axes.h"
#include "tools/onnx/ops/op_table.h"

#include <cmath>
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

/// The elements of spectra at which the triangles begin, have their peak, and end.
std::vector<std::int64_t> mel_edges(double low_hertz, double high_hertz, std::int64_t bins,
                                    std::int64_t dft_length, std::int64_t sample_rate) {
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double step = (mel(high_hertz) - mel(low_hertz)) / static_cast<double>(bins + 2);
  std::vector<std::int64_t> edges;
  for (std::int64_t i = 0; i < bins + 2; ++i) {
    const double at = mel(low_hertz) + step * static_cast<double>(i);
    const double hertz = 700 * (std::pow(10, at / 2595) - 1);
    const double element =
        std::floor(static_cast<double>(dft_length + 1) * hertz / static_cast<double>(sample_rate));
    if (!(element >= 0 && element <= static_cast<double>(dft_length / 2)))
      refuse(fmt::format("its bands reach {} Hz, which spectra of {} samples at {} Hz do not have",
                         hertz, dft_length, sample_rate));
    edges.push_back(static_cast<std::int64_t>(element));
  }
  return edges;
}

/// A table with one triangle of height 1 per band: [dft_length / 2 + 1, bands].
Outputs record_mel_weight_matrix(const Call& call) {
  require_inputs(call, 5, 5);
  constexpr std::int64_t kMostLength = std::int64_t{1} << 16;
  constexpr std::int64_t kMostBands = 1024;
  const std::int64_t bands = call.integer(0, "number of bands");
  const std::int64_t length = call.integer(1, "length of the transform");
  const std::int64_t rate = call.integer(2, "sample rate");
  if (bands < 0 || bands > kMostBands || length < 1 || length > kMostLength || rate < 1)
    refuse(
        fmt::format("it has {} bands, for {} samples at {} Hz; sinter makes up to {} bands for up "
                    "to {} samples",
                    bands, length, rate, kMostBands, kMostLength));
  const std::vector<std::int64_t> edges =
      mel_edges(call.real(3, "lower edge"), call.real(4, "upper edge"), bands, length, rate);
  HostArray table(
      call.attributes().has("output_datatype") ? dtype_named(call, "output_datatype") : f32,
      {length / 2 + 1, bands});
  const auto set = [&](std::int64_t element, std::int64_t band, double value) {
    if (is_floating(table.dtype()))
      table.set_real_at(element * bands + band, value);
    else
      table.set_integer_at(element * bands + band, static_cast<std::int64_t>(value));
  };
  for (std::int64_t band = 0; band < bands; ++band) {
    const std::int64_t* const edge = edges.data() + band;  // begin, peak, end
    for (std::int64_t i = edge[0]; i < edge[1]; ++i)
      set(i, band, static_cast<double>(i - edge[0]) / static_cast<double>(edge[1] - edge[0]));
    set(edge[1], band, 1);
    for (std::int64_t i = edge[1]; i < edge[2]; ++i)
      set(i, band, static_cast<double>(edge[2] - i) / static_cast<double>(edge[2] - edge[1]));
  }
  return {call.constant(call.table_name("triangles"), std::move(table))};
}

constexpr OpRow kSignals[] = {
    {"BlackmanWindow", record_blackman_window},
    {"HammingWindow", record_hamming_window},
    {"HannWindow", record_hann_window},
    {"MelWeightMatrix", record_mel_weight_matrix},
};

}  // namespace

std::span<const OpRow> signal_ops() { return kSignals; }

}  // namespace sinter::onnx
