#include "tools/sinter/output/verdict.h"

#include "ir/oracle/check.h"
#include "ir/oracle/interpret.h"
#include "tools/sinter/output/format_numbers.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sinter::command {

namespace {

void add_line(Verdict& verdict, std::string line, bool is_problem) {
  if (is_problem && verdict.problem.empty()) verdict.problem = line;
  verdict.lines.push_back(std::move(line));
}

}  // namespace

void check_with_oracle(const Graph& graph, const HostArrays& inputs,
                       std::span<const std::int64_t> symbols, const GraphRun& run,
                       Verdict& verdict) {
  const Interpretation expected = interpret(graph, inputs, symbols);
  for (const Result& result : run.results) {
    const auto& wanted = result.is_update ? expected.updates : expected.outputs;
    const CheckResult checked = check(wanted.at(result.name), result.array);
    verdict.worst = std::max(verdict.worst, checked.worst);
    verdict.undecided += checked.undecided;
    verdict.is_within_bounds = verdict.is_within_bounds && checked.passes();
    if (checked.first_bad && verdict.first_bad.empty())
      verdict.first_bad =
          fmt::format("{}[{}]", result.name, fmt::join(checked.first_bad->index, ", "));
    add_line(verdict, describe(result.name, checked), !checked.passes());
  }
}

void compare_bits(const GraphRun& fused, const GraphRun& unfused, Verdict& verdict) {
  verdict.is_equal_unfused = true;
  for (std::size_t i = 0; i < fused.results.size(); ++i) {
    const HostArray& ours = fused.results[i].array;
    const HostArray& theirs = unfused.results[i].array;
    const auto index = first_difference(ours, theirs);
    if (!index) continue;
    verdict.is_equal_unfused = false;
    add_line(verdict,
             fmt::format("{}: fused and unfused bits differ, first at [{}]: {} fused, {} unfused",
                         fused.results[i].name, fmt::join(*index, ", "), element_text(ours, *index),
                         element_text(theirs, *index)),
             /*is_problem=*/true);
  }
  if (*verdict.is_equal_unfused)
    add_line(verdict, "fused and unfused results have equal bits", /*is_problem=*/false);
}

double finite(double value) { return std::min(value, std::numeric_limits<double>::max()); }

}  // namespace sinter::command
