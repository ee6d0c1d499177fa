// Import and export of DLPack tensors: layouts, dtypes, flags, and when the deleter is called.
#include <gmock/gmock.h>

#include <memory>
#include <optional>
#include <thread>

#include "runtime/device/device_state.h"
#include "runtime/driver/host/host_driver.h"
#include "tests/host/device/dlpack_fixture.h"
#include "tests/support/doubles/null_driver.h"
#include "tests/support/doubles/stream_capture.h"

namespace sinter::dlpack_test {
namespace {

using test::DlpackTest;
using test::doubling;
using test::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST_F(DlpackTest, ImportsBothStructs) {
  {
    const Array plain = take<DLManagedTensor>({});
    const Array versioned = take<DLManagedTensorVersioned>({});
    for (const Array& array : {plain, versioned}) {
      EXPECT_EQ(array.pointer(), values.data());
      EXPECT_EQ(array.dtype(), f32);
      EXPECT_THAT(array.shape(), ElementsAre(3));
      EXPECT_THAT(array.strides(), ElementsAre(1));
      EXPECT_EQ(array.device(), device);
      EXPECT_FALSE(array.is_read_only());
      EXPECT_THAT(read(array), ElementsAre(1, 2, 3));
    }
    EXPECT_EQ(deleted, 0);
  }
  EXPECT_EQ(deleted, 2);
}

TEST_F(DlpackTest, KernelsReadAndWriteImportedMemory) {
  std::vector<float> results(8);
  {
    const Array x = take({.shape = {8}});
    const Array y = take({.data = results.data(), .shape = {8}});
    Context context = doubling(device).context();
    context.run(stream, {{"x", x}}, {{"y", y}});
    stream.synchronize();
  }
  EXPECT_THAT(results, ElementsAre(2, 4, 6, 8, 10, 12, 14, 16));
  EXPECT_EQ(deleted, 2);
}

TEST_F(DlpackTest, CountsAccessesOfImportedMemory) {
  const Array x = take({.shape = {8}});
  Context context = doubling(device, /*updates=*/false, /*count=*/true).context();
  const std::uint64_t before = host::counters().bytes_read;
  const Outputs outputs = context.run(stream, {{"x", x}});
  EXPECT_THAT(read(outputs["y"]), ElementsAre(2, 4, 6, 8, 10, 12, 14, 16));
  EXPECT_EQ(host::counters().bytes_read, before + 32);
}

TEST_F(DlpackTest, ManyThreadsShareOneRange) {
  const Executable program = doubling(device);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      Context context = program.context();
      const Stream own = device.stream();
      for (int turn = 0; turn < 25; ++turn) {
        std::vector<float> results(4);
        {
          const Array x = take({.shape = {4}, .byte_offset = 4U * static_cast<unsigned>(i)});
          const Array y = take({.data = results.data(), .shape = {4}});
          context.run(own, {{"x", x}}, {{"y", y}});
        }
        const float first = 2 * values[static_cast<std::size_t>(i)];
        EXPECT_THAT(results, ElementsAre(first, first + 2, first + 4, first + 6));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(deleted, 200);
}

TEST_F(DlpackTest, ReleaseWaitsForQueuedWork) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    host::configure({.seed = seed});
    std::vector<float> results(8);
    Context context = doubling(device).context();
    {
      const Array x = take({.shape = {8}});
      const Array y = take({.data = results.data(), .shape = {8}});
      context.run(stream, {{"x", x}}, {{"y", y}});
    }
    EXPECT_THAT(results, ElementsAre(2, 4, 6, 8, 10, 12, 14, 16));
  }
  host::configure({});
  EXPECT_EQ(deleted, 20);
}

/// Waiting for a device invalidates captures of its streams, so the release is deferred.
TEST_F(DlpackTest, ReleaseDuringACaptureIsDeferred) {
  std::optional<Array> x = take({.shape = {8}});
  const Array y = device.empty(f32, {8});
  Context context = doubling(device).context();
  context.run(stream, {{"x", *x}}, {{"y", y}});
  const auto let_go = [&] {
    x.reset();
    EXPECT_EQ(deleted, 0);
  };
  EXPECT_THROW(test::UserGraph(device.stream(), CU_STREAM_CAPTURE_MODE_RELAXED, let_go),
               DriverError);
  EXPECT_THAT(read(y), ElementsAre(2, 4, 6, 8, 10, 12, 14, 16));
  device.synchronize();
  EXPECT_EQ(deleted, 1);
}

TEST_F(DlpackTest, ViewsKeepTheMemory) {
  std::optional<Array> view;
  {
    const Array array = take({.shape = {2, 4}});
    view = array.view(20, f32, {3});
  }
  EXPECT_EQ(deleted, 0);
  EXPECT_THAT(read(*view), ElementsAre(6, 7, 8));
  view.reset();
  EXPECT_EQ(deleted, 1);
}

TEST_F(DlpackTest, ReleasesOnAnyThread) {
  auto array = std::make_unique<Array>(take({}));
  std::thread([&] { array.reset(); }).join();
  EXPECT_EQ(deleted, 1);
}

TEST_F(DlpackTest, ReleasesEvenIfTheDeviceFails) {
  auto array = std::make_unique<Array>(take({}));
  host::inject_fault("cuCtxSynchronize", 1, CUDA_ERROR_LAUNCH_FAILED);
  ::testing::internal::CaptureStderr();
  array.reset();
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              StartsWith("sinter: cuCtxSynchronize failed while something was released: "));
  EXPECT_EQ(deleted, 1);
}

