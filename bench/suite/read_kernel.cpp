// Compiles, loads and launches the read kernel.
#include "bench/suite/read_kernel.h"

#include <algorithm>

#include "runtime/compile/nvrtc.h"
#include "runtime/device/device_state.h"

namespace sinter::suite {

namespace {

constexpr int kThreads = 256;
constexpr int kBlocksPerSm = 8;
constexpr int kUnroll = 4;
constexpr int kLoadBytes = 16;

}  // namespace

ReadKernel::ReadKernel(const Device& device) : device_(device), target_(device.empty(i32, {1})) {
  if (device.is_host()) {
    reason_ = "the host device runs no CUDA kernels";
    return;
  }
  try {
    load();
  } catch (const std::exception& error) {
    reason_ = error.what();
  }
}

void ReadKernel::load() {
  if (!nvrtc().nvrtc) {
    reason_ = nvrtc().reason;
    return;
  }
  const SourcePart part{"read_only", kReadText};
  const NvrtcOutput output = nvrtc().nvrtc->compile("", {&part, 1}, std::string(device_.arch()));
  const DeviceState& state = *device_.state();
  const CurrentContext current(state);
  check(state.driver, state.driver.cuModuleLoadData(&module_, output.cubin.data()),
        "cuModuleLoadData", "a benchmark");
  check(state.driver, state.driver.cuModuleGetFunction(&function_, module_, "read_only"),
        "cuModuleGetFunction", "a benchmark");
}

ReadKernel::~ReadKernel() {
  if (!module_) return;
  const DeviceState& state = *device_.state();
  const CurrentContext current(state);
  state.driver.cuModuleUnload(module_);
}

void ReadKernel::read(const Array& from, const Stream& stream) const {
  const DeviceState& state = *device_.state();
  const CurrentContext current(state);
  void* source = from.pointer();
  void* target = target_.pointer();
  std::uint64_t count = static_cast<std::uint64_t>(from.bytes()) / kLoadBytes;
  unsigned key = 0x9e3779b9;
  void* parameters[] = {&source, &count, &key, &target};
  const std::uint64_t per_block = kThreads * kUnroll;
  const std::uint64_t most = static_cast<std::uint64_t>(state.target.sm_count) * kBlocksPerSm;
  const std::uint64_t grid =
      std::clamp<std::uint64_t>((count + per_block - 1) / per_block, 1, most);
  const CUlaunchConfig config{.gridDimX = static_cast<unsigned>(grid),
                              .gridDimY = 1,
                              .gridDimZ = 1,
                              .blockDimX = kThreads,
                              .blockDimY = 1,
                              .blockDimZ = 1,
                              .sharedMemBytes = 0,
                              .hStream = stream.state()->handle,
                              .attrs = nullptr,
                              .numAttrs = 0};
  check(state.driver, state.driver.cuLaunchKernelEx(&config, function_, parameters, nullptr),
        "cuLaunchKernelEx", "a benchmark");
}

}  // namespace sinter::suite
