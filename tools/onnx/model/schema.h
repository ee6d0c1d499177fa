// The messages of an ONNX file (onnx.proto of ONNX 1.23), with the fields that the importer reads.
//
// `visit_fields` lists the number and the member of every field. The decoder and the encoder of the
// tests use these lists. Text refers to the bytes of the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sinter::onnx {

/// The values of TensorProto.DataType.
enum class ElementType : std::int32_t {
  undefined = 0,
  f32 = 1,
  u8 = 2,
  i8 = 3,
  u16 = 4,
  i16 = 5,
  i32 = 6,
  i64 = 7,
  string = 8,
  boolean = 9,
  f16 = 10,
  f64 = 11,
  u32 = 12,
  u64 = 13,
  c64 = 14,
  c128 = 15,
  bf16 = 16,
  f8e4m3fn = 17,
  f8e4m3fnuz = 18,
  f8e5m2 = 19,
  f8e5m2fnuz = 20,
  u4 = 21,
  i4 = 22,
  f4e2m1 = 23,
  f8e8m0 = 24,
  u2 = 25,
  i2 = 26,
  f6e2m3 = 27,
  f6e3m2 = 28,
};

/// The values of AttributeProto.AttributeType.
enum class AttributeType : std::int32_t {
  undefined = 0,
  real = 1,
  integer = 2,
  text = 3,
  tensor = 4,
  graph = 5,
  reals = 6,
  integers = 7,
  texts = 8,
  tensors = 9,
  graphs = 10,
  sparse_tensor = 11,
  sparse_tensors = 12,
  type = 13,
  types = 14,
};

struct StringStringEntryProto {
  static constexpr const char* kName = "StringStringEntryProto";
  std::string_view key;
  std::string_view value;
};

template <class Visit>
void visit_fields(StringStringEntryProto& m, const Visit& visit) {
  visit(1, m.key);
  visit(2, m.value);
}

/// Only its presence matters: the importer refuses segments.
struct SegmentProto {
  static constexpr const char* kName = "TensorProto.Segment";
};

template <class Visit>
void visit_fields(SegmentProto&, const Visit&) {}

struct TensorProto {
  static constexpr const char* kName = "TensorProto";
  std::vector<std::int64_t> dims;
  std::int32_t data_type = 0;
  std::optional<SegmentProto> segment;
  std::vector<float> float_data;
  std::vector<std::int32_t> int32_data;
  std::vector<std::int64_t> int64_data;
  std::string_view name;
  std::optional<std::string_view> raw_data;
  std::vector<double> double_data;
  std::vector<std::uint64_t> uint64_data;
  std::vector<StringStringEntryProto> external_data;
  std::int32_t data_location = 0;  ///< 1: external
};

template <class Visit>
void visit_fields(TensorProto& m, const Visit& visit) {
  visit(1, m.dims);
  visit(2, m.data_type);
  visit(3, m.segment);
  visit(4, m.float_data);
  visit(5, m.int32_data);
  visit(7, m.int64_data);
  visit(8, m.name);
  visit(9, m.raw_data);
  visit(10, m.double_data);
  visit(11, m.uint64_data);
  visit(13, m.external_data);
  visit(14, m.data_location);
}

struct SparseTensorProto {
  static constexpr const char* kName = "SparseTensorProto";
  TensorProto values;
};

template <class Visit>
void visit_fields(SparseTensorProto& m, const Visit& visit) {
  visit(1, m.values);
}

struct DimensionProto {
  static constexpr const char* kName = "TensorShapeProto.Dimension";
  std::optional<std::int64_t> dim_value;
  std::string_view dim_param;
};

template <class Visit>
void visit_fields(DimensionProto& m, const Visit& visit) {
  visit(1, m.dim_value);
  visit(2, m.dim_param);
}

struct TensorShapeProto {
  static constexpr const char* kName = "TensorShapeProto";
  std::vector<DimensionProto> dim;
};

template <class Visit>
void visit_fields(TensorShapeProto& m, const Visit& visit) {
  visit(1, m.dim);
}

struct TensorTypeProto {
  static constexpr const char* kName = "TypeProto.Tensor";
  std::int32_t elem_type = 0;
  std::optional<TensorShapeProto> shape;
};

template <class Visit>
void visit_fields(TensorTypeProto& m, const Visit& visit) {
  visit(1, m.elem_type);
  visit(2, m.shape);
}

