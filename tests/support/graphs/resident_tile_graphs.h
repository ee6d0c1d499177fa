// Graphs whose blocks keep resident tiles: norms and their gradients over images of any size and
// layout.
#pragma once

#include <string>

#include <fmt/format.h>

namespace sinter::test {

/// The gradient of a batch norm in bf16: two sums over all axes but the channels, and an
/// elementwise result that needs both. The results are y and s.
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

/// batch_norm_backward of half of the channels of a sum that is also a result. One phase therefore
/// writes the array from which the next phases copy resident tiles.
inline std::string batch_norm_backward_of_sum(int images, int channels, int rows) {
  return fmt::format(R"(
graph backward_of_sum(a: bf16[{0}, {3}, {2}] {{strides = [{4}, 1, {3}]}}, b: bf16[{0}, {3}, 1],
                      x: bf16[{0}, {1}, {2}] {{strides = [{5}, 1, {1}]}}, w: f32[1, {1}, 1]) {{
  all = add a, b
  dy = slice all {{axis = 1, begin = {1}, end = {3}, step = 1}}
  g = cast dy {{to = f32}}
  v = cast x {{to = f32}}
  s = sum g {{axes = [0, 2], keep = true}}
  p = mul g, v
  t = sum p {{axes = [0, 2], keep = true}}
  c = mul v, t
  d = sub g, c
  e = sub d, s
  f = mul e, w
  y = cast f {{to = bf16}}
  return all, y, s
}})",
                     images, channels, rows, 2 * channels, 2 * channels * rows, channels * rows);
}

/// batch_norm_backward of a masked sum of two gradients, which is no result. One phase computes it
/// from three arrays, and a later phase needs it again.
inline std::string masked_batch_norm_backward(int images, int channels, int rows) {
  return fmt::format(R"(
graph masked_backward(da: bf16[{0}, {1}, {2}] {{strides = [{3}, 1, {1}]}},
                      db: bf16[{0}, {1}, {2}] {{strides = [{3}, 1, {1}]}},
                      z: bf16[{0}, {1}, {2}] {{strides = [{3}, 1, {1}]}},
                      x: bf16[{0}, {1}, {2}] {{strides = [{3}, 1, {1}]}}, w: f32[1, {1}, 1]) {{
  all = add da, db
  off = le z, 0
  dy = where off, 0, all
  g = cast dy {{to = f32}}
  v = cast x {{to = f32}}
  s = sum g {{axes = [0, 2], keep = true}}
  p = mul g, v
  t = sum p {{axes = [0, 2], keep = true}}
  c = mul v, t
  d = sub g, c
  e = sub d, s
  f = mul e, w
  y = cast f {{to = bf16}}
  return y, s
}})",
                     images, channels, rows, channels * rows);
}

/// Two arrays with different numbers of channels, each centred by its sum over all other axes, and
/// then added. Only the images are the same pieces of both.
inline std::string centred_widths(int images, int channels, int rows) {
  return fmt::format(R"(
graph centred_widths(a: bf16[{0}, {3}, {2}] {{strides = [{4}, 1, {3}]}},
                     b: bf16[{0}, {1}, {2}] {{strides = [{5}, 1, {1}]}}) {{
  u = cast a {{to = f32}}
  v = cast b {{to = f32}}
  s = sum u {{axes = [0, 2], keep = true}}
  t = sum v {{axes = [0, 2], keep = true}}
  c = sub u, s
  d = sub v, t
  first = slice c {{axis = 1, begin = 0, end = {1}, step = 1}}
  e = add first, d
  f = concat e, c {{axis = 1}}
  y = cast f {{to = bf16}}
  return y
}})",
                     images, channels, rows, 2 * channels, 2 * channels * rows, channels * rows);
}

