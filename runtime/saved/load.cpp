// sinter::load: makes an Executable from a file that Executable::save wrote.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include <elf.h>

#include "compiler/program/guards.h"
#include "ir/shape/extent.h"
#include "ir/verify/symbol_sizes.h"
#include "runtime/cache/compiler_identity.h"
#include "runtime/cache/disk_algorithms.h"
#include "runtime/compile/host_compiler.h"
#include "runtime/device/target_file.h"
#include "runtime/execution/make_variant.h"
#include "runtime/logging/debug_log.h"
#include "runtime/logging/trace.h"
#include "runtime/saved/arch_choice.h"
#include "runtime/saved/load_kernels.h"
#include "runtime/saved/read_saved.h"
#include "runtime/saved/saved_functions.h"
#include "runtime/support/options_table.h"
#include "sinter/error.h"

namespace sinter {

namespace {

using Variants = std::vector<std::shared_ptr<const Variant>>;

/// Advice on how to save a program for `arch`, which may belong to a GPU that sinter does not know.
std::string advice_for(const std::string& arch) {
  std::vector<std::string> known = {std::string(kHostArch)};
  for (const std::string_view known_arch : known_archs()) known.emplace_back(known_arch);
  const std::optional<std::size_t> best = best_arch(known, arch);
  if (!best) return "sinter cannot save kernels for it; compile it there";
  return fmt::format("save it with options.archs = {{\"{0}\"}} (sinter compile --arch {0})",
                     known[*best]);
}

bool has_ptx_only(const SavedKernels& kernels) {
  return std::ranges::none_of(kernels.images, [](const std::vector<std::byte>& image) {
    return image.size() >= SELFMAG && std::memcmp(image.data(), ELFMAG, SELFMAG) == 0;
  });
}

/// The kernels of the file for the architecture that fits the device best. Throws UserError if no
/// kernels of the file run on it.
SavedKernels kernels_to_load(const SavedExecutable& saved, const DeviceState& device,
                             const std::string& path) {
  const std::string arch = device.is_host ? std::string(kHostArch) : device.arch;
  const std::optional<std::size_t> best = best_arch(saved.archs, arch);
  if (!best) {
    for (const std::size_t older : archs_of_older_ptx(saved.archs, arch))
      if (SavedKernels kernels = read_kernels(saved, older, path); has_ptx_only(kernels))
        return kernels;
    throw UserError(fmt::format("load: {} has kernels for {}, but none for {} ({}); {}", path,
                                fmt::join(saved.archs, ", "), device.name, arch, advice_for(arch)));
  }
  SavedKernels kernels = read_kernels(saved, *best, path);
  if (!device.is_host) return kernels;
  if (!runs_host_machine(kernels.host_machine_level))
    throw UserError(
        fmt::format("load: {} was saved for {} processors, but this machine has {}; save it on a "
                    "machine like this one",
                    path, kernels.host_machine_level, host_machine()));
  if (kernels.host_prelude_hash != prelude_hash(Prelude::host))
    throw UserError(
        fmt::format("load: {} has kernels for another build of the host device (it was "
                    "saved by sinter {}); save it again with this one",
                    path, saved.version));
  return kernels;
}

/// The weights of the file on `device`, as load_weights makes them.
std::shared_ptr<const Weights> weights_of(const SavedExecutable& saved,
                                          const std::shared_ptr<const MappedFile>& file,
                                          const Interface& interface, Device device,
                                          const std::string& path) {
  try {
    return load_weights(saved.weights, file, interface, device);
  } catch (const UserError& error) {
    throw UserError(
        fmt::format("load: {} is invalid: its weights: {}; save it again", path, error.what()));
  }
}

/// Makes the variants of a loaded executable that the file does not contain.
struct LoadedSource {
  DeviceState& device;
  SavedProgram program;
  std::shared_ptr<const Graph> graph;
  LoadOptions options;
  std::string path;
  std::string target;         ///< that the kernels in the file were planned for
  OpaqueFunctions functions;  ///< that the program calls
  Variants variants;          ///< of the file
  std::unique_ptr<VariantSource> source = nullptr;  ///< made for the first missing variant

  std::shared_ptr<const Variant> make_variant(const VariantRequest& request) {
    // A variant of the file for less aligned pointers serves the request, too.
    if (std::shared_ptr<const Variant> known =
            with_lower_alignment(variants, {.symbols = request.symbols,
                                            .alignment = request.alignment,
                                            .unwritten_outputs = request.unwritten_outputs}))
      return known;
    if (!options.compiles_missing) refuse(request);
    if (!source) {
      Options compiled = options.options;
      compiled.rounding = program.numerics.rounding;
      compiled.math = program.numerics.math;
      compiled.fuse = program.fuse;
      compiled.skip = program.skip;
      compiled.bucket_bytes = program.bucket_bytes;
      const Target* const known = device.is_host ? find_target(target) : nullptr;
      source = std::make_unique<VariantSource>(
          device, graph_of(program, path),
          with_target_file(known ? *known : device.target, compiled.target_file), compiled,
          functions);
    }
    return sinter::make_variant(*source, request);
  }

