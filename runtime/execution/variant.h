// Variant: the planned, compiled and tuned kernels of one size class and pointer alignment.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
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
  std::int64_t grid_limit = 0;  ///< the most blocks of a cooperative launch; 0: no limit
  bool starts_early = false;    ///< as in CompiledFunction
  std::shared_ptr<const CompiledUnit> unit;  ///< keeps the function loaded
  /// The user's function of an opaque call, in place of `function`.
  std::shared_ptr<const OpaqueBinding> opaque = nullptr;
};

/// Immutable once made.
struct Variant {
  Program program;
  std::vector<VariantKernel> kernels;  ///< in the order of program.kernels
  std::int64_t alignment = 16;         ///< of every bound pointer
  /// Per output, true for a view that is not written; empty if there is none.
  std::vector<bool> unwritten_outputs;
  bool is_provisional = false;  ///< a tuned variant will replace it
  bool is_specialized = false;  ///< for one size of each symbol; preferred to others
  VariantReport report;
};

/// The sizes, pointer alignment and outputs of a run, which a variant must serve.
struct VariantNeed {
  std::span<const std::int64_t> symbols;
  std::int64_t alignment = 16;
  std::vector<bool> unwritten_outputs = {};
};

/// True if `variant` serves these sizes, pointers and outputs.
bool serves(const Variant& variant, const VariantNeed& need);

/// A copy of a variant that was made for pointers of a lower alignment but otherwise serves `need`,
/// with the same bits. Of several it takes the one of the highest alignment; null if there is none.
std::shared_ptr<Variant> with_lower_alignment(
    std::span<const std::shared_ptr<const Variant>> variants, const VariantNeed& need);

}  // namespace sinter
