#include "tools/sinter/output/corpus_report.h"

#include "runtime/support/json_tree.h"
#include "tools/sinter/output/format_numbers.h"
#include "tools/sinter/output/verdict.h"

#include <algorithm>
#include <cmath>
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
  std::int64_t one_kernel = 0;    ///< files with at most one launch
  std::int64_t most_kernels = 0;  ///< of a file
  std::int64_t spilling = 0;      ///< files with a kernel that spills
  double log_of_ratios = 0;       ///< sum of log(bytes / minimal bytes)
  std::int64_t ratios = 0;        ///< number of files in that sum
  /// Geometric mean of bytes / minimal bytes.
  std::optional<double> bytes_over_minimal() const {
    if (ratios == 0) return std::nullopt;
    return std::exp(log_of_ratios / static_cast<double>(ratios));
  }
};

/// True if the report passed `stage`. A run may skip the stage compile.
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
  sum.codes.insert(cost.codes.begin(), cost.codes.end());
}

Totals total(std::span<const FileReport> reports) {
  Totals totals;
  for (const FileReport& report : reports) {
    for (std::size_t stage = 0; stage < kCorpusStageCount; ++stage)
      totals.reached[stage] += has_reached(report, static_cast<CorpusStage>(stage));
    totals.failed += !report.error.empty();
    totals.over_limit += report.is_over_limit;
    if (report.planned) {
      const PlannedCost& cost = *report.planned;
      add(totals, cost);
      totals.one_kernel += cost.kernels <= 1;
      totals.most_kernels = std::max(totals.most_kernels, cost.kernels);
      if (cost.bytes > 0 && cost.minimal_bytes > 0) {
        totals.log_of_ratios +=
            std::log(static_cast<double>(cost.bytes) / static_cast<double>(cost.minimal_bytes));
        ++totals.ratios;
      }
    }
    if (report.compiled) {
      add(totals, *report.compiled);
      totals.spilling += report.compiled->spill_bytes > 0;
    }
    if (report.worst_error_over_bound)
      totals.worst = std::max(totals.worst.value_or(0), *report.worst_error_over_bound);
  }
  return totals;
}

/// The figures of the stages that ran, in order.
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

/// Adds the figures that files and totals share.
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
  json["one_kernel"] = totals.planned ? Json(totals.one_kernel) : Json();
  json["most_kernels"] = totals.planned ? Json(totals.most_kernels) : Json();
  json["bytes_over_minimal"] = finite_or_null(totals.bytes_over_minimal());
  json["distinct_kernels"] = totals.compiled ? Json(totals.compiled->codes.size()) : Json();
  json["spilling_files"] = totals.compiled ? Json(totals.spilling) : Json();
  return json;
}

/// A figure of the totals that is compared with the baseline.
struct ComparedFigure {
  Json::json_pointer where;
  bool more_is_better = false;
  double slack = 0;
};

std::vector<ComparedFigure> compared_figures() {
  std::vector<ComparedFigure> result;
  for (const char* stage : kCorpusStages)
    result.push_back({Json::json_pointer(fmt::format("/reached/{}", stage)), true});
  for (const char* figure : {"/failed", "/kernels", "/most_kernels", "/distinct_kernels", "/bytes",
                             "/spill_bytes", "/spilling_files"})
    result.push_back({Json::json_pointer(figure)});
  result.push_back({Json::json_pointer("/one_kernel"), true});
  result.push_back({Json::json_pointer("/bytes_over_minimal"), false, 1e-6});
  result.push_back({Json::json_pointer("/worst_error_over_bound"), false, 0.01});
  return result;
}

}  // namespace

std::string corpus_totals_json(std::span<const FileReport> reports) {
  Json json = to_json(total(reports), reports.size());
  json.erase("compile_ms");  // a time, which differs from run to run
  return json.dump(2) + "\n";
}

std::vector<std::string> regressions(std::span<const FileReport> reports,
                                     const std::string& baseline) {
  const Json before = Json::parse(baseline, nullptr, /*allow_exceptions=*/false);
  if (!before.is_object()) return {"the baseline is not a JSON object"};
  const Json now = to_json(total(reports), reports.size());
  std::vector<std::string> falls;
  if (before.value("files", Json()) != now["files"])
    return {fmt::format("the baseline has {} files, not {}", before.value("files", Json()).dump(),
                        now["files"].dump())};
  for (const ComparedFigure& figure : compared_figures()) {
    if (!before.contains(figure.where) || !now.contains(figure.where)) continue;
    const Json& old = before.at(figure.where);
    const Json& fresh = now.at(figure.where);
    if (!old.is_number() || !fresh.is_number()) continue;  // a stage that did not run
    const double change = fresh.get<double>() - old.get<double>();
    if (figure.more_is_better ? change < -figure.slack : change > figure.slack)
      falls.push_back(fmt::format("{}: {}, was {}", figure.where.to_string().substr(1),
                                  fresh.dump(), old.dump()));
  }
  return falls;
}

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
  std::string text = fmt::format("\n{}: passed {}; failed {}; too large to run {}\n",
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
  return json_text(json);
}

}  // namespace sinter::command
