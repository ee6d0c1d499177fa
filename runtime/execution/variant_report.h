// The reports on a variant, and those on a program that is not compiled yet.
#pragma once

#include "codegen/text/source.h"
#include "compiler/program/kernel.h"
#include "sinter/report.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sinter {

struct CompileResult;
struct TuneResult;
struct Variant;
struct VariantRequest;

/// The reasons why kernels of `program` are separate.
std::vector<BoundaryReport> boundary_reports(const Program& program);
/// The guards of `program`, with their reasons.
std::vector<std::string> guard_texts(const Program& program);

/// The report on a kernel of `program` at the sizes `symbols`, without registers, spills, compile
/// times and tuning results.
KernelReport kernel_report(const Program& program, const Kernel& kernel, const Schedule& schedule,
                           const Source& source, std::span<const std::int64_t> symbols);

/// The report on a variant without the durations. `compiled` and `tuned` have one element per
/// kernel.
VariantReport report_of(const Variant& variant, const VariantRequest& request,
                        std::span<const CompileResult> compiled, std::span<const TuneResult> tuned);

}  // namespace sinter
