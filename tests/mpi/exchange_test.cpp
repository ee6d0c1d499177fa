// Each collective × dtype × reduction on the ranks of mpirun. Every value is exact in every dtype,
// so that the order of a sum does not matter.
#include <algorithm>
#include <climits>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tests/mpi/support/ranks.h"

namespace sinter::test::exchange_test {
namespace {

constexpr DType kReduced[] = {i8, u8, i32, u32, i64, u64, f16, bf16, f32, f64};
constexpr DType kMoved[] = {boolean, i8, i16, u16, i32, i64, u64, f16, bf16, f32, f64};
constexpr RankReduction kReductions[] = {RankReduction::sum, RankReduction::prod,
                                         RankReduction::max, RankReduction::min};
/// The parts of one rank, in elements.
constexpr std::int64_t kParts[] = {1, 5, 300};
/// A part that MPI sends in several messages.
constexpr std::int64_t kLargePart = 40'000;

Communicator& data() {
  static auto* const communicator = new Communicator(Communicator::mpi());
  return *communicator;
}

/// Element `i` of rank `rank`, small enough that sums of eight ranks fit i8.
double element(DType dtype, int rank, std::int64_t i) {
  if (dtype == boolean) return static_cast<double>((rank + i) % 2);
  const auto value = static_cast<double>((i * 7 + rank * 5) % 9);
  return is_unsigned(dtype) ? value : value - 4;
}

/// As `element`, for products: few factors are not 1 or -1.
double factor(DType dtype, int rank, std::int64_t i) {
  const double sign = !is_unsigned(dtype) && (rank + i) % 4 == 1 ? -1 : 1;
  return sign * ((rank + i) % 3 == 0 ? 2 : 1);
}

double input_of(const CollectiveCall& call, int rank, std::int64_t i) {
  return call.reduction == RankReduction::prod ? factor(call.dtype, rank, i)
                                               : element(call.dtype, rank, i);
}

double reduced(const CollectiveCall& call, std::int64_t i) {
  double result = input_of(call, 0, i);
  for (int rank = 1; rank < rank_count(); ++rank) {
    const double value = input_of(call, rank, i);
    switch (call.reduction) {
      case RankReduction::sum: result += value; break;
      case RankReduction::prod: result *= value; break;
      case RankReduction::max: result = std::max(result, value); break;
      default: result = std::min(result, value);
    }
  }
  return result;
}

double expected(const CollectiveCall& call, std::int64_t i) {
  const int size = rank_count(), own = own_rank();
  const std::int64_t part = call.elements / size;
  switch (call.kind) {
    case Collective::all_reduce: return reduced(call, i);
    case Collective::all_gather:
      return input_of(call, static_cast<int>(i / call.elements), i % call.elements);
    case Collective::reduce_scatter: return reduced(call, own * part + i);
    case Collective::broadcast: return input_of(call, call.root, i);
    case Collective::reduce_to: return own == call.root ? reduced(call, i) : 0;
    case Collective::all_to_all:
      return input_of(call, static_cast<int>(i / part), own * part + i % part);
    case Collective::send_receive: break;
  }
  return call.source < 0 ? 0 : input_of(call, call.source, i);
}

/// Carries out `call` and compares all elements.
void check_call(const CollectiveCall& call) {
  std::vector<double> input;
  for (std::int64_t i = 0; i < call.elements; ++i) input.push_back(input_of(call, own_rank(), i));
  const std::vector<double> actual =
      values_of(call.dtype, carry_out(data(), call, elements_of(call.dtype, input)));
  ASSERT_EQ(static_cast<std::int64_t>(actual.size()), output_elements(call, rank_count()));
  for (std::size_t i = 0; i < actual.size(); ++i)
    ASSERT_EQ(actual[i], expected(call, static_cast<std::int64_t>(i)))
        << "kind " << static_cast<int>(call.kind) << ", element " << i << " of " << name(call.dtype)
        << ", reduction " << static_cast<int>(call.reduction) << ", " << call.elements
        << " elements, root " << call.root << ", source " << call.source;
}

void check_reductions(Collective kind, std::int64_t factor_of_size, int root) {
  for (const DType dtype : kReduced)
    for (const RankReduction reduction : kReductions)
      for (const std::int64_t part : kParts) {
        CollectiveCall call = host_call(kind, dtype, part * factor_of_size);
        call.reduction = reduction;
        call.root = root;
        ASSERT_NO_FATAL_FAILURE(check_call(call));
      }
}

void check_moves(Collective kind, std::int64_t factor_of_size, int root) {
  for (const DType dtype : kMoved)
    for (const std::int64_t part : kParts) {
      CollectiveCall call = host_call(kind, dtype, part * factor_of_size);
      call.root = root;
      ASSERT_NO_FATAL_FAILURE(check_call(call));
    }
}

TEST(MpiExchange, AllReduce) { check_reductions(Collective::all_reduce, 1, 0); }
TEST(MpiExchange, ReduceScatter) { check_reductions(Collective::reduce_scatter, rank_count(), 0); }
TEST(MpiExchange, ReduceToEveryRank) {
  for (int root = 0; root < rank_count(); ++root) check_reductions(Collective::reduce_to, 1, root);
}
TEST(MpiExchange, AllGather) { check_moves(Collective::all_gather, 1, 0); }
TEST(MpiExchange, AllToAll) { check_moves(Collective::all_to_all, rank_count(), 0); }
TEST(MpiExchange, BroadcastFromEveryRank) {
  for (int root = 0; root < rank_count(); ++root) check_moves(Collective::broadcast, 1, root);
}

/// The pairs are a ring of the first `members` ranks, which is one rank that sends to itself if
/// `members` is 1.
void check_ring(DType dtype, int members, std::int64_t elements) {
  CollectiveCall call = host_call(Collective::send_receive, dtype, elements);
  if (own_rank() < members) {
    call.source = (own_rank() + members - 1) % members;
    call.target = (own_rank() + 1) % members;
  }
  check_call(call);
}

TEST(MpiExchange, SendReceive) {
  for (int members = 1; members <= rank_count(); ++members)
    for (const DType dtype : kMoved)
      for (const std::int64_t elements : kParts)
        ASSERT_NO_FATAL_FAILURE(check_ring(dtype, members, elements));
}

TEST(MpiExchange, SendReceiveOfOnePair) {
  CollectiveCall call = host_call(Collective::send_receive, f32, 100);
  if (own_rank() == 0) call.target = rank_count() - 1;
  if (own_rank() == rank_count() - 1) call.source = 0;
  check_call(call);
}

TEST(MpiExchange, LargeParts) {
  for (const DType dtype : {u8, bf16, f32, f64}) {
    for (const Collective kind : {Collective::all_reduce, Collective::all_gather,
                                  Collective::broadcast, Collective::reduce_to})
      ASSERT_NO_FATAL_FAILURE(check_call(host_call(kind, dtype, kLargePart)));
    for (const Collective kind : {Collective::reduce_scatter, Collective::all_to_all})
      ASSERT_NO_FATAL_FAILURE(check_call(host_call(kind, dtype, kLargePart * rank_count())));
    ASSERT_NO_FATAL_FAILURE(check_ring(dtype, rank_count(), kLargePart));
  }
}

TEST(MpiExchange, MovesBytesOfOtherDtypes) {
  for (const DType dtype : {f8e4m3, f8e5m2, c64}) {
    const CollectiveCall call = host_call(Collective::all_gather, dtype, 3);
    const auto bytes = static_cast<std::size_t>(3 * size_of(dtype));
    const Bytes output = carry_out(data(), call, Bytes(bytes, std::byte(10 + own_rank())));
    ASSERT_EQ(output.size(), bytes * static_cast<std::size_t>(rank_count()));
    for (std::size_t i = 0; i < output.size(); ++i)
      ASSERT_EQ(output[i], std::byte(10 + i / bytes)) << name(dtype);
  }
}

TEST(MpiExchange, ZeroElementsNeedNoOtherRank) {
  if (own_rank() != 0) return;
  for (const Collective kind :
       {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter,
        Collective::broadcast, Collective::reduce_to, Collective::all_to_all,
        Collective::send_receive})
    EXPECT_TRUE(carry_out(data(), host_call(kind, f32, 0), {}).empty());
}

/// The results of f16 or bf16 on every rank, of values of the first two ranks and the identity.
std::vector<double> reduce_halves(DType dtype, RankReduction reduction,
                                  const std::vector<std::pair<double, double>>& values) {
  CollectiveCall call =
      host_call(Collective::all_reduce, dtype, static_cast<std::int64_t>(values.size()));
  call.reduction = reduction;
  std::vector<double> input;
  for (const auto& [first, second] : values)
    input.push_back(own_rank() == 0                   ? first
                    : own_rank() == 1                 ? second
                    : reduction == RankReduction::sum ? 0
                                                      : first);
  return values_of(dtype, carry_out(data(), call, elements_of(dtype, input)));
}

TEST(MpiExchange, HalfSumsRoundOnceToNearestEven) {
  EXPECT_EQ(reduce_halves(f16, RankReduction::sum, {{2048, 1}, {2048, 3}, {65504, 16}, {1, 0.5}}),
            (std::vector<double>{2048, 2052, HUGE_VAL, 1.5}));
  EXPECT_EQ(reduce_halves(bf16, RankReduction::sum, {{256, 1}, {256, 3}, {65504, 16}, {1, 0.5}}),
            (std::vector<double>{256, 260, 65536, 1.5}));
}

TEST(MpiExchange, HalvesKeepNan) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const DType dtype : {f16, bf16})
    for (const RankReduction reduction :
         {RankReduction::sum, RankReduction::max, RankReduction::min}) {
      const std::vector<double> results =
          reduce_halves(dtype, reduction, {{nan, 1}, {1, nan}, {1, 1}});
      EXPECT_TRUE(std::isnan(results[0]) && std::isnan(results[1])) << name(dtype);
      EXPECT_FALSE(std::isnan(results[2])) << name(dtype);
    }
}

