#include "runtime/compile/host_compiler.h"

#include "codegen/prelude/select_prelude.h"
#include "ir/ops/op.h"
#include "ir/support/elapsed.h"
#include "runtime/compile/compile_failure.h"
#include "runtime/support/atomic_file.h"
#include "runtime/support/environment.h"
#include "sinter/error.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sinter {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFlags[] = {
    "-std=c++17", "-fPIC", "-shared", "-w",
    // Round as recorded, and define overflow and aliasing as CUDA does.
    "-ffp-contract=off", "-fwrapv", "-fno-strict-aliasing",
    // Kernels need no runtime support of C++.
    "-fno-exceptions", "-fno-rtti", "-fno-math-errno", "-fno-trapping-math",
    "-fno-asynchronous-unwind-tables", "-fno-stack-protector", "-fvisibility=hidden", "-fno-plt",
    // Kernels touch each page of a frame in order, so that a large one cannot skip the guard page
    // below its stack (runtime/driver/host/execution/fiber.h).
    "-fstack-clash-protection", "--param=stack-clash-protection-guard-size=12", "-nostdlib"};
constexpr const char* kOptimized = "-O3";  // -O2 makes no vector code of loops of unknown length
constexpr const char* kLibraries[] = {"-lm", "-lc", "-lgcc"};

/// A hint for users of CUDA-specific functions and types.
constexpr const char* kPortable =
    "The host device runs the portable subset of custom ops: C++ and the C library functions that "
    "ops use; CUDA's own types and functions, such as float4, __expf and sinpif, are for GPUs "
    "only.\n";

/// Flags against constant folding of library functions. A compiler that finds an argument to be
/// constant, for example in a branch, may compute other bits than the library. Only functions that
/// may be off by an ulp need this.
std::vector<std::string> library_flags() {
  std::vector<std::string> flags;
  for (const OpInfo& row : op_table()) {
    const std::size_t end = row.cuda.find("{f}(");
    if (row.kind != OpKind::elementwise || row.ulp == 0 || end == row.cuda.npos) continue;
    for (const std::string_view suffix : {"", "f"})
      flags.push_back(fmt::format("-fno-builtin-{}{}", row.cuda.substr(0, end), suffix));
  }
  return flags;
}

/// Flags that only GCC has. Vector code needs selections. The pass would merge them into branches
/// with many targets.
std::vector<std::string> flags_of_gcc(std::string_view compiler) {
  if (compiler.find("clang") != compiler.npos) return {};
  return {"-fno-thread-jumps"};
}

/// A temporary folder, removed with its contents by the destructor.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_((fs::temp_directory_path() / "sinter-XXXXXX").string()) {
    if (!mkdtemp(path_.data()))
      throw CompileError("host compiler: cannot create a folder in " +
                         fs::temp_directory_path().string() + "; set TMPDIR to a writable folder");
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    try {
      std::error_code ignored;
      fs::remove_all(path_, ignored);
    } catch (...) {  // out of memory: the folder remains
    }
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

#if defined(__x86_64__)
/// The levels of the x86-64 psABI that have larger vectors, the most common one first. A processor
/// of a level runs the kernels of all levels before it.
constexpr std::array<std::string_view, 3> kMachines = {"x86-64", "x86-64-v3", "x86-64-v4"};

/// The index of this machine's level.
std::size_t level_of_machine() {
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                        __builtin_cpu_supports("bmi2");
  const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512cd") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (!has_avx2) return 0;
  return has_avx512 ? 2 : 1;
}
#else
constexpr std::array<std::string_view, 1> kMachines = {"aarch64"};
std::size_t level_of_machine() { return 0; }
#endif

constexpr std::size_t kPortableLevel = 1;

/// The flag for an instruction set.
std::string machine_flag(std::string_view machine) {
#if defined(__x86_64__)
  return fmt::format("-march={}", machine);
#else
  return "-fPIC";  // nothing to add
#endif
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// The number of kernels in a translation unit of HostCompiler::text.
int kernels_in(std::string_view unit) {
  int count = 0;
  for (std::size_t at = 0; (at = unit.find("\nSINTER_KERNEL(", at)) != unit.npos; ++at) ++count;
  return count;
}

}  // namespace

std::string_view host_machine() { return kMachines[level_of_machine()]; }

std::string_view portable_host_machine() {
  return kMachines[std::min(level_of_machine(), kPortableLevel)];
}

bool runs_host_machine(std::string_view machine) {
  const std::span runnable = std::span(kMachines).first(level_of_machine() + 1);
  return std::ranges::find(runnable, machine) != runnable.end();
}