  [[noreturn]] void refuse(const VariantRequest& request) const {
    constexpr std::size_t kMaxListed = 8;
    std::vector<std::string> classes;
    for (const std::shared_ptr<const Variant>& variant : variants)
      if (classes.size() < kMaxListed) classes.push_back(class_of(*variant));
    if (variants.size() > kMaxListed)
      classes.push_back(fmt::format("{} more", variants.size() - kMaxListed));
    const std::vector<std::string> sizes = size_texts(*graph->data().extents, request.symbols);
    throw UserError(fmt::format(
        "{}: {} has no kernels for [{}]: {}; it has those for the size classes of {}. {} before "
        "saving it, or load it with options.compiles_missing if a compiler is available",
        graph->name(), path, fmt::join(sizes, ", "), request.reason, fmt::join(classes, ", "),
        advice(request)));
  }

  /// `[rows = 8, n = 64] at multiples of 16 bytes, without y`
  std::string class_of(const Variant& variant) const {
    std::string text = fmt::format("[{}] at multiples of {} bytes",
                                   fmt::join(variant.report.sizes, ", "), variant.alignment);
    std::string_view before = ", without ";
    for (std::size_t i = 0; i < variant.unwritten_outputs.size(); ++i)
      if (variant.unwritten_outputs[i]) {
        text += fmt::format("{}{}", before, graph->data().outputs[i].name);
        before = " and ";
      }
    return text;
  }

  std::string advice(const VariantRequest& request) const {
    bool has_sizes = false;
    for (const std::shared_ptr<const Variant>& variant : variants) {
      if (!holds(variant->program, request.symbols)) continue;
      has_sizes = true;
      if (variant->unwritten_outputs == request.unwritten_outputs)
        return fmt::format(
            "Bind arrays that begin at multiples of {} bytes, or run it with these "
            "pointers",
            variant->alignment);
    }
    return has_sizes ? "Bind the outputs that one of these classes has, or run it with these"
                     : "Prepare these sizes";
  }
};

Interface interface_of(const SavedExecutable& saved, const std::string& path, Location loaded_at) {
  try {
    return interface_of(*saved.graph, loaded_at);
  } catch (const Error& error) {
    throw UserError(fmt::format("load: {} is invalid: {}; save it again", path, error.what()));
  }
}

}  // namespace

Executable load(const std::string& path, Device device, const LoadOptions& given,
                const char* file_name, int line) {
  LoadOptions options = given;
  options.options = with_environment(given.options);
  check_debug(options.options);
  if (!options.options.trace.empty()) Trace::begin(options.options.trace);
  if (options.options.idle_bytes >= 0)
    device.state()->memory_pool->set_idle_limit(options.options.idle_bytes);
  const TraceSpan span("compile", [&] { return fmt::format("load {}", path); });
  const std::shared_ptr<const MappedFile> file = map_trusted_file(path);
  const SavedExecutable saved = read_saved(file->bytes(), path);
  const Interface interface = interface_of(saved, path, {.file = file_name, .line = line});
  SavedKernels kernels = kernels_to_load(saved, *device.state(), path);
  const OpaqueFunctions functions = find_functions(saved, path);

  auto state = std::make_shared<ExecutableState>(*device.state(), interface);
  state->options = options.options;
  state->target = kernels.target;
  state->loaded_from = path;
  const std::string arch = kernels.arch;
  const Variants variants =
      load_variants(*device.state(), std::move(kernels), saved.graph, functions, path,
                    saved.version, std::make_shared<DiskAlgorithms>(options.options));
  for (const std::shared_ptr<const Variant>& variant : variants) state->add(variant);
  const auto source = std::make_shared<LoadedSource>(LoadedSource{.device = *device.state(),
                                                                  .program = saved.program,
                                                                  .graph = saved.graph,
                                                                  .options = options,
                                                                  .path = path,
                                                                  .target = state->target,
                                                                  .functions = functions,
                                                                  .variants = variants});
  state->check_sizes = [source](std::span<const std::int64_t> symbols) {
    check_sizes(*source->graph, symbols);
  };
  state->make_variant = [source](const VariantRequest& request) {
    return source->make_variant(request);
  };
  auto weights = weights_of(saved, file, interface, device, path);
  log_line(options.options, LogLevel::plans, [&] {
    return fmt::format(
        "load {} from {} on {}: {} size classes, kernels for {}, {} weights (loaded at {})",
        interface.name, path, device.name(), variants.size(), arch, saved.weights.table.size(),
        interface.compiled_at);
  });
  return Executable(std::move(state), std::move(weights));
}

}  // namespace sinter
