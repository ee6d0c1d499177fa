#include "tools/onnx/values/names.h"

#include "ir/text/lexer.h"
#include "ir/text/print.h"

#include <algorithm>

#include <fmt/format.h>

namespace sinter::onnx {

std::string shown_name(std::string_view name) {
  constexpr std::size_t kPiece = 32;  // `printable` shortens longer texts
  constexpr std::size_t kLongest = 5 * kPiece;
  std::string shown;
  for (std::size_t at = 0; at < std::min(name.size(), kLongest); at += kPiece)
    shown += printable(name.substr(at, kPiece));
  return name.size() > kLongest ? shown + "…" : shown;
}

std::string short_legal_name(std::string_view text) {
  constexpr std::size_t kLongest = 120;  // file names have at most 255 bytes
  std::string name = legal_name(text.substr(0, kLongest));
  // The text form gives `_` to unused results.
  return std::ranges::all_of(name, [](char c) { return c == '_'; }) ? "value" : name;
}

std::string UniqueNames::add(std::string_view wanted) {
  const std::string name = short_legal_name(wanted);
  if (taken_.insert(name).second) return name;
  int& number = next_.try_emplace(name, 2).first->second;
  std::string unique;
  do {
    unique = fmt::format("{}_{}", name, number++);
  } while (!taken_.insert(unique).second);
  return unique;
}

}  // namespace sinter::onnx
