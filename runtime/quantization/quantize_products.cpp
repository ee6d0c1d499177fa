// quantize_products: the QDQ form of a graph.
#include "compiler/simplify/graph_sweep.h"
#include "ir/text/print.h"
#include "runtime/quantization/dequantized.h"
#include "runtime/quantization/weight_values.h"
#include "sinter/error.h"
#include "sinter/nn.h"
#include "sinter/quantization.h"
#include "sinter/views.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace sinter {

namespace {

constexpr std::string_view kName = "quantize_products";
constexpr double kLevels = 255;      ///< steps between the lowest and the highest i8
constexpr double kLowest = -128;     ///< of i8
constexpr double kMostI8 = 127;      ///< of a symmetric range
constexpr double kMostF8e4m3 = 448;  ///< the largest number of f8e4m3
constexpr double kLeastScale = 1e-30;

/// Scale and zero point of an operand that is no weight.
struct LevelGrid {
  double scale = 1;
  std::int64_t zero_point = 0;
};

/// Rounds to f32, the dtype in which graphs divide by the scale.
double in_f32(double number) { return static_cast<double>(static_cast<float>(number)); }

LevelGrid grid_of(const ValueRange& range, const QuantizationOptions& options) {
  if (!std::isfinite(range.low) || !std::isfinite(range.high) || range.low > range.high)
    throw UserError(
        fmt::format("{}: the range of {} is [{}, {}]; both ends must be finite and in order", kName,
                    range.value, range.low, range.high));
  const double low = std::min(range.low, 0.0);
  const double high = std::max(range.high, 0.0);
  if (options.dtype == i8 && options.zero_points) {
    const double scale = in_f32(std::max((high - low) / kLevels, kLeastScale));
    return {.scale = scale,
            .zero_point = static_cast<std::int64_t>(std::nearbyint(kLowest - low / scale))};
  }
  const double most = options.dtype == i8 ? kMostI8 : kMostF8e4m3;
  return {.scale = in_f32(std::max(std::max(-low, high) / most, kLeastScale))};
}

class Quantizer {
 public:
  Quantizer(const Graph& graph, std::span<const std::string> weights,
            std::span<const ValueRange> ranges, const QuantizationOptions& options)
      : result_{.graph = clone(graph), .skipped = {}},
        data_(result_.graph.data()),
        is_weight_(weight_values(data_, weights, kName)),
        options_(options) {
    if (options.dtype != i8 && options.dtype != f8e4m3)
      throw UserError(
          fmt::format("{}: the dtype is {}; it must be i8 or f8e4m3", kName, name(options.dtype)));
    for (const ValueRange& range : ranges) grids_[range.value] = grid_of(range, options);
    const ValueNames names(data_);
    for (const Node* node : data_.nodes) named_.push_back(names.of(node));
  }

  QuantizedGraph run() {
    sweep(data_, [this](const Node& node, std::span<const Node* const> operands) {
      const Node* own = with_operands(data_, node, operands);
      if (!is_floating_product(node) || is_weight_[node.id]) return own;
      if (dequantized_value(data_, operands[0]) && dequantized_value(data_, operands[1]))
        return own;
      std::string reason = reason_to_skip(node);
      if (!reason.empty()) {
        result_.skipped.push_back({.value = named_[node.id], .reason = std::move(reason)});
        return own;
      }
      ++result_.products;
      const Node* const rounded[] = {quantized(node, 0, operands[0]),
                                     quantized(node, 1, operands[1])};
      return with_operands(data_, node, rounded);
    });
    result_.graph = clone(result_.graph);
    return std::move(result_);
  }

 private:
  std::string reason_to_skip(const Node& node) const {
    if (node.op == Op::conv && options_.dtype != i8)
      return fmt::format("convolutions of {} do not exist", name(options_.dtype));
    if (node.op == Op::conv && !is_weight_[node.operand(1)->id])
      return "its filters are no weights";
    for (const Node* operand : node.operands)
      if (!is_weight_[operand->id] && !grids_.contains(named_[operand->id]))
        return fmt::format("its operand {} has no range", named_[operand->id]);
    return {};
  }

  /// `operand`, the replacement of operand `index` of `product`, rounded to 8 bits.
  const Node* quantized(const Node& product, std::size_t index, const Node* operand) {
    const Node& original = *product.operand(index);
    const Operand x = operand_at(data_, operand, &product);
    const std::string& name_of_x = named_[original.id];
    Tensor levels;
    Tensor real;
    if (is_weight_[original.id]) {
      // Tensor cores take 8-bit operands with consecutive elements along the summed axis.
      const bool turns = product.op == Op::matmul && summed_axis(product, index) != -1;
      const Operand w = turns ? Operand(transpose(x, -2, -1)) : x;
      const Tensor scale = scale_of_weight(product, w).label(name_of_x + "_scale");
      levels = quantize(w, scale, 0, options_.dtype).label(name_of_x + "_levels");
      real = dequantize(levels, scale);
      if (turns) real = transpose(real, -2, -1);
    } else {
      const LevelGrid& grid = grids_.at(name_of_x);
      levels = quantize(x, grid.scale, grid.zero_point, options_.dtype);
      real = dequantize(levels, grid.scale, grid.zero_point);
    }
    return cast(real, operand->dtype).node();
  }

  /// The axis of operand `index` that a matrix product sums: -2 or -1.
  static int summed_axis(const Node& product, std::size_t index) {
    const bool is_transposed =
        attribute(product, index == 0 ? "transpose_a" : "transpose_b").integer != 0;
    return (index == 0) != is_transposed ? -1 : -2;
  }

  /// The scale of a weight, whose last axis is the summed one of a matrix product. Elements share
  /// it along all axes, or along those that the product sums.
  Tensor scale_of_weight(const Node& product, const Operand& w) const {
    const int rank = w.tensor.rank();
    std::vector<std::int64_t> axes = {-1};
    if (!options_.per_axis || product.op == Op::conv) {
      axes.clear();
      for (int axis = options_.per_axis ? 1 : 0; axis < rank; ++axis) axes.push_back(axis);
    }
    const double most = options_.dtype == i8 ? kMostI8 : kMostF8e4m3;
    return maximum(max(abs(cast(w, f32)), axes, keep), kLeastScale) / most;
  }

  QuantizedGraph result_;
  GraphData& data_;
  std::vector<bool> is_weight_;     ///< by id
  std::vector<std::string> named_;  ///< by id, before any change
  const QuantizationOptions& options_;
  std::map<std::string, LevelGrid> grids_;  ///< by value
};

}  // namespace

QuantizedGraph quantize_products(const Graph& graph, std::span<const std::string> weights,
                                 std::span<const ValueRange> ranges,
                                 const QuantizationOptions& options) {
  return Quantizer(graph, weights, ranges, options).run();
}

}  // namespace sinter
