#include "tools/onnx/node/element_type_attribute.h"

#include "tools/onnx/model/element_type.h"

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
  return {.dtype = *dtype, .packed_bits = packed_bits(number)};
}

DType dtype_named(const Call& call, std::string_view attribute) {
  const ElementTarget target = element_named(call, attribute);
  if (target.packed_bits != 0)
    refuse(fmt::format("{} is an integer of {} bits, for which sinter has no dtype", attribute,
                       target.packed_bits));
  return target.dtype;
}

}  // namespace sinter::onnx
