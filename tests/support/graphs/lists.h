// Graphs over lists of tensors of different sizes, as in optimisers.
#pragma once

#include <fmt/format.h>

#include <span>
#include <string>
#include <string_view>

namespace sinter::test {

/// The shapes of the tensors of a list, used cyclically.
inline constexpr std::string_view kListShapes[] = {"64, 48", "48", "192, 48", "1",     "33, 7",
                                                   "48, 64", "57", "2, 3, 5", "96, 48"};

/// Shapes of a model of realistic size.
inline constexpr std::string_view kModelShapes[] = {
    "768, 768", "768", "3072, 768", "3072", "768, 3072", "2304, 768", "2304", "50257, 768"};

/// The inputs of Adam's step over `tensors` tensors, whose shapes are `shapes`, used cyclically.
inline std::string adamw_inputs(int tensors, std::string_view dtype,
                                std::span<const std::string_view> shapes = kListShapes) {
  std::string inputs;
  for (int i = 0; i < tensors; ++i)
    for (const char* array : {"w", "g", "m", "v"})
      inputs += fmt::format("{}_{}: {}[{}]{}, ", array, i, dtype,
                            shapes[static_cast<std::size_t>(i) % shapes.size()],
                            array[0] == 'v' ? " {range = [0, 1]}" : "");
  return inputs;
}

/// Adam's step with decoupled weight decay for tensor `i`, whose gradient is `gradient`.
inline std::string adamw_step(int i, std::string_view gradient) {
  return fmt::format(R"(
  a_{0} = mul m_{0}, 0.9
  b_{0} = mul {1}, 0.1
  mn_{0} = add a_{0}, b_{0}
  c_{0} = mul v_{0}, 0.999
  gg_{0} = mul {1}, {1}
  d_{0} = mul gg_{0}, 0.001
  vn_{0} = add c_{0}, d_{0}
  s_{0} = sqrt vn_{0}
  e_{0} = add s_{0}, 1e-4
  q_{0} = div mn_{0}, e_{0}
  st_{0} = mul q_{0}, lr
  wd_{0} = mul w_{0}, 0.9999
  wn_{0} = sub wd_{0}, st_{0}
  update w_{0}, wn_{0}
  update m_{0}, mn_{0}
  update v_{0}, vn_{0})",
                     i, gradient);
}

/// Adam's step with decoupled weight decay over `tensors`, updated in place.
inline std::string adamw_text(int tensors, std::string_view dtype = "f32",
                              std::span<const std::string_view> shapes = kListShapes) {
  std::string body;
  for (int i = 0; i < tensors; ++i) body += adamw_step(i, fmt::format("g_{}", i));
  return fmt::format("graph adamw({}lr: {}) {{{}\n}}\n", adamw_inputs(tensors, dtype, shapes),
                     dtype, body);
}

/// adamw_text with the gradients clipped by their global norm.
inline std::string clip_adamw_text(int tensors, std::string_view dtype = "f32",
                                   std::span<const std::string_view> shapes = kListShapes) {
  std::string body;
  std::string norms;
  for (int i = 0; i < tensors; ++i) {
    body += fmt::format("  sq_{0} = mul g_{0}, g_{0}\n  ss_{0} = sum sq_{0}\n", i);
    body += fmt::format("  n_{0} = reshape ss_{0} {{shape = [1]}}\n", i);
    norms += fmt::format("{}n_{}", i == 0 ? "" : ", ", i);
  }
  body += fmt::format(R"(  norms = concat {} {{axis = 0}}
  total = sum norms
  norm = sqrt total
  longer = add norm, 1e-6
  ratio = div max_norm, longer
  clip = minimum ratio, 1.0
)",
                      norms);
  for (int i = 0; i < tensors; ++i)
    body +=
        fmt::format("  cg_{0} = mul g_{0}, clip{1}\n", i, adamw_step(i, fmt::format("cg_{}", i)));
  return fmt::format("graph clip_adamw({}lr: {}, max_norm: {}) {{\n{}}}\n",
                     adamw_inputs(tensors, dtype, shapes), dtype, dtype, body);
}

/// `text` repeated `count` times, with `between` between the copies. Each `#` becomes the index of
/// the copy.
inline std::string repeated(std::string_view text, std::size_t count, std::string_view between) {
  std::string result;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) result += between;
    for (const char letter : text) letter == '#' ? result += std::to_string(i) : result += letter;
  }
  return result;
}

}  // namespace sinter::test
