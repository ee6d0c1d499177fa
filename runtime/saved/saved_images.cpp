#include "runtime/saved/saved_images.h"

#include <functional>

#include <fmt/format.h>

#include "runtime/cache/compiler_identity.h"
#include "runtime/compile/host_compiler.h"
#include "runtime/compile/nvrtc_units.h"
#include "runtime/logging/counting.h"
#include "runtime/logging/trace.h"
#include "runtime/support/parallel.h"
#include "sinter/error.h"

namespace sinter {

namespace {

/// One compiler run: its kernels and the resulting image.
struct CompilerRun {
  std::vector<const Source*> sources;
  std::vector<std::byte> image;
  std::vector<CubinReport> reports;
};

void compile_host(CompilerRun& run, const CompileSettings& settings) {
  std::vector<HostKernel> kernels;
  for (const Source* source : run.sources)
    kernels.push_back({.entry = source->entry,
                       .text = source->text,
                       .threads = source->threads,
                       .has_barrier = source->has_barrier});
  HostBuild build = settings.host;
  build.portable = true;
  run.image = host_compiler(disk_cache(settings.cache))
                  .compile(HostCompiler::prelude_of(kernels), kernels, build)
                  .image;
}

void compile(CompilerRun& run, const std::string& arch, const CompileSettings& settings) {
  const TraceSpan span("compile", [&] {
    return fmt::format("save: {} and {} more functions for {}", run.sources[0]->entry,
                       run.sources.size() - 1, arch);
  });
  count(Count::compiles);
  if (arch == kHostArch) return compile_host(run, settings);
  NvrtcUnit unit = compile_unit(std::span(run.sources[0], 1), nvrtc_arch(arch, settings.ptx));
  run.image = std::move(unit.image);
  run.reports = std::move(unit.reports);
}

/// Distributes the distinct kernels over runs of at most `most` kernels. Kernels with equal names
/// have equal code.
std::vector<CompilerRun> compiler_runs(const std::vector<const Source*>& sources,
                                       std::size_t most) {
  std::map<std::string, const Source*> known;
  std::vector<CompilerRun> runs;
  for (const Source* source : sources) {
    const auto [known_run, is_new] = known.emplace(source->entry, source);
    ensure(is_new || known_run->second->code_key == source->code_key,
           "two different kernels have one name");
    if (!is_new) continue;
    if (runs.empty() || runs.back().sources.size() == most) runs.emplace_back();
    runs.back().sources.push_back(source);
  }
  return runs;
}

}  // namespace

SavedImages compile_images(const std::vector<const Source*>& sources, const std::string& arch,
                           const CompileSettings& settings) {
  std::vector<CompilerRun> runs = compiler_runs(sources, arch == kHostArch ? kKernelsPerRun : 1);
  std::vector<std::function<void()>> jobs;
  for (CompilerRun& run : runs) jobs.push_back([&] { compile(run, arch, settings); });
  run_parallel(jobs);
  SavedImages result;
  for (CompilerRun& run : runs) {
    for (std::size_t i = 0; i < run.sources.size(); ++i) {
      const std::string& entry = run.sources[i]->entry;
      result.image_of[entry] = static_cast<int>(result.images.size());
      if (i < run.reports.size()) result.reports[entry] = run.reports[i];
    }
    result.images.push_back(std::move(run.image));
  }
  return result;
}

}  // namespace sinter
