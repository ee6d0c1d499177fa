// The elements of tensors: all fields, external files, and data that does not fit.
#include "tools/onnx/model/tensor_data.h"

#include "tests/onnx/models/model_builder.h"
#include "tests/support/files/errors.h"
#include "tests/support/files/scratch_folder.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace sinter::test::tensor_data_test {
namespace {

namespace fs = std::filesystem;
using onnx::array_of;
using onnx::ElementType;
using onnx::TensorProto;

TensorProto tensor_of(ElementType type, std::vector<std::int64_t> dims) {
  TensorProto tensor;
  tensor.data_type = static_cast<std::int32_t>(type);
  tensor.dims = std::move(dims);
  return tensor;
}

std::string problem_of(const TensorProto& tensor, const fs::path& folder = ".") {
  return error_of([&] { array_of(tensor, folder); });
}

TEST(OnnxTensorData, ReadsSmallTypesFromInt32Data) {
  TensorProto half = tensor_of(ElementType::f16, {2});
  half.int32_data = {0x3c00, 0xc000};
  EXPECT_EQ(array_of(half, ".").real_at(0), 1);
  EXPECT_EQ(array_of(half, ".").real_at(1), -2);
  TensorProto byte = tensor_of(ElementType::i8, {2});
  byte.int32_data = {-7, 9};
  EXPECT_EQ(array_of(byte, ".").integer_at(0), -7);
  EXPECT_EQ(array_of(byte, ".").integer_at(1), 9);
}

TEST(OnnxTensorData, ReadsUnsignedNumbersFromUint64Data) {
  TensorProto tensor = tensor_of(ElementType::u32, {1});
  tensor.uint64_data = {0xfffffffe};
  EXPECT_EQ(array_of(tensor, ".").integer_at(0), 0xfffffffe);
}

TEST(OnnxTensorData, ReadsRawData) {
  TensorProto tensor = tensor_of(ElementType::f32, {1});
  tensor.raw_data = std::string_view("\x00\x00\x80\x3f", 4);
  EXPECT_EQ(array_of(tensor, ".").real_at(0), 1);
}

TEST(OnnxTensorData, UnpacksIntegersOfFourBits) {
  TensorProto tensor = tensor_of(ElementType::i4, {3});
  tensor.raw_data = "\x9f\x07";
  const HostArray array = array_of(tensor, ".");
  EXPECT_EQ(array.dtype(), i8);
  EXPECT_EQ(array.integer_at(0), -1);
  EXPECT_EQ(array.integer_at(1), -7);
  EXPECT_EQ(array.integer_at(2), 7);
}

/// Elements of 6 bits cross the bytes of raw data, but have items of their own in int32_data.
TEST(OnnxTensorData, UnpacksFloatsOfFourToEightBits) {
  TensorProto four = tensor_of(ElementType::f4e2m1, {3});
  four.raw_data = "\x91\x07";
  EXPECT_EQ(array_of(four, ".").dtype(), f8e4m3);
  EXPECT_EQ(array_of(four, ".").real_at(0), 0.5);
  EXPECT_EQ(array_of(four, ".").real_at(1), -0.5);
  EXPECT_EQ(array_of(four, ".").real_at(2), 6);
  TensorProto six = tensor_of(ElementType::f6e2m3, {3});
  // 1, 8 and 63, in six bits each.
  six.raw_data = std::string_view("\x01\xf2\x03", 3);
  for (const bool is_raw : {true, false}) {
    EXPECT_EQ(array_of(six, ".").real_at(0), 0.125) << is_raw;
    EXPECT_EQ(array_of(six, ".").real_at(1), 1) << is_raw;
    EXPECT_EQ(array_of(six, ".").real_at(2), -7.5) << is_raw;
    six.raw_data.reset();
    six.int32_data = {1, 8, 63};
  }
  TensorProto eight = tensor_of(ElementType::f8e4m3fnuz, {2});
  eight.int32_data = {0x7f, 1};
  EXPECT_EQ(array_of(eight, ".").dtype(), f16);
  EXPECT_EQ(array_of(eight, ".").real_at(0), 240);
  EXPECT_EQ(array_of(eight, ".").real_at(1), 0x1p-10);
}

TEST(OnnxTensorData, ReportsDataThatDoesNotFit) {
  TensorProto tensor = tensor_of(ElementType::f32, {2, 3});
  tensor.float_data = {1, 2};
  EXPECT_EQ(problem_of(tensor),
            "its data has 2 items of float_data, but its shape and type need 6");
  tensor.raw_data = "123";
  EXPECT_EQ(problem_of(tensor), "its data has 3 bytes, but its shape and type need 24");
  EXPECT_EQ(problem_of(tensor_of(ElementType::f32, {2, -1})),
            "its shape is [2, -1]; extents are at least 0");
  EXPECT_EQ(problem_of(tensor_of(ElementType::f32, {1LL << 40, 1LL << 40})),
            "its shape [1099511627776, 1099511627776] has too many elements");
  EXPECT_EQ(problem_of(tensor_of(ElementType::f32, std::vector<std::int64_t>(17, 1))),
            "it has 17 axes; arrays have at most 16");
  EXPECT_EQ(problem_of(tensor_of(ElementType::string, {1})),
            "its elements are STRING, for which sinter has no dtype");
  EXPECT_EQ(problem_of(tensor_of(static_cast<ElementType>(77), {1})),
            "its elements are element type 77, for which sinter has no dtype");
  TensorProto flags = tensor_of(ElementType::boolean, {1});
  flags.raw_data = "\x02";
  EXPECT_EQ(problem_of(flags), "one of its bools is 2; only 0 and 1 are bools");
  TensorProto part = tensor_of(ElementType::f32, {0});
  part.segment.emplace();
  EXPECT_EQ(problem_of(part), "it is a segment of a larger tensor; store it in one piece");
}

class OnnxExternalData : public testing::Test {
 protected:
  OnnxExternalData() {
    fs::create_directories(folder() / "data");
    std::ofstream(folder() / "data/w.bin", std::ios::binary) << "12345678";
    std::ofstream(fs::path(scratch_.path()) / "secret.bin", std::ios::binary) << "12345678";
    tensor_ = tensor_of(ElementType::u8, {4});
    tensor_.data_location = 1;
  }

