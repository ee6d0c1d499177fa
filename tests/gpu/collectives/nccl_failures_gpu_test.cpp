// Failures of collectives by NCCL: late ranks, errors, ranks that differ, wrong calls, forks. Each
// has a message, and none hangs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "runtime/collectives/nccl/nccl.h"
#include "runtime/device/device_state.h"
#include "tests/support/doubles/nccl_double.h"
#include "tests/support/doubles/thread_communicator.h"
#include "tests/support/files/errors.h"

namespace sinter::nccl_failures_gpu_test {
namespace {

using namespace test;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

constexpr NcclOptions kLong = {.timeout = std::chrono::seconds(60)};
constexpr NcclOptions kShort = {.timeout = std::chrono::milliseconds(300)};

Context gather_context(const Device& device, const Communicator& data, std::int64_t elements) {
  Graph graph("gather");
  graph.output("y", all_gather(graph.input("x", f32, {elements}),
                               {.name = "data", .size = data.size()}));
  return compile(graph, device, {.tune = Tune::off}).context({{"data", data}});
}

/// One rank with a program that gathers `elements` numbers of each rank.
struct Rank {
  Rank(const NcclUniqueId& id, int rank, int ranks, const Device& device,
       const NcclOptions& options, std::int64_t elements = 4)
      : data(Communicator::nccl(id, rank, ranks, device, options)),
        context(gather_context(device, data, elements)),
        stream(device.stream()),
        x(device.empty(f32, {elements})),
        y(device.empty(f32, {ranks * elements})) {
    device.upload(x, std::vector<float>(static_cast<std::size_t>(elements), 1), stream);
  }

  void run() { context.run(stream, {{"x", x}}, {{"y", y}}); }
  void replay() { context.replay(stream, {{"x", x}}, {{"y", y}}); }
  std::string failure() const {
    return error_of([&] { data.check(); });
  }

