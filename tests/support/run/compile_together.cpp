#include "tests/support/run/compile_together.h"

#include "compiler/simplify/graph_sweep.h"
#include "ir/graph/output_view.h"
#include "runtime/compile_service/compile_service.h"
#include "runtime/device/device_state.h"
#include "runtime/execution/make_variant.h"
#include "sinter/device.h"

#include <algorithm>
#include <exception>

namespace sinter::test {

namespace {

/// [output]: true for outputs that `compile` leaves out of the variant of a graph without symbols,
/// because they are views.
std::vector<bool> unwritten_at_first(const Graph& graph) {
  std::vector<bool> result;
  for (const auto& view : output_views(graph.data())) result.push_back(view.has_value());
  return result;
}

void add_units(const RunForm& form, DeviceState& device, std::vector<CompileUnit>& units) {
  VariantSource source(device, clone(*form.graph), device.target, form.options);
  std::vector<std::vector<bool>> variants = {{}};
  if (form.symbols.empty() && form.alignment == 16)
    if (std::vector<bool> unwritten_outputs = unwritten_at_first(*form.graph);
        std::ranges::count(unwritten_outputs, true) > 0)
      variants.push_back(std::move(unwritten_outputs));
  for (const std::vector<bool>& unwritten_outputs : variants)
    for (EmittedKernel& kernel : plan_and_emit(source, {.symbols = form.symbols,
                                                       .alignment = form.alignment,
                                                       .unwritten_outputs = unwritten_outputs})
                                     .kernels)
      units.emplace_back(std::move(kernel.sources));
}

}  // namespace

void compile_together(std::span<const RunForm> forms) {
  DeviceState& device = *host_device().state();
  for (const bool optimize : {true, false}) {
    std::vector<CompileUnit> units;
    for (const RunForm& form : forms) {
      if (form.options.optimize_host != optimize) continue;
      try {
        add_units(form, device, units);
      } catch (const std::exception&) {  // the run of this graph reports the error
      }
    }
    try {
      device.compile_service.get(device).compile(units,
                                                 {.host = {.count = true, .optimize = optimize}});
    } catch (const std::exception&) {  // the runs report the error
    }
  }
}

}  // namespace sinter::test
