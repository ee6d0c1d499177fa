// ConvProblem: one call of conv or of its gradients as sizes and dtypes.
#pragma once

#include <array>
#include <compare>
#include <cstdint>

#include "sinter/opaque.h"

namespace sinter {

enum class ConvKind : std::uint8_t { forward, data_gradient, weight_gradient };

/// The cross-correlation of an image x [images, channels, size...] with filters w [filters,
/// channels / groups, filter_size...], which gives y [images, filters, result_size...]. The
/// gradients compute x or w from the two others. There are three spatial axes; missing ones have
/// extent 1 and come first.
struct ConvProblem {
  using Sizes = std::array<std::int64_t, 3>;

  ConvKind kind = ConvKind::forward;
  DType dtype = f32;
  bool allow_tf32 = false;
  int axes = 2;  ///< spatial axes of the call
  std::int64_t images = 0, channels = 0, filters = 0, groups = 1;
  Sizes size = {1, 1, 1}, filter_size = {1, 1, 1}, result_size = {1, 1, 1};
  Sizes strides = {1, 1, 1}, dilations = {1, 1, 1};
  Sizes padding_begin = {0, 0, 0}, padding_end = {0, 0, 0};

  std::int64_t channels_per_group() const { return channels / groups; }
  std::int64_t filters_per_group() const { return filters / groups; }
  friend auto operator<=>(const ConvProblem&, const ConvProblem&) = default;
};

inline std::int64_t product_of(const ConvProblem::Sizes& sizes) {
  return sizes[0] * sizes[1] * sizes[2];
}

/// Reads a call of `kind`. Throws UserError if the arrays do not fit one another, which only a
/// damaged saved program contains.
ConvProblem conv_problem(ConvKind kind, const OpaqueSizes& call);

}  // namespace sinter
