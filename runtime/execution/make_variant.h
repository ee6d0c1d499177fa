// Makes a Variant from a graph and sizes: plans, emits, compiles and tunes its kernels.
#pragma once

#include <memory>
#include <optional>

#include "compiler/target/target.h"
#include "runtime/compile_service/compile_service.h"
#include "runtime/execution/executable_state.h"
#include "runtime/execution/opaque_call.h"
#include "runtime/execution/variant.h"
#include "runtime/logging/dump.h"

namespace sinter {

/// The graph, target and options that all variants of an executable are made from.
struct VariantSource {
  /// Without `resolved`, the functions are those that are registered.
  VariantSource(DeviceState& device, Graph given, const Target& target, const Options& options,
                std::optional<OpaqueFunctions> resolved = std::nullopt)
      : device(device),
        graph(std::move(given)),
        target(target),
        options(options),
        dump(options),
        functions(resolved ? std::move(*resolved) : functions_of(graph.data())) {}

  DeviceState& device;
  Graph graph;
  Target target;
  Options options;
  Dump dump;
  OpaqueFunctions functions;  ///< the functions that the graph calls
};

/// One kernel, emitted with each of its candidate schedules, the default first. Schedules that give
/// the same code appear once.
struct EmittedKernel {
  std::vector<Source> sources;
  std::vector<Schedule> schedules;
  bool is_call = false;  ///< an opaque call, which has nothing to compile
};
/// Emits at most `most` candidates of `kernel`.
EmittedKernel emit_candidates(const Program& program, const Kernel& kernel,
                              std::size_t most = SIZE_MAX);

/// The result of the first half of `make_variant`: a plan and the emitted kernels to compile.
struct EmittedVariant {
  Program program;
  std::vector<EmittedKernel> kernels;
};
EmittedVariant plan_and_emit(VariantSource& from, const VariantRequest& request);
/// The report's tuning text of an opaque call.
inline constexpr std::string_view kCallTuning = "an opaque call has no candidates";
CompileSettings compile_settings(const VariantSource& from);

/// Throws UserError, CompileError or DriverError, or Cancelled if the request's cancellation says
/// so. A failed call changes nothing.
std::shared_ptr<const Variant> make_variant(VariantSource& from, const VariantRequest& request);

}  // namespace sinter
