// ConvParts: a convolution as equal parts, each of which one thread computes with one primitive.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/libraries/problem/conv_problem.h"

namespace sinter {

/// The parts divide images, groups, and the filters and channels of a group. Sizes alone decide
/// them, so results do not depend on the number of threads.
struct ConvParts {
  ConvProblem whole;
  ConvProblem part;                                                ///< the sizes of every part
  std::int64_t images = 1, groups = 1, filters = 1, channels = 1;  ///< counts of parts

  /// One part, by its number along each axis.
  struct Index {
    std::int64_t image = 0, group = 0, filter = 0, channel = 0;
  };
  /// Elements in front of its part of x, w and y.
  std::int64_t x_offset(const Index& index) const;
  std::int64_t w_offset(const Index& index) const;
  std::int64_t y_offset(const Index& index) const;
};

/// Empty if the convolution has no elements, or a part has too many.
std::optional<ConvParts> conv_parts(const ConvProblem& problem);

}  // namespace sinter
