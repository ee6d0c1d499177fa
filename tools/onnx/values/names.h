// Names of a model's values in the text form: legal, unique, and close to those of the model.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace sinter::onnx {

/// A name of the model for messages: without line breaks, and of a bounded length.
std::string shown_name(std::string_view name);

/// `text` as a name of the text form that is also a short file name: other characters become `_`.
std::string short_legal_name(std::string_view text);

/// The names in the text of a model's inputs and outputs, by their names in the model.
using InterfaceNames = std::map<std::string_view, std::string>;

class UniqueNames {
 public:
  /// The name for `wanted`. If it is taken, `_2`, `_3` and so on follow it.
  std::string add(std::string_view wanted);

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> next_;  ///< the number to try next, for repeated names
};

}  // namespace sinter::onnx
