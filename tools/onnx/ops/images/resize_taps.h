// The elements and weights from which Resize computes an element of its result, along one axis.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sinter::onnx {

/// The attributes of Resize.
struct TapOptions {
  std::string mode = "nearest";  ///< nearest, linear or cubic
  std::string coordinates = "half_pixel";
  std::string nearest = "round_prefer_floor";
  double cubic = -0.75;
  bool antialias = false;
  bool excludes_outside = false;  ///< not for nearest
  double extrapolation = 0;       ///< the result outside of x, for tf_crop_and_resize
};

struct TapAxis {
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  double scale = 1;
  double roi_begin = 0;  ///< in parts of the axis
  double roi_end = 1;
};

/// `count` elements per output: element i of output o is indices[o * count + i].
struct Taps {
  std::int64_t outputs = 0;
  std::int64_t count = 0;
  std::vector<std::int64_t> indices;  ///< in [0, inputs)
  std::vector<double> weights;
  std::vector<bool> is_outside;  ///< [outputs]: the result is the extrapolation value
};

/// Throws UserError for unknown modes, and if there would be too many taps. Nearest neighbours have
/// one tap per output.
Taps taps_of(const TapAxis& axis, const TapOptions& options);

}  // namespace sinter::onnx
