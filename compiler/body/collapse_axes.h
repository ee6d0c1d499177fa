// Other axes for the same body: neighbouring parallel axes merged, or all parallel axes as one.
#pragma once

#include <cstdint>

#include "compiler/body/body.h"

namespace sinter {

/// The same body with neighbouring parallel axes merged wherever every access allows it.
Body collapse_axes(Body body);

/// A body whose rows are outer × channels, with one row axis: all places of outer for the first
/// `strip` channels, then for the next ones.
Body in_strips(Body body, std::int64_t outer, std::int64_t strip);
/// The same body with all parallel axes as one, in their order.
Body in_one_axis(Body body);
/// True if `at` is the number of the place in the space, all parallel axes in their order, plus
/// what `width` divides.
bool is_place(const Body& body, const Index& at, std::int64_t width);
/// Where the row axis of a body in strips stands.
struct StripPosition {
  Index outer;
  Index channel;
};
StripPosition strip_position(IndexSpace& space, const Index& row, std::int64_t outer,
                             std::int64_t strip);

}  // namespace sinter
