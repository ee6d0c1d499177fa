#include "bench/device/device_kernel.h"

#include <utility>

#include "runtime/compile/nvrtc_units.h"
#include "runtime/compile_service/compile_service.h"
#include "runtime/device/launch_grid.h"
#include "runtime/support/options_table.h"

namespace sinter::measured {

DeviceKernel::DeviceKernel(const Device& device, Source source)
    : device_(device), source_(std::move(source)) {
  const DeviceState& state = *device_.state();
  const bool ptx = with_environment({}).ptx;
  const CompileSettings settings{
      .arch = nvrtc_arch(state.target.arch, ptx), .host = {}, .ptx = ptx};
  const CompileUnit unit(std::vector<Source>{source_});
  unit_ = state.compile_service.get(state).compile({&unit, 1}, settings).front().unit;
}

std::int64_t DeviceKernel::resident_blocks() const {
  return max_resident_blocks(*device_.state(), source_, unit_->functions.front().handle);
}

std::int64_t DeviceKernel::bytes_in_flight() const {
  return unit_->cubins.empty() ? 0 : unit_->cubins.front().bytes_in_flight;
}

void DeviceKernel::launch_with(const Stream& stream, std::int64_t grid, void** parameters) const {
  const DeviceState& state = *device_.state();
  const CurrentContext current(state);
  LaunchAttributes attributes = node_attributes(source_);
  CUlaunchConfig config = launch_config(source_, grid, attributes);
  config.hStream = stream.state()->handle;
  check(
      state.driver,
      state.driver.cuLaunchKernelEx(&config, unit_->functions.front().handle, parameters, nullptr),
      "cuLaunchKernelEx", [&] { return "kernel " + source_.entry; });
}

}  // namespace sinter::measured
