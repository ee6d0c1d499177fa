#include "runtime/compile_service/load_function.h"

#include <fmt/format.h>

#include "runtime/compile/early_start.h"
#include "runtime/device/launch_grid.h"

namespace sinter {

namespace {

constexpr std::int64_t kDefaultSharedBytes = 48 << 10;

int function_attribute(const Driver& driver, CUfunction function, CUfunction_attribute which,
                       std::string_view kernel) {
  int value = 0;
  check(driver, driver.cuFuncGetAttribute(&value, which, function), "cuFuncGetAttribute",
        [&] { return fmt::format("kernel {}", kernel); });
  return value;
}

}  // namespace

CompiledFunction load_function(const DeviceState& device, const Module& module,
                               const Source& source, const std::string& entry,
                               const CubinReport& code) {
  const CurrentContext current(device);
  const Driver& driver = device.driver;
  const CaptureModeGuard relaxed(driver);  // lazy loading happens here
  CompiledFunction function{.starts_early = device.is_host ? source.may_start_early
                                                           : may_start_early(source, code)};
  check(driver, driver.cuModuleGetFunction(&function.handle, module.handle, entry.c_str()),
        "cuModuleGetFunction", entry);
  if (!device.is_host) {
    function.registers =
        function_attribute(driver, function.handle, CU_FUNC_ATTRIBUTE_NUM_REGS, entry);
    function.spill_bytes =
        function_attribute(driver, function.handle, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, entry);
  }
  if (source.shared_bytes > kDefaultSharedBytes)
    check(
        driver,
        driver.cuFuncSetAttribute(function.handle, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                  static_cast<int>(source.shared_bytes)),
        "cuFuncSetAttribute", [&] {
          return fmt::format("{} bytes of shared memory for {}", source.shared_bytes, entry);
        });
  if (has_large_cluster(source))
    check(driver,
          driver.cuFuncSetAttribute(function.handle,
                                    CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
          "cuFuncSetAttribute",
          [&] { return fmt::format("clusters of {} blocks for {}", source.cluster, entry); });
  return function;
}

}  // namespace sinter
