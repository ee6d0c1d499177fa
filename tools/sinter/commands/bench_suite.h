// The benchmark programs that lie beside the command: <suite>_bench.
#pragma once

#include <string>
#include <vector>

namespace sinter::command {

/// Their names, sorted.
std::vector<std::string> bench_suites();

struct SuiteRequest {
  std::string suite;
  std::string filter;  ///< only benchmarks whose name it matches; empty: all
  bool json = false;
};

/// Runs the suite, whose output is the command's. Throws UsageError where there is no such program,
/// and UserError where it cannot be started or fails.
void run_suite(const SuiteRequest& request);

}  // namespace sinter::command
