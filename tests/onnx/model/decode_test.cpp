// The decoder of ONNX files: fields, unknown fields, and damaged files.
#include "tools/onnx/model/decode.h"

#include "sinter/error.h"
#include "tests/onnx/models/encode.h"
#include "tests/onnx/models/model_builder.h"
#include "tests/support/files/errors.h"

#include <gtest/gtest.h>

namespace sinter::test::decode_test {
namespace {

using onnx::decode_model;

std::string decode_error(std::string_view bytes) {
  return error_of([&] { decode_model(bytes); });
}

TEST(OnnxDecode, ReadsEveryKindOfField) {
  ModelBuilder builder;
  builder.input("x", {2, "rows"})
      .initializer(real_tensor("w", {2}, {1.5F, -2}))
      .initializer(integer_tensor("n", {2}, {-1, 1LL << 40}))
      .add(node("Conv", {"x", "w"}, {"y"},
                {integer_attribute("group", -3), real_attribute("alpha", 0.25F),
                 text_attribute("auto_pad", "VALID"), integers_attribute("pads", {1, 2})},
                "first"));
  const std::string bytes = builder.bytes();
  const onnx::ModelProto model = decode_model(bytes);
  EXPECT_EQ(model.ir_version, 8);
  ASSERT_EQ(model.opset_import.size(), 1U);
  EXPECT_EQ(model.opset_import[0].version, 17);
  const onnx::GraphProto& graph = model.graph.value();
  EXPECT_EQ(graph.name, "test");
  EXPECT_EQ(graph.input[0].type.tensor_type->shape->dim[0].dim_value, 2);
  EXPECT_EQ(graph.input[0].type.tensor_type->shape->dim[1].dim_param, "rows");
  EXPECT_EQ(graph.initializer[0].float_data, (std::vector<float>{1.5F, -2}));
  EXPECT_EQ(graph.initializer[1].int64_data, (std::vector<std::int64_t>{-1, 1LL << 40}));
  const onnx::NodeProto& conv = graph.node.at(0);
  EXPECT_EQ(conv.name, "first");
  EXPECT_EQ(conv.input, (std::vector<std::string_view>{"x", "w"}));
  EXPECT_EQ(conv.attribute[0].i, -3);
  EXPECT_EQ(conv.attribute[1].f, 0.25F);
  EXPECT_EQ(conv.attribute[2].s, "VALID");
  EXPECT_EQ(conv.attribute[3].ints, (std::vector<std::int64_t>{1, 2}));
}

TEST(OnnxDecode, ReadsPackedAndUnpackedNumbers) {
  // dims = 2, 3 packed; then dims = 4 unpacked.
  const std::string tensor = std::string("\x0a\x02\x02\x03", 4) + "\x08\x04";
  const std::string graph = "\x2a" + std::string(1, static_cast<char>(tensor.size())) + tensor;
  const std::string model = "\x3a" + std::string(1, static_cast<char>(graph.size())) + graph;
  EXPECT_EQ(decode_model(model).graph->initializer[0].dims, (std::vector<std::int64_t>{2, 3, 4}));
}

TEST(OnnxDecode, SkipsUnknownFields) {
  // Fields 100 to 103 of each wire type, then ir_version = 8.
  const std::string bytes = std::string("\xa0\x06\x01\xa9\x06", 5) + std::string(8, 'x') +
                            "\xb2\x06\x02zz\xbd\x06" + "abcd" + "\x08\x08";
  EXPECT_EQ(decode_model(bytes).ir_version, 8);
}

TEST(OnnxDecode, NamesTheByteOfDamage) {
  EXPECT_EQ(
      decode_error("\x08"),
      "byte 0 in a ModelProto: the message ends within a number; the file is damaged, or is no "
      "ONNX model");
  EXPECT_EQ(decode_error(std::string("\x08\x08\x3a\x05\x12", 5)),
            "byte 2 in a ModelProto: a field of 5 bytes begins 1 bytes before the end; the file is "
            "damaged, or is no ONNX model");
  EXPECT_EQ(decode_error("\xa7\x06"),
            "byte 0 in a ModelProto: there is no wire type 7; the file is damaged, or is no ONNX "
            "model");
  EXPECT_EQ(
      decode_error("\x38\x01"),
      "byte 0 in a ModelProto: a field has the wire type 0 instead of 2; the file is damaged, or "
      "is no ONNX model");
  EXPECT_EQ(decode_error(std::string(1, '\x08') + std::string(10, '\xff')),
            "byte 0 in a ModelProto: a number has more than 64 bits; the file is damaged, or is no "
            "ONNX model");
  EXPECT_EQ(
      decode_error(std::string("\x00\x00", 2)),
      "byte 0 in a ModelProto: there is no field 0; the file is damaged, or is no ONNX model");
}

TEST(OnnxDecode, RefusesDeepNesting) {
  std::string graph;
  const auto wrap = [](std::string_view key, const std::string& inside) {
    std::string length;
    std::size_t size = inside.size();
    for (; size >= 0x80; size >>= 7) length += static_cast<char>(size | 0x80);
    length += static_cast<char>(size);
    return std::string(key) + length + inside;
  };
  // graph.node.attribute.g and so on.
  for (int i = 0; i < 100; ++i) graph = wrap("\x0a", wrap("\x2a", wrap("\x32", graph)));
  EXPECT_NE(decode_error(wrap("\x3a", graph)).find("its messages are nested more than 96 deep"),
            std::string::npos);
}

TEST(OnnxDecode, EveryPrefixOfAFileIsAnErrorOrAModel) {
  const std::string bytes = ModelBuilder()
                                .input("x", {2})
                                .initializer(real_tensor("w", {2}, {1, 2}))
                                .add("Add", {"x", "w"}, {"y"})
                                .output("y")
                                .bytes();
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_NE(import_error(std::string_view(bytes).substr(0, size)), "") << size;
  EXPECT_EQ(import_error(bytes), "");
}

}  // namespace
}  // namespace sinter::test::decode_test
