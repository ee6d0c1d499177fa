// Builds the report of a variant.
#pragma once

#include <span>

#include "runtime/execution/executable_state.h"
#include "runtime/service/compile_service.h"
#include "runtime/tuning/autotune.h"

namespace sinter {

/// The report without the durations. `compiled` and `tuned` have one element per kernel.
VariantReport report_of(const Variant& variant, const VariantRequest& request,
                        std::span<const CompileResult> compiled, std::span<const TuneResult> tuned);

}  // namespace sinter
