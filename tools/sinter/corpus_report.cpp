#include "tools/sinter/corpus_report.h"

#include "tools/sinter/verdict.h"
#include "tools/sinter/words.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace sinter::command {

namespace {

using Json = nlohmann::ordered_json;

struct Totals {
  std::int64_t reached[kCorpusStageCount] = {};
  std::int64_t failed = 0;
  std::int64_t over_limit = 0;
  std::optional<PlannedCost> planned;
  std::optional<CompiledCost> compiled;
  std::optional<double> worst;
};

/// Runs may leave the compiler out, so what ran was not compiled for certain.
bool has_reached(const FileReport& report, CorpusStage stage) {
  if (stage == CorpusStage::compile) return report.compiled.has_value();
  return report.stage && *report.stage >= stage;
}

void add(Totals& totals, const PlannedCost& cost) {
  PlannedCost& sum = totals.planned ? *totals.planned : totals.planned.emplace();
  sum.kernels += cost.kernels;
  sum.bytes += cost.bytes;
  sum.minimal_bytes += cost.minimal_bytes;
}

void add(Totals& totals, const CompiledCost& cost) {
  CompiledCost& sum = totals.compiled ? *totals.compiled : totals.compiled.emplace();
  sum.spill_bytes += cost.spill_bytes;
  sum.milliseconds += cost.milliseconds;
}

Totals total(std::span<const FileReport> reports) {
  Totals totals;
  for (const FileReport& report : reports) {
    for (std::size_t stage = 0; stage < kCorpusStageCount; ++stage)
      totals.reached[stage] += has_reached(report, static_cast<CorpusStage>(stage));
    totals.failed += !report.error.empty();
    totals.over_limit += report.is_over_limit;
    if (report.planned) add(totals, *report.planned);
    if (report.compiled) add(totals, *report.compiled);
    if (report.worst_error_over_bound)
      totals.worst = std::max(totals.worst.value_or(0), *report.worst_error_over_bound);
  }
  return totals;
}

/// The figures that stages left, in their order.
std::vector<std::string> figures(const std::optional<PlannedCost>& planned,
                                 const std::optional<CompiledCost>& compiled,
                                 const std::optional<double>& worst) {
  std::vector<std::string> parts;
  if (planned) {
    parts.push_back(counted(planned->kernels, "kernel"));
    parts.push_back(bytes_text(planned->bytes) +
                    times_minimum(planned->bytes, planned->minimal_bytes));
  }
  if (compiled) {
    parts.push_back(bytes_text(compiled->spill_bytes) + " spilled");
    parts.push_back(fmt::format("compiled in {:.0f} ms", compiled->milliseconds));
  }
  if (worst) parts.push_back(fmt::format("worst error/bound {:.3g}", *worst));
  return parts;
}

template <class Cost, class Figure>
Json figure_or_null(const std::optional<Cost>& cost, Figure Cost::*figure) {
  return cost ? Json((*cost).*figure) : Json();
}

Json finite_or_null(const std::optional<double>& value) {
  return value ? Json(finite(*value)) : Json();
}

/// Adds what files and totals have in common.
void add_figures(Json& json, const std::optional<PlannedCost>& planned,
                 const std::optional<CompiledCost>& compiled, const std::optional<double>& worst) {
  json["kernels"] = figure_or_null(planned, &PlannedCost::kernels);
  json["bytes"] = figure_or_null(planned, &PlannedCost::bytes);
  json["minimal_bytes"] = figure_or_null(planned, &PlannedCost::minimal_bytes);
  json["spill_bytes"] = figure_or_null(compiled, &CompiledCost::spill_bytes);
  json["compile_ms"] = figure_or_null(compiled, &CompiledCost::milliseconds);
  json["worst_error_over_bound"] = finite_or_null(worst);
}

const char* stage_name(CorpusStage stage) { return kCorpusStages[static_cast<std::size_t>(stage)]; }

Json to_json(const FileReport& report) {
  Json json = {{"name", report.name},
               {"stage", report.stage ? Json(stage_name(*report.stage)) : Json()},
               {"error", report.error.empty() ? Json() : Json(report.error)}};
  add_figures(json, report.planned, report.compiled, report.worst_error_over_bound);
  json["bit_equal_unfused"] = report.is_equal_unfused ? Json(*report.is_equal_unfused) : Json();
  return json;
}

Json to_json(const Totals& totals, std::size_t files) {
  Json reached = Json::object();
  for (std::size_t stage = 0; stage < kCorpusStageCount; ++stage)
    reached[kCorpusStages[stage]] = totals.reached[stage];
  Json json = {{"files", files},
               {"reached", reached},
               {"failed", totals.failed},
               {"over_limit", totals.over_limit}};
  add_figures(json, totals.planned, totals.compiled, totals.worst);
  return json;
}

}  // namespace

std::string line_of(const FileReport& report, std::size_t name_width) {
  std::vector<std::string> parts =
      figures(report.planned, report.compiled, report.worst_error_over_bound);
  if (report.is_equal_unfused)
    parts.push_back(*report.is_equal_unfused ? "bits equal unfused" : "bits differ from unfused");
  if (report.is_over_limit) parts.push_back("too large to run");
  if (!report.error.empty()) parts.push_back("failed: " + report.error);
  return fmt::format("{:<{}}  {:<7}  {}", report.name, name_width,
                     report.stage ? stage_name(*report.stage) : "-", fmt::join(parts, ", "));
}

std::string totals_text(std::span<const FileReport> reports) {
  const Totals totals = total(reports);
  std::vector<std::string> parts;
  for (std::size_t stage = 0; stage < kCorpusStageCount; ++stage)
    parts.push_back(fmt::format("{} {}", kCorpusStages[stage], totals.reached[stage]));
  std::string text = fmt::format("\n{}: came through {}; failed {}; too large to run {}\n",
                                 counted(static_cast<std::int64_t>(reports.size()), "file"),
                                 fmt::join(parts, ", "), totals.failed, totals.over_limit);
  const std::vector<std::string> sums = figures(totals.planned, totals.compiled, totals.worst);
  if (!sums.empty()) text += fmt::format("total: {}\n", fmt::join(sums, ", "));
  return text;
}

std::string corpus_json(std::span<const FileReport> reports) {
  Json files = Json::array();
  for (const FileReport& report : reports) files.push_back(to_json(report));
  const Json json = {{"files", files}, {"totals", to_json(total(reports), reports.size())}};
  // Errors quote files, which may hold any bytes.
  return json.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

}  // namespace sinter::command
