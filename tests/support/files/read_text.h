// Reads a whole file.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace sinter::test {

/// The bytes of `file`; empty if it cannot be opened.
inline std::string read_text(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace sinter::test
