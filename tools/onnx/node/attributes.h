// The attributes of a node, by name and kind.
#pragma once

#include "tools/onnx/model/schema.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::onnx {

/// The attributes that a call of a function gives, by name. nullptr: an attribute without a value.
using FunctionAttributes = std::map<std::string_view, const AttributeProto*>;

class Attributes {
 public:
  /// Attributes of a node in a function may refer to those of the call, in `outer`. Throws
  /// UserError if a name is repeated, or if a node outside of functions refers to an attribute.
  Attributes(const NodeProto& node, const FunctionAttributes* outer);

  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// The attribute, or the default. Throw UserError if it has another kind.
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  /// True for a number other than 0.
  bool flag(std::string_view name, bool otherwise) const { return integer(name, otherwise) != 0; }
  double real(std::string_view name, double otherwise) const;
  std::string text(std::string_view name, std::string_view otherwise) const;
  std::vector<std::int64_t> integers(std::string_view name,
                                     std::vector<std::int64_t> otherwise = {}) const;
  std::vector<double> reals(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  /// The same, without a default: throw UserError if the attribute is missing.
  std::int64_t integer(std::string_view name) const;
  std::string text(std::string_view name) const;
  const GraphProto& graph(std::string_view name) const;
  /// nullptr if the attribute is missing.
  const TensorProto* tensor(std::string_view name) const;

  /// The attribute of any kind; nullptr if it is missing.
  const AttributeProto* find(std::string_view name) const;
  /// Marks `name` as used: it does not change results.
  void ignore(std::string_view name) const { used_.insert(name); }
  /// Throws UserError if there is an attribute that nothing asked for.
  void refuse_unused() const;

  const std::map<std::string_view, const AttributeProto*>& all() const { return by_name_; }

 private:
  /// The attribute `name` of this kind; nullptr if it is missing.
  const AttributeProto* find(std::string_view name, AttributeType type) const;
  [[noreturn]] static void fail_missing(std::string_view name);

  std::map<std::string_view, const AttributeProto*> by_name_;
  mutable std::set<std::string_view> used_;
};

}  // namespace sinter::onnx
