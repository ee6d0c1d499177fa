#include "tests/virtual_gpu/driver/configuration.h"

#include <charconv>
#include <climits>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "tests/virtual_gpu/driver/attributes.h"

namespace sinter::virtual_gpu::driver {

namespace {

constexpr int kOldestDriver = 12000;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    std::string_view part = text.substr(0, end);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    if (!part.empty()) parts.push_back(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> bytes_of(std::string_view text) {
  std::uint64_t unit = 1;
  if (text.ends_with('k')) unit = std::uint64_t{1} << 10;
  if (text.ends_with('m')) unit = std::uint64_t{1} << 20;
  if (text.ends_with('g')) unit = std::uint64_t{1} << 30;
  if (unit > 1) text.remove_suffix(1);
  const auto count = number_of<std::uint64_t>(text);
  if (!count) return std::nullopt;
  return *count * unit;
}

/// Returns false if the words do not describe a device.
bool read_device(std::string_view text, DeviceDescription& device) {
  for (const std::string_view word : split(text, ' ')) {
    if (word.starts_with("sm_")) {
      const auto capability = number_of<int>(word.substr(3));
      if (!capability || !find_model(*capability)) return false;
      device.capability = *capability;
    } else if (word.starts_with("sms=")) {
      const auto count = number_of<int>(word.substr(4));
      if (!count || *count < 0) return false;
      device.sm_count = *count;
    } else if (word.starts_with("memory=")) {
      const auto bytes = bytes_of(word.substr(7));
      if (!bytes) return false;
      device.memory_bytes = *bytes;
    } else if (word.starts_with("l2=")) {
      const auto bytes = bytes_of(word.substr(3));
      if (!bytes || *bytes > INT_MAX) return false;
      device.l2_bytes = static_cast<int>(*bytes);
    } else if (word == "no_clusters") {
      device.lacks_clusters = true;
    } else if (word == "coherent") {
      device.is_coherent = true;
    } else {
      return false;
    }
  }
  return true;
}

bool read_fault(std::string_view text, Fault& fault) {
  const std::vector<std::string_view> parts = split(text, ':');
  if (parts.size() != 3) return false;
  const auto call = number_of<int>(parts[1]);
  const auto code = number_of<int>(parts[2]);
  if (!call || !code || *call < 1 || *code < 1) return false;
  fault = {.function = std::string(parts[0]), .call = *call, .code = *code};
  return true;
}

bool read_schedule(std::string_view text, Schedule& schedule) {
  if (text == "fair")
    schedule = Schedule::fair;
  else if (text == "random")
    schedule = Schedule::random;
  else if (text == "adversarial")
    schedule = Schedule::adversarial;
  else
    return false;
  return true;
}

bool read_approximations(std::string_view text, bool& have_errors) {
  have_errors = text == "seeded";
  return text == "seeded" || text == "exact";
}

bool read_removed(std::string_view text, std::optional<MutationName>& removed) {
  if (text.empty()) return true;
  const std::vector<std::string_view> parts = split(text, ':');
  if (parts.size() != 2) return false;
  const auto number = number_of<int>(parts[1]);
  if (!number || *number < 1) return false;
  removed = {.kernel = std::string(parts[0]), .number = *number};
  return true;
}

}  // namespace

Configuration read_configuration(const std::function<const char*(const char*)>& get) {
  Configuration result;
  const auto read = [&](const char* variable, const char* fallback, const auto& take) {
    const char* const value = get(variable);
    const std::string_view text = value ? value : fallback;
    if (!take(text) && result.problem.empty())
      result.problem = fmt::format("{}={}: the virtual GPU does not understand it", variable, text);
  };
  read("VIRTUAL_GPUS", "sm_90 sms=4", [&](std::string_view text) {
    for (const std::string_view one : split(text, ','))
      if (!read_device(one, result.devices.emplace_back())) return false;
    return true;
  });
  read("VIRTUAL_GPU_DRIVER", "13000", [&](std::string_view text) {
    result.driver_version = number_of<int>(text).value_or(0);
    return result.driver_version >= kOldestDriver;
  });
  read("VIRTUAL_GPU_SCHEDULE", "fair",
       [&](std::string_view text) { return read_schedule(text, result.schedule); });
  read("VIRTUAL_GPU_SEED", "0", [&](std::string_view text) {
    const auto seed = number_of<std::uint64_t>(text);
    result.seed = seed.value_or(0);
    return seed.has_value();
  });
  read("VIRTUAL_GPU_APPROXIMATIONS", "exact", [&](std::string_view text) {
    return read_approximations(text, result.approximations_have_errors);
  });
  read("VIRTUAL_GPU_PTX", "", [&](std::string_view text) {
    result.accepts_newer_ptx = text == "any";
    return text.empty() || text == "any";
  });
  read("VIRTUAL_GPU_COUNTS", "", [&](std::string_view text) {
    result.counts_file = text;
    return true;
  });
  for (const auto& [variable, flag] : {std::pair("VIRTUAL_GPU_EARLY_STARTS", &result.starts_early),
                                       {"VIRTUAL_GPU_ON_DEMAND", &result.runs_on_demand}})
    read(variable, "off", [&](std::string_view text) {
      *flag = text == "on";
      return text == "on" || text == "off";
    });
  read("VIRTUAL_GPU_REMOVE", "",
       [&](std::string_view text) { return read_removed(text, result.removed); });
  read("VIRTUAL_GPU_EXAMINE", "", [&](std::string_view text) {
    result.examinations_file = text;
    return true;
  });
  read("VIRTUAL_GPU_FAULT", "", [&](std::string_view text) {
    for (const std::string_view one : split(text, ','))
      if (!read_fault(one, result.faults.emplace_back())) return false;
    return true;
  });
  read("VIRTUAL_GPU_LOG", "", [&](std::string_view text) {
    result.logs = !text.empty() && text != "0";
    return true;
  });
  return result;
}

}  // namespace sinter::virtual_gpu::driver
