#include "tools/onnx/node/element_type_attribute.h"

#include "tools/onnx/model/element_type.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include <fmt/format.h>

namespace sinter::onnx {

ElementTarget element_named(const Call& call, std::string_view attribute) {
  const std::int64_t type = call.attributes().integer(attribute);
  const bool is_small = type >= 0 && type <= std::numeric_limits<std::int32_t>::max();
  const auto number = static_cast<std::int32_t>(is_small ? type : -1);
  const auto dtype = dtype_of(number);
  if (!dtype)
    refuse(fmt::format("{} is {}, for which sinter has no dtype", attribute,
                       element_type_name(number)));
  return {.dtype = *dtype, .narrow = narrow_type(number)};
}

ElementType narrow_type_of_outputs(const Call& call) {
  constexpr std::string_view kMoves[] = {"Concat",  "Expand", "Flatten", "Gather",    "Pad",
                                         "Reshape", "Slice",  "Squeeze", "Transpose", "Unsqueeze"};
  const std::string_view type = call.node().op_type;
  if (type == "Cast") return element_named(call, "to").narrow;
  if (type == "CastLike") return call.narrow(1);
  if (type == "QuantizeLinear") {
    if (call.has_input(2)) return call.narrow(2);
    return call.attributes().integer("output_dtype", 0) == 0
               ? ElementType::undefined
               : element_named(call, "output_dtype").narrow;
  }
  const bool is_moved = std::ranges::find(kMoves, type) != std::end(kMoves);
  return is_moved ? call.narrow(0) : ElementType::undefined;
}

DType dtype_named(const Call& call, std::string_view attribute) {
  const ElementTarget target = element_named(call, attribute);
  if (target.narrow != ElementType::undefined)
    refuse(fmt::format("{} is {}, for which sinter has no dtype", attribute,
                       element_type_name(target.narrow)));
  return target.dtype;
}

}  // namespace sinter::onnx
