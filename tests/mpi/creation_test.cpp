// Communicator::mpi with errors of MPI, and without memory.
#include <atomic>
#include <cstdlib>
#include <new>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include "tests/mpi/support/ranks.h"

namespace {

std::atomic<bool> duplication_fails = false;
/// The allocations of this thread before one fails; -1: none fails.
thread_local int allocations_left = -1;

void* allocate(std::size_t bytes) {
  if (allocations_left == 0) throw std::bad_alloc();
  if (allocations_left > 0) --allocations_left;
  if (void* const memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}

}  // namespace

/// In front of the function of MPI, which has the second name PMPI_Comm_idup.
extern "C" int MPI_Comm_idup(MPI_Comm communicator, MPI_Comm* copy, MPI_Request* request) {
  if (!duplication_fails) return PMPI_Comm_idup(communicator, copy, request);
  MPI_Comm_call_errhandler(communicator, MPI_ERR_INTERN);
  return MPI_ERR_INTERN;
}

void* operator new(std::size_t bytes) { return allocate(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace sinter::test::creation_test {
namespace {

using testing::StartsWith;

MPI_Errhandler handler_of(MPI_Comm communicator) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(communicator, &handler);
  return handler;
}

void ignore_error(MPI_Comm*, int*, ...) {}

std::string error_of_failing_duplication(MPI_Comm communicator) {
  duplication_fails = true;
  const std::string error = error_of([&] { Communicator::mpi(&communicator); });
  duplication_fails = false;
  return error;
}

/// The default error handler would end all ranks.
TEST(MpiCreation, ErrorsOfMpiAreErrorsOfSinter) {
  ASSERT_EQ(handler_of(MPI_COMM_WORLD), MPI_ERRORS_ARE_FATAL);
  EXPECT_THAT(
      error_of_failing_duplication(MPI_COMM_WORLD),
      StartsWith("MPI_Comm_idup failed with the code " + std::to_string(MPI_ERR_INTERN) + ": "));
  MPI_Comm other = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, own_rank(), &other);
  EXPECT_THAT(error_of_failing_duplication(other), StartsWith("MPI_Comm_idup failed"));
  MPI_Comm_free(&other);
  EXPECT_EQ(values_of(i32, carry_out(Communicator::mpi(), host_call(Collective::all_reduce, i32, 1),
                                     elements_of(i32, {1}))),
            std::vector<double>{1.0 * rank_count()});
}

TEST(MpiCreation, ErrorHandlersOfTheProgramRemain) {
  MPI_Errhandler own = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(ignore_error, &own);
  MPI_Comm other = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  MPI_Comm_set_errhandler(other, own);
  const Communicator communicator = Communicator::mpi(&other);
  EXPECT_EQ(handler_of(other), own);
  EXPECT_THAT(error_of_failing_duplication(other), StartsWith("MPI_Comm_idup failed"));
  EXPECT_EQ(handler_of(other), own);
  EXPECT_EQ(handler_of(MPI_COMM_WORLD), MPI_ERRORS_ARE_FATAL);
  EXPECT_EQ(handler_of(MPI_COMM_SELF), MPI_ERRORS_ARE_FATAL);
  MPI_Comm_free(&other);
  MPI_Errhandler_free(&own);
}

TEST(MpiCreation, EachAllocationMayFail) {
  { const Communicator warm = Communicator::mpi(); }
  int failures = 0;
  for (bool has_failed = true; has_failed; failures += has_failed) {
    has_failed = false;
    allocations_left = failures;
    try {
      const Communicator communicator = Communicator::mpi();
      allocations_left = -1;
    } catch (const std::bad_alloc&) {
      allocations_left = -1;
      has_failed = true;
    }
    wait_for_all_ranks();
  }
  EXPECT_GT(failures, 4);
  EXPECT_LT(failures, 100);
  EXPECT_EQ(values_of(i32, carry_out(Communicator::mpi(), host_call(Collective::all_reduce, i32, 1),
                                     elements_of(i32, {1}))),
            std::vector<double>{1.0 * rank_count()});
}

}  // namespace
}  // namespace sinter::test::creation_test
