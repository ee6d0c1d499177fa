// The check that all ranks of a group run the same collective, before they exchange values.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <mpi.h>

#include "runtime/mpi/rank_call.h"

namespace sinter {

/// Compares the calls of all ranks. It owns the memory that MPI reads and writes meanwhile, so it
/// must not be destroyed after a failed exchange.
class Agreement {
 public:
  /// Waits for an operation that the named function of MPI started; throws if it does not complete.
  using Wait = std::function<void(MPI_Request request, std::string_view call)>;

  Agreement(MPI_Comm communicator, int size) : communicator_(communicator), size_(size) {}

  /// Returns once all ranks have called it. Returns why the calls do not match, the same text on
  /// all ranks, or an empty text if they do. `number` counts the collectives of the communicator.
  std::string compare(const RankCall& own, std::int64_t number, const Wait& wait);

 private:
  static constexpr std::size_t kFacts = std::tuple_size_v<decltype(RankCall::same)>;

  bool are_same(const Wait& wait);
  bool do_peers_match(const Wait& wait);
  std::string describe_mismatch(std::int64_t number, const Wait& wait);

  const MPI_Comm communicator_;
  const int size_;
  RankCall own_;
  // The facts, then their negatives: the maxima of both tell whether all are equal.
  std::array<std::int64_t, 2 *kFacts> facts_ = {}, maxima_ = {};
  std::array<std::int32_t, 2> own_peers_ = {};
  std::vector<std::int32_t> peers_;  // source and target of each rank
  std::vector<RankCall> calls_;
};

}  // namespace sinter
