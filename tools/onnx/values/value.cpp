#include "tools/onnx/values/value.h"

#include "sinter/error.h"

#include <utility>

namespace sinter::onnx {

const KnownValue* known_contents(Value& value) {
  if (!value.known && value.array) value.known = known_value_of(*value.array);
  return value.known ? &*value.known : nullptr;
}

ValueRef Scope::find(std::string_view name) const {
  for (const Scope* scope = this; scope; scope = scope->outer_)
    if (const auto found = scope->values_.find(name); found != scope->values_.end())
      return found->second;
  return nullptr;
}

bool Scope::is_defined(std::string_view name) const {
  for (const Scope* scope = this; scope; scope = scope->outer_)
    if (scope->has(name)) return true;
  return false;
}

void Scope::add(std::string_view name, ValueRef value) {
  if (value && value->name.empty()) value->name = name;
  ensure(values_.emplace(name, std::move(value)).second,
         "names of values are checked before they are added");
}

}  // namespace sinter::onnx
