#include "runtime/nvrtc_units.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/prelude.h"
#include "runtime/nvrtc.h"
#include "sinter/error.h"

namespace sinter {

namespace {

const Nvrtc& opened() {
  if (!nvrtc().nvrtc) throw DriverError(nvrtc().why_not);
  return *nvrtc().nvrtc;
}

/// `arch` itself, or, for a GPU newer than this NVRTC, the newest it knows: as PTX, which the
/// driver compiles.
std::string known_arch(const Nvrtc& compiler, const std::string& arch) {
  if (!arch.starts_with("sm_")) return arch;
  const int number = std::atoi(arch.c_str() + 3);
  const std::vector<int>& known = compiler.architectures();
  if (known.empty() || std::ranges::count(known, number)) return arch;
  const int newest = *std::ranges::max_element(known);
  return number > newest ? fmt::format("compute_{}", newest) : arch;
}

CubinReport report_of(const NvrtcOutput& output, const std::string& entry,
                      const std::string& arch) {
  CubinReport report{.arch = arch,
                     .cubin_bytes = static_cast<std::int64_t>(output.cubin.size()),
                     .compile_ms = output.milliseconds};
  const auto kernel = std::ranges::find(output.kernels, entry, &KernelResources::entry);
  if (kernel == output.kernels.end()) return report;
  report.registers = kernel->registers;
  report.spill_bytes = static_cast<int>(kernel->spill_bytes);
  report.instructions = kernel->instructions;
  return report;
}

}  // namespace

NvrtcUnit compile_unit(std::span<const Source> sources, const std::string& wanted_arch) {
  const Nvrtc& compiler = opened();
  const std::string arch = known_arch(compiler, wanted_arch);
  std::vector<SourcePart> parts;
  for (const Source& source : sources) parts.push_back({source.entry, source.text});
  NvrtcOutput output = compiler.compile(prelude_text(Prelude::cuda), parts, arch);

  NvrtcUnit unit{.milliseconds = output.milliseconds};
  for (const Source& source : sources)
    unit.reports.push_back(report_of(output, source.entry, arch));
  unit.ptx = std::move(output.ptx);
  if (!output.cubin.empty()) {
    unit.image = std::move(output.cubin);
  } else {
    const auto* text = reinterpret_cast<const std::byte*>(unit.ptx.c_str());
    unit.image.assign(text, text + unit.ptx.size() + 1);  // the driver wants the final zero
  }
  return unit;
}

std::string nvrtc_version() { return opened().version_text(); }

std::string why_no_nvrtc() { return nvrtc().why_not; }

}  // namespace sinter
