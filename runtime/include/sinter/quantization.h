// Post-training quantisation: matrix products and convolutions of 8-bit operands, whose ranges are
// measured on examples.
//
// `calibrate` measures the ranges of the operands that are no weights. `quantize_products` rounds
// every operand to 8 bits and back (QDQ: quantize, dequantize). `fold_dequantization` turns
// products of dequantised operands into products of 8-bit operands. `precompute` moves what depends
// on weights alone into a graph that runs once. None changes the graph that it takes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sinter/device.h"
#include "sinter/dtype.h"
#include "sinter/executable.h"
#include "sinter/graph.h"

namespace sinter {

/// The smallest and the largest element of a value.
struct ValueRange {
  std::string value;  ///< its name in the printed graph
  double low = 0;
  double high = 0;
};

enum class RangeMethod : std::uint8_t {
  min_max,     ///< all elements are in the range
  percentile,  ///< CalibrationOptions::percentile of the elements are in the range
};

struct CalibrationOptions {
  RangeMethod method = RangeMethod::min_max;
  /// From above 0 to 100. At most half of the other elements are below the range, and half above.
  /// The ends are exact to 1/4096 of the range of all elements, and found in three more runs.
  double percentile = 99.99;
};

/// Runs `graph` on `examples` in `stream`, and returns the ranges of operands of matrix products
/// and convolutions, in the order of the graph. Operands that depend on weights alone have none.
/// Each example binds the inputs that `weights` does not bind. Updates are not written. Throws
/// UserError if there is no example, if an operand has no elements, or if one is NaN or infinite.
/// Also throws the errors of compile and Context::run.
std::vector<ValueRange> calibrate(const Graph& graph, const Stream& stream, BindingList weights,
                                  std::span<const std::vector<Binding>> examples,
                                  const CalibrationOptions& options = {});

/// A matrix product or convolution that a function left as it was.
struct SkippedProduct {
  std::string value;   ///< its name in the printed graph
  std::string reason;  ///< `its filters are no weights`
};

struct QuantizedGraph {
  Graph graph;
  int products = 0;  ///< that were changed
  std::vector<SkippedProduct> skipped;
};

struct QuantizationOptions {
  DType dtype = i8;  ///< i8, or f8e4m3 for matrix products
  /// Weights have one scale per column of a product and per filter of a convolution, else one.
  bool per_axis = true;
  /// Operands in i8 that are no weights have a zero point, so that a range such as [0, 6] uses all
  /// 256 levels. Without it, ranges are symmetric.
  bool zero_points = true;
};

/// Puts each operand in f16, bf16 or f32 of matrix products and convolutions through `quantize` and
/// `dequantize`. A weight is an operand that depends on the inputs `weights` alone. Its scale is
/// max |w| / 127 for i8, and max |w| / 448 for f8e4m3. The scale of another operand follows from
/// its range in `ranges`, extended to contain 0. Skips products without a weight or range that they
/// need. Throws UserError for another dtype, an unknown weight, a range that is not finite, or a
/// weight that the graph updates.
QuantizedGraph quantize_products(const Graph& graph, std::span<const std::string> weights,
                                 std::span<const ValueRange> ranges,
                                 const QuantizationOptions& options = {});

/// Replaces each product of dequantised operands (q - zero_point) * scale by a product of q, whose
/// sums are then scaled: `integer_matmul`, `integer_conv`, or a product in f8. Sums of integers are
/// exact, so results differ from those of the QDQ form by the rounding of its floating sums. Skips
/// products with a scale or zero point that differs along the summed axes.
QuantizedGraph fold_dequantization(const Graph& graph);

struct PrecomputedGraph {
  Graph graph;    ///< without weights that only `weights` needs; new weights are its last inputs
  Graph weights;  ///< computes the new weights, under the names of those inputs; may have no output
};

/// Splits off what depends on the inputs `weights` alone. The new weights are the values that take
/// the fewest bytes: of (cast(q) * scale), they are q and scale. Throws UserError for an unknown
/// weight, or one that the graph updates.
PrecomputedGraph precompute(const Graph& graph, std::span<const std::string> weights);

}  // namespace sinter
