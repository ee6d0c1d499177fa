// Ranks that end, are late, or never arrive. Each test runs in processes of its own, which end
// without MPI_Finalize.
#include <chrono>
#include <csignal>
#include <thread>

#include <gmock/gmock.h>
#include <mpi.h>

#include "tests/mpi/support/lone_test.h"
#include "tests/mpi/support/ranks.h"

namespace sinter::test::failure_test {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::StartsWith;

constexpr milliseconds kTimeout{1500};
const MpiOptions kOptions{.timeout = kTimeout};

bool is_last() { return own_rank() == rank_count() - 1; }

std::string timeout_message(std::string_view collective) {
  return std::string(collective) + ", recorded at model.cpp:7: rank " + std::to_string(own_rank()) +
         " of " + std::to_string(rank_count()) +
         ": it waited longer than 1500 ms for the other ranks, of which one has ended, is late or "
         "runs fewer collectives; raise MpiOptions::timeout if ranks may be so late";
}

/// Expects that a call on `communicator` fails with `message` after the timeout, and the next ones
/// at once.
void expect_timeout(const Communicator& communicator, const CollectiveCall& call,
                    std::string_view message) {
  const Bytes input(static_cast<std::size_t>(call.elements * size_of(call.dtype)));
  const double waited = seconds_of(
      [&] { EXPECT_EQ(error_of([&] { carry_out(communicator, call, input); }), message); });
  EXPECT_GT(waited, 1.4);
  EXPECT_LT(waited, 6);
  const double again = seconds_of(
      [&] { EXPECT_EQ(error_of([&] { carry_out(communicator, call, input); }), message); });
  EXPECT_LT(again, 0.7);
  EXPECT_EQ(error_of([&] { communicator.check(); }), message);
}

LONE_TEST(MpiFailure, ARankIsLate, RANKS 3 ABANDONED) {
  const Communicator communicator = Communicator::mpi(kOptions);
  carry_out(communicator, host_call(Collective::all_reduce, f32, 1), Bytes(4));
  communicator.check();
  if (is_last()) {
    std::this_thread::sleep_for(2 * kTimeout);
    // The others have given up.
    EXPECT_THAT(error_of([&] {
                  carry_out(communicator, host_call(Collective::all_reduce, f32, 4), Bytes(16));
                }),
                HasSubstr("it waited longer than 1500 ms"));
    return;
  }
  expect_timeout(communicator, host_call(Collective::all_reduce, f32, 4),
                 timeout_message("all_reduce of 4 f32 elements (sum)"));
}

LONE_TEST(MpiFailure, OneBrokenCommunicatorLeavesOthersIntact, RANKS 3 ABANDONED) {
  const Communicator broken = Communicator::mpi(kOptions), intact = Communicator::mpi();
  if (!is_last())
    expect_timeout(broken, host_call(Collective::all_gather, i32, 4),
                   timeout_message("all_gather of 4 i32 elements"));
  EXPECT_EQ(values_of(i32, carry_out(intact, host_call(Collective::all_reduce, i32, 1),
                                     elements_of(i32, {3}))),
            std::vector<double>{3.0 * rank_count()});
  intact.check();
}

LONE_TEST(MpiFailure, ARankWasKilled, RANKS 3 DYING 2 ABANDONED) {
  const Communicator communicator = Communicator::mpi(kOptions);
  carry_out(communicator, host_call(Collective::all_reduce, f32, 1), Bytes(4));
  if (is_last()) std::raise(SIGKILL);
  expect_timeout(communicator, host_call(Collective::broadcast, f64, 10),
                 timeout_message("broadcast of 10 f64 elements (from rank 0)"));
}

LONE_TEST(MpiFailure, ARankWasKilledDuringAnExchange, RANKS 3 DYING 2 ABANDONED) {
  const Communicator communicator = Communicator::mpi(kOptions);
  const CollectiveCall call = host_call(Collective::all_to_all, f64, 1'000'000 * rank_count());
  const Bytes input(static_cast<std::size_t>(call.elements * size_of(call.dtype)));
  carry_out(communicator, call, input);
  std::thread death;
  if (is_last())
    death = std::thread([] {
      std::this_thread::sleep_for(milliseconds(3));
      std::raise(SIGKILL);
    });
  // Whether the others notice it in this exchange or in the next one is a matter of time.
  std::string message;
  const double waited = seconds_of([&] {
    while (message.empty()) message = error_of([&] { carry_out(communicator, call, input); });
  });
  EXPECT_EQ(message,
            timeout_message("all_to_all of " + std::to_string(call.elements) + " f64 elements"));
  EXPECT_LT(waited, 8);
}

LONE_TEST(MpiFailure, ARankNeverCreatesTheCommunicator, RANKS 3 ABANDONED) {
  if (is_last()) {
    std::this_thread::sleep_for(2 * kTimeout);
    return;
  }
  EXPECT_EQ(
      error_of([] { Communicator::mpi(kOptions); }),
      "Communicator::mpi: waited longer than 1500 ms for the other ranks; all ranks must call "
      "it together. MpiOptions::timeout is the limit");
}

/// Rank 0 starts a collective that no other rank runs, and destroys its communicator.
LONE_TEST(MpiFailure, ACommunicatorIsDestroyedWithPendingWork, RANKS 3 ABANDONED) {
  std::vector<std::function<void()>> work;
  float input = 0, output = 0;
  CollectiveCall call = host_call(Collective::all_reduce, f32, 1);
  call.input = &input;
  call.output = &output;
  call.on_host = [&](std::function<void()> one) { work.push_back(std::move(one)); };
  auto communicator = std::make_unique<Communicator>(Communicator::mpi());
  communicator->engine()->enqueue(call);
  communicator->engine()->enqueue(call);
  if (own_rank() == 0) {
    work[0]();
    work[2]();
  }
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_LT(seconds_of([&] {
              work.clear();
              communicator.reset();
            }),
            5);
}

/// The program finalises MPI while rank 0 waits for the other ranks.
LONE_TEST(MpiFailure, MpiIsFinalizedWithPendingWork, RANKS 3 ABANDONED) {
  const Communicator communicator = Communicator::mpi();
  const bool is_first = own_rank() == 0;
  std::string message = "none";
  std::thread waiting;
  if (is_first)
    waiting = std::thread([&] {
      message = error_of(
          [&] { carry_out(communicator, host_call(Collective::all_reduce, f32, 1), Bytes(4)); });
    });
  std::this_thread::sleep_for(milliseconds(200));
  MPI_Finalize();
  if (!is_first) return;
  waiting.join();
  EXPECT_THAT(
      message,
      StartsWith("all_reduce of 1 f32 elements (sum), recorded at model.cpp:7: rank 0 of "));
  EXPECT_THAT(message, HasSubstr("it stopped waiting for the other ranks, since MPI_Finalize was "
                                 "called"));
}

}  // namespace
}  // namespace sinter::test::failure_test
