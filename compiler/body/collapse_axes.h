// Replaces the axes of a body: merges adjacent parallel axes, or flattens all parallel axes into
// one.
#pragma once

#include <cstdint>

#include "compiler/body/body.h"

namespace sinter {

/// Merges adjacent parallel axes wherever every access allows it.
Body collapse_axes(Body body);

/// Replaces rows of outer × channels by one row axis that visits all outer positions for the first
/// `strip` channels, then for the next ones.
Body in_strips(Body body, std::int64_t outer, std::int64_t strip);
/// Flattens all parallel axes into one, in their order.
Body in_one_axis(Body body);
/// True if `at` is the linear position over all parallel axes and the reduced axis, in their order,
/// plus a multiple of `width`.
bool is_linear_position(const Body& body, const Index& at, std::int64_t width);
/// The coordinates of a position on the row axis of a body in strips.
struct StripPosition {
  Index outer;
  Index channel;
};
StripPosition strip_position(IndexSpace& space, const Index& row, std::int64_t outer,
                             std::int64_t strip);

}  // namespace sinter
