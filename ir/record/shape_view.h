// Shapes and axes as recording functions take them, which are made from spans and not from vectors.
#pragma once

#include "ir/record/record.h"

namespace sinter {

inline Extents view(const ShapeVector& shape) { return std::span<const Extent>(shape); }
inline Axes view(const AxesVector& axes) { return std::span<const std::int64_t>(axes); }

}  // namespace sinter
