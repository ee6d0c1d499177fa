#include "tools/sinter/explain.h"

#include "tools/sinter/explanation.h"
#include "tools/sinter/words.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sinter::command {

namespace {

using Json = nlohmann::ordered_json;

/// A figure that only a cubin has; null without one, and where the compiler did not tell.
template <class T>
Json of_cubin(const KernelExplanation& kernel, T CubinReport::*figure) {
  const bool is_known = kernel.cubin && kernel.cubin->registers > 0;
  return is_known ? Json(*kernel.cubin.*figure) : Json(nullptr);
}

Json to_json(const KernelExplanation& kernel) {
  const KernelReport& report = kernel.report;
  Json members = Json::array();
  for (const MemberReport& member : report.members)
    members.push_back({{"name", member.name}, {"phase", member.phase}, {"kind", member.kind}});
  return {{"name", kernel.name},
          {"kind", report.kind},
          {"members", members},
          {"nodes", report.nodes},
          {"launches", report.launches},
          {"bytes_read", report.bytes_read},
          {"bytes_written", report.bytes_written},
          {"minimal_bytes", report.minimal_bytes},
          {"threads", report.threads},
          {"grid", report.grid},
          {"vector_bytes", report.vector_bytes},
          {"registers", of_cubin(kernel, &CubinReport::registers)},
          {"spill_bytes", of_cubin(kernel, &CubinReport::spill_bytes)},
          {"shared_bytes", report.shared_bytes},
          {"compile_ms", of_cubin(kernel, &CubinReport::compile_ms)}};
}

Json to_json(const Explanation& explanation) {
  Json kernels = Json::array();
  for (const KernelExplanation& kernel : explanation.kernels) kernels.push_back(to_json(kernel));
  Json boundaries = Json::array();
  for (const BoundaryReport& boundary : explanation.boundaries)
    boundaries.push_back({{"producer", boundary.producer},
                          {"consumer", boundary.consumer},
                          {"reason", boundary.reason},
                          {"is_inside", boundary.is_inside}});
  return {{"graph", explanation.graph},
          {"target", explanation.target->name},
          {"kernels", kernels},
          {"boundaries", boundaries},
          {"totals",
           {{"launches", explanation.launches},
            {"bytes", explanation.bytes},
            {"minimal_bytes", explanation.minimal_bytes},
            {"unfused_bytes", explanation.unfused_bytes}}}};
}

void print_kernel(const KernelExplanation& kernel, const Target& target) {
  const KernelReport& report = kernel.report;
  fmt::print("\nkernel {} · {}\n", kernel.name, report.kind);
  for (const MemberReport& member : report.members)
    fmt::print("  phase {}: {} · {}\n", member.phase, member.name, member.kind);
  for (const std::string& node : report.nodes) fmt::print("  {}\n", node);
  fmt::print("  bytes     {} read, {} written{}\n", bytes_text(report.bytes_read),
             bytes_text(report.bytes_written),
             times_minimum(report.bytes_read + report.bytes_written, report.minimal_bytes));
  fmt::print("  launch    {} of {} threads, {} of shared memory, {}-byte loads\n",
             counted(report.grid, "block"), report.threads, bytes_text(report.shared_bytes),
             report.vector_bytes);
  fmt::print("  schedule  {}\n", report.schedule);
  if (kernel.cubin && kernel.cubin->registers > 0)
    fmt::print("  {}     {}, {} spilled, {} per SM of {}; compiled in {:.0f} ms\n", target.arch,
               counted(kernel.cubin->registers, "register"), bytes_text(kernel.cubin->spill_bytes),
               counted(kernel.blocks_per_sm, "block"), target.name, kernel.cubin->compile_ms);
  for (const std::string& note : report.notes) fmt::print("  note      {}\n", note);
}

void print_text(const Explanation& explanation) {
  const Target& target = *explanation.target;
  fmt::print("{} for {} ({}): {} in {}\n", explanation.graph, target.name, target.arch,
             counted(explanation.recorded_ops, "recorded op"),
             counted(static_cast<std::int64_t>(explanation.kernels.size()), "kernel"));
  if (!explanation.sizes.empty()) fmt::print("sizes: {}\n", explanation.sizes);
  for (const KernelExplanation& kernel : explanation.kernels) print_kernel(kernel, target);
  if (!explanation.boundaries.empty()) fmt::print("\nboundaries\n");
  for (const BoundaryReport& boundary : explanation.boundaries)
    fmt::print("  {}{} | {}: {}\n", boundary.is_inside ? "inside one launch, " : "",
               boundary.producer, boundary.consumer, boundary.reason);
  if (!explanation.guards.empty())
    fmt::print("\nthese kernels also serve other sizes that keep to\n");
  for (const std::string& guard : explanation.guards) fmt::print("  {}\n", guard);
  fmt::print(
      "\ntotal: {}, {}{}; unfused {}, {}\n", counted(explanation.launches, "launch"),
      bytes_text(explanation.bytes), times_minimum(explanation.bytes, explanation.minimal_bytes),
      counted(explanation.unfused_launches, "launch"), bytes_text(explanation.unfused_bytes));
  if (!explanation.why_no_nvrtc.empty())
    fmt::print("registers and spills are not known: {}\n", explanation.why_no_nvrtc);
}

}  // namespace

void explain(const ExplainArguments& arguments) {
  const Target& target = target_of(arguments.arch);
  const Graph graph = read_graph(arguments.graph.file);
  const SymbolSizes sizes = choose_sizes(graph, arguments.graph.sizes);
  Explanation explanation = explain(graph, target, sizes.values, numerics_of(arguments.numerics));
  explanation.sizes = sizes.text(graph);
  if (arguments.json)
    fmt::print("{}\n", to_json(explanation).dump(2));
  else
    print_text(explanation);
}

}  // namespace sinter::command
