#include "runtime/saved/load_kernels.h"

#include <fmt/format.h>

#include <utility>

#include "runtime/compile/early_start.h"
#include "runtime/compile_service/load_function.h"
#include "runtime/device/launch_grid.h"
#include "runtime/driver/capture_mode_guard.h"
#include "sinter/error.h"

namespace sinter {

namespace {

/// Why the device cannot run a kernel that was planned for another GPU; empty if it can.
std::string reason_not_runnable(const DeviceState& device, const Source& source) {
  const std::int64_t most = device.target.shared_per_block_opt_in;
  if (source.shared_bytes <= most) return {};
  return fmt::format("a block takes {} bytes of shared memory, but {} has {}", source.shared_bytes,
                     device.name, most);
}

/// The number of bytes that a launch of `source` passes for `argument`.
std::size_t argument_bytes(const Argument& argument, const Source& source, const GraphData& graph) {
  if (argument.kind == Argument::Kind::table_values)
    return source.table.size() * sizeof(std::uint64_t);
  if (argument.kind == Argument::Kind::scalar)
    return static_cast<std::size_t>(
        size_of(graph.inputs[static_cast<std::size_t>(argument.index)].node->dtype));
  const bool is_int =
      argument.kind == Argument::Kind::extent && argument.c_type.find("long") == std::string::npos;
  return is_int ? sizeof(int) : sizeof(CUdeviceptr);
}

/// The bytes of each parameter of a kernel, as its image declares them.
std::vector<std::size_t> parameter_bytes(const DeviceState& device, const Source& source,
                                         CUfunction function) {
  constexpr std::size_t kMostBytes = 32764;  // bytes of parameters; CUDA Programming Guide
  const CurrentContext current(device);
  std::vector<std::size_t> sizes;
  while (sizes.size() < kMostBytes) {
    std::size_t offset = 0, bytes = 0;
    const CUresult result =
        device.driver.cuFuncGetParamInfo(function, sizes.size(), &offset, &bytes);
    if (result == CUDA_ERROR_INVALID_VALUE) break;  // there are no more
    check(device.driver, result, "cuFuncGetParamInfo",
          [&] { return "the parameters of kernel " + source.entry; });
    sizes.push_back(bytes);
  }
  return sizes;
}

/// Loads kernels. Loads each image together with the first kernel in it.
class Loader {
 public:
  Loader(const DeviceState& device, SavedKernels& kernels, const GraphData& graph,
         const std::string& file)
      : device_(device),
        kernels_(kernels),
        graph_(graph),
        file_(file),
        modules_(kernels.images.size()) {}

  void load(VariantKernel& kernel, int image) {
    const Source& source = kernel.source;
    if (const std::string reason = reason_not_runnable(device_, source); !reason.empty())
      refuse(source, reason);
    try {
      auto unit = std::make_shared<CompiledUnit>();
      unit->module = module_of(static_cast<std::size_t>(image), source);
      const CubinReport code =
          device_.is_host
              ? CubinReport()
              : read_machine_code(kernels_.images[static_cast<std::size_t>(image)], source.entry);
      unit->functions = {load_function(device_, *unit->module, source, source.entry, code)};
      kernel.function = unit->functions[0].handle;
      kernel.starts_early = unit->functions[0].starts_early;
      kernel.unit = std::move(unit);
      if (const std::string reason = cluster_problem(device_, source, kernel.function);
          !reason.empty())
        refuse(source, reason);
      check_parameters(source, kernel.function);
      if (!source.is_cooperative) return;
      kernel.grid_limit = max_resident_blocks(device_, source, kernel.function);
      if (kernel.grid_limit == 0)
        refuse(source, fmt::format("a block of {} threads and {} bytes of shared memory does not "
                                   "fit on {}",
                                   source.threads, source.shared_bytes, device_.name));
    } catch (const DriverError& error) {
      throw DriverError(fmt::format("load: {}: kernel {}, saved for {}: {}", file_, source.entry,
                                    kernels_.arch, error.what()),
                        error.code());
    }
  }

