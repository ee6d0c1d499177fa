// Runs the golden patterns on a virtual GPU and pairs each kernel's report with its counts.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "sinter/report.h"
#include "tests/support/graphs/patterns.h"

namespace sinter::virtual_gpu {

/// A launch as the plan predicts it and as the virtual GPU counted it.
struct CountedKernel {
  KernelReport report;
  nlohmann::json counts;  ///< of driver/launch_counts.h
};

struct PatternRun {
  Program program;  ///< its kernels are those of `kernels`, in this order
  std::vector<CountedKernel> kernels;
};

/// Runs the small version of `pattern` on a virtual GPU of `arch` with the SMs of its chip.
PatternRun run_pattern(const test::Pattern& pattern, const std::string& arch);

}  // namespace sinter::virtual_gpu
