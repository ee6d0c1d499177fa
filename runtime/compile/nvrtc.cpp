#include "runtime/compile/nvrtc.h"

#include "compiler/target/target.h"
#include "ir/support/elapsed.h"
#include "runtime/support/library_file.h"
#include "sinter/error.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sinter {
namespace {

using namespace cuda;

constexpr int kHasMinimal = 12040;
constexpr int kHasNoCache = 12090;

/// Fills the table. False if an entry is missing.
bool fill_table(NvrtcTable& table, void* library) {
  bool is_complete = true;
#define SYMBOL(RESULT, NAME, PARAMETERS) is_complete &= find_symbol(library, #NAME, table.NAME);
#include "runtime/compile/nvrtc_symbols.def"
  return is_complete;
}

/// Owns an NVRTC program.
class NvrtcProgram {
 public:
  NvrtcProgram(const NvrtcTable& table, const std::string& text, std::string context)
      : table_(table), context_(std::move(context)) {
    check(table.nvrtcCreateProgram(&program_, text.c_str(), "kernels.cu", 0, nullptr, nullptr),
          "nvrtcCreateProgram");
  }
  NvrtcProgram(const NvrtcProgram&) = delete;
  NvrtcProgram& operator=(const NvrtcProgram&) = delete;
  ~NvrtcProgram() { table_.nvrtcDestroyProgram(&program_); }

  nvrtcResult compile(std::span<const std::string> options) {
    std::vector<const char*> pointers;
    for (const std::string& option : options) pointers.push_back(option.c_str());
    return table_.nvrtcCompileProgram(program_, static_cast<int>(pointers.size()), pointers.data());
  }
  std::string log() {
    return read(table_.nvrtcGetProgramLogSize, table_.nvrtcGetProgramLog, "nvrtcGetProgramLog");
  }
  std::string ptx() { return read(table_.nvrtcGetPTXSize, table_.nvrtcGetPTX, "nvrtcGetPTX"); }
  std::vector<std::byte> cubin() {
    std::size_t bytes = 0;
    check(table_.nvrtcGetCUBINSize(program_, &bytes), "nvrtcGetCUBINSize");
    std::vector<std::byte> result(bytes);
    if (bytes)
      check(table_.nvrtcGetCUBIN(program_, reinterpret_cast<char*>(result.data())),
            "nvrtcGetCUBIN");
    return result;
  }
  /// Throws DriverError if the call failed.
  void check(nvrtcResult result, std::string_view call) const {
    if (result == NVRTC_SUCCESS) return;
    throw DriverError(
        fmt::format("{} failed for {}: {}", call, context_, table_.nvrtcGetErrorString(result)),
        static_cast<int>(result));
  }

 private:
  /// Reads a text whose size includes a final zero.
  std::string read(nvrtcResult (*get_size)(nvrtcProgram, std::size_t*),
                   nvrtcResult (*get)(nvrtcProgram, char*), std::string_view call) {
    std::size_t bytes = 0;
    check(get_size(program_, &bytes), call);
    if (bytes == 0) return {};
    std::string text(bytes, '\0');
    check(get(program_, text.data()), call);
    text.resize(bytes - 1);
    return text;
  }

  const NvrtcTable& table_;
  std::string context_;  ///< the compiled kernels, for errors
  nvrtcProgram program_ = nullptr;
};

/// `kernels softmax_0 and 3 more for sm_90`
std::string describe(std::span<const SourcePart> kernels, std::string_view architecture) {
  if (kernels.empty()) return fmt::format("no kernel for {}", architecture);
  const std::string more =
      kernels.size() == 1 ? "" : fmt::format(" and {} more", kernels.size() - 1);
  return fmt::format("kernel {}{} for {}", kernels[0].name, more, architecture);
}

std::string write_program(std::string_view prelude, std::span<const SourcePart> kernels) {
  std::string text = fmt::format("#line 1 \"prelude\"\n{}\n", prelude);
  for (const SourcePart& kernel : kernels)
    text += fmt::format("#line 1 \"{}\"\n{}\n", kernel.name, kernel.text);
  return text;
}

std::string version_name(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

/// Libraries are never closed, so their Nvrtc objects are never destroyed.
const Nvrtc* keep_nvrtc(std::unique_ptr<const Nvrtc> nvrtc) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<std::unique_ptr<const Nvrtc>>;
  const std::lock_guard lock(mutex);
  return kept->emplace_back(std::move(nvrtc)).get();
}

}  // namespace

