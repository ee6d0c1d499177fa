#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sinter/error.h"
#include "sinter/explain.h"

namespace sinter {

namespace {

void check_same_kernels(const Explanation& explanation, std::string_view what,
                        const std::string& graph, std::size_t kernels) {
  if (graph == explanation.graph && kernels == explanation.kernels.size()) return;
  throw UserError(fmt::format(
      "{} of {} with {} kernels does not belong to {} with {} kernels: explain the graph that was "
      "run, for its sizes, options and target",
      what, graph, kernels, explanation.graph, explanation.kernels.size()));
}

}  // namespace

void add_profile(Explanation& explanation, const Profile& profile) {
  check_same_kernels(explanation, "the profile", profile.graph, profile.kernels.size());
  if (profile.sizes != explanation.sizes)
    throw UserError(fmt::format(
        "the profile of {} is for {}, but the explanation is for {}: explain it for those sizes",
        profile.graph, fmt::join(profile.sizes, ", "), fmt::join(explanation.sizes, ", ")));
  for (std::size_t i = 0; i < profile.kernels.size(); ++i)
    if (profile.kernels[i].launches > 0) explanation.kernels[i].measured = profile.kernels[i];
  explanation.measured_on = fmt::format("{}; {}", profile.device, profile.caches);
}

void add_tuning(Explanation& explanation, const Report& report) {
  check_same_kernels(explanation, "the report", report.graph, report.kernels.size());
  for (std::size_t i = 0; i < report.kernels.size(); ++i) {
    KernelReport& kernel = explanation.kernels[i].report;
    kernel.candidates = report.kernels[i].candidates;
    kernel.tuning = report.kernels[i].tuning;
  }
  if (explanation.measured_on.empty()) explanation.measured_on = report.device;
}

}  // namespace sinter