std::string find_host_compiler(const std::string& name) {
  const std::string chosen = environment_variable("SINTER_HOST_CXX");
  std::vector<std::string> names = {"c++", "g++", "clang++"};
  if (!chosen.empty()) names = {chosen};
  if (!name.empty()) names = {name};
  for (const std::string& candidate : names)
    if (std::string path = find_program(candidate); !path.empty()) return path;
  throw CompileError(
      fmt::format("host compiler: {} cannot be found; install g++ or set "
                  "SINTER_HOST_CXX to a C++ compiler",
                  fmt::join(names, ", ")));
}

HostCompiler::HostCompiler() : HostCompiler(Options{}) {}

HostCompiler::HostCompiler(const Options& options)
    : command_(find_host_compiler(options.command)),
      time_limit_(options.time_limit),
      name_(options.name) {
  if (name_.empty()) {
    const std::vector<std::string> arguments = {command_, "--version"};
    const ProcessResult result = run_process(arguments, "", time_limit_);
    if (result.exit_code != 0)
      throw CompileError(fmt::format("host compiler: {} --version fails: {}", command_,
                                     first_line(result.output)));
    name_ = first_line(result.output);
  }
  version_ = fmt::format("{} {} {} {} {} {}", name_, fmt::join(kFlags, " "),
                         fmt::join(library_flags(), " "), fmt::join(flags_of_gcc(name_), " "),
                         machine_flag(host_machine()), kOptimized);
}

std::string HostCompiler::prelude_of(std::span<const HostKernel> kernels) {
  std::vector<std::string_view> texts;
  for (const HostKernel& kernel : kernels) texts.push_back(kernel.text);
  return prelude_for(texts, Prelude::host);
}

std::string HostCompiler::text(std::string_view prelude, std::span<const HostKernel> kernels) {
  std::string unit = fmt::format("#line 1 \"prelude\"\n{}\n", prelude);
  for (const HostKernel& kernel : kernels) {
    unit += fmt::format("#line 1 \"{}\"\n{}\n", kernel.entry, kernel.text);
    unit += fmt::format("SINTER_KERNEL({}, {}, {})\n", kernel.entry, kernel.threads,
                        kernel.has_barrier);
  }
  return unit;
}

ProcessResult HostCompiler::run(const std::string& text, const HostBuild& build,
                                const std::string& folder) const {
  const std::string path = folder + "/kernels.cpp";
  if (const int error = write_whole_file(path, bytes_of(text), Durability::process))
    throw CompileError(
        fmt::format("host compiler: {} cannot be written: {}", path, std::strerror(error)));
  std::vector<std::string> arguments = {command_};
  arguments.insert(arguments.end(), std::begin(kFlags), std::end(kFlags));
  for (const std::vector<std::string>& flags : {library_flags(), flags_of_gcc(name_)})
    arguments.insert(arguments.end(), flags.begin(), flags.end());
  arguments.push_back(machine_flag(build.portable ? portable_host_machine() : host_machine()));
  arguments.push_back(build.optimize ? kOptimized : "-O0");
  if (build.count) arguments.push_back("-DSINTER_COUNT=1");
  arguments.insert(arguments.end(), {"-o", "kernels.so", "kernels.cpp"});
  arguments.insert(arguments.end(), std::begin(kLibraries), std::end(kLibraries));
  return run_process(arguments, folder, time_limit_ * std::max(kernels_in(text), 1));
}

HostImage HostCompiler::compile(std::string_view prelude, std::span<const HostKernel> kernels,
                                const HostBuild& build) const {
  const auto start = std::chrono::steady_clock::now();
  const TemporaryFolder folder;
  const ProcessResult result = run(text(prelude, kernels), build, folder.path());
  if (result.timed_out)
    throw CompileError(fmt::format(
        "host compiler: {} kernel{}, beginning with {}, took longer than {} ms each; {}",
        kernels.size(), kernels.size() == 1 ? "" : "s", kernels.empty() ? "none" : kernels[0].entry,
        time_limit_.count(), name_));
  if (result.exit_code != 0) {
    std::vector<SourcePart> parts = {{"prelude", prelude}};
    for (const HostKernel& kernel : kernels) parts.push_back({kernel.entry, kernel.text});
    const std::string foot = (has_custom_op(parts) ? kPortable : "") + name_;
    throw CompileError(explain_compile_failure("host compiler", "", parts, result.output, foot));
  }
  const double milliseconds = milliseconds_since(start);
  return {.image = read_whole_file(folder.path() + "/kernels.so").bytes,
          .milliseconds = milliseconds};
}

HostImage HostCompiler::compile_text(const std::string& text, const HostBuild& build) const {
  const TemporaryFolder folder;
  const ProcessResult result = run(text, build, folder.path());
  if (result.timed_out || result.exit_code != 0)
    throw CompileError("host compiler: a text that compiled before does not compile now; " + name_ +
                       "\n" + result.output);
  return {.image = read_whole_file(folder.path() + "/kernels.so").bytes};
}

}  // namespace sinter
