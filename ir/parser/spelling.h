// What the text form can say: for each op and composite its attributes and the recording function
// that the parser calls.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ir/ops/op.h"
#include "ir/support/adt.h"
#include "sinter/ops.h"

namespace sinter {

/// The value of one attribute as it was written, or its default.
struct WrittenAttribute {
  bool given = false;
  std::int64_t integer = 0;  ///< of an integer or boolean
  DType dtype = DType::f32;
  Literal literal = {};
  Extent extent = {};
  std::vector<std::int64_t> integers = {};
  std::vector<Extent> extents = {};
  std::string text = {};
};

/// Gives `argument` the value that `info` has where it is not written.
void read_default(const AttributeInfo& info, WrittenAttribute& argument);

struct Call;
/// What a call records.
using Results = llvm::SmallVector<Tensor, 2>;

/// One name that may stand before operands.
struct Spelling {
  std::string_view name;
  const OpInfo* row;  ///< nullptr: a composite
  int operands;       ///< -1: one or more
  int results;
  std::vector<AttributeInfo> attributes;
  Results (*record)(const Call&);
};

/// A parsed statement, ready to be recorded.
struct Call {
  Graph& graph;
  const Spelling& spelling;
  std::span<const Operand> operands;
  std::span<const WrittenAttribute> arguments;  ///< one for each of spelling.attributes
  Location location;

  const WrittenAttribute& argument(std::string_view name) const;
  std::int64_t integer(std::string_view name) const { return argument(name).integer; }
  double real(std::string_view name) const;
  /// As an int; throws UserError where it is none.
  int small(std::string_view name) const;
  Keep keep() const;
};

/// The spelling called `name`; nullptr if there is none.
const Spelling* find_spelling(std::string_view name);
/// All names, for suggestions and tests.
const std::vector<std::string_view>& spelled_names();

}  // namespace sinter