  fs::path folder() const { return fs::path(scratch_.path()) / "model"; }
  void set(std::string_view location, std::string_view offset = "", std::string_view length = "") {
    tensor_.external_data = {{.key = "location", .value = location}};
    if (!offset.empty()) tensor_.external_data.push_back({.key = "offset", .value = offset});
    if (!length.empty()) tensor_.external_data.push_back({.key = "length", .value = length});
  }
  std::string problem() const { return problem_of(tensor_, folder()); }

  ScratchFolder scratch_;
  TensorProto tensor_;
};

TEST_F(OnnxExternalData, IsReadFromTheFolderOfTheModel) {
  set("data/w.bin", "2", "4");
  EXPECT_EQ(array_of(tensor_, folder()).integer_at(0), '3');
  set("data/../data/w.bin");
  EXPECT_EQ(array_of(tensor_, folder()).integer_at(0), '1');
}

TEST_F(OnnxExternalData, MustBeInsideTheFolder) {
  const std::string refused = "which is outside the folder of the model; move the file there";
  set("../secret.bin");
  EXPECT_EQ(problem(), "its external data is in '../secret.bin', " + refused);
  set("/etc/passwd");
  EXPECT_EQ(problem(), "its external data is in '/etc/passwd', " + refused);
  fs::create_symlink(fs::path(scratch_.path()) / "secret.bin", folder() / "link.bin");
  set("link.bin");
  EXPECT_EQ(problem(), "its external data is in 'link.bin', " + refused);
}

TEST_F(OnnxExternalData, ReportsBadRanges) {
  set("data/w.bin", "6");
  EXPECT_EQ(problem(), "its external data is bytes 6 to 10 of 'data/w.bin', which has 8");
  set("data/w.bin", "18446744073709551615");
  EXPECT_EQ(
      problem(),
      "the offset of its external data is '18446744073709551615'; it must be a number of bytes");
  set("data/w.bin", "0", "8");
  EXPECT_EQ(problem(), "its external data has 8 bytes, but its shape and type need 4");
  set("data/none.bin");
  EXPECT_EQ(problem(),
            "its external data is in 'data/none.bin', which is no file that can be read");
  set("data");
  EXPECT_EQ(problem(), "its external data is in 'data', which is no file that can be read");
  tensor_.external_data.clear();
  EXPECT_EQ(problem(), "its external data has no location");
  tensor_.data_location = 5;
  EXPECT_EQ(problem(), "its data location is 5; known are 0 (in the message) and 1 (in a file)");
}

}  // namespace
}  // namespace sinter::test::tensor_data_test
