// Everything that prevents an import, collected so that one error lists it all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sinter::onnx {

class Problems {
 public:
  /// `where` is a node, an input or an initialiser: `node 'mul' (ai.onnx.Mul)`.
  void add(std::string_view where, std::string_view reason);
  bool empty() const { return lines_.empty(); }
  /// Throws UserError with all problems if there are any.
  void throw_if_any() const;

 private:
  std::vector<std::string> lines_;
};

}  // namespace sinter::onnx
