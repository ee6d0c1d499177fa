// Examinations: examines the first launch of each loaded kernel with its mutations, and writes the
// outcomes to a file.
#pragma once

#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "tests/virtual_gpu/mutation/examination.h"

namespace sinter::virtual_gpu::driver {

/// Each line has these fields, with tabs between them:
/// - the function with the mutation, and the number, kind and line of the mutation;
/// - the name, schedule and message of the Outcome.
///
/// The function is the kernel or one that it calls. If the unchanged kernel does not pass, the
/// number is 0, and there is no kind.
class Examinations {
 public:
  void open(const std::string& file) { file_.open(file, std::ios::app); }
  bool is_open() const { return file_.is_open(); }
  /// `may_start_early`: the launch is ordered after its predecessor only by `griddepcontrol.wait`.
  /// The wait is examined in the first such launch of a kernel.
  void examine(const ExaminedLaunch& launch, bool may_start_early);

 private:
  void write(const std::string& function, const Mutation* mutation, const Outcome& outcome);

  std::ofstream file_;
  using Kernels = std::set<std::pair<std::shared_ptr<const Program>, int>>;
  Kernels examined_, examined_waits_;
};

}  // namespace sinter::virtual_gpu::driver
