// The life of MPI in the process. Each test runs in processes of its own.
#include <chrono>
#include <memory>

#include <gmock/gmock.h>
#include <mpi.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/mpi/support/lone_test.h"
#include "tests/mpi/support/ranks.h"

namespace sinter::test::process_test {
namespace {

using testing::StartsWith;

double sum_of_ones(const Communicator& communicator) {
  return values_of(f32, carry_out(communicator, host_call(Collective::all_reduce, f32, 1),
                                  elements_of(f32, {1})))[0];
}

/// The process ends with a communicator alive, and mpirun must be content.
LONE_TEST(MpiProcess, SinterInitializesAndFinalizesMpi, RANKS 2 INIT none) {
  int is_initialized = 0;
  MPI_Initialized(&is_initialized);
  ASSERT_FALSE(is_initialized);
  static const Communicator communicator = Communicator::mpi();
  MPI_Initialized(&is_initialized);
  EXPECT_TRUE(is_initialized);
  EXPECT_EQ(sum_of_ones(communicator), rank_count());
}

LONE_TEST(MpiProcess, RefusesALowThreadLevel, RANKS 2 INIT single) {
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(error_of([] { Communicator::mpi(); }),
              "Communicator::mpi: MPI was initialised with MPI_THREAD_SINGLE, but a thread of "
              "sinter calls MPI, too; initialise it by MPI_Init_thread with MPI_THREAD_MULTIPLE, "
              "or let Communicator::mpi initialise it");
}

LONE_TEST(MpiProcess, CommunicatorsOutliveMpi, RANKS 2) {
  auto communicator = std::make_unique<Communicator>(Communicator::mpi());
  auto unused = std::make_unique<Communicator>(Communicator::mpi());
  EXPECT_EQ(sum_of_ones(*communicator), rank_count());
  MPI_Finalize();
  communicator->check();  // no collective has failed
  EXPECT_EQ(error_of([&] { sum_of_ones(*communicator); }), "MPI: MPI_Finalize was called");
  EXPECT_EQ(error_of([] { Communicator::mpi(); }),
            "Communicator::mpi: MPI was finalised, and cannot be initialised again; call "
            "MPI_Finalize when no communicator is needed any more");
  unused.reset();
  communicator.reset();
}

/// Runs `function` in a forked child. Returns true if it returned true within ten seconds.
bool succeeds_in_child(const std::function<bool()>& function) {
  const pid_t child = fork();
  if (child == 0) _exit(function() ? 0 : 1);
  for (int i = 0; i < 1000; ++i) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) && !WEXITSTATUS(status);
    usleep(10'000);
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return false;
}

LONE_TEST(MpiProcess, AForkedChildGetsAnError, RANKS 2) {
  auto communicator = std::make_unique<Communicator>(Communicator::mpi());
  EXPECT_EQ(sum_of_ones(*communicator), rank_count());
  std::vector<std::function<void()>> work;
  float input = 1, output = 0;
  CollectiveCall call = host_call(Collective::all_reduce, f32, 1);
  call.input = &input;
  call.output = &output;
  call.on_host = [&](std::function<void()> one) { work.push_back(std::move(one)); };
  communicator->engine()->enqueue(call);
  const std::string expected =
      "MPI: this process was forked from a rank, and cannot exchange values; let mpirun start all "
      "ranks";
  EXPECT_TRUE(succeeds_in_child([&] {
    work[0]();
    const bool is_right = error_of([&] { work[1](); }) == expected &&
                          error_of([&] { sum_of_ones(*communicator); }) == expected &&
                          error_of([&] { communicator->check(); }) == expected;
    const std::string creation = error_of([] { Communicator::mpi(); });
    work.clear();
    communicator.reset();
    return is_right && creation.starts_with("Communicator::mpi: this process was forked");
  }));
  // The parent is not affected.
  EXPECT_EQ(sum_of_ones(*communicator), rank_count());
  for (const std::function<void()>& one : work) one();
  EXPECT_EQ(output, rank_count());
}

}  // namespace
}  // namespace sinter::test::process_test
