#include "runtime/compile/nvrtc_units.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "codegen/prelude/select_prelude.h"
#include "compiler/target/target.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/driver/driver.h"
#include "sinter/error.h"

namespace sinter {

namespace {

const Nvrtc& opened(NvrtcChoice& choice) {
  const NvrtcOrReason& current = choice.current();
  if (!current.nvrtc) throw DriverError(current.reason);
  return *current.nvrtc;
}

/// `arch` itself. For a GPU that is newer than this NVRTC, the newest virtual architecture that
/// NVRTC knows: its output is then PTX, which the driver compiles.
std::string known_arch(const Nvrtc& compiler, const std::string& arch) {
  if (!arch.starts_with("sm_")) return arch;
  const int number = compute_capability_of(arch);
  const std::vector<int>& known = compiler.architectures();
  if (known.empty() || std::ranges::count(known, number)) return arch;
  const int newest = *std::ranges::max_element(known);
  return number > newest ? fmt::format("compute_{}", newest) : arch;
}

NvrtcOutput compile_texts(const Nvrtc& compiler, std::span<const Source> sources,
                          std::span<const std::string> texts, const std::string& arch) {
  std::vector<SourcePart> parts;
  for (std::size_t i = 0; i < sources.size(); ++i) parts.push_back({sources[i].entry, texts[i]});
  const std::vector<std::string_view> kernels(texts.begin(), texts.end());
  return compiler.compile(prelude_for(kernels), parts, arch);
}

/// Sets the minimum of blocks per SM in the launch bounds of kernels that spill: one less than the
/// kernel has, or 1 at `is_last`. False if there is none to change.
bool lower_min_blocks(std::span<const Source> sources, std::span<std::string> texts,
                      const NvrtcOutput& output, const std::string& arch, bool is_last) {
  const Target* const target = find_target(arch);
  bool any = false;
  for (std::size_t i = 0; target && i < sources.size(); ++i) {
    const Source& source = sources[i];
    const auto kernel = output.kernels.find(source.entry);
    if (kernel == output.kernels.end() || kernel->second.spill_bytes == 0) continue;
    const int blocks =
        blocks_per_sm(*target, source.threads, kernel->second.registers, /*shared_bytes=*/0);
    if (blocks < 2) continue;
    const std::string bounds = fmt::format("__launch_bounds__({}", source.threads);
    const std::size_t begin = source.text.find(bounds);
    ensure(begin != std::string::npos, "kernel " + source.entry + " has no launch bounds");
    const std::size_t end = source.text.find(')', begin);
    texts[i] = source.text;
    texts[i].replace(begin, end - begin, fmt::format("{}, {}", bounds, is_last ? 1 : blocks - 1));
    any = true;
  }
  return any;
}

/// Compiles kernels. A kernel that spills is compiled again with a minimum of blocks per SM, at
/// most three times. Without it, ptxas spills rather than fit fewer blocks on an SM.
NvrtcOutput compile_without_spills(const Nvrtc& compiler, std::span<const Source> sources,
                                   const std::string& arch) {
  std::vector<std::string> texts;
  for (const Source& source : sources) texts.push_back(source.text);
  NvrtcOutput output = compile_texts(compiler, sources, texts, arch);
  for (const bool is_last : {false, false, true}) {
    if (!lower_min_blocks(sources, texts, output, arch, is_last)) break;
    const double milliseconds = output.milliseconds;
    output = compile_texts(compiler, sources, texts, arch);
    output.milliseconds += milliseconds;
  }
  return output;
}

NvrtcUnit compile_unit_with(const Nvrtc& compiler, std::span<const Source> sources,
                            const std::string& wanted_arch) {
  const std::string arch = known_arch(compiler, wanted_arch);
  NvrtcOutput output = compile_without_spills(compiler, sources, arch);

  NvrtcUnit unit{.milliseconds = output.milliseconds, .compiler = &compiler};
  for (const Source& source : sources) {
    unit.entries.push_back(source.entry);
    CubinReport& report = unit.reports.emplace_back();
    if (const auto known = output.kernels.find(source.entry); known != output.kernels.end())
      report = known->second;
    report.arch = arch;
    report.cubin_bytes = static_cast<std::int64_t>(output.cubin.size());
    report.compile_ms = output.milliseconds;
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

}  // namespace

NvrtcUnit compile_unit(std::span<const Source> sources, const std::string& arch) {
  return compile_unit_with(opened(nvrtc_choice()), sources, arch);
}

NvrtcUnit compile_and_load(NvrtcChoice& choice, std::span<const Source> sources,
                           const std::string& arch,
                           const std::function<void(const NvrtcUnit&)>& load) {
  const Nvrtc& first = opened(choice);
  for (const Nvrtc* compiler = &first;;) {
    NvrtcUnit unit = compile_unit_with(*compiler, sources, arch);
    try {
      load(unit);
      if (compiler != &first) choice.use(*compiler);
      return unit;
    } catch (const DriverError& error) {
      if (!is_image_unknown(static_cast<cuda::CUresult>(error.code()))) throw;
      compiler = choice.after(*compiler);
      if (!compiler) throw DriverError(error.what() + choice.advice_on(first), error.code());
    }
  }
}

std::string nvrtc_arch(std::string_view arch, bool ptx) {
  if (!ptx || !arch.starts_with("sm_")) return std::string(arch);
  return fmt::format("compute_{}", arch.substr(3));
}

std::string nvrtc_problem() { return nvrtc().reason; }

}  // namespace sinter
