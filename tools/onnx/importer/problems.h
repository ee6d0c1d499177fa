// Everything that prevents an import, collected so that one error lists it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::onnx {

class Problems {
 public:
  /// `where` is a node, an input or an initialiser: `node 'mul' (ai.onnx.Mul)`.
  void add(std::string_view where, std::string_view reason);
  bool empty() const { return lines_.empty(); }
  std::size_t count() const { return count_; }
  /// Throws UserError with all problems if there are any. It lists at most 1000.
  void throw_if_any() const;

 private:
  std::vector<std::string> lines_;
  std::size_t count_ = 0;
};

}  // namespace sinter::onnx
