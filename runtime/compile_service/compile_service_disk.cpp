// The part of CompileService that reads and writes the disk cache.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/cache/compiler_identity.h"
#include "runtime/cache/stored_units.h"
#include "runtime/compile_service/compile_service.h"
#include "sinter/error.h"

namespace sinter {

namespace {

/// The sources with the function names `entries`, under which they were compiled.
std::vector<Source> renamed(std::span<const Source> sources, std::span<const std::string> entries) {
  std::vector<Source> result(sources.begin(), sources.end());
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::string from = std::exchange(result[i].entry, entries[i]);
    for (std::size_t at = 0; (at = result[i].text.find(from, at)) != std::string::npos;
         at += entries[i].size())
      result[i].text.replace(at, from.size(), entries[i]);
  }
  return result;
}

[[noreturn]] void fail_verification(const DiskCache& disk, const CacheName& name,
                                    std::string_view kernel, std::string_view what) {
  throw CompileError(fmt::format(
      "SINTER_VERIFY=cache: of kernel {}, {} has {}; remove it, and report it if it comes again",
      kernel, disk.path_of(name, "entry"), what));
}

}  // namespace

void CompileService::fetch(std::span<Job> jobs, const CompileSettings& settings,
                           DiskCache::Lookup lookup) {
  for (Job& job : jobs) {
    if (job.host) fetch_host(job, settings, lookup);
    if (job.cubin) fetch_cubin(job, settings, lookup);
  }
}

void CompileService::fetch_host(Job& job, const CompileSettings& settings,
                                DiskCache::Lookup lookup) {
  DiskCache& disk = disk_cache(settings.cache);
  const CacheName name = *job.host;
  const auto packed = disk.find(name, lookup);
  if (!packed) return;
  const auto stored = unpack_host_unit(*packed, job.unit->sources().size());
  if (!stored) return disk.reject(name, "the entry means nothing");
  try {
    job.made->module = fetch_object(stored->object, *job.unit, settings);
    if (!job.made->module) return disk.reject(name, "the object with the kernels is gone");
    load_functions(*job.made, *job.unit, stored->entries, /*reports=*/{});
  } catch (const DriverError& error) {
    if (!is_image_rejected(static_cast<CUresult>(error.code()))) throw;
    return disk.reject(name, "the entry cannot be loaded", error.what());
  }
  job.host.reset();
}

void CompileService::add_object(const CacheName& name,
                                const std::shared_ptr<const Module>& module) {
  if (objects_.size() >= max_objects_) {  // doubled below, so that insertions stay cheap
    std::erase_if(objects_, [](const auto& entry) { return entry.second.expired(); });
    max_objects_ = std::max(max_objects_, 2 * objects_.size());
  }
  objects_[name] = module;
}

std::shared_ptr<const Module> CompileService::fetch_object(const CacheName& name,
                                                           const CompileUnit& unit,
                                                           const CompileSettings& settings) {
  const std::lock_guard lock(mutex_);
  if (const auto known = objects_.find(name); known != objects_.end())
    if (std::shared_ptr<const Module> module = known->second.lock()) return module;
  DiskCache& disk = disk_cache(settings.cache);
  const auto image = disk.find(name, DiskCache::Lookup::uncounted);
  if (!image) return nullptr;
  const std::string& kernel = unit.sources()[0].entry;
  if (settings.cache.verify) {
    const FileContents text = read_whole_file(disk.path_of(name, "cu"));
    const std::string source(reinterpret_cast<const char*>(text.bytes.data()), text.bytes.size());
    if (text.error != 0) fail_verification(disk, name, kernel, "no source beside it");
    if (host_compiler(disk).compile_text(source, settings.host).image != *image)
      fail_verification(disk, name, kernel, "something else than the compiler makes of its source");
  }
  auto module = std::make_shared<const Module>(device_, image->data(), kernel);
  add_object(name, module);
  return module;
}

void CompileService::fetch_cubin(Job& job, const CompileSettings& settings,
                                 DiskCache::Lookup lookup) const {
  DiskCache& disk = disk_cache(settings.cache);
  const CacheName name = *job.cubin;
  const auto packed = disk.find(name, lookup);
  if (!packed) return;
  std::optional<NvrtcUnit> unit = unpack_unit(*packed, job.unit->sources().size());
  if (!unit) return disk.reject(name, "the entry means nothing");
  if (settings.cache.verify) {
    const std::vector<Source> sources = renamed(job.unit->sources(), unit->entries);
    const NvrtcUnit again = compile_unit(sources, settings.arch);
    // If the driver refuses the output of this library, another one has made the entry.
    const bool is_comparable = again.compiler->version_text() == nvrtc_identity(disk);
    if (is_comparable && (again.image != unit->image || again.ptx != unit->ptx))
      fail_verification(disk, name, sources[0].entry, "something else than NVRTC makes of it");
  }
  try {
    load(job, *unit);
  } catch (const DriverError& error) {
    if (!is_image_rejected(static_cast<CUresult>(error.code()))) throw;
    return disk.reject(name, "the entry cannot be loaded", error.what());
  }
  keep(job, std::move(*unit));
  job.cubin.reset();
}

void CompileService::store_host(std::span<Job* const> jobs, const std::string& text,
                                const HostImage& image, const std::shared_ptr<const Module>& module,
                                const CompileSettings& settings) {
  DiskCache& disk = disk_cache(settings.cache);
  if (!disk.can_store()) return;
  const CacheName object = name_of(fmt::format("host object\n{}\ncount {}, optimize {}\n{}",
                                               host_compiler(disk).version(), settings.host.count,
                                               settings.host.optimize, text));
  {
    const std::lock_guard lock(mutex_);
    add_object(object, module);
  }
  if (!disk.store(object, image.image, {.extension = "cu", .text = text})) return;
  for (const Job* job : jobs) {
    StoredHostUnit unit{.object = object, .entries = {}};
    for (const Source& source : job->unit->sources()) unit.entries.push_back(source.entry);
    disk.store(*job->host, pack(unit));
  }
}

void CompileService::store_cubin(const Job& job, const NvrtcUnit& unit,
                                 const CompileSettings& settings) const {
  DiskCache& disk = disk_cache(settings.cache);
  if (!disk.can_store() || !is_nvrtc_as_remembered(disk, *unit.compiler)) return;
  std::string text;
  for (const Source& source : job.unit->sources()) text += source.text + "\n";
  disk.store(*job.cubin, pack(unit), {.extension = "cu", .text = text});
}

}  // namespace sinter
