#include "runtime/mpi/returned_errors.h"

#include <map>
#include <mutex>

#include "runtime/mpi/mpi_library.h"

namespace sinter {

namespace {

struct Replaced {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;  // of the program
  int uses = 0;
};

/// Never destroyed: threads may use it while the process ends.
struct ReplacedHandlers {
  std::mutex mutex;
  std::map<MPI_Comm, Replaced> of_communicator;
};

ReplacedHandlers& replaced_handlers() {
  static auto* const handlers = new ReplacedHandlers;
  return *handlers;
}

MPI_Errhandler replace_handler(MPI_Comm communicator) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  check_mpi(MPI_Comm_get_errhandler(communicator, &handler), "MPI_Comm_get_errhandler");
  check_mpi(MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return handler;
}

}  // namespace

ReturnedErrors::ReturnedErrors(MPI_Comm communicator) : communicator_(communicator) {
  ReplacedHandlers& all = replaced_handlers();
  const std::lock_guard lock(all.mutex);
  Replaced& replaced = all.of_communicator[communicator];
  if (replaced.uses == 0) replaced.handler = replace_handler(communicator);
  ++replaced.uses;
}

ReturnedErrors::~ReturnedErrors() {
  ReplacedHandlers& all = replaced_handlers();
  const std::lock_guard lock(all.mutex);
  const auto found = all.of_communicator.find(communicator_);
  if (--found->second.uses > 0) return;
  MPI_Comm_set_errhandler(communicator_, found->second.handler);
  MPI_Errhandler_free(&found->second.handler);
  all.of_communicator.erase(found);
}

}  // namespace sinter
