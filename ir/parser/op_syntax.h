// The vocabulary of the text form: for each op and composite its operands, attributes and the
// recording function that the parser calls.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ir/ops/op.h"
#include "ir/support/adt.h"
#include "sinter/ops.h"

namespace sinter {

/// The value of one attribute: as written in the text, or its default.
struct ParsedAttribute {
  bool given = false;
  std::int64_t integer = 0;  ///< of an integer or boolean attribute
  DType dtype = DType::f32;
  Literal literal = {};
  Extent extent = {};
  std::vector<std::int64_t> integers = {};
  std::vector<Extent> extents = {};
  std::string text = {};
};

/// Sets `argument` to the default value of `info`.
void read_default(const AttributeInfo& info, ParsedAttribute& argument);

struct Call;
/// The Tensors that a call records.
using Results = llvm::SmallVector<Tensor, 2>;

/// An op name of the text form.
struct OpSyntax {
  std::string_view name;
  const OpInfo* row;  ///< nullptr for a composite
  int operands;       ///< -1 means one or more
  int results;
  std::vector<AttributeInfo> attributes;
  Results (*record)(const Call&);
};

/// A parsed statement, ready to be recorded.
struct Call {
  Graph& graph;
  const OpSyntax& syntax;
  std::span<const Operand> operands;
  std::span<const ParsedAttribute> arguments;  ///< parallel to syntax.attributes
  Location location;

  /// Throws InternalError if the syntax has no attribute `name`.
  const ParsedAttribute& argument(std::string_view name) const;
  std::int64_t integer(std::string_view name) const { return argument(name).integer; }
  double real(std::string_view name) const;
  /// The attribute as an int. Throws UserError if it does not fit.
  int small(std::string_view name) const;
  /// The axis that the attribute `axis` names; no axis if it is absent, which means all axes.
  std::span<const std::int64_t> axis_or_all() const;
  Keep keep() const;
};

/// The syntax of the op `name`; nullptr if there is none.
const OpSyntax* find_op_syntax(std::string_view name);
/// All names, for suggestions and tests.
std::vector<std::string_view> op_names();

}  // namespace sinter
