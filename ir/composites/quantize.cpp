// Quantization to 8-bit dtypes, and back.
#include "ir/composites/widening.h"
#include "ir/record/composite.h"
#include "sinter/nn.h"

#include <fmt/format.h>

namespace sinter {

Tensor quantize(Operand x, Operand scale, Operand zero_point, DType dtype) {
  const LocationScope scope(x);
  const bool is_whole = dtype == i8 || dtype == u8;
  if (!is_whole && !is_f8(dtype))
    fail("quantize",
         fmt::format("the dtype is {}; it must be i8, u8, f8e4m3 or f8e5m2", name(dtype)),
         x.location);
  graph_of("quantize", x);
  const Widening to("quantize", {&x, &scale, &zero_point});
  const Operand wide = to.wide(x);
  const Tensor quotient = wide / to.wide(scale);
  const Tensor level = is_whole ? round(quotient) : quotient;
  const Tensor shifted = is_number(zero_point, 0) ? level : level + to.wide(zero_point);
  // Casts saturate, and a cast to an integer turns NaN into 0.
  return cast(shifted, dtype);
}

Tensor dequantize(Operand q, Operand scale, Operand zero_point) {
  const LocationScope scope(q);
  graph_of("dequantize", q);
  const Widening checked("dequantize", {&q, &scale, &zero_point});
  const DType wide = checked.compute();
  const Tensor level = cast(q, wide);
  const Tensor shifted = is_number(zero_point, 0) ? level : level - checked.wide(zero_point);
  return shifted * checked.wide(scale);
}

}  // namespace sinter
