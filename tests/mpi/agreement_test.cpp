// Ranks that run different collectives. Every rank fails with the same message, and nothing hangs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/mpi/support/ranks.h"

namespace sinter::test::agreement_test {
namespace {

using testing::HasSubstr;

constexpr std::string_view kAdvice =
    "; all ranks must run the same collectives on the same sizes, in the same order";

/// The failure of `own`, which differs between the ranks, in a communicator of its own.
std::string mismatch(const CollectiveCall& own) {
  const Communicator communicator = Communicator::mpi();
  const Bytes input(static_cast<std::size_t>(own.elements * size_of(own.dtype)));
  const std::string message = error_of([&] { carry_out(communicator, own, input); });
  EXPECT_EQ(error_of([&] { communicator.check(); }), message);
  // It is broken for good.
  EXPECT_EQ(error_of([&] { carry_out(communicator, own, input); }), message);
  wait_for_all_ranks();
  return message;
}

/// The message of two calls; that of rank 0 was recorded at model.cpp:7.
std::string one_of(int number, std::string_view first, int rank, std::string_view second,
                   std::string_view place = "model.cpp:7") {
  return "collective " + std::to_string(number) +
         " of this communicator differs between ranks: rank 0 runs " + std::string(first) +
         ", recorded at model.cpp:7, and rank " + std::to_string(rank) + " runs " +
         std::string(second) + ", recorded at " + std::string(place) + std::string(kAdvice);
}

bool is_last() { return own_rank() == rank_count() - 1; }

TEST(MpiAgreement, NamesBothSidesOfDifferentSizes) {
  CollectiveCall call = host_call(Collective::all_reduce, f32, 8);
  if (is_last()) call.elements = 9;
  if (is_last()) call.place = "other.cpp:21";
  EXPECT_EQ(mismatch(call), one_of(1, "all_reduce of 8 f32 elements (sum)", rank_count() - 1,
                                   "all_reduce of 9 f32 elements (sum)", "other.cpp:21"));
}

TEST(MpiAgreement, NamesBothKinds) {
  const int size = rank_count();
  const CollectiveCall call =
      host_call(is_last() ? Collective::all_to_all : Collective::all_gather, i64, 2 * size);
  const std::string count = std::to_string(2 * size);
  EXPECT_EQ(mismatch(call), one_of(1, "all_gather of " + count + " i64 elements", size - 1,
                                   "all_to_all of " + count + " i64 elements"));
}

TEST(MpiAgreement, NamesBothDtypes) {
  EXPECT_EQ(
      mismatch(host_call(Collective::all_gather, is_last() ? u32 : f32, 4)),
      one_of(1, "all_gather of 4 f32 elements", rank_count() - 1, "all_gather of 4 u32 elements"));
}

TEST(MpiAgreement, NamesBothReductions) {
  CollectiveCall call = host_call(Collective::all_reduce, f32, 4);
  if (is_last()) call.reduction = RankReduction::max;
  EXPECT_EQ(mismatch(call), one_of(1, "all_reduce of 4 f32 elements (sum)", rank_count() - 1,
                                   "all_reduce of 4 f32 elements (max)"));
}

TEST(MpiAgreement, NamesBothRoots) {
  CollectiveCall call = host_call(Collective::broadcast, f32, 4);
  call.root = is_last() ? 1 : 0;
  EXPECT_EQ(mismatch(call), one_of(1, "broadcast of 4 f32 elements (from rank 0)", rank_count() - 1,
                                   "broadcast of 4 f32 elements (from rank 1)"));
  call = host_call(Collective::reduce_to, f32, 4);
  call.root = is_last() ? 1 : 0;
  EXPECT_THAT(mismatch(call), HasSubstr("(sum on rank 1)"));
}

TEST(MpiAgreement, NamesPeersThatDoNotMatch) {
  CollectiveCall call = host_call(Collective::send_receive, f32, 4);
  if (own_rank() == 0) call.target = 1;
  EXPECT_EQ(mismatch(call), one_of(1, "send_receive of 4 f32 elements (from no rank, to rank 1)", 1,
                                   "send_receive of 4 f32 elements (from no rank, to no rank)"));
  call = host_call(Collective::send_receive, f32, 4);
  if (own_rank() == 1) call.source = 0;
  EXPECT_EQ(mismatch(call), one_of(1, "send_receive of 4 f32 elements (from no rank, to no rank)",
                                   1, "send_receive of 4 f32 elements (from rank 0, to no rank)"));
}

TEST(MpiAgreement, CountsTheCollectivesOfTheCommunicator) {
  const Communicator communicator = Communicator::mpi();
  const Bytes input(16);
  for (int i = 0; i < 3; ++i)
    carry_out(communicator, host_call(Collective::all_reduce, f32, 4), input);
  const CollectiveCall call =
      host_call(is_last() ? Collective::broadcast : Collective::all_reduce, f32, 4);
  EXPECT_THAT(error_of([&] { carry_out(communicator, call, input); }),
              HasSubstr("collective 4 of this communicator"));
}

TEST(MpiAgreement, KeepsTheEndOfALongPlace) {
  CollectiveCall call = host_call(Collective::all_gather, f32, is_last() ? 1 : 2);
  const std::string place = std::string(300, 'x') + "/model.cpp:1234";
  call.place = place;
  EXPECT_THAT(mismatch(call), HasSubstr("xx/model.cpp:1234, and rank"));
}

TEST(MpiAgreement, PlacesMayDiffer) {
  const Communicator communicator = Communicator::mpi();
  CollectiveCall call = host_call(Collective::all_reduce, f32, 1);
  if (is_last()) call.place = "";
  const Bytes one = elements_of(f32, {1});
  EXPECT_EQ(values_of(f32, carry_out(communicator, call, one))[0], rank_count());
}

}  // namespace
}  // namespace sinter::test::agreement_test
