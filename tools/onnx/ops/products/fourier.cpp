// DFT and STFT, as matrix products with tables of sines and cosines.
//
// Tables and products are in f64, so that results near 0 keep their precision.
#include "sinter/views.h"
#include "tools/onnx/node/operands.h"
#include "tools/onnx/ops/axes.h"
#include "tools/onnx/ops/op_table.h"
#include "tools/onnx/ops/products/matrix_product.h"

#include <cmath>
#include <numbers>
#include <vector>

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

/// The largest table of sines, in elements.
constexpr std::int64_t kMostAngles = std::int64_t{1} << 22;

/// A signal with its elements along the last axis, in f64.
struct Signal {
  Tensor real;
  Tensor imaginary;  ///< empty: 0
};

/// A transform of `length` elements.
struct Transform {
  std::int64_t length = 0;
  bool is_inverse = false;
  bool is_onesided = false;

  std::int64_t half() const { return length / 2 + 1; }
  std::int64_t inputs() const { return is_inverse && is_onesided ? half() : length; }
  std::int64_t outputs() const { return !is_inverse && is_onesided ? half() : length; }
};

/// Factors of the input elements. A onesided input also represents its conjugates.
double weight_of(const Transform& transform, std::int64_t input) {
  if (!transform.is_inverse) return 1;
  const double one = 1 / static_cast<double>(transform.length);
  const bool is_alone = input == 0 || 2 * input == transform.length;
  return transform.is_onesided && !is_alone ? 2 * one : one;
}

/// Cosines (or sines) of 2π k j / length, times the factors: [inputs, outputs].
Tensor table_of(const Call& call, const Transform& transform, bool is_sine) {
  HostArray table(f64, {transform.inputs(), transform.outputs()});
  for (std::int64_t k = 0; k < transform.inputs(); ++k)
    for (std::int64_t j = 0; j < transform.outputs(); ++j) {
      // The remainder keeps the angle small and exact multiples of a quarter turn exact.
      const std::int64_t turn = k * j % transform.length;
      const double angle =
          2 * std::numbers::pi * static_cast<double>(turn) / static_cast<double>(transform.length);
      const double value = is_sine ? std::sin(angle) : std::cos(angle);
      table.set_real_at(k * transform.outputs() + j, weight_of(transform, k) * value);
    }
  return call.constant(call.table_name(is_sine ? "sines" : "cosines"), std::move(table));
}

/// `x` cut or padded with zeros to `length` elements along the last axis.
Tensor resized_to(const Tensor& x, std::int64_t length) {
  if (!x.node()) return x;
  const std::int64_t extent = number_of(x.shape().back());
  const Tensor cut = extent > length ? slice(x, -1, 0, length) : x;
  if (extent >= length) return cut;
  std::vector<std::int64_t> low(static_cast<std::size_t>(x.rank()), 0);
  std::vector<std::int64_t> high = low;
  high.back() = length - extent;
  return pad(x, low, high, 0);
}

Signal transformed(const Call& call, Signal signal, const Transform& transform) {
  if (transform.length < 1 || transform.inputs() > kMostAngles / transform.outputs())
    refuse(fmt::format("it transforms {} elements; a table of sines serves up to 2048",
                       transform.length));
  signal.real = resized_to(signal.real, transform.inputs());
  signal.imaginary = resized_to(signal.imaginary, transform.inputs());
  const Tensor cosines = table_of(call, transform, false);
  const Tensor sines = table_of(call, transform, true);
  const Tensor real_sines = matrix_product(signal.real, sines);
  Signal result{.real = matrix_product(signal.real, cosines),
                .imaginary = transform.is_inverse ? real_sines : -real_sines};
  if (!signal.imaginary.node()) return result;
  const Tensor imaginary_sines = matrix_product(signal.imaginary, sines);
  result.real =
      transform.is_inverse ? result.real - imaginary_sines : result.real + imaginary_sines;
  result.imaginary = result.imaginary + matrix_product(signal.imaginary, cosines);
  return result;
}

