// ConvParts: a convolution as equal parts, each of which one thread computes with one primitive.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/libraries/problem/conv_problem.h"

namespace sinter {

/// The parts divide images, groups, the filters and channels of a group, and rows of the result.
/// Sizes alone decide them, so results do not depend on the number of threads.
struct ConvParts {
  ConvProblem whole;
  ConvProblem part;  ///< the sizes of every part, with all rows
  std::int64_t images = 1, groups = 1, filters = 1, channels = 1;  ///< counts of parts

  /// Consecutive rows of the result: indices of its first spatial axis. Bands have their own
  /// padding, because only the first and the last ones reach beyond x.
  struct Band {
    ConvProblem part;
    std::int64_t x_row = 0, y_row = 0;  ///< the first rows
  };
  std::vector<Band> bands;
  /// Replaces the bands by one.
  void unite_bands() { bands = {{.part = part}}; }

  /// One part, by its number along each axis.
  struct Index {
    std::int64_t image = 0, group = 0, filter = 0, channel = 0, band = 0;
  };
  /// Elements in front of its part of x, w and y.
  std::int64_t x_offset(const Index& index) const;
  std::int64_t w_offset(const Index& index) const;
  std::int64_t y_offset(const Index& index) const;

 private:
  const Band& band(const Index& index) const { return bands[static_cast<std::size_t>(index.band)]; }
};

/// Empty if the convolution has no elements, or a part has too many.
std::optional<ConvParts> conv_parts(const ConvProblem& problem);

}  // namespace sinter
