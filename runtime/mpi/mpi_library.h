// The MPI library of this process: initialised once, finalised at the end of the process.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace sinter {

/// Initialises MPI if the program has not, and then finalises it at exit. Throws UserError if MPI
/// has no MPI_THREAD_MULTIPLE, or was finalised.
void start_mpi();

/// True after MPI_Finalize. No other function of MPI may be called then.
bool is_mpi_finalized();

/// Throws UserError with MPI's description of `code` if it is an error. `call` is the function of
/// MPI that returned it.
void check_mpi(int code, std::string_view call);

/// Calls `end` at the beginning of MPI_Finalize, when MPI may still be used, unless
/// `forget_mpi_user(user)` is called before.
void add_mpi_user(const void* user, std::function<void(std::string_view why)> end);
/// Waits for a call of `end` in another thread.
void forget_mpi_user(const void* user);

/// Tells that an operation will never complete. MPI_Finalize would wait for it, so sinter does not
/// finalise MPI.
void never_finalize_mpi();

/// True in a child that the process forked after start_mpi. Such a child cannot use MPI.
bool is_forked_from_mpi_process();

}  // namespace sinter
