// The entry points for modules: shared objects of the host compiler, loaded from memory.
#include "runtime/driver/host/state.h"
#include "runtime/support/atomic_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <span>

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <sys/mman.h>

namespace sinter::host {

/// A loaded shared object. Queued kernels keep it loaded.
struct ModuleState {
  File file;
  CUdevice device = 0;
  void* library = nullptr;
  std::mutex mutex;
  std::map<std::string, CUfunction> functions;

  ModuleState() = default;
  ModuleState(const ModuleState&) = delete;
  ModuleState& operator=(const ModuleState&) = delete;
  ~ModuleState() {
    if (library) dlclose(library);
  }
};

namespace {

Handles<CUmodule, ModuleState>& modules() { return Handles<CUmodule, ModuleState>::all(); }
Handles<CUfunction, FunctionState>& functions() {
  return Handles<CUfunction, FunctionState>::all();
}

#if defined(__x86_64__)
constexpr Elf64_Half kOurMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kOurMachine = EM_AARCH64;
#endif
constexpr Elf64_Half kCudaMachine = 190;

/// The size of an ELF file. It ends with the section table or with its last section.
std::size_t elf_bytes(const std::byte* image, const Elf64_Ehdr& header) {
  std::size_t end = header.e_shoff + std::size_t{header.e_shnum} * header.e_shentsize;
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, image + header.e_shoff + i * header.e_shentsize, sizeof(section));
    if (section.sh_type != SHT_NOBITS) end = std::max(end, section.sh_offset + section.sh_size);
  }
  return end;
}

CUresult load(ModuleState& module, std::span<const std::byte> image) {
  module.file = File(memfd_create("sinter-module", MFD_CLOEXEC));
  if (const int error = module.file ? write_all(module.file, image) : errno; error != 0)
    return fail(CUDA_ERROR_OPERATING_SYSTEM,
                fmt::format("a module of {} bytes: {}", image.size(), std::strerror(error)));
  // The file stays open, because the loader uses this name until the library is unloaded.
  const std::string path = fmt::format("/proc/self/fd/{}", module.file.descriptor());
  module.library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!module.library) return fail(CUDA_ERROR_INVALID_IMAGE, dlerror());
  return CUDA_SUCCESS;
}

}  // namespace

std::shared_ptr<FunctionState> find_function(CUfunction function) {
  return functions().find(function);
}

namespace entry {

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  if (!module || !image) return fail(CUDA_ERROR_INVALID_VALUE, "a null module or image");
  const auto* const bytes = static_cast<const std::byte*>(image);
  if (std::memcmp(image, ELFMAG, SELFMAG) != 0)
    return fail(CUDA_ERROR_INVALID_IMAGE, "the image is not an ELF file");
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof(header));
  if (header.e_machine == kCudaMachine)
    return fail(CUDA_ERROR_NO_BINARY_FOR_GPU,
                "the image is a cubin; the host device runs what the host compiler builds");
  if (header.e_machine != kOurMachine || header.e_type != ET_DYN)
    return fail(CUDA_ERROR_INVALID_IMAGE, "the image is not a shared object for this machine");
  auto state = std::make_shared<ModuleState>();
  state->device = current_device();
  if (const CUresult result = load(*state, {bytes, elf_bytes(bytes, header)});
      result != CUDA_SUCCESS)
    return result;
  *module = modules().add(std::move(state));
  return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module) {
  scheduler().drain(current_device());
  const auto state = modules().remove(module);
  if (!state) return fail(CUDA_ERROR_INVALID_HANDLE, "that module is not loaded (any more)");
  const std::lock_guard lock(state->mutex);
  for (const auto& [name, function] : state->functions) functions().remove(function);
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  const auto state = modules().find(module);
  if (!state) return fail(CUDA_ERROR_INVALID_HANDLE, "that module is not loaded (any more)");
  if (!function || !name) return fail(CUDA_ERROR_INVALID_VALUE, "a null function or name");
  const std::lock_guard lock(state->mutex);
  if (const auto known = state->functions.find(name); known != state->functions.end()) {
    *function = known->second;
    return CUDA_SUCCESS;
  }
  const std::string symbol = fmt::format("sinter_kernel_{}", name);
  const auto* const kernel =
      static_cast<const device_abi::KernelInfo*>(dlsym(state->library, symbol.c_str()));
  if (!kernel) return fail(CUDA_ERROR_NOT_FOUND, fmt::format("no kernel {} in the module", name));
  if (kernel->version != device_abi::kVersion)
    return fail(CUDA_ERROR_INVALID_IMAGE,
                fmt::format("kernel {} was built for version {} of the host device, this is {}",
                            name, kernel->version, device_abi::kVersion));
  *kernel->services = &BlockRunner::services();
  auto function_state = std::make_shared<FunctionState>();
  function_state->module = state;
  function_state->device = state->device;
  function_state->kernel = kernel;
  // The module removes its functions when it is unloaded. So it lists the function before the
  // handle exists.
  const auto known = state->functions.try_emplace(name).first;
  try {
    *function = known->second = functions().add(std::move(function_state));
  } catch (...) {
    state->functions.erase(known);
    throw;
  }
  return CUDA_SUCCESS;
}

}  // namespace entry
}  // namespace sinter::host
