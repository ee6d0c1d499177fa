// CaseRun: runs a graph on the virtual GPU, whose driver examines each kernel with all mutations.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/virtual_gpu/mutation/tool/cases.h"

namespace sinter::virtual_gpu::mutation {

/// A line of the examinations: see driver/examinations.h.
struct Examined {
  std::string kernel;
  int number = 0;
  std::string kind;
  int line = 0;
  std::string outcome;
  std::string schedule;
  std::string message;
};

/// A run of a case in a child process, since a failed kernel makes the device of a process
/// unusable.
///
/// The child runs the graph and checks its results with the oracle. Then it runs it twice more
/// without a wait of the host between, so that kernels start early.
class CaseRun {
 public:
  explicit CaseRun(const Case& one);
  ~CaseRun();
  CaseRun(const CaseRun&) = delete;
  CaseRun& operator=(const CaseRun&) = delete;

  int process() const { return process_; }
  /// The outcomes of all mutations, after the child has ended; none if no kernel has the candidate.
  /// Throws UserError if an unchanged kernel fails or a result is wrong.
  std::vector<Examined> outcomes() const;

 private:
  std::string name_, file_;
  int process_ = 0;
};

/// Runs the cases in `jobs` processes at a time. `done` gets a case and its outcomes, or what went
/// wrong, as cases end.
void run_cases(const std::vector<Case>& cases, int jobs,
               const std::function<void(const Case&, const std::vector<Examined>&,
                                        const std::string& problem)>& done);

}  // namespace sinter::virtual_gpu::mutation
