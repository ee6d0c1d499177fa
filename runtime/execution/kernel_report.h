// What is known of a kernel once it is emitted: the part of its report that needs no compiler.
#pragma once

#include "codegen/text/source.h"
#include "compiler/program/kernel.h"
#include "ir/text/print.h"
#include "sinter/report.h"

#include <cstdint>
#include <span>

namespace sinter {

class KernelReporter {
 public:
  /// Of the kernels of `program` at these sizes; both must outlive the reporter.
  KernelReporter(const Program& program, std::span<const std::int64_t> symbols);

  /// All but registers, spills, compile times and what tuning found out.
  KernelReport report(const Kernel& kernel, const Schedule& schedule, const Source& source) const;

 private:
  std::int64_t bytes_of_buffers(const Kernel& kernel, const Source& source) const;

  const Program& program_;
  std::span<const std::int64_t> symbols_;
  const ValueNames& names_;
};

}  // namespace sinter
