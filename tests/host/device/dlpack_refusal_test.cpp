// DLPack tensors that cannot become Arrays. Each is rejected with an error, and its deleter is
// still called.
#include <gmock/gmock.h>

#include "runtime/device/device_state.h"
#include "tests/host/device/dlpack_fixture.h"
#include "tests/support/doubles/null_driver.h"

namespace sinter::dlpack_refusal_test {
namespace {

using test::error_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class DlpackRefusal : public test::DlpackTest {};

TEST_F(DlpackRefusal, OtherDevices) {
  DeviceState gpu(test::null_driver(), 0);
  gpu.name = "gpu";
  const Device on(&gpu);
  EXPECT_EQ(refusal({.device = {kDLCUDA, 1}}, on),
            "from_dlpack: the tensor is on CUDA device 1, but requested on gpu (CUDA device 0); "
            "copy it there first, or use cuda_device(1)");
  EXPECT_EQ(refusal({.device = {kDLCPU, 0}}, on),
            "from_dlpack: the tensor is in CPU memory, but requested on gpu (CUDA device 0); "
            "upload it with Device::upload, or use host_device()");
  EXPECT_EQ(refusal({.device = {kDLCUDA, 0}}, device),
            "from_dlpack: the tensor is on CUDA device 0, but requested on " +
                std::string(device.name()) + "; copy it to the CPU first, or leave the device out");
  EXPECT_EQ(refusal({.device = {kDLCUDAManaged, 0}}, device),
            "from_dlpack: the tensor is in CUDA managed memory, but requested on " +
                std::string(device.name()) +
                "; copy it to the CPU first: a GPU may still write there");
  EXPECT_EQ(refusal({.device = {kDLROCM, 2}}),
            "from_dlpack: the tensor is on device 2 of DLPack's type 10; copy it to the CPU or a "
            "CUDA device first");
  EXPECT_EQ(deleted, 5);
}

TEST_F(DlpackRefusal, ReportsThatThereIsNoGpu) {
  if (!default_device().is_host()) GTEST_SKIP() << "there is a GPU";
  EXPECT_THAT(error_of<DriverError>([&] {
                (void)take({.device = {kDLCUDA, 0}});
              }),
              StartsWith("there is no CUDA device: "));
  EXPECT_EQ(deleted, 1);
}

TEST_F(DlpackRefusal, OtherDTypes) {
  EXPECT_EQ(
      refusal({.dtype = {kDLFloat, 128, 1}}),
      "from_dlpack: elements of float with 128 bits have no sinter dtype; cast them to one of "
      "bool i8 i16 i32 i64 u8 u16 u32 u64 f8e4m3 f8e5m2 f16 bf16 f32 f64 c64 first");
  EXPECT_THAT(refusal({.dtype = {kDLFloat8_e4m3, 8, 1}}), HasSubstr("float8_e4m3 with 8 bits"));
  EXPECT_THAT(refusal({.dtype = {99, 8, 1}}), HasSubstr("code 99 with 8 bits"));
  EXPECT_EQ(refusal({.dtype = {kDLFloat, 32, 4}}),
            "from_dlpack: elements of float with 32 bits in 4 lanes; pass a tensor of 1 lane, with "
            "one more axis of 4");
  EXPECT_EQ(deleted, 4);
}

TEST_F(DlpackRefusal, InvalidLayouts) {
  EXPECT_EQ(refusal({.shape = {2, 4}, .strides = {4, -1}, .byte_offset = 12}),
            "from_dlpack: f32[2, 4] has strides [4, -1] (in elements), and -1 along axis 1 is "
            "negative; copy it into a tensor with positive strides first");
  EXPECT_EQ(refusal({.shape = {2, -4}}), "from_dlpack: shape [2, -4] has a negative extent");
  EXPECT_EQ(refusal({.shape = {1LL << 40, 1LL << 40}}),
            "from_dlpack: f32[1099511627776, 1099511627776] does not fit in 63 bits of bytes");
  EXPECT_EQ(refusal({.shape = {2, 2}, .strides = {1LL << 61, 1}}),
            "from_dlpack: f32[2, 2] with strides [2305843009213693952, 1] does not fit in 63 bits "
            "of bytes");
  EXPECT_THAT(refusal({.shape = std::vector<std::int64_t>(17, 1)}), HasSubstr("has rank 17"));
  EXPECT_EQ(deleted, 5);
}

TEST_F(DlpackRefusal, MissingShapes) {
  auto* const tensor = test::make_foreign<DLManagedTensor>({.data = values.data()}, deleted);
  tensor->dl_tensor.shape = nullptr;
  EXPECT_EQ(error_of([&] { (void)from_dlpack(tensor); }),
            "from_dlpack: a tensor of 1 axes with no shape; pass one with a valid shape");
  auto* const negative = test::make_foreign<DLManagedTensor>({.data = values.data()}, deleted);
  negative->dl_tensor.ndim = -1;
  EXPECT_EQ(error_of([&] { (void)from_dlpack(negative); }),
            "from_dlpack: a tensor of -1 axes with a shape; pass one with a valid shape");
  EXPECT_EQ(deleted, 2);
}

TEST_F(DlpackRefusal, InvalidPointers) {
  auto* const null = test::make_foreign<DLManagedTensor>({}, deleted);
  EXPECT_EQ(error_of([&] { (void)from_dlpack(null); }),
            "from_dlpack: f32[3] at a null pointer; pass memory of 12 bytes");
  EXPECT_THAT(refusal({.byte_offset = 2}),
              AllOf(HasSubstr("(byte 2 of 0x"),
                    HasSubstr("which is not a multiple of the 4 bytes of an element; copy it to an "
                              "aligned address first")));
  EXPECT_THAT(refusal({.byte_offset = ~std::uint64_t{3}}),
              HasSubstr("ends beyond the last address; its shape or offset is wrong"));
  EXPECT_EQ(deleted, 3);
}

TEST_F(DlpackRefusal, PartlyOwnedMemory) {
  const Array array = device.empty(f32, {64});  // its end is the start of a guard page
  const std::string text = refusal({.data = array.pointer(), .shape = {65}});
  EXPECT_THAT(
      text, AllOf(HasSubstr("260 bytes at"), HasSubstr("reach into a 256-byte device allocation")));
  EXPECT_EQ(deleted, 1);
}

TEST_F(DlpackRefusal, OtherMajorVersions) {
  EXPECT_EQ(refusal({.version = {2, 3}}),
            "from_dlpack: the tensor has DLPack 2.3, but sinter reads 1.x; request max_version=(1, "
            "1) from its producer");
  EXPECT_EQ(deleted, 1);
  EXPECT_THAT(read(take({.version = {1, 9}})), ElementsAre(1, 2, 3));
}

TEST_F(DlpackRefusal, NullTensor) {
  EXPECT_EQ(error_of([] { (void)from_dlpack(static_cast<DLManagedTensor*>(nullptr)); }),
            "from_dlpack: the tensor is null; pass the tensor of a producer");
}

}  // namespace
}  // namespace sinter::dlpack_refusal_test
