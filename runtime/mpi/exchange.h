// One collective as operations of MPI.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include <mpi.h>

#include "sinter/communicator.h"

namespace sinter {

/// A rank of a communicator of MPI.
struct MpiRank {
  MPI_Comm communicator = MPI_COMM_NULL;
  int rank = 0;
  int size = 1;
};

/// Throws UserError if MPI cannot carry out `call`: its device, dtype, sizes or ranks.
void check_exchange(const CollectiveCall& call, const MpiRank& own);

/// Waits until operations that the named function of MPI started are complete; throws otherwise.
using WaitForExchange = std::function<void(std::span<MPI_Request>, std::string_view call)>;

/// Carries out `call`, which all ranks have in common and check_exchange accepts.
void exchange(const CollectiveCall& call, const MpiRank& own, const WaitForExchange& wait);

}  // namespace sinter
