// The ranks of the tests in tests/mpi. mpirun starts one process per rank, and all run the same
// tests.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "sinter/communicator.h"

namespace sinter::test {

using Bytes = std::vector<std::byte>;

/// Of this process in MPI_COMM_WORLD.
int own_rank();
int rank_count();
/// Returns once all ranks have called it.
void wait_for_all_ranks();

/// The elements of `values` in `dtype`, which represents them exactly.
Bytes elements_of(DType dtype, const std::vector<double>& values);
std::vector<double> values_of(DType dtype, const Bytes& elements);

/// Executes host work at once, as a stream without other work does.
void run_at_once(std::function<void()> work);

/// A call of host arrays, without memory.
CollectiveCall host_call(Collective kind, DType dtype, std::int64_t elements);

/// The number of elements that each rank gets.
std::int64_t output_elements(const CollectiveCall& call, int ranks);

/// Carries out `call` with the given input. Returns the output.
Bytes carry_out(const Communicator& communicator, CollectiveCall call, const Bytes& input);

/// The message of the UserError that `function` throws; empty if it throws none.
std::string error_of(const std::function<void()>& function);

/// The seconds that `function` takes.
double seconds_of(const std::function<void()>& function);

}  // namespace sinter::test
