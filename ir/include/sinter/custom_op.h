// User code: a function in CUDA C++ that is fused like any elementwise op.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sinter/graph.h"

namespace sinter {

/// What sinter cannot read from the text of a function.
struct CustomOptions {
  /// The exact result for exact operands; without it, checks leave what comes of the op undecided.
  std::function<long double(std::span<const long double> operands)> oracle = {};
  /// How far the function may be off, in units of the last place of its result.
  int ulp = 0;
  /// Cotangents of the operands, one for each, as in the op table: of the shape of `y` or of the
  /// operand, or {} for 0. Without it the op has no gradient.
  std::function<std::vector<Tensor>(std::span<const Tensor> operands, Tensor y, Tensor g)> vjp = {};
};

/// What a graph keeps of the first call that gave options for a source.
struct KnownCustom {
  CustomOptions options;
  std::string called;  ///< `custom op swish`
  std::string place;   ///< of the call: `model.cpp:12`
};

/// By source text; shared with the copies of a graph.
using CustomTable = std::map<std::string, std::shared_ptr<const KnownCustom>, std::less<>>;

/// `source` for each element of the operands, broadcast with one another:
///   custom_op("swish", "float swish(float x, float beta) { return x / (1 + expf(-beta * x)); }",
///   {x, 1.5})
/// One function, which may begin with inline, static or constexpr, and whose parameters and result
/// are of plain types: bool, int, float, double, long long and so on. Operands must be computed in
/// the parameter's type (f16, bf16 and the f8 types in float); numbers become of it. The result has
/// the dtype of the function's type; cast it where it should be narrower.
///
/// Options belong to the source: the first that are given for it in a graph hold for every call.
/// Other calls may give none, or the same: the same ulp, and functions of the same lambda or
/// function of the caller's text. Anything else throws. (What lambdas capture is not compared.)
///
/// The host device runs the portable subset: C++ and the functions of the C library that ops have.
/// Other snippets are refused there. Errors of the compiler point into the lines of `source`.
Tensor custom_op(std::string_view name, std::string_view source, std::span<const Operand> operands,
                 CustomOptions options = {}, const char* file = __builtin_FILE(),
                 int line = __builtin_LINE());
Tensor custom_op(std::string_view name, std::string_view source,
                 std::initializer_list<Operand> operands, CustomOptions options = {},
                 const char* file = __builtin_FILE(), int line = __builtin_LINE());

}  // namespace sinter
