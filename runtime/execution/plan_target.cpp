#include "runtime/execution/plan_target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/device/target_file.h"
#include "sinter/error.h"

namespace sinter {

const Target& target_named(const std::string& name) {
  if (name.empty()) return known_targets().front();
  if (const Target* target = find_target(name)) return *target;
  throw UserError(fmt::format("options.target: there is no GPU {}; known are {}", name,
                              fmt::join(known_archs_and_names(), ", ")));
}

Target plan_target(const DeviceState& device, const Options& options) {
  const std::string& name = options.target;
  if (name.empty()) {
    const bool is_for_nvrtc = device.target.is_cpu && options.also_nvrtc;
    return with_target_file(is_for_nvrtc ? target_named({}) : device.target, options.target_file);
  }
  if (!device.is_host)
    throw UserError(
        fmt::format("options.target is {}, but {} is planned for as itself; leave it empty", name,
                    device.name));
  return with_target_file(target_named(name), options.target_file);
}

}  // namespace sinter
