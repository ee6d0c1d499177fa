// Errors of MPI as return values. By default, MPI ends all ranks instead.
#pragma once

#include <mpi.h>

namespace sinter {

/// While it lives, errors of `communicator` are returned. Then the error handler of the program is
/// in force again. Threads may have several for one communicator.
class ReturnedErrors {
 public:
  explicit ReturnedErrors(MPI_Comm communicator);
  ~ReturnedErrors();
  ReturnedErrors(const ReturnedErrors&) = delete;
  ReturnedErrors& operator=(const ReturnedErrors&) = delete;

 private:
  const MPI_Comm communicator_;
};

}  // namespace sinter
