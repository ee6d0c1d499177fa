#include "tools/sinter/output/machine.h"

#include "runtime/cache/disk_cache.h"
#include "runtime/collectives/nccl/nccl.h"
#include "runtime/compile/host_compiler.h"
#include "runtime/compile/nvrtc_choice.h"
#include "runtime/device/device_state.h"
#include "runtime/driver/cuda_driver.h"
#include "runtime/libraries/cuda/cublaslt.h"
#include "runtime/libraries/cuda/cudnn.h"
#include "runtime/libraries/host/host_blas.h"
#include "runtime/libraries/onednn/onednn.h"
#include "runtime/support/environment.h"
#include "runtime/support/options_table.h"
#include "sinter/error.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <unistd.h>

namespace sinter::command {

namespace {

std::string version_words(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

/// The version in `NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release …`:
/// the first word of digits and points. Empty if the system has no such file.
std::string kernel_module_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  std::getline(file, line);
  std::istringstream words(line);
  for (std::string word; words >> word;)
    if (word.find('.') != word.npos && word.find_first_not_of("0123456789.") == word.npos)
      return word;
  return {};
}

std::string remedy_of_driver(const std::string& problem) {
  if (problem.find("cannot be opened") != problem.npos)
    return "install the NVIDIA driver (Debian: apt install nvidia-driver); in a container, start "
           "it with its GPUs (docker run --gpus all)";
  if (problem.find("no CUDA device") != problem.npos || problem.find("cuInit") != problem.npos)
    return "run nvidia-smi, and check that CUDA_VISIBLE_DEVICES does not hide the GPU";
  return {};  // the reason contains the remedy
}

DeviceFacts facts_of(const Device& device) {
  const DeviceState& state = *device.state();
  DeviceFacts facts{.kind = device.is_host() ? "host" : "cuda",
                    .ordinal = device.ordinal(),
                    .name = std::string(device.name()),
                    .arch = std::string(device.arch())};
  if (device.is_host()) {
    facts.memory_bytes = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE);
    return facts;
  }
  std::size_t bytes = 0;
  check(state.driver, state.driver.cuDeviceTotalMem(&bytes, state.handle), "cuDeviceTotalMem",
        state.name);
  facts.memory_bytes = static_cast<std::int64_t>(bytes);
  facts.sm_count = state.target.sm_count;
  return facts;
}

}  // namespace

CacheOptions cache_options() { return with_environment({}).cache; }

ToolStatus find_driver() {
  const CudaDriver& opened = cuda_driver();
  ToolStatus tool{.name = "cuda driver", .problem = opened.reason};
  if (!opened.driver) {
    tool.remedy = remedy_of_driver(tool.problem);
    return tool;
  }
  tool.found = "CUDA " + version_words(opened.driver->version);
  if (const std::string module = kernel_module_version(); !module.empty())
    tool.found += ", driver " + module;
  return tool;
}

ToolStatus find_nvrtc() {
  const NvrtcOrReason& opened = nvrtc();
  ToolStatus tool{.name = "nvrtc", .problem = opened.reason};
  if (!opened.nvrtc) {
    tool.remedy =
        "install the package cuda-nvrtc-13-0 from NVIDIA's repository, or the Python wheel "
        "nvidia-cuda-nvrtc-cu12 and set SINTER_NVRTC to nvidia/cuda_nvrtc/lib/libnvrtc.so.12 in "
        "its site-packages";
    return tool;
  }
  const std::vector<int>& archs = opened.nvrtc->architectures();
  tool.found = fmt::format("{}, {}", version_words(opened.nvrtc->version()), opened.nvrtc->path());
  if (!archs.empty())
    tool.found += fmt::format(", compiles for sm_{} to sm_{}", archs.front(), archs.back());
  tool.found += nvrtc_choice().advice_on(*opened.nvrtc);
  return tool;
}

ToolStatus find_compiler() {
  ToolStatus tool{.name = "c++ compiler"};
  try {
    const std::string path = find_host_compiler();
    tool.found = fmt::format("{}, {}", HostCompiler({.command = path, .name = {}}).name(), path);
  } catch (const CompileError& error) {
    tool.problem = error.what();  // includes the remedy
  }
  return tool;
}

