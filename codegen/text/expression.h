// Values, indices and extents as C++ expressions.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "compiler/body/body.h"
#include "sinter/numerics.h"

namespace sinter {

/// The type that values of `dtype` are computed in: `float` for f32 and the half types.
std::string_view compute_c_type(DType dtype);

/// Converts a loaded `element` of `dtype` to the type that values are computed in.
std::string computed(DType dtype, const std::string& element);
/// The inverse of `computed`: the `element` of the text that it returned.
std::string in_memory_of(DType dtype, const std::string& computed);

/// The text of `node`'s op applied to `operands`, texts that need no parentheses. The result is
/// rounded to the node's dtype as `numerics` says.
std::string op_text(const Node& node, std::span<const std::string> operands,
                    const Numerics& numerics);

/// Converts a computed value to the form in memory, if `dtype` is narrow. Drops the outermost
/// `rounded<…>` or `rounded_cast<…>` of `value`, because the conversion rounds to the same dtype.
std::string in_memory(DType dtype, const std::string& value);
/// The same for CPUs, for a `value` that `dtype` represents.
std::string exact_in_memory(DType dtype, const std::string& value);

/// Writes index expressions with the caller's names for axes, symbols and indirect values.
struct IndexWriter {
  std::string_view c_type = "int";                        ///< `int` or `long long`
  std::function<std::string(int axis)> axis;              ///< the variable of an axis
  std::function<std::string(const ExtentAtom&)> symbol;   ///< the parameter of a symbol
  std::function<std::string(const IndexAtom&)> indirect;  ///< the value that the atom loads

  std::string text(Extent extent) const;
  std::string text(const Index& index) const;

 private:
  std::string text(const IndexAtom& atom) const;
};

/// `text` in parentheses if it is more than a name, number or call.
std::string atomic(const std::string& text);

}  // namespace sinter
