// Graphs over lists of tensors of different sizes, as optimisers work on.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace sinter::test {

/// Adam's step with decoupled weight decay over `tensors` of nine shapes, updated in place.
inline std::string adamw_text(int tensors, std::string_view dtype = "f32") {
  constexpr std::string_view kShapes[] = {"64, 48", "48", "192, 48", "1",     "33, 7",
                                          "48, 64", "57", "2, 3, 5", "96, 48"};
  std::string inputs;
  std::string body;
  for (int i = 0; i < tensors; ++i) {
    for (const char* array : {"w", "g", "m", "v"})
      inputs += fmt::format("{}_{}: {}[{}]{}, ", array, i, dtype, kShapes[i % std::size(kShapes)],
                            array[0] == 'v' ? " {range = [0, 1]}" : "");
    body += fmt::format(R"(
  a_{0} = mul m_{0}, 0.9
  b_{0} = mul g_{0}, 0.1
  mn_{0} = add a_{0}, b_{0}
  c_{0} = mul v_{0}, 0.999
  gg_{0} = mul g_{0}, g_{0}
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
                        i);
  }
  return fmt::format("graph adamw({}lr: {}) {{{}\n}}\n", inputs, dtype, body);
}

/// `text` for each of 0 … count - 1, in place of each `#`.
inline std::string repeated(std::string_view text, std::size_t count, std::string_view between) {
  std::string result;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) result += between;
    for (const char letter : text) letter == '#' ? result += std::to_string(i) : result += letter;
  }
  return result;
}

}  // namespace sinter::test
