// Values that passes keep in shared memory. Each thread has its own vectors there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/statements/kernel_writer.h"

namespace sinter {

class SharedStaging {
 public:
  explicit SharedStaging(KernelWriter& writer) : writer_(writer) {}

  /// Reserves shared memory for `elements` of each kept value of `passes`, and declares pointers to
  /// it. The thread's first vector has the index `own`.
  void declare(const PassPlan& passes, std::int64_t elements, std::string_view own);
  /// Write the loads before, and the stores after, the work of `pass` on the vector with index
  /// `place`, counted from the thread's first one.
  void write_before(const PassPlan& passes, int pass, const std::string& place);
  void write_after(const PassPlan& passes, int pass, const std::string& place);

 private:
  KernelWriter& writer_;
  // Per kept value:
  std::vector<std::string> names_;   ///< the variable with the current vector
  std::vector<std::string> memory_;  ///< the pointer to the thread's first vector
};

}  // namespace sinter
