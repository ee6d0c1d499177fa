// Custom ops: CUDA C++ functions of the user that fuse like elementwise ops.
#pragma once

#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sinter/graph.h"

namespace sinter {

/// Properties of a custom function that sinter cannot read from its source.
struct CustomOptions {
  /// The exact result for exact operands. Without it, checks skip all results of the op.
  std::function<long double(std::span<const long double> operands)> oracle = {};
  /// The largest error of the function, in units in the last place of its result. 0: correctly
  /// rounded.
  int ulp = 0;
  /// Returns the cotangents of the operands, one for each, given the cotangent `g` of the result
  /// `y`. A cotangent has the shape of `y` or of its operand; an empty Tensor is 0. Without a vjp,
  /// the op has no gradient.
  std::function<std::vector<Tensor>(std::span<const Tensor> operands, Tensor y, Tensor g)> vjp = {};
};

/// Applies the function `source` to each element of the operands, which broadcast with one another:
///
///     custom_op("swish",
///               "float swish(float x, float beta) { return x / (1 + expf(-beta * x)); }",
///               {x, 1.5})
///
/// `source` is one function, which may begin with inline, static or constexpr. Parameters and
/// result have plain types: bool, int, float, double, long long and so on. An operand's compute
/// dtype must be the type of its parameter; it is float for f16, bf16 and the f8 types. Numbers are
/// converted to the parameter's type. The result has the dtype of the return type; cast it to a
/// narrower one.
///
/// Options belong to the source. The first options given for a source in a graph apply to all calls
/// with that source. Other calls may omit options, or repeat them: an equal ulp, and functions from
/// the same lambda expression or function. Values that lambdas capture are not compared.
///
/// Throws UserError if `source` is not such a function, or if an operand does not fit its
/// parameter. Also throws if the options differ from those of an earlier call.
///
/// The host device runs a portable subset: C++, and the C library functions that ops use. It
/// rejects other sources. Compiler errors refer to lines of `source`.
Tensor custom_op(std::string_view name, std::string_view source, std::span<const Operand> operands,
                 CustomOptions options = {}, const char* file = __builtin_FILE(),
                 int line = __builtin_LINE());
Tensor custom_op(std::string_view name, std::string_view source,
                 std::initializer_list<Operand> operands, CustomOptions options = {},
                 const char* file = __builtin_FILE(), int line = __builtin_LINE());

}  // namespace sinter
