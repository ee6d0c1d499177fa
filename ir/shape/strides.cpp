// Strides: row-major strides, memory span, memory order and overlap checks.
#include "ir/shape/strides.h"

#include <algorithm>

#include "ir/shape/extent.h"

namespace sinter {

std::vector<Extent> row_major_strides(std::span<const Extent> shape) {
  std::vector<Extent> strides(shape.size(), Extent(1));
  for (std::size_t axis = shape.size(); axis-- > 1;)
    strides[axis - 1] = strides[axis] * shape[axis];
  return strides;
}

Extent strided_end(std::span<const Extent> shape, std::span<const Extent> strides, Extent offset) {
  Extent last = offset;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis].is(0)) return 0;
    last = last + (shape[axis] - Extent(1)) * strides[axis];
  }
  return last + Extent(1);
}

llvm::SmallVector<int, 6> memory_order(std::span<const Extent> strides) {
  llvm::SmallVector<int, 6> left, order;
  for (std::size_t axis = 0; axis < strides.size(); ++axis) left.push_back(static_cast<int>(axis));
  const auto stride = [&](int axis) { return strides[static_cast<std::size_t>(axis)]; };
  const auto is_smaller = [&](int a, int b) {
    return stride(a) != stride(b) && provably_nonnegative(stride(b) - stride(a));
  };
  while (!left.empty()) {
    const auto next = std::ranges::find_if(left, [&](int axis) {
      return std::ranges::none_of(left, [&](int other) { return is_smaller(axis, other); });
    });
    order.push_back(*next);
    left.erase(next);
  }
  return order;
}

bool is_injective(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides) {
  llvm::SmallVector<std::size_t, 6> axes;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 0) return true;
    if (shape[axis] > 1) axes.push_back(axis);
  }
  std::ranges::sort(axes, {}, [&](std::size_t axis) { return strides[axis]; });
  std::int64_t reach = 0;
  for (const std::size_t axis : axes) {
    if (strides[axis] <= reach) return false;
    std::int64_t step = 0;
    if (__builtin_mul_overflow(shape[axis] - 1, strides[axis], &step) ||
        __builtin_add_overflow(reach, step, &reach))
      return true;  // the array exceeds any memory
  }
  return true;
}

bool may_be_injective(std::span<const Extent> shape, std::span<const Extent> strides) {
  std::vector<std::int64_t> extents, steps;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (!shape[axis].is_number() || !strides[axis].is_number()) continue;
    extents.push_back(shape[axis].number());
    steps.push_back(strides[axis].number());
  }
  return is_injective(extents, steps);
}

}  // namespace sinter
