#include "runtime/compiler_identity.h"

#include <cstdlib>
#include <optional>
#include <span>

#include <fmt/format.h>
#include <sys/stat.h>
#include <nlohmann/json.hpp>

#include "runtime/nvrtc.h"

namespace sinter {

namespace {

/// Changes whenever the file does; "" where there is none.
std::string stamp_of(const std::string& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) return {};
  return fmt::format("{} {} {} {}.{}", status.st_dev, status.st_ino, status.st_size,
                     status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

/// What a compiler said of itself when its file had this stamp.
struct Memory {
  std::string path;
  std::string stamp;
  std::string identity;
};

std::optional<Memory> recall(DiskCache& disk, const CacheName& name) {
  const auto packed = disk.find(name, DiskCache::Look::uncounted);
  if (!packed) return std::nullopt;
  const auto* const begin = reinterpret_cast<const char*>(packed->data());
  const auto stored =
      nlohmann::json::parse(begin, begin + packed->size(), nullptr, /*allow_exceptions=*/false);
  Memory memory;
  for (const auto& [key, text] : {std::pair{"path", &memory.path},
                                  {"stamp", &memory.stamp},
                                  {"identity", &memory.identity}}) {
    if (!stored.is_object() || !stored.contains(key) || !stored[key].is_string())
      return std::nullopt;
    *text = stored[key].get<std::string>();
  }
  const bool is_as_it_was = !memory.stamp.empty() && stamp_of(memory.path) == memory.stamp;
  return is_as_it_was ? std::optional(memory) : std::nullopt;
}

void remember(DiskCache& disk, const CacheName& name, const std::string& path,
              const std::string& identity) {
  const std::string text =
      nlohmann::json{{"path", path}, {"stamp", stamp_of(path)}, {"identity", identity}}.dump();
  disk.store(name, bytes_of(text));
}

std::string find_nvrtc_identity(DiskCache& disk) {
  // All that decides which library the loader finds.
  const CacheName name = name_of(fmt::format(
      "which nvrtc\n{}\n{}\n{}\n{}\n{}", variable("SINTER_NVRTC"), variable("CUDA_HOME"),
      variable("CUDAToolkit_ROOT"), variable("LD_LIBRARY_PATH"), stamp_of("/etc/ld.so.cache")));
  if (const std::optional<Memory> memory = recall(disk, name)) return memory->identity;
  if (!nvrtc().nvrtc) return {};
  const Nvrtc& opened = *nvrtc().nvrtc;
  remember(disk, name, opened.path(), opened.version_text());
  return opened.version_text();
}

HostCompiler find_known_host_compiler(DiskCache& disk) {
  const std::string path = find_host_compiler();
  const CacheName name = name_of("which host compiler\n" + path);
  if (const std::optional<Memory> memory = recall(disk, name))
    return HostCompiler({.command = path, .name = memory->identity});
  HostCompiler compiler({.command = path, .name = {}});
  remember(disk, name, path, compiler.name());
  return compiler;
}

}  // namespace

const std::string& nvrtc_identity(DiskCache& disk) {
  static const std::string identity = find_nvrtc_identity(disk);
  return identity;
}

const std::string& prelude_hash(Prelude which) {
  static const std::string hashes[] = {name_of(prelude_text(Prelude::cuda)).hex(),
                                       name_of(prelude_text(Prelude::host)).hex()};
  return hashes[which == Prelude::host ? 1 : 0];
}

const HostCompiler& host_compiler(DiskCache& disk) {
  static const HostCompiler compiler = find_known_host_compiler(disk);
  return compiler;
}

}  // namespace sinter
