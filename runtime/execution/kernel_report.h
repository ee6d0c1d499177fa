// The reports on a program that are known before its kernels are compiled.
#pragma once

#include "codegen/text/source.h"
#include "compiler/program/kernel.h"
#include "ir/text/print.h"
#include "sinter/report.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sinter {

/// The reasons why kernels of `program` are separate.
std::vector<BoundaryReport> boundary_reports(const Program& program);
/// The guards of `program`, with their reasons.
std::vector<std::string> guard_texts(const Program& program);

class KernelReporter {
 public:
  /// Reports on kernels of `program` at the sizes `symbols`. Both must outlive the reporter.
  KernelReporter(const Program& program, std::span<const std::int64_t> symbols);

  /// The report without registers, spills, compile times and tuning results.
  KernelReport report(const Kernel& kernel, const Schedule& schedule, const Source& source) const;

 private:
  std::int64_t bytes_of_buffers(const Kernel& kernel, const Source& source) const;

  const Program& program_;
  std::span<const std::int64_t> symbols_;
  const ValueNames& names_;
};

}  // namespace sinter
