#include "runtime/stored_units.h"

#include <cstring>
#include <string>

#include <nlohmann/json.hpp>

namespace sinter {

namespace {

using nlohmann::json;

json to_json(const CubinReport& report) {
  return {{"arch", report.arch},
          {"registers", report.registers},
          {"spill_bytes", report.spill_bytes},
          {"instructions", report.instructions},
          {"loads_in_flight", report.loads_in_flight},
          {"loads_before_wait", report.loads_before_wait},
          {"bytes_in_flight", report.bytes_in_flight},
          {"cubin_bytes", report.cubin_bytes},
          {"compile_ms", report.compile_ms}};
}

CubinReport report_from(const json& from) {
  CubinReport report;
  from.at("arch").get_to(report.arch);
  from.at("registers").get_to(report.registers);
  from.at("spill_bytes").get_to(report.spill_bytes);
  from.at("instructions").get_to(report.instructions);
  from.at("loads_in_flight").get_to(report.loads_in_flight);
  from.at("loads_before_wait").get_to(report.loads_before_wait);
  from.at("bytes_in_flight").get_to(report.bytes_in_flight);
  from.at("cubin_bytes").get_to(report.cubin_bytes);
  from.at("compile_ms").get_to(report.compile_ms);
  return report;
}

std::vector<std::uint8_t> copy_of(std::span<const std::byte> bytes) {
  const auto* const begin = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return {begin, begin + bytes.size()};
}

std::vector<std::byte> to_bytes(const std::vector<std::uint8_t>& packed) {
  const auto* const begin = reinterpret_cast<const std::byte*>(packed.data());
  return {begin, begin + packed.size()};
}

json parse(std::span<const std::byte> packed) {
  const auto* const begin = reinterpret_cast<const std::uint8_t*>(packed.data());
  return json::from_cbor(begin, begin + packed.size());
}

}  // namespace

std::vector<std::byte> pack(const NvrtcUnit& unit) {
  json reports = json::array();
  for (const CubinReport& report : unit.reports) reports.push_back(to_json(report));
  return to_bytes(json::to_cbor(json{{"image", json::binary(copy_of(unit.image))},
                                     {"ptx", unit.ptx},
                                     {"entries", unit.entries},
                                     {"milliseconds", unit.milliseconds},
                                     {"kernels", std::move(reports)}}));
}

std::optional<NvrtcUnit> unpack_unit(std::span<const std::byte> packed, std::size_t kernels) {
  try {
    const json stored = parse(packed);
    NvrtcUnit unit;
    unit.image = to_bytes(stored.at("image").get_binary());
    stored.at("ptx").get_to(unit.ptx);
    stored.at("entries").get_to(unit.entries);
    stored.at("milliseconds").get_to(unit.milliseconds);
    for (const json& report : stored.at("kernels")) unit.reports.push_back(report_from(report));
    if (unit.reports.size() != kernels || unit.entries.size() != kernels || unit.image.empty())
      return std::nullopt;
    return unit;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

std::vector<std::byte> pack(const StoredHostUnit& unit) {
  return to_bytes(json::to_cbor(
      json{{"object", json::binary({unit.object.hash.begin(), unit.object.hash.end()})},
           {"entries", unit.entries}}));
}

std::optional<StoredHostUnit> unpack_host_unit(std::span<const std::byte> packed,
                                               std::size_t kernels) {
  try {
    const json stored = parse(packed);
    StoredHostUnit unit;
    stored.at("entries").get_to(unit.entries);
    const std::vector<std::uint8_t>& object = stored.at("object").get_binary();
    if (unit.entries.size() != kernels || object.size() != unit.object.hash.size())
      return std::nullopt;
    std::memcpy(unit.object.hash.data(), object.data(), object.size());
    return unit;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

}  // namespace sinter