/// The parts of [..., 1 or 2], without the last axis.
Signal parts_of(const Tensor& x) {
  const std::int64_t parts = number_of(x.shape().back());
  if (parts != 1 && parts != 2)
    refuse(fmt::format("the last axis of its input is {}; it must be 1 or 2", parts));
  const Tensor wide = cast(x, f64);
  return {select(wide, -1, 0), parts == 2 ? select(wide, -1, 1) : Tensor()};
}

Tensor with_last(const Tensor& x, int axis) { return x.node() ? transpose(x, axis, -1) : x; }

/// The axis is an attribute before opset 20, then an input.
int axis_of_dft(const Call& call, int rank) {
  std::int64_t axis = call.opset() < 20 ? call.attributes().integer("axis", 1) : -2;
  if (call.has_input(2)) axis = call.integer(2, "axis");
  const int checked = checked_axis(axis, rank);
  if (checked == rank - 1) refuse("its axis is the last one, which holds the parts of a number");
  return checked;
}

Outputs record_dft(const Call& call) {
  require_inputs(call, 1, call.opset() < 20 ? 2 : 3);
  const Tensor x = call.tensor(0);
  if (x.rank() < 2) refuse(fmt::format("its input has rank {}; it must be at least 2", x.rank()));
  const int axis = axis_of_dft(call, x.rank());
  Transform transform{.is_inverse = call.attributes().flag("inverse", false),
                      .is_onesided = call.attributes().flag("onesided", false)};
  const std::int64_t extent = number_of(x.shape()[static_cast<std::size_t>(axis)]);
  const bool is_half = transform.is_inverse && transform.is_onesided;
  transform.length = call.has_input(1) ? call.integer(1, "length")
                     : is_half         ? 2 * (extent - 1)
                                       : extent;
  const Signal parts = parts_of(x);
  const Signal result =
      transformed(call, {with_last(parts.real, axis), with_last(parts.imaginary, axis)}, transform);
  const Tensor real = with_last(result.real, axis);
  if (is_half) return {cast(unsqueeze(real, -1), x.dtype())};
  return {cast(stack({real, with_last(result.imaginary, axis)}, -1), x.dtype())};
}

/// Windows of the signal [batch, elements, 1 or 2], each transformed.
Outputs record_stft(const Call& call) {
  require_inputs(call, 2, 4);
  const Tensor x = call.tensor(0);
  if (x.rank() != 3) refuse(fmt::format("its signal has rank {}; it must be 3", x.rank()));
  const std::int64_t step = call.integer(1, "step");
  std::int64_t length = number_of(x.shape()[1]);
  if (call.has_input(2)) {
    if (call.rank(2) != 1)
      refuse(fmt::format("its window has rank {}; it must be a vector", call.rank(2)));
    length = number_of(call.shape(2)[0]);
  }
  if (call.has_input(3)) length = call.integer(3, "length of a frame");
  if (step < 1 || length < 1 || length > number_of(x.shape()[1]))
    refuse(fmt::format("its frames have {} elements, {} apart, of {}", length, step,
                       to_string(x.shape()[1])));
  Signal parts = parts_of(x);
  for (Tensor* const part : {&parts.real, &parts.imaginary}) {
    if (!part->node()) continue;
    *part = unfold(*part, 1, length, step);
    if (call.has_input(2)) *part = *part * cast(call.tensor(2), f64);
  }
  const Signal result = transformed(
      call, parts, {.length = length, .is_onesided = call.attributes().flag("onesided", true)});
  return {cast(stack({result.real, result.imaginary}, -1), x.dtype())};
}

constexpr OpRow kFourier[] = {
    {"DFT", record_dft},
    {"STFT", record_stft},
};

}  // namespace

std::span<const OpRow> fourier_ops() { return kFourier; }

}  // namespace sinter::onnx