  const Communicator data;
  Context context;
  const Stream stream;
  const Array x, y;
};

class GpuNcclFailures : public NcclTest {
 protected:
  /// Runs `body` for both ranks of a group, each in a thread of its own.
  void on_two_ranks(const NcclOptions& options,
                    const std::function<void(Rank& own, int rank)>& body) {
    need_double(2);
    if (IsSkipped()) return;
    const NcclUniqueId id = nccl_unique_id();
    on_every_rank(2, [&](int rank) {
      Rank own(id, rank, 2, gpu(rank), options);
      body(own, rank);
    });
  }
};

constexpr const char* kLateRank =
    ": rank 0 of 2: it waited longer than 300 ms for the other ranks, of which one has ended, is "
    "late or runs other collectives; raise NcclOptions::timeout if ranks may be so late";

TEST_F(GpuNcclFailures, ALateRankEndsTheFirstRun) {
  on_two_ranks(kShort, [](Rank& own, int rank) {
    if (rank == 1) return;
    EXPECT_THAT(error_of([&] { own.run(); }),
                AllOf(StartsWith("all_gather: its function failed: NCCL 2.27.3: all_gather of 4 f32 "
                                 "elements, recorded at "),
                      HasSubstr(kLateRank)));
    own.stream.synchronize();
    EXPECT_THAT(own.failure(), EndsWith(kLateRank));
  });
}

TEST_F(GpuNcclFailures, ALateRankEndsALaterRun) {
  need_double(2);
  if (IsSkipped()) return;
  const int aborted = NcclDouble::aborted();
  on_two_ranks(kShort, [&](Rank& own, int rank) {
    own.run();
    own.stream.synchronize();
    if (rank == 1) return;  // it runs no more
    own.run();
    own.stream.synchronize();  // the abort ends the collective
    EXPECT_THAT(own.failure(),
                AllOf(StartsWith("NCCL 2.27.3: all_gather of 4 f32 elements, recorded at "),
                      HasSubstr("nccl_failures_gpu_test.cpp:"), EndsWith(kLateRank)));
    for (int i = 0; i < 2; ++i) {
      EXPECT_THAT(error_of([&] { own.run(); }),
                  AllOf(StartsWith("all_gather: its function failed: NCCL 2.27.3: all_gather"),
                        HasSubstr(kLateRank)));
      EXPECT_EQ(error_of([&] { own.replay(); }).find("all_gather: its function failed: NCCL"), 0U);
    }
  });
  EXPECT_EQ(NcclDouble::aborted(), aborted + 1);
}

TEST_F(GpuNcclFailures, ALateRankEndsTheReplay) {
  on_two_ranks(kShort, [](Rank& own, int rank) {
    own.replay();
    own.stream.synchronize();
    EXPECT_EQ(own.failure(), "(nothing thrown)");
    if (rank == 1) return;
    own.replay();
    own.stream.synchronize();
    const std::string failure = own.failure();
    EXPECT_THAT(failure, AllOf(StartsWith("NCCL 2.27.3: a replay with all_gather (recorded at "),
                               EndsWith(kLateRank)));
    EXPECT_EQ(error_of([&] { own.replay(); }), failure);
  });
}

TEST_F(GpuNcclFailures, RanksThatAreNotLateDoNotFail) {
  on_two_ranks({.timeout = std::chrono::seconds(20)}, [](Rank& own, int rank) {
    for (int i = 0; i < 3; ++i) {
      // Longer than nothing is in flight, and than the thread looks again.
      std::this_thread::sleep_for(std::chrono::milliseconds(rank == i % 2 ? 150 : 0));
      own.run();
      own.replay();
      own.stream.synchronize();
    }
    EXPECT_EQ(own.failure(), "(nothing thrown)");
  });
}

TEST_F(GpuNcclFailures, AsynchronousErrorsAreReported) {
  on_two_ranks(kLong, [](Rank& own, int rank) {
    own.run();
    own.stream.synchronize();
    if (rank == 1) return;
    own.run();
    NcclDouble::fail(0, nccl::ncclRemoteError, "socket closed by peer 10.0.0.2");
    own.stream.synchronize();
    EXPECT_THAT(own.failure(),
                AllOf(StartsWith("NCCL 2.27.3: all_gather of 4 f32 elements, recorded at "),
                      EndsWith(": rank 0 of 2: remote process exited or there was a network error: "
                               "socket closed by peer 10.0.0.2")));
  });
}

TEST_F(GpuNcclFailures, ErrorsBetweenRunsAreReported) {
  on_two_ranks(kLong, [](Rank& own, int rank) {
    own.run();
    own.stream.synchronize();
    if (rank == 1) return;
    EXPECT_EQ(own.failure(), "(nothing thrown)");
    NcclDouble::fail(0, nccl::ncclSystemError, "");
    EXPECT_EQ(own.failure(),
              "NCCL 2.27.3: a collective: rank 0 of 2: unhandled system error");
  });
}

// NCCL does not return from an abort while a graph with the operations lives.
TEST_F(GpuNcclFailures, ErrorsWithALiveGraphAreReportedInTime) {
  need_double(2);
  if (IsSkipped()) return;
  const int aborted = NcclDouble::aborted();
  on_two_ranks(kLong, [&](Rank& own, int rank) {
    own.replay();
    own.stream.synchronize();
    if (rank == 1) return;
    NcclDouble::fail(0, nccl::ncclSystemError, "");
    EXPECT_EQ(own.failure(), "NCCL 2.27.3: a collective: rank 0 of 2: unhandled system error");
    EXPECT_EQ(error_of([&] { own.replay(); }), own.failure());
    EXPECT_EQ(NcclDouble::aborted(), aborted + 1);
  });
}

TEST_F(GpuNcclFailures, ALateRankEndsTheRunBesideALiveGraph) {
  on_two_ranks(kShort, [](Rank& own, int rank) {
    own.replay();
    own.stream.synchronize();
    if (rank == 1) return;
    own.run();
    own.stream.synchronize();
    EXPECT_THAT(own.failure(), EndsWith(kLateRank));
  });
}

// check() finds the error before the thread that watches does.
TEST_F(GpuNcclFailures, ErrorsOfCollectivesInFlightNameThem) {
  on_two_ranks(kLong, [](Rank& own, int rank) {
    own.run();
    own.stream.synchronize();
    if (rank == 1) return;
    own.run();
    NcclDouble::fail(0, nccl::ncclSystemError, "");
    EXPECT_THAT(own.failure(),
                AllOf(StartsWith("NCCL 2.27.3: all_gather of 4 f32 elements, recorded at "),
                      EndsWith("unhandled system error")));
    own.stream.synchronize();
  });
}

TEST_F(GpuNcclFailures, TheLongestTimeoutIsNoOverflow) {
  on_two_ranks({.timeout = std::chrono::milliseconds::max()}, [](Rank& own, int) {
    own.run();
    own.replay();
    own.stream.synchronize();
    EXPECT_EQ(own.failure(), "(nothing thrown)");
  });
}

// The double compares the calls; NCCL does not. sinter passes its error on.
TEST_F(GpuNcclFailures, RanksThatDifferFail) {
  need_double(2);
  if (IsSkipped()) return;
  const NcclUniqueId id = nccl_unique_id();
  on_every_rank(2, [&](int rank) {
    Rank own(id, rank, 2, gpu(rank), kLong, rank == 0 ? 4 : 6);
    // The first collective connects the ranks, so that it may fail itself.
    EXPECT_THAT(error_of([&] {
                  own.run();
                  own.stream.synchronize();
                  own.data.check();
                }),
                HasSubstr("invalid usage: the ranks differ: 16 and 24 elements"));
  });
}

TEST_F(GpuNcclFailures, AllRanksMustJoin) {
  need_double(2);
  if (IsSkipped()) return;
  EXPECT_EQ(error_of([&] { Communicator::nccl(nccl_unique_id(), 1, 2, gpu(0), kShort); }),
            "Communicator::nccl: rank 1 of 2 on cuda:0: a rank has not called it in time; all "
            "ranks must call it within 300 ms (NcclOptions::timeout), with the same id "
            "and each with another GPU");
}

TEST_F(GpuNcclFailures, EachRankNeedsAGpuOfItsOwn) {
  need_double(2);
  if (IsSkipped()) return;
  const NcclUniqueId id = nccl_unique_id();
  std::vector<std::string> errors(2);
  on_every_rank(2, [&](int rank) {
    errors[static_cast<std::size_t>(rank)] =
        error_of([&] { Communicator::nccl(id, rank, 2, gpu(0), kShort); });
  });
  EXPECT_THAT(errors, testing::Contains(HasSubstr(
                          "ncclCommInitRankConfig failed: invalid usage: Duplicate GPU detected")));
}

TEST_F(GpuNcclFailures, TheDeviceIsThatOfTheProgram) {
  need_double(3);
  if (IsSkipped()) return;
  const NcclUniqueId id = nccl_unique_id();
  on_every_rank(2, [&](int rank) {
    const Communicator data = Communicator::nccl(id, rank, 2, gpu(rank), kLong);
    if (rank == 1) return;
    const auto refusal = [&](const Device& device) {
      return error_of([&] {
        Context context = gather_context(device, data, 4);
        (void)context.run(device.stream(), {{"x", device.empty(f32, {4})}});
      });
    };
    EXPECT_THAT(refusal(gpu(2)),
                HasSubstr("NCCL: the program runs on cuda:2, but the communicator is of cuda:0; "
                          "make the communicator of a rank with the device of its program"));
    EXPECT_THAT(refusal(host_device(0)),
                HasSubstr("NCCL carries values of GPUs only, and this device is a host device; use "
                          "Communicator::mpi for host devices"));
  });
}

TEST_F(GpuNcclFailures, WrongArgumentsAreRefused) {
  need_double(1);
  if (IsSkipped()) return;
  const NcclUniqueId id = nccl_unique_id();
  EXPECT_EQ(error_of([&] { Communicator::nccl(id, 2, 2, gpu(0)); }),
            "Communicator::nccl: rank 2 of 2 does not exist; ranks are numbered from 0");
  EXPECT_EQ(error_of([&] {
              Communicator::nccl(id, 0, 1, gpu(0), {.timeout = std::chrono::milliseconds(0)});
            }),
            "Communicator::nccl: the timeout is 0 ms; it must be positive");
  EXPECT_EQ(error_of([] { Communicator::nccl(nullptr); }),
            "Communicator::nccl: the ncclComm_t is null");
  EXPECT_THAT(error_of([&] { Communicator::nccl(id, 0, 1, host_device(0)); }),
              MatchesRegex("Communicator::nccl: .*host:0.* is a host device, and NCCL needs a GPU; "
                           "use Communicator::mpi for host devices"));
}

TEST_F(GpuNcclFailures, CommunicatorsThatNcclDoesNotKnowAreRefused) {
  need_double(1);
  if (IsSkipped()) return;
  const Nccl& library = *find_nccl().library;
  const CurrentContext current(*gpu(0).state());
  nccl::ncclUniqueId name;
  nccl::ncclConfig_t config;
  nccl::ncclComm_t own = nullptr;
  ASSERT_EQ(library.table.ncclGetUniqueId(&name), nccl::ncclSuccess);
  ASSERT_EQ(library.table.ncclCommInitRankConfig(&own, 1, name, 0, &config), nccl::ncclSuccess);
  ASSERT_EQ(library.table.ncclCommDestroy(own), nccl::ncclSuccess);
  EXPECT_EQ(error_of([&] { Communicator::nccl(own); }),
            "Communicator::nccl: ncclCommUserRank failed: invalid argument; pass an ncclComm_t of "
            "the same NCCL library, which is " +
                library.path);
  EXPECT_EQ(NcclDouble::violations(), "ncclCommUserRank of a communicator that was destroyed");
}

TEST_F(GpuNcclFailures, ForkedProcessesCannotUseIt) {
  need_double(1);
  if (IsSkipped()) return;
  const Communicator one = Communicator::nccl(nccl_unique_id(), 0, 1, gpu(0), kLong);
  const auto failure = [&] { return error_of([&] { one.check(); }); };
  const pid_t child = fork();
  if (child == 0) {
    const bool is_refused =
        failure().starts_with("NCCL: this process was forked after a device had been opened");
    _exit(is_refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(failure(), "(nothing thrown)");
}

TEST_F(GpuNcclFailures, OldLibrariesAreRefused) {
  need_double(1);
  if (IsSkipped()) return;
  const std::string path = find_nccl().library->path;
  setenv("SINTER_NCCL", path.c_str(), 1);
  setenv("NCCL_DOUBLE_VERSION", "21705", 1);
  const std::string reason = open_nccl().reason;
  unsetenv("NCCL_DOUBLE_VERSION");
  unsetenv("SINTER_NCCL");
  EXPECT_EQ(reason.substr(0, reason.find("; install")),
            "NCCL 2.18 or later, which cannot be used: " + path +
                " is version 2.17.5, and sinter needs 2.18.0 or later");
}

}  // namespace
}  // namespace sinter::nccl_failures_gpu_test
