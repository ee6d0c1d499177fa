// What passes leave for one another in shared memory, where each thread has vectors of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/statements/kernel_writer.h"

namespace sinter {

class SharedStaging {
 public:
  explicit SharedStaging(KernelWriter& writer) : writer_(writer) {}

  /// Declares pointers to what `passes` keep, behind what the kernel has of shared memory:
  /// `elements` of each value, those of this thread from the vector numbered `own` on.
  void declare(const PassPlan& passes, std::int64_t elements, std::string_view own);
  /// Before and after what `pass` does with the vector at `place`, counted from the first of this
  /// thread.
  void write_before(const PassPlan& passes, int pass, const std::string& place);
  void write_after(const PassPlan& passes, int pass, const std::string& place);

 private:
  KernelWriter& writer_;
  // Of each kept value:
  std::vector<std::string> names_;   ///< of the vector that is being worked on
  std::vector<std::string> memory_;  ///< of the pointer to all of them
};

}  // namespace sinter
