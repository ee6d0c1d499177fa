#include <nlohmann/json.hpp>

#include "runtime/support/json_tree.h"
#include "sinter/explain.h"

namespace sinter {

namespace {

using Document = nlohmann::ordered_json;

/// `figure`, or null if it is not known.
template <class T>
Document known(bool is_known, const T& figure) {
  return is_known ? Document(figure) : Document();
}

Document text_or_null(const std::string& text) { return known(!text.empty(), text); }

}  // namespace

// The conversions of reports, which the JSON library finds by argument-dependent lookup.

static void to_json(Document& json, const AccessReport& array) {
  json = {{"name", array.array},
          {"predicted_load_bytes", array.predicted_load_bytes},
          {"predicted_narrowest_load_bytes", array.predicted_narrowest_load_bytes},
          {"load_bytes", array.load_bytes},
          {"narrowest_load_bytes", array.narrowest_load_bytes},
          {"predicted_store_bytes", array.predicted_store_bytes},
          {"predicted_narrowest_store_bytes", array.predicted_narrowest_store_bytes},
          {"store_bytes", array.store_bytes},
          {"narrowest_store_bytes", array.narrowest_store_bytes},
          {"problem", text_or_null(array.problem)}};
}

static void to_json(Document& json, const SectionReport& section) {
  json = {{"name", section.name},
          {"phase", section.phase},
          {"kind", section.kind},
          {"list", section.list}};
}

static void to_json(Document& json, const CandidateReport& candidate) {
  const bool is_timed = candidate.median_us > 0;
  json = {{"schedule", candidate.schedule},
          {"chosen", candidate.chosen},
          {"median_us", known(is_timed, candidate.median_us)},
          {"lower_quartile_us", known(is_timed, candidate.lower_quartile_us)},
          {"upper_quartile_us", known(is_timed, candidate.upper_quartile_us)},
          {"gigabytes_per_second", known(is_timed, candidate.gigabytes_per_second)},
          {"registers", known(candidate.registers > 0, candidate.registers)},
          {"problem", text_or_null(candidate.problem)}};
}

static void to_json(Document& json, const KernelProfile& profile) {
  json = {{"schedule", profile.schedule},
          {"median_us", profile.median_us},
          {"lower_quartile_us", profile.lower_quartile_us},
          {"upper_quartile_us", profile.upper_quartile_us},
          {"gigabytes_per_second", profile.gigabytes_per_second},
          {"copy_us", profile.copy_us},
          {"share_of_copy", profile.share_of_copy}};
}

static void to_json(Document& json, const KernelExplanation& kernel) {
  const KernelReport& report = kernel.report;
  // For a GPU newer than NVRTC there is only PTX, and no cubin with these figures.
  const bool has_cubin = report.registers > 0;
  const bool is_compiled = kernel.is_compiled;
  json = {{"name", kernel.name},
          {"kind", report.kind},
          {"sections", report.sections},
          {"nodes", report.nodes},
          {"places", report.places},
          {"launches", report.launches},
          {"bytes_read", report.bytes_read},
          {"bytes_written", report.bytes_written},
          {"bytes_are_bounds", report.bytes_are_bounds},
          {"minimal_bytes", report.minimal_bytes},
          {"schedule", report.schedule},
          {"threads", report.threads},
          {"grid", report.grid},
          {"cluster", report.cluster},
          {"vector_bytes", report.vector_bytes},
          {"predicted_us", kernel.predicted_us},
          {"instructions", kernel.instructions},
          {"measured", kernel.measured ? Document(*kernel.measured) : Document()},
          {"shared_bytes", report.shared_bytes},
          {"registers", known(has_cubin, report.registers)},
          {"spill_bytes", known(has_cubin, report.spill_bytes)},
          {"arrays", known(is_compiled, kernel.arrays)},
          {"independent_loads", known(is_compiled, kernel.independent_loads)},
          {"blocks_per_sm", known(is_compiled, kernel.blocks_per_sm)},
          {"occupancy", known(is_compiled, kernel.occupancy)},
          {"bytes_in_flight", known(is_compiled, kernel.bytes_in_flight)},
          {"compile_ms", known(is_compiled, report.compile_ms)},
          {"notes", report.notes},
          {"candidates", report.candidates},
          {"tuning", report.tuning},
          {"source", report.source}};
}

static void to_json(Document& json, const BoundaryReport& boundary) {
  json = {{"producer", boundary.producer},
          {"consumer", boundary.consumer},
          {"reason", boundary.reason},
          {"is_inside", boundary.is_inside},
          {"bytes", boundary.bytes}};
}

static void to_json(Document& json, const RecordedNode& node) {
  json = {{"name", node.name},
          {"op", node.op},
          {"text", node.text},
          {"dtype", node.dtype},
          {"shape", node.shape},
          {"label", text_or_null(node.label)},
          {"place", node.place},
          {"operands", node.operands},
          {"role", node.role},
          {"groups", node.groups},
          {"emitted_as", node.emitted_as},
          {"outputs", node.outputs},
          {"updates", text_or_null(node.updates)}};
}

static void to_json(Document& json, const ArrayUse& use) {
  json = {{"array", use.array}, {"kind", use.kind}, {"bytes", use.bytes}, {"from", use.from}};
}

static void to_json(Document& json, const GroupExplanation& group) {
  json = {{"name", group.name},    {"kernel", group.kernel}, {"kind", group.kind},
          {"phase", group.phase},  {"list", group.list},     {"reads", group.reads},
          {"writes", group.writes}};
}

std::string explanation_json(const Explanation& explanation) {
  const TargetExplanation& roofs = explanation.roofs;
  const Document tree = {{"graph", explanation.graph},
                         {"target", explanation.target},
                         {"arch", explanation.arch},
                         {"roofs",
                          {{"bytes_per_second", roofs.bytes_per_second},
                           {"instructions_per_second", roofs.instructions_per_second},
                           {"launch_us", roofs.launch_us},
                           {"bytes_in_flight", roofs.bytes_in_flight}}},
                         {"sizes", explanation.sizes},
                         {"recorded_ops", explanation.recorded_ops},
                         {"measured_on", text_or_null(explanation.measured_on)},
                         {"why_not_compiled", text_or_null(explanation.why_not_compiled)},
                         {"nodes", explanation.nodes},
                         {"groups", explanation.groups},
                         {"kernels", explanation.kernels},
                         {"boundaries", explanation.boundaries},
                         {"guards", explanation.guards},
                         {"totals",
                          {{"launches", explanation.launches},
                           {"bytes", explanation.bytes},
                           {"minimal_bytes", explanation.minimal_bytes},
                           {"unfused_launches", explanation.unfused_launches},
                           {"unfused_bytes", explanation.unfused_bytes},
                           {"predicted_us", explanation.predicted_us}}}};
  return json_text(tree);
}

}  // namespace sinter
