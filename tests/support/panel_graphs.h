// Graphs whose blocks keep panels: batch norm's gradient over images of any size and layout.
#pragma once

#include <string>

#include <fmt/format.h>

namespace sinter::test {

/// Two sums over all but the channels, and what needs them at each place: bf16, with results y and
/// s.
inline std::string batch_norm_backward(int images, int channels, int rows, bool channels_last) {
  const std::string strides =
      channels_last ? fmt::format(" {{strides = [{}, 1, {}]}}", channels * rows, channels) : "";
  return fmt::format(R"(
graph backward(dy: bf16[{0}, {1}, {2}]{3}, x: bf16[{0}, {1}, {2}]{3}, w: f32[1, {1}, 1]) {{
  g = cast dy {{to = f32}}
  v = cast x {{to = f32}}
  s = sum g {{axes = [0, 2], keep = true}}
  p = mul g, v
  t = sum p {{axes = [0, 2], keep = true}}
  a = mul v, t
  b = sub g, a
  c = sub b, s
  d = mul c, w
  y = cast d {{to = bf16}}
  return y, s
}})",
                     images, channels, rows, strides);
}

}  // namespace sinter::test
