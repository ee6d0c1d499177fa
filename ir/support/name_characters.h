// The characters of names, in every locale.
#pragma once

namespace sinter {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
/// True for letters of ASCII, digits and _.
constexpr bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
}

}  // namespace sinter
