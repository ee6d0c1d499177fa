#include "runtime/cache/stored_units.h"

#include <cstring>

#include "runtime/support/archive.h"
#include "runtime/support/report_fields.h"

namespace sinter {

template <class Archive, SameOrConst<NvrtcUnit> T>
void fields(Archive& archive, T& unit) {
  archive(unit.image, unit.ptx, unit.entries, unit.milliseconds, unit.reports);
}

namespace {

/// The stored form of a StoredHostUnit.
struct PackedHostUnit {
  std::vector<std::byte> object;
  std::vector<std::string> entries;
};

template <class Archive, SameOrConst<PackedHostUnit> T>
void fields(Archive& archive, T& unit) {
  archive(unit.object, unit.entries);
}

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

std::vector<std::byte> pack(const StoredHostUnit& unit) {
  const std::span<const std::byte> object = std::as_bytes(std::span(unit.object.hash));
  return written(PackedHostUnit{.object = {object.begin(), object.end()}, .entries = unit.entries});
}

std::optional<StoredHostUnit> unpack_host_unit(std::span<const std::byte> packed,
                                               std::size_t kernels) {
  std::optional<PackedHostUnit> stored = read_unit<PackedHostUnit>(packed);
  StoredHostUnit unit;
  if (!stored || stored->entries.size() != kernels ||
      stored->object.size() != unit.object.hash.size())
    return std::nullopt;
  std::memcpy(unit.object.hash.data(), stored->object.data(), stored->object.size());
  unit.entries = std::move(stored->entries);
  return unit;
}

StoredDescription describe_stored(std::span<const std::byte> payload) {
  const std::string_view text(reinterpret_cast<const char*>(payload.data()), payload.size());
  if (text.starts_with("\x7f"
                       "ELF"))
    return {.kind = StoredKind::host_object};
  if (text.starts_with('{')) return {.kind = StoredKind::tunings};
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
  auto host = read_unit<PackedHostUnit>(payload);
  if (host && host->object.size() == sizeof CacheName::hash)
    return {.kind = StoredKind::host_kernels, .entries = std::move(host->entries)};
  return {.kind = StoredKind::compiler};
}

}  // namespace sinter
