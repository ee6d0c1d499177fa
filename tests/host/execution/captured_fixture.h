// Fixture of the tests of runs within a stream capture of the user.
#pragma once

#include "sinter/text.h"
#include "tests/host/execution/opaque_fixture.h"
#include "tests/support/doubles/stream_capture.h"

namespace sinter::test {

inline constexpr auto kGlobal = CU_STREAM_CAPTURE_MODE_GLOBAL;

/// One kernel: y = 2 x.
inline Graph twice() {
  return parse("graph twice(x: f32[n]) {\n  y = mul x, 2.0\n  return y\n}\n");
}

class CapturedRun : public Adder {
 protected:
  void TearDown() override {
    host::clear_faults();
    stream.synchronize();
    host::configure({});
  }

  CUstream handle() const { return stream.state()->handle; }
  CUstreamCaptureStatus status() const {
    const CurrentContext current(*device.state());
    CUstreamCaptureStatus result{};
    EXPECT_EQ(host::host_driver().cuStreamIsCapturing(handle(), &result), CUDA_SUCCESS);
    return result;
  }
};

}  // namespace sinter::test
