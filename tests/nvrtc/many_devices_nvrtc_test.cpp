// Devices of several architectures in one process have separate kernels. Two devices of one
// architecture share compiled kernels, and each loads them itself.
#include <gtest/gtest.h>

#include <cstdlib>

#include "runtime/compile/nvrtc.h"
#include "sinter/sinter.h"
#include "tests/support/doubles/fake_gpu.h"
#include "tests/support/files/scratch_folder.h"

namespace sinter::many_devices_nvrtc_test {
namespace {

constexpr char kAnother[] = "another GPU";

TEST(ManyDevicesNvrtc, ShareKernelsOfOneArchitecture) {
  if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().reason;
  const test::ScratchFolder folder;
  const Options options = {
      .tune = Tune::off,
      .cache = {.mode = CacheMode::read_write, .directory = folder.path() + "/cache"}};
  const Graph graph = parse("graph shared(x: f32[4096]) {\n  y = exp x\n  return y\n}\n");
  struct Case {
    Device device;
    std::int64_t compiles;
  };
  const Case cases[] = {{test::fake_gpu<86>(), 1},
                        {test::fake_gpu<90, 232448, 2>(), 1},
                        {test::fake_gpu<90, 232448, 2, kAnother>(), 0}};
  setenv("SINTER_CACHE", "read_write", 1);  // tests turn it off by default
  for (const Case& one : cases) {
    SCOPED_TRACE(testing::Message() << one.device.name() << " " << one.device.arch());
    test::loaded_images().clear();
    const Executable executable = compile(graph, one.device, options);
    EXPECT_EQ(executable.report().counters.compiles, one.compiles);
    EXPECT_EQ(test::loaded_images().size(), 1U);
  }
  setenv("SINTER_CACHE", "off", 1);
}

}  // namespace
}  // namespace sinter::many_devices_nvrtc_test