namespace {

ToolStatus status_of_host_blas() {
  ToolStatus tool{.name = "host blas"};
  const HostBlasOrReason& opened = find_host_blas();
  if (!opened.blas) {
    tool.problem = opened.reason;  // includes the remedy
  } else if (!opened.blas->path().empty()) {
    tool.found =
        fmt::format("{}{}{}, {}", opened.blas->name(), opened.blas->version().empty() ? "" : " ",
                    opened.blas->version(), opened.blas->path());
  } else if (!environment_variable("SINTER_HOST_BLAS").empty()) {
    tool.found = "none, as SINTER_HOST_BLAS says: loops compute products";
  } else {
    tool.problem = "no BLAS was found, so slower loops compute products";
    tool.remedy = kHostBlasAdvice;
  }
  return tool;
}

ToolStatus status_of_host_conv() {
  ToolStatus tool{.name = "host conv"};
  const OneDnnOrReason& opened = find_onednn();
  if (opened.library) {
    tool.found =
        fmt::format("oneDNN {}, {}, for f32", opened.library->version_text(), opened.library->path);
  } else if (opened.reason.empty()) {
    tool.found = "products of the host BLAS, as SINTER_HOST_CONV says";
  } else {
    tool.problem = opened.reason;
    if (opened.is_error) return tool;  // includes the remedy
    tool.problem += ", so products of the host BLAS compute convolutions";
    tool.remedy = kOneDnnAdvice;
  }
  return tool;
}

}  // namespace

std::vector<ToolStatus> find_libraries() {
  ToolStatus products{.name = "cublaslt"}, convolutions{.name = "cudnn"};
  if (const CublasltOrReason& opened = find_cublaslt(); opened.library)
    products.found = fmt::format("{}, {}", opened.library->version_text(), opened.library->path);
  else
    products.problem = "matmul on GPUs needs " + opened.reason;  // includes the remedy
  if (const CudnnOrReason& opened = find_cudnn(); opened.library)
    convolutions.found =
        fmt::format("{}, {}", opened.library->version_text(), opened.library->path);
  else
    convolutions.problem = "conv on GPUs needs " + opened.reason;
  ToolStatus collectives{.name = "nccl"};
  if (const NcclOrReason& opened = find_nccl(); opened.library)
    collectives.found = fmt::format("{}, {}", opened.library->version_text(), opened.library->path);
  else
    collectives.problem = "collectives of GPUs need " + opened.reason;
  return {status_of_host_blas(), status_of_host_conv(), std::move(products),
          std::move(convolutions), std::move(collectives)};
}

ToolStatus find_mpi() {
  const std::string_view version = SINTER_VERSION;
  const std::string file =
      fmt::format("libsinter_mpi.so.{}", version.substr(0, version.rfind('.')));
  std::error_code ignored;
  const std::filesystem::path prefix =
      std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path().parent_path();
  // The second folder is that of a build tree.
  for (const char* const name : {SINTER_LIBRARY_FOLDER, "runtime/mpi"})
    if (const auto folder = prefix / name; std::filesystem::exists(folder / file, ignored))
      return {.name = "mpi", .found = fmt::format("{}, {}", file, folder.string())};
  return {.name = "mpi",
          .problem = fmt::format("collectives of host devices need {}, which is not in {}", file,
                                 (prefix / SINTER_LIBRARY_FOLDER).string()),
          .remedy =
              "install MPI (Debian: apt install libopenmpi-dev openmpi-bin), build sinter "
              "again, and install its component sinter_mpi"};
}

ToolStatus find_cache() {
  ToolStatus tool{.name = "disk cache"};
  const CacheOptions options = cache_options();
  if (options.mode == CacheMode::off) {
    tool.problem = "it was turned off";
    tool.remedy = "set SINTER_CACHE to read_write, or unset it";
    return tool;
  }
  const DiskCache cache(options);
  tool.problem = cache.off_reason();  // includes the remedy
  if (cache.is_on())
    tool.found =
        fmt::format("{}{}", cache.counters().directory, cache.can_store() ? "" : " (read-only)");
  return tool;
}

DeviceList list_devices() {
  DeviceList list;
  const Driver* const driver = cuda_driver().driver;
  int count = 0;
  if (driver && driver->cuDeviceGetCount(&count) != cuda::CUDA_SUCCESS) count = 0;
  for (int i = 0; i < count; ++i) {
    try {
      list.devices.push_back(facts_of(cuda_device(i)));
    } catch (const std::exception& error) {
      list.broken.push_back({.name = fmt::format("cuda:{}", i),
                             .problem = error.what(),
                             .remedy = "run nvidia-smi to see its state"});
    }
  }
  list.devices.push_back(facts_of(host_device()));
  return list;
}

}  // namespace sinter::command
