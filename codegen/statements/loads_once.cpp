#include "codegen/statements/loads_once.h"

#include <algorithm>
#include <optional>

#include "compiler/body/access.h"
#include "ir/shape/index_map.h"

namespace sinter {

bool reads_once(const Body& body, const std::vector<bool>& values, std::span<const int> axes) {
  for (std::size_t i = 0; i < body.values.size(); ++i) {
    const Value& value = body.values[i];
    if (!values[i] || value.kind != Value::Kind::load) continue;
    if (body.has_reduced_axis && !value.varies) continue;  // loaded once per row, outside of tiles
    if (value.may_repeat || has_indirect(value.at)) return false;
    const bool moves = std::ranges::all_of(axes, [&](int axis) {
      const std::optional<Extent> step = coefficient_of(value.at, axis);
      return step && !step->is(0);
    });
    if (!moves) return false;
  }
  return true;
}

}  // namespace sinter
