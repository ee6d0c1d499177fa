// The values of a model during its import, and the scopes that their names belong to.
#pragma once

#include "sinter/graph.h"
#include "tools/onnx/model/schema.h"
#include "tools/onnx/values/known_value.h"

#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace sinter::onnx {

/// A value has a tensor, an array, known contents, or several of them. `Recording::tensor` records
/// the tensor of a value that has none yet.
struct Value {
  std::string_view name = {};  ///< in the model
  Tensor tensor = {};
  std::shared_ptr<const HostArray> array = {};  ///< an initialiser or a constant
  std::optional<KnownValue> known = {};
  /// The element type if it has no dtype of its own (model/element_type.h), else undefined.
  ElementType narrow = ElementType::undefined;
  bool is_default = false;  ///< an initialiser that callers of the model may replace
  bool is_failed = false;   ///< its node cannot be imported
};

/// The contents of a value if the importer knows them, else nullptr.
const KnownValue* known_contents(Value& value);

/// Several names may refer to one value: Identity and calls of functions copy nothing.
using ValueRef = std::shared_ptr<Value>;

/// The values of a graph, a function or a branch. A branch also sees the values around it.
class Scope {
 public:
  explicit Scope(const Scope* outer = nullptr) : outer_(outer) {}

  /// The value called `name`; nullptr if there is none, or if a call of a function omits it.
  ValueRef find(std::string_view name) const;
  /// True if `find` looks the name up: it is defined here or around the scope.
  bool is_defined(std::string_view name) const;
  /// True if the scope itself has a value of this name.
  bool has(std::string_view name) const { return values_.contains(name); }
  /// Adds a value under a name, which must not be in the scope itself. The value gets the name if
  /// it has none. nullptr: the input of a function that a call omits.
  void add(std::string_view name, ValueRef value);

 private:
  const Scope* outer_;
  std::unordered_map<std::string_view, ValueRef> values_;
};

}  // namespace sinter::onnx
