// `sinter devices`: lists devices and tools. `sinter version`: prints the version and the tools
// found.
#include "runtime/support/json_tree.h"
#include "tools/sinter/arguments/options.h"
#include "tools/sinter/output/format_numbers.h"
#include "tools/sinter/output/machine.h"

#include <utility>
#include <vector>

#include <fmt/format.h>
#include <llvm/Config/llvm-config.h>
#include <nlohmann/json.hpp>

namespace sinter::command {

namespace {

#if defined(__clang__)
constexpr const char* kCompilerName = "clang";
#else
constexpr const char* kCompilerName = "g++";
#endif

nlohmann::ordered_json tool_json(const ToolStatus& tool) {
  nlohmann::ordered_json json = {{"name", tool.name}};
  if (tool.problem.empty())
    json["found"] = tool.found;
  else
    json.update({{"why", tool.problem}, {"remedy", tool.remedy}});
  return json;
}

nlohmann::ordered_json device_json(const DeviceFacts& device) {
  nlohmann::ordered_json json = {{"kind", device.kind},
                                 {"ordinal", device.ordinal},
                                 {"name", device.name},
                                 {"arch", device.arch}};
  if (device.sm_count > 0) json["sm_count"] = device.sm_count;
  json["memory_bytes"] = device.memory_bytes;
  return json;
}

std::string device_line(const DeviceFacts& device) {
  const bool is_host = device.kind == "host";
  return fmt::format("{:14}{}, {}{}, {}", fmt::format("{}:{}", device.kind, device.ordinal),
                     device.name, is_host ? "plans for " : "", device.arch,
                     is_host ? bytes_text(device.memory_bytes)
                             : fmt::format("{}, {}", counted(device.sm_count, "SM"),
                                           bytes_text(device.memory_bytes)));
}

void print_devices(const DeviceList& list, const std::vector<ToolStatus>& tools) {
  for (const DeviceFacts& device : list.devices) fmt::print("{}\n", device_line(device));
  fmt::print("\n");
  for (const ToolStatus& tool : tools)
    if (tool.problem.empty()) fmt::print("{:14}{}\n", tool.name, tool.found);
  for (const ToolStatus& tool : tools) {
    if (tool.problem.empty()) continue;
    fmt::print("{:14}missing: {}\n", tool.name, tool.problem);
    if (!tool.remedy.empty()) fmt::print("{:14}to fix it: {}\n", "", tool.remedy);
  }
}

void devices(bool as_json) {
  const DeviceList list = list_devices();
  std::vector<ToolStatus> tools = {find_driver(), find_nvrtc(), find_compiler(), find_cache()};
  for (ToolStatus& library : find_libraries()) tools.push_back(std::move(library));
  tools.push_back(find_mpi());
  tools.insert(tools.end(), list.broken.begin(), list.broken.end());
  if (!as_json) return print_devices(list, tools);
  nlohmann::ordered_json json = {{"devices", nlohmann::ordered_json::array()},
                                 {"found", nlohmann::ordered_json::array()},
                                 {"missing", nlohmann::ordered_json::array()}};
  for (const DeviceFacts& device : list.devices) json["devices"].push_back(device_json(device));
  for (const ToolStatus& tool : tools)
    json[tool.problem.empty() ? "found" : "missing"].push_back(tool_json(tool));
  fmt::print("{}\n", json_text(json));
}

void version(bool as_json) {
  const std::vector<ToolStatus> tools = {
      {.name = "sinter", .found = SINTER_VERSION},
      {.name = "built with",
       .found = fmt::format("{} {}, C++ {}, LLVM {}", kCompilerName, __VERSION__,
                            __cplusplus / 100 % 100, LLVM_VERSION_STRING)},
      find_nvrtc(),
      find_driver()};
  nlohmann::ordered_json json;
  for (const ToolStatus& tool : tools) {
    const std::string text = tool.problem.empty() ? tool.found : "none: " + tool.problem;
    if (!as_json) fmt::print("{:14}{}\n", tool.name, text);
    json[tool.name] =
        tool.problem.empty() ? nlohmann::ordered_json(tool.found) : nlohmann::ordered_json(nullptr);
  }
  if (as_json) fmt::print("{}\n", json_text(json));
}

}  // namespace

void declare_devices(CLI::App& app, Action& action) {
  auto as_json = std::make_shared<bool>(false);
  CLI::App& command =
      *app.add_subcommand("devices", "List devices and tools, and how to get the missing ones");
  command.add_flag("--json", *as_json, "Print JSON");
  command.footer("Example:\n  sinter devices");
  set_action(command, action, as_json, devices);
}

void declare_version(CLI::App& app, Action& action) {
  auto as_json = std::make_shared<bool>(false);
  CLI::App& command = *app.add_subcommand(
      "version", "Print the version, the build, and the NVRTC and driver found");
  command.add_flag("--json", *as_json, "Print JSON");
  command.footer("Example:\n  sinter version --json");
  set_action(command, action, as_json, version);
}

}  // namespace sinter::command
