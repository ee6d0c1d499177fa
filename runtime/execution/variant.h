// Variant: the kernels of one class of sizes and pointer alignments, planned, compiled and tuned.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "codegen/text/source.h"
#include "compiler/plan.h"
#include "runtime/driver/driver.h"
#include "sinter/report.h"

namespace sinter {

struct CompiledUnit;
class OpaqueBinding;

/// One kernel of a variant, ready to launch.
struct VariantKernel {
  Source source;
  Schedule schedule;
  CUfunction function = nullptr;
  std::int64_t resident_blocks = 0;          ///< the most of a cooperative launch; 0: any number
  std::shared_ptr<const CompiledUnit> unit;  ///< keeps the function loaded
  /// Of an opaque call, which has no function of ours: the user's.
  std::shared_ptr<const OpaqueBinding> opaque = nullptr;
};

/// Immutable once made.
struct Variant {
  Program program;
  std::vector<VariantKernel> kernels;  ///< in the order of program.kernels
  std::int64_t alignment = 16;         ///< of every bound pointer
  std::vector<bool> unwritten_outputs;          ///< per output: a view that is not written; empty: none
  bool is_provisional = false;         ///< one that was tuned will take its place
  VariantReport report;
};

/// What a run asks of a variant.
struct VariantNeed {
  std::span<const std::int64_t> symbols;
  std::int64_t alignment = 16;
  std::vector<bool> unwritten_outputs = {};
};

/// True if `variant` serves these sizes, pointers and outputs.
bool serves(const Variant& variant, const VariantNeed& need);

/// A copy of the one of `variants` that was made for less aligned pointers, but serves `need`
/// otherwise, with the same bits; of several the one for the most aligned; null if there is none.
std::shared_ptr<Variant> with_lower_alignment(
    std::span<const std::shared_ptr<const Variant>> variants, const VariantNeed& need);

}  // namespace sinter
