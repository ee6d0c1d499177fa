#include "runtime/compile/nvrtc_units.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "codegen/prelude/select_prelude.h"
#include "compiler/target/target.h"
#include "runtime/compile/nvrtc.h"
#include "sinter/error.h"

namespace sinter {

namespace {

const Nvrtc& opened() {
  if (!nvrtc().nvrtc) throw DriverError(nvrtc().reason);
  return *nvrtc().nvrtc;
}

/// `arch` itself. For a GPU that is newer than this NVRTC, the newest virtual architecture that
/// NVRTC knows: its output is then PTX, which the driver compiles.
std::string known_arch(const Nvrtc& compiler, const std::string& arch) {
  if (!arch.starts_with("sm_")) return arch;
  const int number = std::atoi(arch.c_str() + 3);
  const std::vector<int>& known = compiler.architectures();
  if (known.empty() || std::ranges::count(known, number)) return arch;
  const int newest = *std::ranges::max_element(known);
  return number > newest ? fmt::format("compute_{}", newest) : arch;
}

CubinReport cubin_report(const NvrtcOutput& output, const std::string& entry,
                         const std::string& arch) {
  CubinReport report{.arch = arch,
                     .cubin_bytes = static_cast<std::int64_t>(output.cubin.size()),
                     .compile_ms = output.milliseconds};
  const auto kernel = std::ranges::find(output.kernels, entry, &KernelResources::entry);
  if (kernel == output.kernels.end()) return report;
  report.registers = kernel->registers;
  report.spill_bytes = static_cast<int>(kernel->spill_bytes);
  report.instructions = kernel->instructions;
  report.loads_in_flight = kernel->loads_in_flight.loads;
  report.bytes_in_flight = kernel->loads_in_flight.bytes;
  report.loads_before_wait = kernel->loads_before_wait;
  return report;
}

/// Compiles kernels. A kernel that spills is compiled again with a minimum of blocks per SM in its
/// launch bounds. The minimum is one less than the kernel has, at most twice, and then 1. Without
/// it, ptxas spills rather than fit fewer blocks on an SM.
class SpillRetry {
 public:
  SpillRetry(std::span<const Source> sources, std::string arch)
      : sources_(sources), arch_(std::move(arch)) {
    for (const Source& source : sources) texts_.push_back(source.text);
  }

  NvrtcOutput run() {
    NvrtcOutput output = compile();
    double milliseconds = output.milliseconds;
    for (const bool is_last : {false, false, true}) {
      if (!lower_min_blocks(output, is_last)) break;
      output = compile();
      milliseconds += output.milliseconds;
    }
    output.milliseconds = milliseconds;
    return output;
  }

 private:
  NvrtcOutput compile() const {
    std::vector<SourcePart> parts;
    for (std::size_t i = 0; i < sources_.size(); ++i)
      parts.push_back({sources_[i].entry, texts_[i]});
    const std::vector<std::string_view> kernels(texts_.begin(), texts_.end());
    return opened().compile(prelude_for(kernels), parts, arch_);
  }

  /// Sets the minimum of blocks per SM in kernels that spill. False if there is none to change.
  bool lower_min_blocks(const NvrtcOutput& output, bool is_last) {
    const Target* const target = find_target(arch_);
    bool any = false;
    for (std::size_t i = 0; target && i < sources_.size(); ++i) {
      const Source& source = sources_[i];
      const auto kernel = std::ranges::find(output.kernels, source.entry, &KernelResources::entry);
      if (kernel == output.kernels.end() || kernel->spill_bytes == 0) continue;
      const int blocks =
          blocks_per_sm(*target, source.threads, kernel->registers, /*shared_bytes=*/0);
      if (blocks < 2) continue;
      const std::string bounds = fmt::format("__launch_bounds__({}", source.threads);
      const std::size_t begin = source.text.find(bounds);
      ensure(begin != std::string::npos, "kernel " + source.entry + " has no launch bounds");
      const std::size_t end = source.text.find(')', begin);
      texts_[i] = source.text;
      texts_[i].replace(begin, end - begin,
                        fmt::format("{}, {}", bounds, is_last ? 1 : blocks - 1));
      any = true;
    }
    return any;
  }

  std::span<const Source> sources_;
  std::string arch_;
  std::vector<std::string> texts_;
};

}  // namespace

NvrtcUnit compile_unit(std::span<const Source> sources, const std::string& wanted_arch) {
  const Nvrtc& compiler = opened();
  const std::string arch = known_arch(compiler, wanted_arch);
  NvrtcOutput output = SpillRetry(sources, arch).run();

  NvrtcUnit unit{.milliseconds = output.milliseconds};
  for (const Source& source : sources) {
    unit.entries.push_back(source.entry);
    unit.reports.push_back(cubin_report(output, source.entry, arch));
  }
  unit.ptx = std::move(output.ptx);
  if (!output.cubin.empty()) {
    unit.image = std::move(output.cubin);
  } else {
    const auto* text = reinterpret_cast<const std::byte*>(unit.ptx.c_str());
    unit.image.assign(text, text + unit.ptx.size() + 1);  // the driver wants the final zero
  }
  return unit;
}

std::string nvrtc_problem() { return nvrtc().reason; }

}  // namespace sinter
