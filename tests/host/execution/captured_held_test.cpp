// Memory that the user's CUDA Graph keeps alive, and its release, which must not invalidate other
// captures.
#include <gmock/gmock.h>

#include <atomic>
#include <optional>

#include "tests/host/execution/captured_fixture.h"
#include "tests/support/doubles/dlpack.h"
#include "tests/support/files/errors.h"

namespace sinter::test::captured_held_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class CapturedHeld : public CapturedRun {
 protected:
  Array take() {
    return from_dlpack(make_foreign<DLManagedTensorVersioned>({.data = values.data()}, deleted));
  }
  /// Captures a run on foreign memory. Afterwards only the graph holds that memory.
  void capture_foreign(std::optional<UserGraph>& graph) {
    const Array x = take();
    graph.emplace(stream, kGlobal, [&] { context.run(stream, {{"x", x}}, {{"y", y}}); });
  }

  Context context = compile(twice(), device, options).context();
  const Array y = device.empty(f32, {3});
  std::vector<float> values = {1, 2, 3};
  std::atomic<int> deleted = 0;
};

/// Releasing foreign memory waits for the device, which would invalidate a capture.
TEST_F(CapturedHeld, DestroyedGraphsDoNotInvalidateLaterCaptures) {
  const Array x = upload({4, 5, 6});
  std::optional<UserGraph> first;
  capture_foreign(first);
  first->launch(stream);
  EXPECT_THAT(download(y), ElementsAre(2, 4, 6));
  first.reset();
  const UserGraph second(stream, kGlobal, [&] {
    context.run(stream, {{"x", x}}, {{"y", y}});
    const Array z = device.empty(f32, {3});
    EXPECT_EQ(status(), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    context.run(stream, {{"x", y}}, {{"y", z}});
  });
  EXPECT_EQ(deleted, 0);
  second.launch(stream);
  EXPECT_THAT(download(y), ElementsAre(8, 10, 12));
  device.synchronize();
  EXPECT_EQ(deleted, 1);
}

/// Pending runs may use the memory too.
TEST_F(CapturedHeld, ReleasesMemoryAtTheNextDeviceSynchronization) {
  std::optional<UserGraph> captured;
  capture_foreign(captured);
  const Array x = upload({1, 2, 3});
  std::vector<float> results(3);
  std::atomic<int> results_deleted = 0;
  {
    const Array z = from_dlpack(
        make_foreign<DLManagedTensorVersioned>({.data = results.data()}, results_deleted));
    captured.emplace(stream, kGlobal, [&] { context.run(stream, {{"x", y}}, {{"y", z}}); });
    context.run(stream, {{"x", x}}, {{"y", z}});
  }
  captured.reset();
  (void)device.empty(f32, {3});
  EXPECT_EQ(deleted, 0);
  host::inject_fault("cuCtxSynchronize", 1, CUDA_ERROR_UNKNOWN);
  EXPECT_THAT(error_of<DriverError>([&] { device.synchronize(); }), HasSubstr("cuCtxSynchronize"));
  EXPECT_EQ(deleted, 0);
  EXPECT_EQ(results_deleted, 0);
  host_device(1).synchronize();  // another device
  EXPECT_EQ(deleted, 0);
  device.synchronize();
  EXPECT_EQ(deleted, 1);
  EXPECT_EQ(results_deleted, 1);
  EXPECT_THAT(results, ElementsAre(2, 4, 6));
}

/// Arrays that the program still holds are released as usual.
TEST_F(CapturedHeld, ArraysOfTheUserStillHoldTheMemory) {
  std::optional<Array> x = take();
  std::optional<UserGraph> captured;
  captured.emplace(stream, kGlobal, [&] { context.run(stream, {{"x", *x}}, {{"y", y}}); });
  captured.reset();
  device.synchronize();
  EXPECT_EQ(deleted, 0);
  x.reset();
  EXPECT_EQ(deleted, 1);
}

/// The deleter belongs to the other library, and may leave another context current.
TEST_F(CapturedHeld, DeletersMayChangeTheContext) {
  static void (*delete_it)(DLManagedTensorVersioned*) = nullptr;
  auto* const tensor = make_foreign<DLManagedTensorVersioned>({.data = values.data()}, deleted);
  delete_it = tensor->deleter;
  tensor->deleter = [](DLManagedTensorVersioned* self) {
    host::host_driver().cuCtxSetCurrent(host_device(1).state()->context);
    delete_it(self);
  };
  std::optional<UserGraph> captured;
  {
    const Array x = from_dlpack(tensor);
    captured.emplace(stream, kGlobal, [&] { context.run(stream, {{"x", x}}, {{"y", y}}); });
  }
  captured.reset();
  CUcontext before = nullptr;
  host::host_driver().cuCtxGetCurrent(&before);
  device.synchronize();
  EXPECT_EQ(deleted, 1);
  CUcontext after = nullptr;
  host::host_driver().cuCtxGetCurrent(&after);
  EXPECT_EQ(after, before);
}

TEST_F(CapturedHeld, CapturedCopiesHoldTheirArrays) {
  PinnedArray in = device.pinned(f32, {3});
  PinnedArray out = device.pinned(f32, {3});
  device.synchronize();
  const std::uint64_t before = host::counters().live_bytes;
  std::optional<UserGraph> captured;
  {
    const Array a = device.empty(f32, {3});
    const Array b = device.empty(f32, {3});
    captured.emplace(stream, kGlobal, [&] {
      device.upload(a, in, stream);
      device.copy(a, b, stream);
      device.download(b, out, stream);
    });
  }
  device.synchronize();
  EXPECT_EQ(host::counters().live_bytes, before + 24);
  for (const float value : {1.0F, 2.0F}) {
    in.elements_as<float>()[1] = value;
    captured->launch(stream);
    stream.synchronize();
    EXPECT_EQ(out.elements_as<float>()[1], value);
  }
  captured.reset();
  device.synchronize();
  EXPECT_EQ(host::counters().live_bytes, before);
}

}  // namespace
}  // namespace sinter::test::captured_held_test
