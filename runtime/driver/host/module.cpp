// Modules: shared objects that the host compiler built, loaded from memory.
#include "runtime/driver/host/state.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

namespace sinter::host {

/// A loaded shared object. Kernels that are queued keep it loaded.
struct ModuleState {
  int file = -1;
  CUdevice device = 0;
  void* library = nullptr;
  std::mutex mutex;
  std::map<std::string, CUfunction> functions;

  ModuleState() = default;
  ModuleState(const ModuleState&) = delete;
  ModuleState& operator=(const ModuleState&) = delete;
  ~ModuleState() {
    if (library) dlclose(library);
    if (file >= 0) close(file);
  }
};

namespace {

Handles<CUmodule, ModuleState>& modules() {
  static auto* const handles = new Handles<CUmodule, ModuleState>;
  return *handles;
}
Handles<CUfunction, FunctionState>& functions() {
  static auto* const handles = new Handles<CUfunction, FunctionState>;
  return *handles;
}

#if defined(__x86_64__)
constexpr Elf64_Half kOurMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kOurMachine = EM_AARCH64;
#endif
constexpr Elf64_Half kCudaMachine = 190;

/// The size of an ELF file, whose last part is its section table or its last section.
std::size_t elf_bytes(const std::byte* image, const Elf64_Ehdr& header) {
  std::size_t end = header.e_shoff + std::size_t{header.e_shnum} * header.e_shentsize;
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, image + header.e_shoff + i * header.e_shentsize, sizeof(section));
    if (section.sh_type != SHT_NOBITS) end = std::max(end, section.sh_offset + section.sh_size);
  }
  return end;
}

bool write_all(int file, const std::byte* data, std::size_t bytes) {
  while (bytes) {
    const ssize_t written = write(file, data, bytes);
    if (written <= 0) return false;
    data += written;
    bytes -= static_cast<std::size_t>(written);
  }
  return true;
}

CUresult load(ModuleState& module, const std::byte* image, std::size_t bytes) {
  module.file = memfd_create("sinter-module", MFD_CLOEXEC);
  if (module.file < 0 || !write_all(module.file, image, bytes))
    return fail(CUDA_ERROR_OPERATING_SYSTEM,
                fmt::format("a module of {} bytes: {}", bytes, std::strerror(errno)));
  // The file stays open: the loader knows a library by this name until it is unloaded.
  const std::string path = fmt::format("/proc/self/fd/{}", module.file);
  module.library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!module.library) return fail(CUDA_ERROR_INVALID_IMAGE, dlerror());
  return CUDA_SUCCESS;
}

}  // namespace

std::shared_ptr<FunctionState> find_function(CUfunction function) {
  return functions().find(function);
}

void drop_modules() {
  functions().clear();
  modules().clear();
}

namespace entry {

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  if (!module || !image) return fail(CUDA_ERROR_INVALID_VALUE, "a null module or image");
  const auto* const bytes = static_cast<const std::byte*>(image);
  if (std::memcmp(image, ELFMAG, SELFMAG) != 0)
    return fail(CUDA_ERROR_INVALID_IMAGE, "the image is no ELF file");
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof(header));
  if (header.e_machine == kCudaMachine)
    return fail(CUDA_ERROR_NO_BINARY_FOR_GPU,
                "the image is a cubin; the host device runs what "
                "the host compiler builds");
  if (header.e_machine != kOurMachine || header.e_type != ET_DYN)
    return fail(CUDA_ERROR_INVALID_IMAGE, "the image is no shared object for this machine");
  auto state = std::make_shared<ModuleState>();
  state->device = current_device();
  if (const CUresult result = load(*state, bytes, elf_bytes(bytes, header)); result != CUDA_SUCCESS)
    return result;
  *module = modules().add(std::move(state));
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*, void**) {
  return cuModuleLoadData(module, image);  // the options are about PTX
}

CUresult cuModuleUnload(CUmodule module) {
  schedule().drain();
  const auto state = modules().remove(module);
  if (!state) return fail(CUDA_ERROR_INVALID_HANDLE, "that module is not loaded (any more)");
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
  // The module forgets its functions when it goes, so it knows of them before they are there.
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
