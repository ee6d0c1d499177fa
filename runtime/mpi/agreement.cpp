#include "runtime/mpi/agreement.h"

#include <type_traits>

#include <fmt/format.h>

#include "runtime/mpi/mpi_library.h"

namespace sinter {

static_assert(std::is_trivially_copyable_v<RankCall>);

namespace {

/// The first rank whose call differs from that of rank 0, or whose peer has another one in mind.
struct Disagreement {
  int first = 0;
  int second = 0;
};

Disagreement find_disagreement(std::span<const RankCall> calls) {
  const int size = static_cast<int>(calls.size());
  const auto call = [&](int rank) -> const RankCall& {
    return calls[static_cast<std::size_t>(rank)];
  };
  for (int rank = 1; rank < size; ++rank)
    if (call(rank).same != call(0).same) return {.first = 0, .second = rank};
  for (int rank = 0; rank < size; ++rank) {
    if (const int target = call(rank).target; target >= 0 && call(target).source != rank)
      return {.first = rank, .second = target};
    if (const int source = call(rank).source; source >= 0 && call(source).target != rank)
      return {.first = source, .second = rank};
  }
  return {};
}

}  // namespace

bool Agreement::are_same(const Wait& wait) {
  for (std::size_t i = 0; i < kFacts; ++i) {
    facts_[i] = own_.same[i];
    facts_[kFacts + i] = -own_.same[i];
  }
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Iallreduce(facts_.data(), maxima_.data(), static_cast<int>(facts_.size()),
                           MPI_INT64_T, MPI_MAX, communicator_, &request),
            "MPI_Iallreduce");
  wait(request, "MPI_Iallreduce");
  for (std::size_t i = 0; i < kFacts; ++i)
    if (maxima_[i] != -maxima_[kFacts + i]) return false;
  return true;
}

bool Agreement::do_peers_match(const Wait& wait) {
  own_peers_ = {own_.source, own_.target};
  peers_.resize(2 * static_cast<std::size_t>(size_));
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Iallgather(own_peers_.data(), 2, MPI_INT32_T, peers_.data(), 2, MPI_INT32_T,
                           communicator_, &request),
            "MPI_Iallgather");
  wait(request, "MPI_Iallgather");
  const auto source = [&](int rank) { return peers_[2 * static_cast<std::size_t>(rank)]; };
  const auto target = [&](int rank) { return peers_[2 * static_cast<std::size_t>(rank) + 1]; };
  for (int rank = 0; rank < size_; ++rank)
    if ((target(rank) >= 0 && source(target(rank)) != rank) ||
        (source(rank) >= 0 && target(source(rank)) != rank))
      return false;
  return true;
}

std::string Agreement::describe_mismatch(std::int64_t number, const Wait& wait) {
  calls_.resize(static_cast<std::size_t>(size_));
  constexpr int kBytes = sizeof(RankCall);
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Iallgather(&own_, kBytes, MPI_BYTE, calls_.data(), kBytes, MPI_BYTE, communicator_,
                           &request),
            "MPI_Iallgather");
  wait(request, "MPI_Iallgather");
  const auto [first, second] = find_disagreement(calls_);
  return fmt::format(
      "collective {} of this communicator differs between ranks: rank {} runs {}, and rank {} runs "
      "{}; all ranks must run the same collectives on the same sizes, in the same order",
      number, first, describe_rank_call(calls_[static_cast<std::size_t>(first)]), second,
      describe_rank_call(calls_[static_cast<std::size_t>(second)]));
}

std::string Agreement::compare(const RankCall& own, std::int64_t number, const Wait& wait) {
  own_ = own;
  // All ranks take the same branches: they see the same maxima and the same peers.
  const bool is_same = are_same(wait);
  const bool has_peers = own.same[0] == static_cast<std::int64_t>(Collective::send_receive);
  if (is_same && (!has_peers || do_peers_match(wait))) return "";
  return describe_mismatch(number, wait);
}

}  // namespace sinter