/// Sequences, maps, optionals and sparse tensors are left out: the importer refuses them.
struct TypeProto {
  static constexpr const char* kName = "TypeProto";
  std::optional<TensorTypeProto> tensor_type;
};

template <class Visit>
void visit_fields(TypeProto& m, const Visit& visit) {
  visit(1, m.tensor_type);
}

struct ValueInfoProto {
  static constexpr const char* kName = "ValueInfoProto";
  std::string_view name;
  TypeProto type;
};

template <class Visit>
void visit_fields(ValueInfoProto& m, const Visit& visit) {
  visit(1, m.name);
  visit(2, m.type);
}

struct GraphProto;

struct AttributeProto {
  static constexpr const char* kName = "AttributeProto";
  std::string_view name;
  std::string_view ref_attr_name;
  std::int32_t type = 0;
  float f = 0;
  std::int64_t i = 0;
  std::string_view s;
  std::vector<TensorProto> t;  ///< at most one
  std::vector<GraphProto> g;   ///< at most one
  std::vector<float> floats;
  std::vector<std::int64_t> ints;
  std::vector<std::string_view> strings;
};

template <class Visit>
void visit_fields(AttributeProto& m, const Visit& visit) {
  visit(1, m.name);
  visit(2, m.f);
  visit(3, m.i);
  visit(4, m.s);
  visit(5, m.t);
  visit(6, m.g);
  visit(7, m.floats);
  visit(8, m.ints);
  visit(9, m.strings);
  visit(20, m.type);
  visit(21, m.ref_attr_name);
}

struct NodeProto {
  static constexpr const char* kName = "NodeProto";
  std::vector<std::string_view> input;
  std::vector<std::string_view> output;
  std::string_view name;
  std::string_view op_type;
  std::string_view domain;
  std::string_view overload;
  std::vector<AttributeProto> attribute;
};

template <class Visit>
void visit_fields(NodeProto& m, const Visit& visit) {
  visit(1, m.input);
  visit(2, m.output);
  visit(3, m.name);
  visit(4, m.op_type);
  visit(5, m.attribute);
  visit(7, m.domain);
  visit(8, m.overload);
}

struct GraphProto {
  static constexpr const char* kName = "GraphProto";
  std::vector<NodeProto> node;
  std::string_view name;
  std::vector<TensorProto> initializer;
  std::vector<SparseTensorProto> sparse_initializer;
  std::vector<ValueInfoProto> input;
  std::vector<ValueInfoProto> output;
};

template <class Visit>
void visit_fields(GraphProto& m, const Visit& visit) {
  visit(1, m.node);
  visit(2, m.name);
  visit(5, m.initializer);
  visit(11, m.input);
  visit(12, m.output);
  visit(15, m.sparse_initializer);
}

struct OperatorSetIdProto {
  static constexpr const char* kName = "OperatorSetIdProto";
  std::string_view domain;
  std::int64_t version = 0;
};

template <class Visit>
void visit_fields(OperatorSetIdProto& m, const Visit& visit) {
  visit(1, m.domain);
  visit(2, m.version);
}

struct FunctionProto {
  static constexpr const char* kName = "FunctionProto";
  std::string_view name;
  std::vector<std::string_view> input;
  std::vector<std::string_view> output;
  std::vector<std::string_view> attribute;
  std::vector<AttributeProto> attribute_proto;  ///< with default values
  std::vector<NodeProto> node;
  std::vector<OperatorSetIdProto> opset_import;
  std::string_view domain;
  std::string_view overload;
};

template <class Visit>
void visit_fields(FunctionProto& m, const Visit& visit) {
  visit(1, m.name);
  visit(4, m.input);
  visit(5, m.output);
  visit(6, m.attribute);
  visit(7, m.node);
  visit(9, m.opset_import);
  visit(10, m.domain);
  visit(11, m.attribute_proto);
  visit(13, m.overload);
}

struct ModelProto {
  static constexpr const char* kName = "ModelProto";
  std::int64_t ir_version = 0;
  std::vector<OperatorSetIdProto> opset_import;
  std::string_view producer_name;
  std::optional<GraphProto> graph;
  std::vector<FunctionProto> functions;
};

template <class Visit>
void visit_fields(ModelProto& m, const Visit& visit) {
  visit(1, m.ir_version);
  visit(2, m.producer_name);
  visit(7, m.graph);
  visit(8, m.opset_import);
  visit(25, m.functions);
}

}  // namespace sinter::onnx
