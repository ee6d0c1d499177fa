// Variant: the kernels of one class of sizes and pointer alignments, planned, compiled and tuned.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "codegen/source.h"
#include "compiler/plan.h"
#include "runtime/driver.h"
#include "sinter/report.h"

namespace sinter {

struct CompiledUnit;

/// One kernel of a variant, ready to launch.
struct VariantKernel {
  Source source;
  Schedule schedule;
  CUfunction function = nullptr;
  std::shared_ptr<const CompiledUnit> unit;  ///< keeps the function loaded
};

/// Immutable once made.
struct Variant {
  Program program;
  std::vector<VariantKernel> kernels;  ///< in the order of program.kernels
  std::int64_t alignment = 16;         ///< of every bound pointer
  VariantReport report;
};

/// True if `variant` serves these sizes and pointers.
bool serves(const Variant& variant, std::span<const std::int64_t> symbols, std::int64_t alignment);

}  // namespace sinter
