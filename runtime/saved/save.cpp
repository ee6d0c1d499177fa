// Executable::save: compiles the kernels for each architecture and writes them to one file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "compiler/simplify/graph_sweep.h"
#include "ir/shape/extent.h"
#include "ir/text/print.h"
#include "runtime/cache/compiler_identity.h"
#include "runtime/compile/host_compiler.h"
#include "runtime/device/nearest_target.h"
#include "runtime/execution/make_variant.h"
#include "runtime/execution/variant_report.h"
#include "runtime/logging/debug_log.h"
#include "runtime/logging/trace.h"
#include "runtime/saved/read_saved.h"
#include "runtime/saved/saved_images.h"
#include "runtime/saved/saved_program.h"
#include "runtime/support/atomic_file.h"
#include "runtime/tuning/measure_candidates.h"
#include "sinter/error.h"
#include "sinter/text.h"

namespace sinter {

namespace {

using Variants = std::vector<std::shared_ptr<const Variant>>;

[[noreturn]] void fail_save(const ExecutableState& state, const std::string& message) {
  throw UserError(fmt::format("save {}: {} (compiled at {})", state.interface.name, message,
                              state.interface.compiled_at));
}

/// An architecture to save kernels for.
struct SaveTarget {
  std::string arch;
  Target target;
  bool is_own = false;  ///< of the executable's device, whose tuned variants exist already
};

SaveTarget own_target(const ExecutableState& state) {
  const std::string arch =
      state.device.is_host ? std::string(kHostArch) : std::string(state.source->target.arch);
  return {.arch = arch, .target = state.source->target, .is_own = true};
}

/// The name of the executable's GPU among the known targets; empty if only its architecture is
/// known.
std::string_view known_gpu_name(const ExecutableState& state) {
  const Target& target = state.source->target;
  const NearestTarget nearest = nearest_target(target.name, target.arch);
  return nearest.is_named ? nearest.target->name : std::string_view();
}

SaveTarget find_save_target(const ExecutableState& state, const std::string& name) {
  const SaveTarget own = own_target(state);
  if (name == own.arch || (!state.device.is_host && !name.empty() && name == known_gpu_name(state)))
    return own;
  if (name == kHostArch)
    fail_save(state, fmt::format("options.archs has host, but the program was compiled for {}; "
                                 "save one that is compiled for host_device()",
                                 state.device.name));
  const Target* const target = find_target(name);
  if (target && !target->is_cpu) return {.arch = std::string(target->arch), .target = *target};
  std::vector<std::string_view> known = {kHostArch};
  for (const std::string_view word : known_archs_and_names())
    if (word != cpu_target().name) known.push_back(word);
  fail_save(state,
            fmt::format("options.archs has {}, which is neither an architecture nor a GPU that "
                        "sinter knows; it knows {}",
                        name, fmt::join(known, ", ")));
}

std::vector<SaveTarget> targets_of(const ExecutableState& state, const SaveOptions& options) {
  if (options.archs.empty()) return {own_target(state)};
  std::vector<SaveTarget> targets;
  for (std::size_t i = 0; i < options.archs.size(); ++i) {
    const std::string& name = options.archs[i];
    SaveTarget target = find_save_target(state, name);
    const bool is_known = std::ranges::count(std::span(options.archs).first(i), name) > 0;
    // The device's target is in the list already, under its other name.
    if (!is_known && target.is_own && std::ranges::count(targets, true, &SaveTarget::is_own))
      continue;
    targets.push_back(std::move(target));
    const auto same = std::ranges::count(targets, targets.back().arch, &SaveTarget::arch);
    if (same > 1)
      fail_save(state, fmt::format("options.archs has {} twice; name one GPU of each architecture",
                                   targets.back().arch));
  }
  return targets;
}

/// A variant without loaded functions, for a GPU that may not be present.
struct PlannedVariant {
  std::shared_ptr<Variant> variant;
  VariantRequest request;
};

/// Plans `variants` for another target. Several of them may belong to one size class there, so the
/// result may be shorter.
std::vector<PlannedVariant> plan_variants_for(const ExecutableState& state,
                                              const Variants& variants, const Target& target) {
  Options options = state.options;
  options.tune = Tune::off;
  options.force_candidate = -1;
  options.dump.clear();
  VariantSource source(state.device, clone(state.source->graph), target, options,
                       state.source->functions);
  std::vector<PlannedVariant> planned;
  for (const std::shared_ptr<const Variant>& own : variants) {
    VariantRequest request{.symbols = own->program.facts.symbols,
                           .alignment = own->alignment,
                           .unwritten_outputs = own->unwritten_outputs,
                           .reason = own->report.reason};
    const VariantNeed need{request.symbols, request.alignment, request.unwritten_outputs};
    if (std::ranges::any_of(
            planned, [&](const PlannedVariant& other) { return serves(*other.variant, need); }))
      continue;
    EmittedVariant emitted = plan_and_emit(source, request);
    auto variant = std::make_shared<Variant>();
    variant->program = std::move(emitted.program);
    variant->alignment = request.alignment;
    variant->unwritten_outputs = request.unwritten_outputs;
    for (std::size_t i = 0; i < emitted.kernels.size(); ++i) {
      EmittedKernel& kernel = emitted.kernels[i];
      variant->kernels.push_back(
          {.source = std::move(kernel.sources[0]), .schedule = kernel.schedules[0]});
      if (kernel.is_call)
        variant->kernels.back().opaque = std::make_shared<OpaqueBinding>(
            describe_call(variant->program, variant->program.kernels[i]), source.functions,
            state.device);
    }
    planned.push_back({.variant = std::move(variant), .request = std::move(request)});
  }
  return planned;
}

/// Adds a report with NVRTC's data on the kernels to a variant that was not tuned on a device.
void add_report(PlannedVariant& planned, const SavedImages& images) {
  std::vector<CompileResult> compiled;
  std::vector<TuneResult> tuned;
  for (const VariantKernel& kernel : planned.variant->kernels) {
    if (kernel.opaque) {
      compiled.emplace_back();
      tuned.emplace_back().summary = kCallTuning;
      continue;
    }
    const CubinReport& report = images.reports.at(kernel.source.entry);
    auto unit = std::make_shared<CompiledUnit>();
    unit->functions.push_back({.registers = report.registers, .spill_bytes = report.spill_bytes});
    unit->cubins.push_back(report);
    compiled.push_back({.unit = std::move(unit), .was_cached = true});
    tuned.push_back({.candidates = {{.schedule = to_string(kernel.schedule), .chosen = true}},
                     .summary = "saved for a GPU that was not available: the default schedule"});
  }
  planned.variant->report = report_of(*planned.variant, planned.request, compiled, tuned);
}

std::vector<const Source*> sources_of(const Variants& variants) {
  std::vector<const Source*> sources;
  for (const std::shared_ptr<const Variant>& variant : variants)
    for (const VariantKernel& kernel : variant->kernels)
      if (!kernel.opaque) sources.push_back(&kernel.source);
  return sources;
}

SavedKernels kernels_to_save(const ExecutableState& state, const Variants& own,
                             const SaveTarget& target) {
  std::vector<PlannedVariant> planned;
  Variants variants = own;
  if (!target.is_own) {
    planned = plan_variants_for(state, own, target.target);
    variants.assign(planned.size(), nullptr);
    std::ranges::transform(planned, variants.begin(), &PlannedVariant::variant);
  }
  SavedImages images =
      compile_images(sources_of(variants), target.arch, compile_settings(*state.source));
  for (PlannedVariant& variant : planned) add_report(variant, images);

  SavedKernels kernels{.arch = target.arch, .target = std::string(target.target.name)};
  if (target.arch == kHostArch) {
    kernels.host_machine_level = portable_host_machine();
    kernels.host_prelude_hash = prelude_hash(Prelude::host);
  }
  kernels.images = std::move(images.images);
  for (const std::shared_ptr<const Variant>& variant : variants) {
    SavedVariant& saved = kernels.variants.emplace_back();
    saved.variant = *variant;
    saved.sizes = variant->program.facts.symbols;
    for (const VariantKernel& kernel : variant->kernels) {
      if (kernel.opaque)
        saved.calls.push_back(
            {.kernel = static_cast<int>(saved.images.size()), .call = kernel.opaque->call()});
      saved.images.push_back(kernel.opaque ? -1 : images.image_of.at(kernel.source.entry));
    }
  }
  return kernels;
}

/// True if callers bind equal arrays to both, except for sizes.
bool have_equal_interfaces(const Interface& a, const Interface& b) {
  return std::ranges::equal(a.slots, b.slots, [](const Slot& x, const Slot& y) {
    return x.kind == y.kind && x.dtype == y.dtype && x.shape.size() == y.shape.size() &&
           x.is_written == y.is_written && x.view.has_value() == y.view.has_value();
  });
}

SavedProgram program_of(const ExecutableState& state, const Variants& variants) {
  const VariantSource& source = *state.source;
  SavedProgram program{
      .graph = print(source.graph),
      .name = std::string(source.graph.name()),
      .symbols = state.interface.symbols,
      .numerics = {.rounding = source.options.rounding, .math = source.options.math},
      .fuse = source.options.fuse,
      .skip = source.options.skip,
      .bucket_bytes = source.options.bucket_bytes,
      .recorded_ops = variants[0]->program.recorded_ops};
  for (const InputInfo& input : source.graph.data().inputs) program.inputs.push_back(input.name);
  for (const OutputInfo& output : source.graph.data().outputs)
    program.outputs.push_back(output.name);
  for (const auto& [name, function] : source.functions)
    program.functions.push_back({.name = name,
                                 .version = function->version,
                                 .has_workspace = function->workspace != nullptr});
  const Graph read = parse(program.graph);
  ensure(print(read) == program.graph &&
             have_equal_interfaces(interface_of(read, {}), state.interface),
         "a printed graph does not parse to the same graph");
  return program;
}

/// The result of `read`. Rethrows its UserErrors as errors of options.tuned_elsewhere.
template <class Read>
auto read_elsewhere(const ExecutableState& state, Read read) {
  try {
    return read();
  } catch (const UserError& error) {
    constexpr std::string_view kLoad = "load: ";
    std::string_view what = error.what();
    if (what.starts_with(kLoad)) what.remove_prefix(kLoad.size());
    fail_save(state, fmt::format("options.tuned_elsewhere: {}", what));
  }
}

/// Adds the kernels of the file `path`, which must hold the same program, saved on another machine.
void add_kernels_of(const ExecutableState& state, const std::string& path,
                    std::vector<SavedSection>& sections) {
  const auto file = read_elsewhere(state, [&] { return map_trusted_file(path); });
  const SavedExecutable saved =
      read_elsewhere(state, [&] { return read_saved(file->bytes(), path); });
  if (pack(saved.program) != sections[0].bytes)
    fail_save(state,
              fmt::format("options.tuned_elsewhere has {}, which holds another program ({}); save "
                          "this one on the other machine",
                          path, saved.program.name));
  for (std::size_t i = 0; i < saved.archs.size(); ++i) {
    const std::string& arch = saved.archs[i];
    if (std::ranges::count(sections, arch, &SavedSection::name))
      fail_save(state, fmt::format("options.tuned_elsewhere has {}, with kernels for {}, which the "
                                   "file has already; leave one of them out",
                                   path, arch));
    // Throws if the kernels could not be loaded.
    read_elsewhere(state, [&] { return read_kernels(saved, i, path); });
    const std::span<const std::byte> bytes = saved.sections[i].bytes;
    sections.push_back(
        {.kind = kKernelsSection, .name = arch, .bytes = {bytes.begin(), bytes.end()}});
  }
}

void write_file(const ExecutableState& state, const std::string& path,
                std::span<const SavedSection> sections) {
  // Its mode follows the umask, since the file is meant to be distributed, but others can never
  // write it.
  const int error =
      write_named_file(path, [&](const File& file) { return write_saved_file(file, sections); });
  if (error != 0)
    fail_save(state, fmt::format("{} cannot be written: {}", path, std::strerror(error)));
}

}  // namespace

void Executable::save(const std::string& path, const SaveOptions& options) const {
  const ExecutableState& state = *state_;
  if (!state.source)
    fail_save(state, fmt::format("it was loaded from {}; copy that file", state.loaded_from));
  if (state.options.never_stall) await_background();  // so that the tuned variants are saved
  Variants variants = state.variants();
  std::erase_if(variants, [](const auto& variant) { return variant->is_specialized; });
  if (variants.empty())
    fail_save(state,
              fmt::format("there are no kernels yet; first prepare or run the sizes ({}) that the "
                          "program will be loaded for",
                          fmt::join(state.interface.symbols, ", ")));
  const TraceSpan span("compile", [&] { return fmt::format("save {}", state.interface.name); });
  std::vector<SavedSection> sections = {
      {.kind = kProgramSection, .bytes = pack(program_of(state, variants))}};
  for (const SaveTarget& target : targets_of(state, options))
    sections.push_back({.kind = kKernelsSection,
                        .name = target.arch,
                        .bytes = pack(kernels_to_save(state, variants, target))});
  for (const std::string& other : options.tuned_elsewhere) add_kernels_of(state, other, sections);
  std::vector<std::string> archs;
  for (const SavedSection& section : std::span(sections).subspan(1)) archs.push_back(section.name);
  if (weights_) {
    device().synchronize();  // work on any stream may write them
    for (SavedSection& section : weight_sections(*weights_, state.interface, device()))
      sections.push_back(std::move(section));
  }
  write_file(state, path, sections);
  log_line(state.options, LogLevel::plans, [&] {
    return fmt::format("save {} to {}: {} size classes for {}{}", state.interface.name, path,
                       variants.size(), fmt::join(archs, ", "), weights_ ? ", with weights" : "");
  });
}

}  // namespace sinter
