// Floats of 4 to 8 bits that sinter holds in wider dtypes.
#pragma once

#include "tools/onnx/model/schema.h"

namespace sinter::onnx {

/// A sign, an exponent and a mantissa, of which the type may lack some.
struct SmallFloat {
  ElementType type = ElementType::undefined;
  bool has_sign = true;
  int exponent_bits = 0;
  int mantissa_bits = 0;
  int bias = 0;        ///< of the exponent
  double largest = 0;  ///< value
  /// The bits of NaN; -1 if it has none. No type has infinities.
  int nan = -1;

  /// The smallest number with a full mantissa.
  double smallest_normal() const;
};

/// The format of a narrow type; nullptr for integers and types with a dtype of their own.
const SmallFloat* small_float(ElementType type);
/// The value of an element from its bits.
double small_float_value(const SmallFloat& format, int bits);

}  // namespace sinter::onnx
