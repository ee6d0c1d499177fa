// One C++ type per number of operands, so that all elementwise ops share the code of a binding.
#pragma once

#include "values/casters.h"

namespace sinter::python {

template <int operands>
struct ElementwiseType;
template <>
struct ElementwiseType<1> {
  using Function = Tensor (*)(Operand);
};
template <>
struct ElementwiseType<2> {
  using Function = Tensor (*)(Operand, Operand);
};
template <>
struct ElementwiseType<3> {
  using Function = Tensor (*)(Operand, Operand, Operand);
};

template <int operands>
typename ElementwiseType<operands>::Function elementwise(
    typename ElementwiseType<operands>::Function function) {
  return function;
}

}  // namespace sinter::python
