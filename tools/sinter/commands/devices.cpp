#include "tools/sinter/commands/devices.h"

#include "tools/sinter/arguments/options.h"
#include "tools/sinter/output/machine.h"
#include "tools/sinter/output/words.h"

#include <vector>

#include <fmt/format.h>
#include <llvm/Config/llvm-config.h>
#include <nlohmann/json.hpp>

namespace sinter::command {

namespace {

struct MachineArguments {
  bool json = false;
};

#if defined(__clang__)
constexpr const char* kCompilerName = "clang";
#else
constexpr const char* kCompilerName = "g++";
#endif

/// Names that the machine gives may be in any encoding.
std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

nlohmann::ordered_json part_json(const Part& part) {
  nlohmann::ordered_json json = {{"name", part.name}};
  if (part.why.empty())
    json["found"] = part.found;
  else
    json.update({{"why", part.why}, {"remedy", part.remedy}});
  return json;
}

nlohmann::ordered_json device_json(const DeviceFacts& device) {
  nlohmann::ordered_json json = {
      {"kind", device.kind}, {"ordinal", device.ordinal}, {"name", device.name}};
  json["arch"] = device.arch;
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

void print_devices(const DeviceList& list, const std::vector<Part>& parts) {
  for (const DeviceFacts& device : list.devices) fmt::print("{}\n", device_line(device));
  fmt::print("\n");
  for (const Part& part : parts)
    if (part.why.empty()) fmt::print("{:14}{}\n", part.name, part.found);
  for (const Part& part : parts) {
    if (part.why.empty()) continue;
    fmt::print("{:14}missing: {}\n", part.name, part.why);
    if (!part.remedy.empty()) fmt::print("{:14}to get it: {}\n", "", part.remedy);
  }
}

void devices(const MachineArguments& arguments) {
  const DeviceList list = list_devices();
  std::vector<Part> parts = {find_driver(), find_nvrtc(), find_compiler(), find_cache()};
  parts.insert(parts.end(), list.broken.begin(), list.broken.end());
  if (!arguments.json) return print_devices(list, parts);
  nlohmann::ordered_json json = {{"devices", nlohmann::ordered_json::array()},
                                 {"found", nlohmann::ordered_json::array()},
                                 {"missing", nlohmann::ordered_json::array()}};
  for (const DeviceFacts& device : list.devices) json["devices"].push_back(device_json(device));
  for (const Part& part : parts)
    json[part.why.empty() ? "found" : "missing"].push_back(part_json(part));
  fmt::print("{}\n", json_text(json));
}

/// What the command was built with.
std::vector<Part> build_parts() {
  return {{.name = "sinter", .found = SINTER_VERSION, .why = {}, .remedy = {}},
          {.name = "built with",
           .found = fmt::format("{} {}, C++ {}, LLVM {}", kCompilerName, __VERSION__,
                                __cplusplus / 100 % 100, LLVM_VERSION_STRING),
           .why = {},
           .remedy = {}}};
}

void version(const MachineArguments& arguments) {
  std::vector<Part> parts = build_parts();
  for (Part& part : std::vector{find_nvrtc(), find_driver()}) parts.push_back(std::move(part));
  nlohmann::ordered_json json;
  for (const Part& part : parts) {
    const std::string text = part.why.empty() ? part.found : "none: " + part.why;
    if (!arguments.json) fmt::print("{:14}{}\n", part.name, text);
    json[part.name] =
        part.why.empty() ? nlohmann::ordered_json(part.found) : nlohmann::ordered_json(nullptr);
  }
  if (arguments.json) fmt::print("{}\n", json_text(json));
}

}  // namespace

void declare_devices(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<MachineArguments>();
  CLI::App& command = *app.add_subcommand(
      "devices", "List what programs can run on, and what is missing and how to get it");
  command.add_flag("--json", arguments->json, "Print JSON");
  command.footer("Example:\n  sinter devices");
  command.final_callback([arguments, &chosen] {
    chosen = [arguments] {
      devices(*arguments);
      return true;
    };
  });
}

void declare_version(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<MachineArguments>();
  CLI::App& command =
      *app.add_subcommand("version", "Say what this is, what it was built with and what it finds");
  command.add_flag("--json", arguments->json, "Print JSON");
  command.footer("Example:\n  sinter version --json");
  command.final_callback([arguments, &chosen] {
    chosen = [arguments] {
      version(*arguments);
      return true;
    };
  });
}

}  // namespace sinter::command
