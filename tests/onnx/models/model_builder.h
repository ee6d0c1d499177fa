// Builds small ONNX models for tests.
#pragma once

#include "tools/onnx/import.h"
#include "tools/onnx/model/schema.h"

#include <deque>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sinter::test {

/// A number, a symbol, or neither for "".
using Dim = std::variant<int, const char*>;

onnx::AttributeProto integer_attribute(std::string_view name, std::int64_t value);
onnx::AttributeProto real_attribute(std::string_view name, float value);
onnx::AttributeProto text_attribute(std::string_view name, std::string_view value);
onnx::AttributeProto integers_attribute(std::string_view name, std::vector<std::int64_t> values);
onnx::AttributeProto tensor_attribute(std::string_view name, onnx::TensorProto value);
onnx::AttributeProto graph_attribute(std::string_view name, onnx::GraphProto value);
/// An attribute that has the value of attribute `outer` of the function around the node.
onnx::AttributeProto outer_attribute(std::string_view name, std::string_view outer);

onnx::TensorProto integer_tensor(std::string_view name, std::vector<std::int64_t> dims,
                                 std::vector<std::int64_t> values);
onnx::TensorProto real_tensor(std::string_view name, std::vector<std::int64_t> dims,
                              std::vector<float> values);
onnx::ValueInfoProto value_info(std::string_view name, onnx::ElementType type,
                                std::vector<Dim> dims);

using Names = std::vector<std::string_view>;
onnx::NodeProto node(std::string_view type, Names inputs, Names outputs,
                     std::vector<onnx::AttributeProto> attributes = {}, std::string_view name = "");

/// A model of operator set 17 whose graph is called `test`.
class ModelBuilder {
 public:
  ModelBuilder();

  ModelBuilder& input(std::string_view name, std::vector<Dim> dims,
                      onnx::ElementType type = onnx::ElementType::f32);
  ModelBuilder& output(std::string_view name);
  ModelBuilder& initializer(onnx::TensorProto tensor);
  ModelBuilder& add(onnx::NodeProto node);
  /// Adds a node without attributes.
  ModelBuilder& add(std::string_view type, Names inputs, Names outputs);
  ModelBuilder& opset(std::int64_t version, std::string_view domain = "");

  std::string bytes() const;
  onnx::ImportedModel import(const onnx::ImportOptions& options = {}) const;
  /// The text of the imported graph.
  std::string text(const onnx::ImportOptions& options = {}) const;
  /// The message of the error that importing throws; empty if it throws none.
  std::string error(const onnx::ImportOptions& options = {}) const;

  onnx::ModelProto model;  ///< its text must outlive it
};

/// The message of the error that importing `bytes` throws; empty if it throws none.
std::string import_error(std::string_view bytes);

}  // namespace sinter::test
