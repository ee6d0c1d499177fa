#include "sinter/profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/execution/context_state.h"
#include "runtime/support/json_tree.h"

namespace sinter {

Profile profile(Context& context, const Bindings& bindings, const ProfileOptions& options) {
  Device device(&context.state_->executable->device);
  if (!options.stream) device.synchronize();  // writes to the bound arrays may still be in flight
  const Stream stream = options.stream ? *options.stream : device.stream();
  return context.state_->profile(stream.state(), *bindings.state_, options.repeats);
}

Profile profile(Context& context, BindingList inputs, BindingList outputs,
                const ProfileOptions& options) {
  return profile(context, context.bind(inputs, outputs), options);
}

std::int64_t Profile::bytes() const {
  std::int64_t bytes = 0;
  for (const KernelProfile& kernel : kernels) bytes += kernel.launches * kernel.bytes();
  return bytes;
}

double Profile::total_us() const {
  double microseconds = 0;
  for (const KernelProfile& kernel : kernels) microseconds += kernel.launches * kernel.median_us;
  return microseconds;
}

std::string profile_table(const Profile& profile) {
  std::string text = fmt::format("{} on {}{}{}: {} launches of each kernel; {}\n", profile.graph,
                                 profile.device, profile.sizes.empty() ? "" : ", ",
                                 fmt::join(profile.sizes, ", "), profile.repeats, profile.caches);
  std::size_t width = 6;
  for (const KernelProfile& kernel : profile.kernels) width = std::max(width, kernel.name.size());
  text += fmt::format("{:<{}} {:>12} {:>23} {:>14} {:>9} {:>8}  {}\n", "kernel", width, "median us",
                      "quartiles", "bytes", "GB/s", "of copy", "schedule");
  for (const KernelProfile& kernel : profile.kernels) {
    if (kernel.launches == 0) {
      text += fmt::format("{:<{}} nothing to launch\n", kernel.name, width);
      continue;
    }
    text += fmt::format(
        "{:<{}} {:>12.2f} {:>23} {:>14} {:>9.1f} {:>6.1f} %  {}\n", kernel.name, width,
        kernel.median_us,
        fmt::format("[{:.2f}, {:.2f}]", kernel.lower_quartile_us, kernel.upper_quartile_us),
        fmt::format("{}{}", kernel.bytes_are_bounds ? "<= " : "", kernel.bytes()),
        kernel.gigabytes_per_second, 100 * kernel.share_of_copy, kernel.schedule);
  }
  return text + fmt::format("{:<{}} {:>12.2f} {:>23} {:>14}\n", "all", width, profile.total_us(),
                            "", profile.bytes());
}

std::string profile_json(const Profile& profile) {
  using Json = nlohmann::ordered_json;
  Json kernels = Json::array();
  for (const KernelProfile& kernel : profile.kernels)
    kernels.push_back({{"name", kernel.name},
                       {"schedule", kernel.schedule},
                       {"launches", kernel.launches},
                       {"bytes_read", kernel.bytes_read},
                       {"bytes_written", kernel.bytes_written},
                       {"bytes_are_bounds", kernel.bytes_are_bounds},
                       {"median_us", kernel.median_us},
                       {"lower_quartile_us", kernel.lower_quartile_us},
                       {"upper_quartile_us", kernel.upper_quartile_us},
                       {"gigabytes_per_second", kernel.gigabytes_per_second},
                       {"copy_us", kernel.copy_us},
                       {"share_of_copy", kernel.share_of_copy}});
  const Json json = {{"graph", profile.graph},
                     {"device", profile.device},
                     {"target", profile.target},
                     {"sizes", profile.sizes},
                     {"repeats", profile.repeats},
                     {"is_cold", profile.is_cold},
                     {"kernels", kernels},
                     {"totals", {{"us", profile.total_us()}, {"bytes", profile.bytes()}}}};
  return json_text(json);
}

}  // namespace sinter
