#include "runtime/observe/device_times.h"

#include <fmt/format.h>

#include <string>

#include "runtime/support/environment.h"
#include "sinter/error.h"

namespace sinter {

namespace {

constexpr const char* kVariable = "SINTER_REHEARSE";

bool is_rehearsal() {
  const std::string value = environment_variable(kVariable);
  if (!value.empty() && value != "on" && value != "off")
    throw UserError(fmt::format("{}={}: expected on or off", kVariable, value));
  return value == "on";
}

}  // namespace

bool is_virtual(std::string_view device_name) { return device_name.starts_with("virtual GPU"); }

bool may_record_times(std::string_view device_name, std::string_view what) {
  if (!is_virtual(device_name)) return true;
  if (is_rehearsal()) return false;
  throw UserError(
      fmt::format("{}: {} interprets kernels, so its times mean nothing; measure on a real GPU, or "
                  "set {}=on to run everything and record no time",
                  what, device_name, kVariable));
}

}  // namespace sinter