 private:
  /// Throws UserError if the kernel does not take the parameters that launches pass: the image may
  /// belong to another kernel of the same name. Old drivers cannot tell the parameters.
  void check_parameters(const Source& source, CUfunction function) const {
    if (!device_.driver.cuFuncGetParamInfo) return;
    const std::vector<std::size_t> taken = parameter_bytes(device_, source, function);
    const std::vector<Argument>& passed = source.arguments;
    if (taken.size() != passed.size())
      fail_parameters(source, fmt::format("takes {} parameters, but the plan has {}", taken.size(),
                                          passed.size()));
    for (std::size_t i = 0; i < passed.size(); ++i)
      if (const std::size_t bytes = argument_bytes(passed[i], source, graph_); taken[i] != bytes)
        fail_parameters(source, fmt::format("takes {} bytes as parameter {}, but the plan has {}",
                                            taken[i], i, bytes));
  }

  [[noreturn]] void fail_parameters(const Source& source, const std::string& what) const {
    throw UserError(
        fmt::format("load: {} is invalid: kernel {} {}; save it again", file_, source.entry, what));
  }

  [[noreturn]] void refuse(const Source& source, const std::string& reason) const {
    throw UserError(fmt::format("load: {}: kernel {} was planned for {} ({}): {}; save it for {}",
                                file_, source.entry, kernels_.target, kernels_.arch, reason,
                                device_.arch));
  }

  const std::shared_ptr<const Module>& module_of(std::size_t image, const Source& source) {
    std::shared_ptr<const Module>& module = modules_[image];
    if (!module)
      module = std::make_shared<const Module>(device_, kernels_.images[image].data(), source.entry);
    return module;
  }

  const DeviceState& device_;
  SavedKernels& kernels_;
  const GraphData& graph_;
  const std::string& file_;
  std::vector<std::shared_ptr<const Module>> modules_;  ///< by image
};

/// Binds a call to its function and checks it at the sizes that the variant was planned for.
void bind(Variant& variant, SavedCall saved, const OpaqueFunctions& functions,
          const DeviceState& device, const std::shared_ptr<AlgorithmStore>& algorithms,
          const std::string& file) {
  VariantKernel& kernel = variant.kernels[static_cast<std::size_t>(saved.kernel)];
  const auto call =
      std::make_shared<OpaqueBinding>(std::move(saved.call), functions, device, algorithms);
  try {
    call->check_memory(kernel.source, variant.program, variant.program.facts.symbols);
    call->check(variant.program.facts.symbols);
  } catch (const UserError& error) {
    throw UserError(fmt::format("load: {}: {}", file, error.what()));
  }
  kernel.opaque = call;
}

}  // namespace

std::vector<std::shared_ptr<const Variant>> load_variants(
    const DeviceState& device, SavedKernels kernels, const std::shared_ptr<Graph>& graph,
    const OpaqueFunctions& functions, const std::string& file, const std::string& version,
    const std::shared_ptr<AlgorithmStore>& algorithms) {
  // Querying a function may load it, and the user's functions may allocate.
  const CaptureModeGuard relaxed(device.driver);
  Loader loader(device, kernels, graph->data(), file);
  std::vector<std::shared_ptr<const Variant>> variants;
  for (SavedVariant& saved : kernels.variants) {
    auto variant = std::make_shared<Variant>(std::move(saved.variant));
    variant->program.graph = graph;
    for (SavedCall& call : saved.calls)
      bind(*variant, std::move(call), functions, device, algorithms, file);
    for (std::size_t i = 0; i < variant->kernels.size(); ++i)
      if (!variant->kernels[i].opaque) loader.load(variant->kernels[i], saved.images[i]);
    variant->report.reason = fmt::format("loaded from {}, saved by sinter {}", file, version);
    variants.push_back(std::move(variant));
  }
  return variants;
}

}  // namespace sinter
