// The benchmark programs <suite>_bench in the folder of the command.
#pragma once

#include <string>
#include <vector>

namespace sinter::command {

/// The names of the suites, sorted.
std::vector<std::string> bench_suites();

struct SuiteRequest {
  std::string suite;
  std::string filter;  ///< run only benchmarks whose name matches; empty: all
  bool json = false;
};

/// Runs the suite with the standard streams of the command. Throws UsageError if there is no such
/// program, and UserError if it cannot be started or fails.
void run_suite(const SuiteRequest& request);

}  // namespace sinter::command