NvrtcOutput Nvrtc::compile(std::string_view prelude, std::span<const SourcePart> kernels,
                           const std::string& architecture) const {
  check_architecture(architecture);
  const auto start = std::chrono::steady_clock::now();
  NvrtcProgram program(table_, write_program(prelude, kernels), describe(kernels, architecture));
  const nvrtcResult result = program.compile(options(architecture));
  NvrtcOutput output{.log = program.log()};
  if (result == NVRTC_ERROR_COMPILATION || result == NVRTC_ERROR_INVALID_OPTION) {
    std::vector<SourcePart> parts = {{"prelude", prelude}};
    parts.insert(parts.end(), kernels.begin(), kernels.end());
    throw CompileError(
        explain_compile_failure("nvrtc", " for " + architecture, parts, output.log, version_text_));
  }
  program.check(result, fmt::format("nvrtcCompileProgram (its log: {})", output.log));
  output.ptx = program.ptx();
  if (architecture.starts_with("sm_")) {
    output.cubin = program.cubin();
    output.kernels = read_resources(output.cubin, output.log);
  }
  output.milliseconds = milliseconds_since(start);
  return output;
}

std::vector<std::string> Nvrtc::options(const std::string& architecture) const {
  // -v makes ptxas report spills. The other options serve the numerics contract and compile time.
  std::vector<std::string> options = {"--gpu-architecture=" + architecture, "--std=c++17",
                                      "--fmad=false", "--ptxas-options=-v"};
  if (version_ >= kHasMinimal) options.push_back("--minimal");
  if (version_ >= kHasNoCache) options.push_back("--no-cache");
  return options;
}

void Nvrtc::check_architecture(const std::string& architecture) const {
  const int number = compute_capability_of(architecture);
  const bool is_kind = architecture.starts_with("sm_") || architecture.starts_with("compute_");
  if (is_kind && std::ranges::find(architectures_, number) != architectures_.end()) return;
  throw UserError(fmt::format("architecture {}: nvrtc {} compiles for sm_{}", architecture,
                              version_name(version_), fmt::join(architectures_, ", sm_")));
}

NvrtcOrReason open_nvrtc(const std::string& library) {
  const auto fails = [&](const std::string& why) {
    return NvrtcOrReason{.reason = fmt::format("NVRTC {} {}", library, why)};
  };
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) return fails(fmt::format("cannot be opened ({})", dlerror()));

  auto nvrtc = std::make_unique<Nvrtc>();
  int major = 0, minor = 0;
  const bool is_complete = fill_table(nvrtc->table_, handle);
  if (!nvrtc->table_.nvrtcVersion || nvrtc->table_.nvrtcVersion(&major, &minor) != NVRTC_SUCCESS)
    return fails("does not report its version");
  nvrtc->version_ = major * 1000 + minor * 10;
  if (!is_complete || nvrtc->version_ < kMinimumNvrtc)
    return fails(fmt::format("is version {}, sinter needs {} or later",
                             version_name(nvrtc->version_), version_name(kMinimumNvrtc)));
  int count = 0;
  if (nvrtc->table_.nvrtcGetNumSupportedArchs(&count) != NVRTC_SUCCESS)
    return fails("does not report its architectures");
  nvrtc->architectures_.resize(static_cast<std::size_t>(count));
  if (nvrtc->table_.nvrtcGetSupportedArchs(nvrtc->architectures_.data()) != NVRTC_SUCCESS)
    return fails("does not report its architectures");
  LibraryFile file = library_file(handle);
  nvrtc->version_text_ = fmt::format("nvrtc {}, build {}, {}", version_name(nvrtc->version_),
                                     file.id, fmt::join(nvrtc->options("sm_0"), " "));
  nvrtc->path_ = std::move(file.path);
  return {.nvrtc = keep_nvrtc(std::move(nvrtc))};
}

}  // namespace sinter
