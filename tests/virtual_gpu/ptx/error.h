// PtxError: text that is not PTX, or PTX that this interpreter does not know.
#pragma once

#include <stdexcept>
#include <string>

namespace sinter::virtual_gpu {

/// The message names the line of the PTX text, the offending word, and the problem:
/// `line 41: opcode add.s24: the interpreter does not know it`.
class PtxError : public std::runtime_error {
 public:
  PtxError(int line, const std::string& problem)
      : std::runtime_error("line " + std::to_string(line) + ": " + problem), line(line) {}
  int line;
};

}  // namespace sinter::virtual_gpu
