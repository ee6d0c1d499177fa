// Reads the functions of custom ops: signature, portability and options.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/node.h"

namespace sinter {

/// The signature of a custom function: `float swish(float x, float beta)`.
struct Signature {
  std::string function;
  DType result = DType::f32;
  std::vector<DType> parameters;
};

/// Parses the signature before the first brace of `text`. Throws UserError, without a location, if
/// it is not a function of plain types.
Signature parse_signature(std::string_view text);

/// `source` with spaces for `inline`, `static` and `constexpr` before the function, because codegen
/// adds specifiers.
std::string strip_specifiers(std::string_view source);

/// The first word of `source` that is outside the portable subset; empty if there is none.
std::string_view find_unportable_word(std::string_view source);

/// The options of the function of `node`; nullptr if no call gave any.
const CustomOptions* custom_options(const GraphData& graph, const Node& node);

}  // namespace sinter
