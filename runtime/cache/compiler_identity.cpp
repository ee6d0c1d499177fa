#include "runtime/cache/compiler_identity.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include <fmt/format.h>
#include <sys/stat.h>

#include "runtime/compile/nvrtc_choice.h"
#include "runtime/driver/cuda_driver.h"
#include "runtime/support/archive.h"
#include "runtime/support/environment.h"

namespace sinter {

namespace {

/// A text that changes whenever the file does; "" if there is no file.
std::string stamp_of(const std::string& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) return {};
  return fmt::format("{} {} {} {}.{}", status.st_dev, status.st_ino, status.st_size,
                     status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

struct StoredIdentity {
  std::string path;
  std::string identity;
  bool is_fallback = false;  ///< NVRTC: the driver refused the output of the libraries before it
};

/// The identity that a compiler reported; nothing if its file has changed since then.
std::optional<StoredIdentity> load_identity(DiskCache& disk, const CacheName& name) {
  const auto packed = disk.find(name, DiskCache::Lookup::uncounted);
  if (!packed) return std::nullopt;
  StoredIdentity stored;
  std::string stamp;
  try {
    ArchiveReader reader(*packed);
    reader(stored.path, stamp, stored.identity, stored.is_fallback);
    reader.finish();
  } catch (const InvalidData&) {
    return std::nullopt;
  }
  const bool is_as_it_was = !stamp.empty() && stamp_of(stored.path) == stamp;
  return is_as_it_was ? std::optional(stored) : std::nullopt;
}

void store_identity(DiskCache& disk, const CacheName& name, const StoredIdentity& stored) {
  if (!disk.can_store()) return;
  ArchiveWriter writer;
  writer(stored.path, stamp_of(stored.path), stored.identity, stored.is_fallback);
  disk.store(name, writer.take());
}

/// Covers nearly everything that decides which library compiles.
CacheName name_of_nvrtc() {
  std::string text = fmt::format("which nvrtc, way 4, driver {}, {}", cuda_driver_version(),
                                 stamp_of("/etc/ld.so.cache"));
  for (const char* variable : {"SINTER_NVRTC", "CUDA_HOME", "CUDAToolkit_ROOT", "LD_LIBRARY_PATH",
                               "VIRTUAL_ENV", "CONDA_PREFIX", "HOME"})
    text += "\n" + environment_variable(variable);
  return name_of(text);
}

std::string find_nvrtc_identity(DiskCache& disk) {
  const CacheName name = name_of_nvrtc();
  if (const std::optional<StoredIdentity> known = load_identity(disk, name)) {
    // Otherwise every cold process would first compile with a library that the driver refuses.
    if (known->is_fallback) nvrtc_choice().prefer(known->path);
    return known->identity;
  }
  if (!nvrtc().nvrtc) return {};
  const Nvrtc& opened = *nvrtc().nvrtc;
  store_identity(disk, name, {.path = opened.path(), .identity = opened.version_text()});
  return opened.version_text();
}

/// True for programs that run another compiler: an update of that compiler leaves their file as is.
bool is_wrapper(const std::string& path) {
  std::error_code failed;
  const std::string name = std::filesystem::canonical(path, failed).filename().string();
  constexpr std::string_view kWrappers[] = {"ccache", "sccache", "distcc", "icecc"};
  return failed || std::ranges::any_of(kWrappers, [&](std::string_view wrapper) {
           return name.find(wrapper) != std::string::npos;
         });
}

HostCompiler find_known_host_compiler(DiskCache& disk) {
  const std::string path = find_host_compiler();
  if (is_wrapper(path)) return HostCompiler({.command = path, .name = {}});
  const CacheName name = name_of("which host compiler, way 3\n" + path);
  const std::optional<StoredIdentity> known = load_identity(disk, name);
  HostCompiler compiler({.command = path, .name = known ? known->identity : ""});
  if (!known) store_identity(disk, name, {.path = path, .identity = compiler.name()});
  return compiler;
}

}  // namespace

// The statics below are never destroyed: a thread may still compile while the process ends.

const std::string& nvrtc_identity(DiskCache& disk) {
  static const auto& identity = *new std::string(find_nvrtc_identity(disk));
  return identity;
}

bool is_nvrtc_as_remembered(DiskCache& disk, const Nvrtc& used) {
  if (used.version_text() == nvrtc_identity(disk)) return true;
  store_identity(disk, name_of_nvrtc(),
                 {.path = used.path(),
                  .identity = used.version_text(),
                  .is_fallback = nvrtc_choice().is_fallback()});
  return false;
}

const std::string& prelude_hash(Prelude which) {
  static const auto& hashes = *new std::array{name_of(prelude_text(Prelude::cuda)).hex(),
                                              name_of(prelude_text(Prelude::host)).hex()};
  return hashes[which == Prelude::host ? 1 : 0];
}

const HostCompiler& host_compiler(DiskCache& disk) {
  static const auto& compiler = *new HostCompiler(find_known_host_compiler(disk));
  return compiler;
}

std::string host_build_identity(DiskCache& disk, const HostBuild& build) {
  return fmt::format("prelude {}\n{}\ncount {}, optimize {}, portable {}",
                     prelude_hash(Prelude::host), host_compiler(disk).version(), build.count,
                     build.optimize, build.portable);
}

std::string nvrtc_build_identity(DiskCache& disk, std::string_view arch) {
  return fmt::format("prelude {}\n{}\n{}", prelude_hash(Prelude::cuda), nvrtc_identity(disk), arch);
}

}  // namespace sinter