TEST_F(DlpackTest, ExportFailsIfTheDeviceFails) {
  const std::uint64_t before = host::counters().live_bytes;
  {
    const Array array = device.empty(f32, {3});
    host::inject_fault("cuCtxSynchronize", 1, CUDA_ERROR_LAUNCH_FAILED);
    EXPECT_THAT(error_of<DriverError>([&] { (void)to_dlpack(array); }),
                StartsWith("cuCtxSynchronize failed"));
  }
  EXPECT_EQ(host::counters().live_bytes, before);
}

TEST_F(DlpackTest, NeedsNoDeleter) {
  std::int64_t shape[] = {3};
  DLManagedTensor tensor{};
  tensor.dl_tensor = {.data = values.data(),
                      .device = {kDLCPU, 0},
                      .ndim = 1,
                      .dtype = {kDLFloat, 32, 1},
                      .shape = shape};
  EXPECT_THAT(read(from_dlpack(&tensor)), ElementsAre(1, 2, 3));
}

TEST_F(DlpackTest, ImportsStridesAndOffsets) {
  const Array array = take({.shape = {2, 3}, .strides = {1, 2}, .byte_offset = 8});
  EXPECT_EQ(array.pointer(), values.data() + 2);
  EXPECT_THAT(array.strides(), ElementsAre(1, 2));
  EXPECT_THAT(read(array), ElementsAre(3, 5, 7, 4, 6, 8));
}

TEST_F(DlpackTest, IgnoresStridesOfExtentOne) {
  EXPECT_THAT(read(take({.shape = {1, 3}, .strides = {-7, 1}})), ElementsAre(1, 2, 3));
}

TEST_F(DlpackTest, ImportsScalarsAndEmptyTensors) {
  EXPECT_THAT(read(take({.shape = {}})), ElementsAre(1));
  const Array nothing = from_dlpack(
      test::make_foreign<DLManagedTensor>({.shape = {4, 0}, .strides = {-1, 1}}, deleted));
  EXPECT_EQ(nothing.bytes(), 0);
  EXPECT_THAT(read(nothing), IsEmpty());
}

TEST_F(DlpackTest, RangesMayOverlap) {
  const Array whole = take({.shape = {8}});
  std::vector<float> results(4);
  const Array y = take({.data = results.data(), .shape = {4}});
  Context context = doubling(device).context();
  {
    const Array head = take({.shape = {4}});
    const Array tail = take({.shape = {4}, .byte_offset = 16});
    context.run(stream, {{"x", tail}}, {{"y", y}});
    stream.synchronize();
  }
  EXPECT_THAT(results, ElementsAre(10, 12, 14, 16));
  context.run(stream, {{"x", whole.view(8, f32, {4})}}, {{"y", y}});
  stream.synchronize();
  EXPECT_THAT(results, ElementsAre(6, 8, 10, 12));
}

TEST_F(DlpackTest, RegistersMemoryOnlyWhileItIsHeld) {
  Context context = doubling(device).context();
  const Array y = device.empty(f32, {8});
  const Array wrapped = Array::wrap(values.data(), f32, {8}, device);
  const Array part = take({.shape = {4}});
  { const Array whole = take({.shape = {8}}); }
  EXPECT_THAT(error_of([&] {
                context.run(stream, {{"x", wrapped}}, {{"y", y}});
              }),
              HasSubstr("which needs 32 bytes, but its memory ends after 16"));
}

