// How collectives become work of a stream: two pieces, of which the first does not wait.
#include <chrono>
#include <thread>

#include <gtest/gtest.h>
#include <mpi.h>

#include "tests/mpi/support/ranks.h"

namespace sinter::test::stream_test {
namespace {

/// The host work of one all_reduce of one f32, its operand and its result.
struct Recorded {
  std::vector<std::function<void()>> work;
  float input = 0;
  float output = 0;
};

void record(const Communicator& communicator, Recorded& recorded) {
  CollectiveCall call = host_call(Collective::all_reduce, f32, 1);
  call.input = &recorded.input;
  call.output = &recorded.output;
  call.on_host = [&](std::function<void()> work) { recorded.work.push_back(std::move(work)); };
  communicator.engine()->enqueue(call);
}

TEST(MpiStream, TheFirstPieceOfWorkDoesNotWait) {
  const Communicator communicator = Communicator::mpi();
  Recorded recorded{.input = 1};
  record(communicator, recorded);
  ASSERT_EQ(recorded.work.size(), 2u);
  wait_for_all_ranks();
  if (own_rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const double start = seconds_of(recorded.work[0]);
  const double finish = seconds_of(recorded.work[1]);
  EXPECT_LT(start, 0.25);
  if (own_rank() != 0) {
    EXPECT_GT(finish, 0.1);
  }
  EXPECT_EQ(recorded.output, rank_count());
}

TEST(MpiStream, RecordedWorkRunsAgain) {
  const Communicator communicator = Communicator::mpi();
  Recorded first, second;
  record(communicator, first);
  record(communicator, second);
  for (int run = 1; run <= 20; ++run) {
    first.input = static_cast<float>(run);
    second.input = static_cast<float>(-run);
    for (Recorded* recorded : {&first, &second})
      for (const std::function<void()>& work : recorded->work) work();
    EXPECT_EQ(first.output, run * rank_count());
    EXPECT_EQ(second.output, -run * rank_count());
  }
}

TEST(MpiStream, WorkOutlivesTheCommunicator) {
  Recorded recorded{.input = 2};
  record(Communicator::mpi(), recorded);
  for (const std::function<void()>& work : recorded.work) work();
  EXPECT_EQ(recorded.output, 2 * rank_count());
}

TEST(MpiStream, RecordingKeepsNothingOfTheCall) {
  const Communicator communicator = Communicator::mpi();
  Recorded recorded{.input = 1};
  {
    std::string place = "model.cpp:12345";
    CollectiveCall call = host_call(Collective::all_reduce, f32, 1);
    call.input = &recorded.input;
    call.output = &recorded.output;
    call.place = place;
    call.on_host = [&](std::function<void()> work) { recorded.work.push_back(std::move(work)); };
    communicator.engine()->enqueue(call);
    place.assign(place.size(), '#');
  }
  for (const std::function<void()>& work : recorded.work) work();
  EXPECT_EQ(recorded.output, rank_count());
}

TEST(MpiStream, CommunicatorsDoNotWaitForOneAnother) {
  const Communicator a = Communicator::mpi(), b = Communicator::mpi();
  Recorded of_a{.input = 1}, of_b{.input = 10};
  record(a, of_a);
  record(b, of_b);
  for (int run = 0; run < 10; ++run) {
    // The ranks start and finish the two in opposite orders.
    Recorded& first = own_rank() % 2 == 0 ? of_a : of_b;
    Recorded& second = own_rank() % 2 == 0 ? of_b : of_a;
    first.work[0]();
    second.work[0]();
    second.work[1]();
    first.work[1]();
    EXPECT_EQ(of_a.output, rank_count());
    EXPECT_EQ(of_b.output, 10 * rank_count());
  }
}

TEST(MpiStream, ThreadsUseCommunicatorsOfTheirOwn) {
  const Communicator a = Communicator::mpi(), b = Communicator::mpi();
  const auto use = [](const Communicator& communicator, float value) {
    for (int i = 0; i < 50; ++i) {
      const Bytes output = carry_out(communicator, host_call(Collective::all_reduce, f32, 3),
                                     elements_of(f32, {value, value * 2, static_cast<double>(i)}));
      const double size = rank_count();
      EXPECT_EQ(values_of(f32, output),
                (std::vector<double>{value * size, 2 * value * size, i * size}));
    }
  };
  const bool is_even = own_rank() % 2 == 0;
  std::thread other([&] { use(is_even ? a : b, is_even ? 1 : 2); });
  use(is_even ? b : a, is_even ? 2 : 1);
  other.join();
}

TEST(MpiStream, ACommunicatorOfSomeRanks) {
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, own_rank() % 2, -own_rank(), &half);
  int rank = 0, size = 0;
  MPI_Comm_rank(half, &rank);
  MPI_Comm_size(half, &size);
  {
    const Communicator communicator = Communicator::mpi(&half);
    MPI_Comm_free(&half);  // the communicator is a copy
    EXPECT_EQ(communicator.rank(), rank);
    EXPECT_EQ(communicator.size(), size);
    EXPECT_EQ(communicator.engine()->name(), "MPI");
    const Bytes output = carry_out(communicator, host_call(Collective::all_gather, f32, 1),
                                   elements_of(f32, {static_cast<double>(own_rank())}));
    const std::vector<double> ranks = values_of(f32, output);
    ASSERT_EQ(static_cast<int>(ranks.size()), size);
    EXPECT_EQ(ranks[static_cast<std::size_t>(rank)], own_rank());
    if (size > 1) {
      EXPECT_EQ(ranks[0], ranks[1] + 2);
    }
  }
  wait_for_all_ranks();
}

TEST(MpiStream, RefusesCommunicatorsThatAreNone) {
  EXPECT_EQ(error_of([] { Communicator::mpi(nullptr, MpiOptions{}); }),
            "Communicator::mpi: the pointer to an MPI_Comm is null; pass &communicator");
  const MPI_Comm none = MPI_COMM_NULL;
  EXPECT_EQ(error_of([&] { Communicator::mpi(&none); }),
            "Communicator::mpi: the communicator is MPI_COMM_NULL; pass one that connects the "
            "ranks of one group");
  EXPECT_EQ(error_of([] { Communicator::mpi({.timeout = std::chrono::milliseconds(0)}); }),
            "Communicator::mpi: the timeout is 0 ms; it must be positive");
}

TEST(MpiStream, ManyCommunicatorsComeAndGo) {
  for (int i = 0; i < 200; ++i) {
    const Communicator communicator = Communicator::mpi();
    if (i % 20 == 0) carry_out(communicator, host_call(Collective::all_reduce, f32, 1), Bytes(4));
  }
}

}  // namespace
}  // namespace sinter::test::stream_test
