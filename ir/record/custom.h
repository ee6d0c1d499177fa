// The functions of custom nodes, as far as they are read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/node.h"

namespace sinter {

/// `float swish(float x, float beta)`
struct Signature {
  std::string function;
  DType result = DType::f32;
  std::vector<DType> parameters;
};

/// What stands in front of the first brace of `text`; throws UserError, without a place, where it
/// is no function of plain types.
Signature signature_of(std::string_view text);

/// `source` with spaces for `inline`, `static` and `constexpr` in front of the function: what is
/// put before it must not say the same again.
std::string plain_function(std::string_view source);

/// The first word of `source` that is outside the portable subset; empty if there is none.
std::string_view unportable_word(std::string_view source);

/// What is known of the function of `node` beyond its text; nullptr if nothing is.
const CustomOptions* custom_options(const GraphData& graph, const Node& node);

}  // namespace sinter
