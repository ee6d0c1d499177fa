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

/// A loaded element of `dtype` as what is computed with.
std::string computed(DType dtype, const std::string& element);
/// The `element` of a text that `computed` gave.
std::string in_memory_of(DType dtype, const std::string& computed);

/// The text of one application of `node`'s op to operand texts that need no parentheses; it is
/// rounded to the node's dtype.
std::string op_text(const Node& node, std::span<const std::string> operands,
                    const Numerics& numerics);

/// A value of narrow `dtype` as memory holds it. The rounding that `value` ends with is left out:
/// memory has the same.
std::string in_memory(DType dtype, const std::string& value);

/// How index expressions are written.
struct IndexWriter {
  std::string_view c_type = "int";                        ///< `int` or `long long`
  std::function<std::string(int axis)> axis;              ///< the variable of an axis
  std::function<std::string(const ExtentAtom&)> symbol;   ///< the parameter of a symbol
  std::function<std::string(const IndexAtom&)> indirect;  ///< the value that was read

  std::string text(Extent extent) const;
  std::string text(const Index& index) const;

 private:
  std::string text(const IndexAtom& atom) const;
};

/// `text` in parentheses if it is more than a name, number or call.
std::string atomic(const std::string& text);

}  // namespace sinter
