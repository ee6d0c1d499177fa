// Values that passes keep in shared memory. Each thread has its own vectors there, so they need no
// barrier.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/statements/kernel_writer.h"

namespace sinter {

class SharedStaging {
 public:
  explicit SharedStaging(KernelWriter& writer) : writer_(writer) {}

  /// Reserves shared memory for `elements` of each kept value of `passes`, and declares pointers to
  /// it. The thread's first vector has the index `own`.
  void declare(const PassPlan& passes, std::int64_t elements, std::string_view own);
  /// Writes `work`, the work of `pass` on the vector with index `place`, counted from the thread's
  /// first one. Writes the loads before it and the stores after it.
  void write_pass(const PassPlan& passes, int pass, const std::string& place,
                  const std::function<void()>& work);

 private:
  KernelWriter& writer_;
  // Per kept value:
  std::vector<std::string> names_;   ///< the variable with the current vector
  std::vector<std::string> memory_;  ///< the pointer to the thread's first vector
};

}  // namespace sinter