TEST_F(DlpackTest, CopiesTreatPartlyImportedMemoryAsPageable) {
  const Array array = take({.shape = {4}});
  const Array other = device.empty(f32, {8});
  // The device knows only half of the vector, so it is pageable memory: an upload reads it at once
  // …
  device.upload(other, values, stream);
  values.assign(8, 0);
  EXPECT_THAT(read(other), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  // … and a download has written it on return.
  device.download(other, values.data(), stream);
  EXPECT_THAT(values, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
}

TEST_F(DlpackTest, FlagsMakeArraysReadOnly) {
  const Array array = take({.shape = {8}, .flags = 1});
  EXPECT_TRUE(array.is_read_only());
  EXPECT_TRUE(array.view(4, f32, {2}).is_read_only());
  EXPECT_THAT(read(array), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_FALSE(take({.flags = 2}).is_read_only());  // the producer made a copy for us
}

TEST_F(DlpackTest, RejectsWritesToReadOnlyArrays) {
  const Array fixed = take({.shape = {8}, .flags = 1});
  const Array x = device.empty(f32, {8});
  Context context = doubling(device).context();
  EXPECT_EQ(error_of([&] {
              context.run(stream, {{"x", x}}, {{"y", fixed}});
            }),
            "doubling: output y is written but bound to f32[8], which is read-only; bind a "
            "writable array, or a copy (compiled at model.cpp:5)");
  Context updating = doubling(device, /*updates=*/true).context();
  EXPECT_THAT(error_of([&] {
                (void)updating.run(stream, {{"x", fixed}});
              }),
              StartsWith("doubling: input x is written but bound to f32[8], which is read-only"));
  EXPECT_EQ(error_of([&] { device.upload(fixed, values, stream); }),
            "Device::upload: f32[8] is read-only; copy to a writable array");
  EXPECT_EQ(error_of([&] { device.copy(x, fixed, stream); }),
            "Device::copy: f32[8] is read-only; copy to a writable array");
  context.run(stream, {{"x", fixed}}, {{"y", x}});
  EXPECT_THAT(read(x), ElementsAre(2, 4, 6, 8, 10, 12, 14, 16));
}

TEST_F(DlpackTest, EveryDTypeRoundTrips) {
  const std::vector<DLDataType> types = {
      {kDLBool, 8, 1},    {kDLInt, 8, 1},           {kDLInt, 16, 1},        {kDLInt, 32, 1},
      {kDLInt, 64, 1},    {kDLUInt, 8, 1},          {kDLUInt, 16, 1},       {kDLUInt, 32, 1},
      {kDLUInt, 64, 1},   {kDLFloat8_e4m3fn, 8, 1}, {kDLFloat8_e5m2, 8, 1}, {kDLFloat, 16, 1},
      {kDLBfloat, 16, 1}, {kDLFloat, 32, 1},        {kDLFloat, 64, 1},      {kDLComplex, 64, 1}};
  ASSERT_EQ(types.size(), std::size(kDTypes));
  for (std::size_t i = 0; i < types.size(); ++i) {
    const DType dtype = kDTypes[i].dtype;
    auto* const out = to_dlpack<DLManagedTensorVersioned>(device.empty(dtype, {2}));
    EXPECT_EQ(out->dl_tensor.dtype.code, types[i].code) << name(dtype);
    EXPECT_EQ(out->dl_tensor.dtype.bits, types[i].bits) << name(dtype);
    EXPECT_EQ(out->dl_tensor.dtype.lanes, 1) << name(dtype);
    EXPECT_EQ(from_dlpack(out).dtype(), dtype);
  }
}

TEST_F(DlpackTest, ExportsTheLayout) {
  const Array array = device.empty(f32, {8});
  device.upload(array, values, stream);
  const Array view = array.view(4, f32, {2, 3}, {1, 2});
  auto* const out = to_dlpack<DLManagedTensorVersioned>(view);
  EXPECT_EQ(out->version.major, 1U);
  EXPECT_EQ(out->flags, 0U);
  const DLTensor& tensor = out->dl_tensor;
  EXPECT_EQ(tensor.device.device_type, kDLCPU);
  EXPECT_EQ(tensor.device.device_id, 0);
  EXPECT_EQ(tensor.ndim, 2);
  EXPECT_THAT(std::vector(tensor.shape, tensor.shape + 2), ElementsAre(2, 3));
  EXPECT_THAT(std::vector(tensor.strides, tensor.strides + 2), ElementsAre(1, 2));
  // The export waited for the upload.
  const auto* const first = static_cast<const float*>(tensor.data) + tensor.byte_offset / 4;
  EXPECT_EQ(first[0], 2);
  EXPECT_EQ(first[5], 7);
  out->deleter(out);
}

TEST_F(DlpackTest, ExportsStayAliveUntilReleased) {
  const std::uint64_t before = host::counters().live_bytes;
  DLManagedTensor* out = nullptr;
  {
    const Array array = device.empty(f32, {1000});
    out = to_dlpack<DLManagedTensor>(array.view(400, f32, {10}));
  }
  EXPECT_EQ(host::counters().live_bytes, before + 4000);
  static_cast<float*>(out->dl_tensor.data)[9] = 1;
  std::thread([&] { out->deleter(out); }).join();
  EXPECT_EQ(host::counters().live_bytes, before);
}

TEST_F(DlpackTest, ExportsReadOnlyArraysAsReadOnly) {
  const Array array = device.empty(f32, {3}).read_only();
  auto* const out = to_dlpack(array);
  EXPECT_EQ(out->flags, dlpack::kReadOnly);
  out->deleter(out);
  EXPECT_EQ(error_of([&] { (void)to_dlpack_unversioned(array); }),
            "to_dlpack_unversioned: f32[3] is read-only, but the struct before DLPack 1.0 has no "
            "such flag; use to_dlpack, or pass a copy");
}

TEST_F(DlpackTest, ExportsScalarsAndEmptyArrays) {
  auto* const scalar = to_dlpack(device.empty(f64, {}));
  EXPECT_EQ(scalar->dl_tensor.ndim, 0);
  EXPECT_EQ(from_dlpack(scalar).elements(), 1);
  auto* const nothing = to_dlpack(device.empty(f64, {3, 0}));
  EXPECT_EQ(nothing->dl_tensor.data, nullptr);
  EXPECT_THAT(from_dlpack(nothing).shape(), ElementsAre(3, 0));
}

TEST_F(DlpackTest, ReimportsItsOwnMemory) {
  Context context = doubling(device).context();
  const Array y = device.empty(f32, {8});
  Array back = from_dlpack(to_dlpack(device.empty(f32, {8})));
  device.upload(back, values, stream);
  context.run(stream, {{"x", back}}, {{"y", y}});
  EXPECT_THAT(read(y), ElementsAre(2, 4, 6, 8, 10, 12, 14, 16));
}

TEST_F(DlpackTest, ExportsTheDeviceTypeOfGpuMemory) {
  DeviceState gpu(test::null_driver(), 0);
  gpu.name = "gpu";
  const Device on(&gpu);
  for (const DLDevice place :
       {DLDevice{kDLCUDA, 0}, DLDevice{kDLCUDAHost, 0}, DLDevice{kDLCUDAManaged, 0}}) {
    auto* const out = to_dlpack<DLManagedTensorVersioned>(take({.device = place}, on));
    EXPECT_EQ(out->dl_tensor.device.device_type, place.device_type);
    out->deleter(out);
  }
  EXPECT_EQ(deleted, 3);
  auto* const ours = to_dlpack<DLManagedTensor>(on.empty(f32, {3}));
  EXPECT_EQ(ours->dl_tensor.device.device_type, kDLCUDA);
  ours->deleter(ours);
}

/// The consumer of memory on the CPU has no stream on which it could wait. Consumers of GPU memory
/// do.
TEST_F(DlpackTest, ExportsWaitForWorkOnCpuVisibleMemory) {
  static int waits = 0;
  waits = 0;
  Driver counting = test::null_driver();
  counting.cuCtxSynchronize = [] {
    ++waits;
    return cuda::CUDA_SUCCESS;
  };
  DeviceState gpu(counting, 0);
  gpu.name = "gpu";
  const Device on(&gpu);
  const auto waits_for = [&](DLDevice place) {
    const int before = waits;
    auto* const out = to_dlpack<DLManagedTensorVersioned>(take({.device = place}, on));
    const int result = waits - before;
    out->deleter(out);
    return result;
  };
  EXPECT_EQ(waits_for({kDLCUDA, 0}), 0);
  EXPECT_EQ(waits_for({kDLCUDAHost, 0}), 1);
  EXPECT_EQ(waits_for({kDLCUDAManaged, 0}), 1);
}

TEST_F(DlpackTest, HostDeviceImportsPinnedMemory) {
  EXPECT_THAT(read(take({.device = {kDLCUDAHost, 0}}, device)), ElementsAre(1, 2, 3));
}

}  // namespace
}  // namespace sinter::dlpack_test
