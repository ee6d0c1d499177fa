#include "runtime/cache/stored_units.h"

#include <cstring>

#include "runtime/libraries/algorithms/stored_algorithm.h"
#include "runtime/support/archive.h"
#include "runtime/support/report_fields.h"

namespace sinter {

template <class Archive, SameOrConst<NvrtcUnit> T>
void fields(Archive& archive, T& unit) {
  archive(unit.image, unit.ptx, unit.entries, unit.milliseconds, unit.reports);
}

template <class Archive, SameOrConst<StoredHostUnit> T>
void fields(Archive& archive, T& unit) {
  const auto hash = std::as_bytes(std::span(unit.object.hash));
  std::vector<std::byte> object(hash.begin(), hash.end());
  archive(object, unit.entries);
  if constexpr (!std::is_const_v<T>) {
    if (object.size() != hash.size()) archive.fail("it names no object");
    std::memcpy(unit.object.hash.data(), object.data(), object.size());
  }
}

namespace {

template <class Unit>
std::vector<std::byte> written(const Unit& unit) {
  ArchiveWriter writer;
  writer(unit);
  return writer.take();
}

template <class Unit>
std::optional<Unit> read_unit(std::span<const std::byte> packed) {
  try {
    Unit unit;
    ArchiveReader reader(packed);
    reader(unit);
    reader.finish();
    return unit;
  } catch (const InvalidData&) {
    return std::nullopt;
  }
}

}  // namespace

std::vector<std::byte> pack(const NvrtcUnit& unit) { return written(unit); }

std::optional<NvrtcUnit> unpack_unit(std::span<const std::byte> packed, std::size_t kernels) {
  std::optional<NvrtcUnit> unit = read_unit<NvrtcUnit>(packed);
  const bool is_whole = unit && unit->reports.size() == kernels &&
                        unit->entries.size() == kernels && !unit->image.empty();
  return is_whole ? std::move(unit) : std::nullopt;
}

std::vector<std::byte> pack(const StoredHostUnit& unit) { return written(unit); }

std::optional<StoredHostUnit> unpack_host_unit(std::span<const std::byte> packed,
                                               std::size_t kernels) {
  std::optional<StoredHostUnit> unit = read_unit<StoredHostUnit>(packed);
  return unit && unit->entries.size() == kernels ? std::move(unit) : std::nullopt;
}

StoredDescription describe_stored(std::span<const std::byte> payload) {
  const std::string_view text(reinterpret_cast<const char*>(payload.data()), payload.size());
  if (text.starts_with("\x7f"
                       "ELF"))
    return {.kind = StoredKind::host_object};
  if (text.starts_with('{')) return {.kind = StoredKind::tunings};
  if (text.starts_with(kAlgorithmMark)) return {.kind = StoredKind::algorithm};
  if (auto unit = read_unit<NvrtcUnit>(payload); unit && !unit->image.empty()) {
    constexpr std::string_view kTarget = ".target ";
    const std::size_t at = unit->ptx.find(kTarget);
    std::string arch;
    if (at != unit->ptx.npos) {
      const std::string_view rest = std::string_view(unit->ptx).substr(at + kTarget.size());
      arch = rest.substr(0, rest.find_first_of(",\n"));
    }
    return {.kind = StoredKind::gpu_kernels,
            .arch = std::move(arch),
            .entries = std::move(unit->entries)};
  }
  if (auto host = read_unit<StoredHostUnit>(payload))
    return {.kind = StoredKind::host_kernels, .entries = std::move(host->entries)};
  return {.kind = StoredKind::compiler};
}

}  // namespace sinter