std::string refusal(CollectiveCall call) {
  call.on_host = nullptr;
  return error_of([&] { data().engine()->check(call); });
}

TEST(MpiExchange, RefusesWhatMpiCannotDo) {
  const int size = rank_count();
  CollectiveCall call = host_call(Collective::all_reduce, i16, 4);
  EXPECT_EQ(refusal(call),
            "MPI: values of i16 can be moved but not reduced; cast them to f32, i32 or another "
            "dtype of 32 or 64 bits");
  call.dtype = f32;
  EXPECT_EQ(refusal(call), "");
  call.is_host_device = false;
  EXPECT_EQ(refusal(call),
            "MPI carries values of host devices only, and this device is a GPU; use a communicator "
            "of NCCL for GPUs");
  EXPECT_EQ(refusal(host_call(Collective::all_reduce, u8, std::int64_t{1} << 31)),
            "MPI: an array of 2147483648 elements is too large, the limit is 2147483647; exchange "
            "it in several parts");
  EXPECT_EQ(refusal(host_call(Collective::all_gather, u8, INT_MAX)),
            "MPI: an array of " + std::to_string(size) +
                " x 2147483647 elements is too large, the limit is 2147483647; exchange it in "
                "several parts");
  EXPECT_EQ(refusal(host_call(Collective::all_to_all, u8, size + 1)),
            "MPI: " + std::to_string(size + 1) + " elements cannot be divided among " +
                std::to_string(size) + " ranks");
  call = host_call(Collective::broadcast, f32, 4);
  call.root = size;
  EXPECT_EQ(refusal(call), "MPI: the root is rank " + std::to_string(size) +
                               ", but the communicator has " + std::to_string(size) +
                               " ranks, from 0 on");
}

}  // namespace
}  // namespace sinter::test::exchange_test