/// Batch norm in training, followed by a mean over each channel of each image. Each image is one
/// segment of the rows that the statistics reduce.
inline std::string pooled_batch_norm(const std::string& dtype, int images, int channels, int rows,
                                     bool has_channels_last) {
  const std::string strides =
      has_channels_last ? fmt::format(" {{strides = [{}, 1, {}]}}", channels * rows, channels) : "";
  const std::string compute = dtype == "f64" ? "f64" : "f32";
  return fmt::format(R"(
graph pooled_batch_norm(x: {0}[{1}, {2}, {3}]{4}, weight: {5}[{2}, 1]) {{
  h = cast x {{to = {5}}}
  v, m = var_mean h {{axes = [0, 2], correction = 0, keep = true}}
  d = sub h, m
  e = add v, 1e-5
  r = rsqrt e
  n = mul d, r
  w = mul n, weight
  a = relu w
  p = mean a {{axes = [2]}}
  y = cast p {{to = {0}}}
  return y, m, r
}})",
                     dtype, images, channels, rows, strides, compute);
}

/// Instance norm with reflection padding around each channel. Each result depends only on elements
/// of its own channel, at positions that an index computes.
inline std::string mirrored_instance_norm(const std::string& dtype, int channels, int height,
                                          int width, bool returns_inside = false) {
  const std::string compute = dtype == "f64" ? "f64" : "f32";
  return fmt::format(R"(
graph mirrored_instance_norm(x: {0}[1, {1}, {2}, {3}]) {{
  h = cast x {{to = {4}}}
  v, m = var_mean h {{axes = [0, 2, 3], correction = 0, keep = true}}
  d = sub h, m
  e = add v, 1e-5
  r = rsqrt e
  n = mul d, r
  inside = cast n {{to = {0}}}
  i0 = iota {{extent = {5}, start = -1, step = 1, dtype = i64}}
  i1 = abs i0
  i2 = sub {7}, i1
  i3 = abs i2
  i4 = sub {7}, i3
  rows = index inside, i4 {{axes = [2]}}
  j0 = iota {{extent = {6}, start = -1, step = 1, dtype = i64}}
  j1 = abs j0
  j2 = sub {8}, j1
  j3 = abs j2
  j4 = sub {8}, j3
  y = index rows, j4 {{axes = [3]}}
  return {9}y
}})",
                     dtype, channels, height, width, compute, height + 2, width + 2, height - 1,
                     width - 1, returns_inside ? "inside, " : "");
}

/// The gradient of a group norm with channels last. It sums each channel of an image, then each
/// group, and then computes an elementwise result. It also sums over all images.
inline std::string group_norm_backward(int images, int groups, int channels_per_group, int rows) {
  const int channels = groups * channels_per_group;
  return fmt::format(R"(
graph group_norm_backward(
    d0: f32[{0}, {1}, {2}] {{strides = [{3}, 1, {1}]}},
    d1: f32[{0}, {1}, {2}] {{strides = [{3}, 1, {1}]}},
    d2: f32[{0}, {1}, {2}] {{strides = [{3}, 1, {1}]}},
    x: bf16[{0}, {1}, {2}] {{strides = [{3}, 1, {1}]}},
    w: f32[1, {1}]) {{
  d3 = add d0, d1
  d = add d3, d2
  v = cast x {{to = f32}}
  p = mul d, v
  s = sum p {{axes = [2], keep = false}}
  t = sum d {{axes = [2], keep = false}}
  a = mul s, w
  b = reshape a {{shape = [{0}, {4}, {5}]}}
  of_groups = sum b {{axes = [2], keep = true}}
  e = reshape of_groups {{shape = [{0}, {4}, 1, 1]}}
  f = reshape d {{shape = [{0}, {4}, {5}, {2}]}}
  g = reshape v {{shape = [{0}, {4}, {5}, {2}]}}
  h = mul g, e
  i = sub f, h
  j = reshape i {{shape = [{0}, {1}, {2}]}}
  y = cast j {{to = bf16}}
  of_images = sum t {{axes = [0], keep = false}}
  return y, of_images
}})",
                     images, channels, rows, channels * rows, groups, channels_per_group);
}

}  // namespace sinter::test
