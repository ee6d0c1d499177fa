// From a graph and sizes to kernels that are ready to launch: plan, emit, compile, tune.
#pragma once

#include <memory>

#include "compiler/target/target.h"
#include "runtime/execution/executable_state.h"
#include "runtime/execution/opaque_call.h"
#include "runtime/execution/variant.h"
#include "runtime/logging/dump.h"
#include "runtime/service/compile_service.h"

namespace sinter {

/// What all variants of an executable are made from.
struct VariantSource {
  VariantSource(DeviceState& device, Graph given, const Target& target, const Options& options)
      : VariantSource(device, std::move(given), target, options, {}) {
    functions = functions_of(graph.data());
  }
  /// With functions that were found before.
  VariantSource(DeviceState& device, Graph given, const Target& target, const Options& options,
                OpaqueFunctions functions)
      : device(device),
        graph(std::move(given)),
        target(target),
        options(options),
        dump(options),
        functions(std::move(functions)) {}

  DeviceState& device;
  Graph graph;
  Target target;
  Options options;
  Dump dump;
  OpaqueFunctions functions;  ///< that it calls
};

/// One kernel under its candidate schedules, the default first; equal texts once.
struct EmittedKernel {
  std::vector<Source> sources;
  std::vector<Schedule> schedules;
  bool is_call = false;  ///< an opaque call, of which there is nothing to compile
};
EmittedKernel emit_candidates(const Program& program, const Kernel& kernel,
                              std::size_t most = SIZE_MAX);

/// The first half of `make_variant`: a plan, and what of each of its kernels must be compiled.
struct EmittedVariant {
  Program program;
  std::vector<EmittedKernel> kernels;
};
EmittedVariant plan_and_emit(VariantSource& from, const VariantRequest& request);
/// What the report says of the tuning of an opaque call.
inline constexpr std::string_view kCallTuning = "a call of the user's has no candidates";
CompileSettings compile_settings(const VariantSource& from);

/// Throws UserError, CompileError or DriverError, and Cancelled where the request says so; then
/// nothing has changed.
std::shared_ptr<const Variant> make_variant(VariantSource& from, const VariantRequest& request);

}  // namespace sinter
