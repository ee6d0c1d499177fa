#include "tests/onnx/models/model_builder.h"

#include "sinter/error.h"
#include "sinter/text.h"
#include "tests/onnx/models/encode.h"

namespace sinter::test {

using onnx::AttributeProto;
using onnx::AttributeType;
using onnx::TensorProto;

namespace {

AttributeProto attribute_of(std::string_view name, AttributeType type) {
  AttributeProto attribute;
  attribute.name = name;
  attribute.type = static_cast<std::int32_t>(type);
  return attribute;
}

}  // namespace

AttributeProto integer_attribute(std::string_view name, std::int64_t value) {
  AttributeProto attribute = attribute_of(name, AttributeType::integer);
  attribute.i = value;
  return attribute;
}

AttributeProto real_attribute(std::string_view name, float value) {
  AttributeProto attribute = attribute_of(name, AttributeType::real);
  attribute.f = value;
  return attribute;
}

AttributeProto text_attribute(std::string_view name, std::string_view value) {
  AttributeProto attribute = attribute_of(name, AttributeType::text);
  attribute.s = value;
  return attribute;
}

AttributeProto integers_attribute(std::string_view name, std::vector<std::int64_t> values) {
  AttributeProto attribute = attribute_of(name, AttributeType::integers);
  attribute.ints = std::move(values);
  return attribute;
}

AttributeProto tensor_attribute(std::string_view name, TensorProto value) {
  AttributeProto attribute = attribute_of(name, AttributeType::tensor);
  attribute.t.push_back(std::move(value));
  return attribute;
}

AttributeProto graph_attribute(std::string_view name, onnx::GraphProto value) {
  AttributeProto attribute = attribute_of(name, AttributeType::graph);
  attribute.g.push_back(std::move(value));
  return attribute;
}

AttributeProto outer_attribute(std::string_view name, std::string_view outer) {
  AttributeProto attribute;
  attribute.name = name;
  attribute.ref_attr_name = outer;
  return attribute;
}

TensorProto integer_tensor(std::string_view name, std::vector<std::int64_t> dims,
                           std::vector<std::int64_t> values) {
  TensorProto tensor;
  tensor.name = name;
  tensor.dims = std::move(dims);
  tensor.data_type = static_cast<std::int32_t>(onnx::ElementType::i64);
  tensor.int64_data = std::move(values);
  return tensor;
}

TensorProto real_tensor(std::string_view name, std::vector<std::int64_t> dims,
                        std::vector<float> values) {
  TensorProto tensor;
  tensor.name = name;
  tensor.dims = std::move(dims);
  tensor.data_type = static_cast<std::int32_t>(onnx::ElementType::f32);
  tensor.float_data = std::move(values);
  return tensor;
}

onnx::ValueInfoProto value_info(std::string_view name, onnx::ElementType type,
                                std::vector<Dim> dims) {
  onnx::ValueInfoProto info;
  info.name = name;
  onnx::TensorTypeProto& tensor = info.type.tensor_type.emplace();
  tensor.elem_type = static_cast<std::int32_t>(type);
  tensor.shape.emplace();
  for (const Dim& dim : dims) {
    onnx::DimensionProto& dimension = tensor.shape->dim.emplace_back();
    if (const int* number = std::get_if<int>(&dim))
      dimension.dim_value = *number;
    else
      dimension.dim_param = std::get<const char*>(dim);
  }
  return info;
}

onnx::NodeProto node(std::string_view type, Names inputs, Names outputs,
                     std::vector<AttributeProto> attributes, std::string_view name) {
  onnx::NodeProto result;
  result.op_type = type;
  result.input = std::move(inputs);
  result.output = std::move(outputs);
  result.attribute = std::move(attributes);
  result.name = name;
  return result;
}

ModelBuilder::ModelBuilder() {
  model.ir_version = 8;
  model.graph.emplace();
  model.graph->name = "test";
  opset(17);
}

ModelBuilder& ModelBuilder::input(std::string_view name, std::vector<Dim> dims,
                                  onnx::ElementType type) {
  model.graph->input.push_back(value_info(name, type, std::move(dims)));
  return *this;
}

ModelBuilder& ModelBuilder::output(std::string_view name) {
  model.graph->output.emplace_back().name = name;
  return *this;
}

ModelBuilder& ModelBuilder::initializer(TensorProto tensor) {
  model.graph->initializer.push_back(std::move(tensor));
  return *this;
}

ModelBuilder& ModelBuilder::add(onnx::NodeProto node) {
  model.graph->node.push_back(std::move(node));
  return *this;
}

ModelBuilder& ModelBuilder::add(std::string_view type, Names inputs, Names outputs) {
  return add(node(type, std::move(inputs), std::move(outputs)));
}

ModelBuilder& ModelBuilder::opset(std::int64_t version, std::string_view domain) {
  std::erase_if(model.opset_import,
                [&](const onnx::OperatorSetIdProto& set) { return set.domain == domain; });
  onnx::OperatorSetIdProto& set = model.opset_import.emplace_back();
  set.domain = domain;
  set.version = version;
  return *this;
}

std::string ModelBuilder::bytes() const { return encoded(model); }

onnx::ImportedModel ModelBuilder::import(const onnx::ImportOptions& options) const {
  return onnx::import_model(bytes(), ".", options);
}

std::string ModelBuilder::text(const onnx::ImportOptions& options) const {
  return print(import(options).graph);
}

std::string ModelBuilder::error(const onnx::ImportOptions& options) const {
  try {
    import(options);
  } catch (const UserError& error) {
    return error.what();
  }
  return {};
}

std::string import_error(std::string_view bytes) {
  try {
    onnx::import_model(bytes, ".");
  } catch (const UserError& error) {
    return error.what();
  }
  return {};
}

}  // namespace sinter::test
