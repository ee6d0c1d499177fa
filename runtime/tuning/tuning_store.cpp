#include "runtime/tuning/tuning_store.h"

#include <chrono>
#include <cstring>

#include <fmt/format.h>

#include "runtime/tuning/choose_candidate.h"
#include "sinter/error.h"
#include "sinter/tuning.h"

namespace sinter {

namespace {

// The longest wait for the lock of an entry. Without it, timings may be lost and measured again.
constexpr std::chrono::seconds kLongestMergeWait{10};

/// The disk cache entry of a kernel. Its key covers the machine, which is therefore not stored.
CacheName entry_of(const std::string& kernel) { return name_of("tunings\n" + kernel); }

KernelTunings read_tunings(const std::string& kernel, DiskCache& disk) {
  const auto entry = disk.find(entry_of(kernel), DiskCache::Lookup::uncounted);
  if (!entry) return {};
  ParsedTunings parsed =
      parse_tunings({reinterpret_cast<const char*>(entry->data()), entry->size()});
  return parsed.tunings ? std::move(parsed.tunings->kernels[kernel]) : KernelTunings{};
}

}  // namespace

KernelTunings TuningStore::find(const std::string& kernel, DiskCache& disk) {
  const std::lock_guard lock(mutex_);
  Known& known = known_[kernel];
  if (!known.is_read) merge(known.tunings, read_tunings(kernel, disk));
  known.is_read = true;
  return known.tunings;
}

bool TuningStore::was_queried(const std::string& kernel) const {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(kernel);
  return found != known_.end() && found->second.is_read;
}

TunedSize TuningStore::put(const std::string& kernel, const TunedSize& size, DiskCache& disk) {
  const KernelTunings fresh{.sizes = {size}};
  TunedSize merged;
  {
    const std::lock_guard lock(mutex_);
    KernelTunings& known = known_[kernel].tunings;
    merge(known, fresh);
    merged = *known.at(size.numbers);
  }
  if (!disk.can_store()) return merged;
  const CacheName name = entry_of(kernel);
  const CacheLock lock = disk.lock({&name, 1}, kLongestMergeWait);
  StoredTunings stored{.machine = {}, .kernels = {{kernel, read_tunings(kernel, disk)}}};
  merge(stored.kernels[kernel], fresh);
  disk.store(name, bytes_of(to_text(stored)));
  return merged;
}

TuningsByKernel TuningStore::all() const {
  const std::lock_guard lock(mutex_);
  TuningsByKernel result;
  for (const auto& [kernel, known] : known_)
    if (!known.tunings.sizes.empty()) result[kernel] = known.tunings;
  return result;
}

void TuningStore::import(const TuningsByKernel& kernels) {
  const std::lock_guard lock(mutex_);
  for (const auto& [kernel, tunings] : kernels) {
    KernelTunings& known = known_[kernel].tunings;
    KernelTunings merged;  // oldest first; imported sizes that nothing used count as oldest
    for (const TunedSize& size : tunings.sizes)
      if (!known.at(size.numbers)) merged.sizes.push_back(size);
    for (TunedSize& size : known.sizes) {
      const TunedSize* const imported = tunings.at(size.numbers);
      KernelTunings both{.sizes = {imported ? *imported : size}};
      merge(both, {.sizes = {std::move(size)}});
      merged.sizes.push_back(std::move(both.sizes[0]));
    }
    merge(merged, {});  // enforces the bound
    known = std::move(merged);
  }
}

void export_tuning(const Device& device, const std::string& path) {
  const DeviceState& state = *device.state();
  const std::string file =
      pack_tuning_file({.machine = machine_of(state), .kernels = state.tuning_store.get().all()});
  // Unlike a cache entry, the file is meant for other users, so they may read it.
  const int error = write_named_file(path, bytes_of(file));
  if (error != 0)
    throw UserError(
        fmt::format("export_tuning: {} cannot be written: {}", path, std::strerror(error)));
}

std::size_t import_tuning(const Device& device, const std::string& path) {
  const FileContents file = read_whole_file(path);
  if (file.error != 0)
    throw UserError(
        fmt::format("import_tuning: {} cannot be read: {}", path, std::strerror(file.error)));
  const ParsedTunings parsed =
      unpack_tuning_file({reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()});
  if (!parsed.tunings) throw UserError(fmt::format("import_tuning: {} {}", path, parsed.problem));
  const std::string machine = machine_of(*device.state());
  if (parsed.tunings->machine != machine)
    throw UserError(fmt::format(
        "import_tuning: {} was written on \"{}\", and this is \"{}\": machines differ in which "
        "candidate is fastest; tune here, and export that",
        path, parsed.tunings->machine, machine));
  device.state()->tuning_store.get().import(parsed.tunings->kernels);
  return parsed.tunings->kernels.size();
}

}  // namespace sinter
