// Facts of a collective that the ranks of a group compare before they exchange values.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "sinter/communicator.h"

namespace sinter {

/// A collective of one rank. `call` has neither a stream nor a place: they may be gone when it
/// runs.
struct MpiCollective {
  CollectiveCall call;
  std::string place;
};
std::shared_ptr<const MpiCollective> mpi_collective(const CollectiveCall& call);

/// The facts, in a form that MPI sends as bytes.
struct RankCall {
  std::array<std::int64_t, 5> same = {};  ///< facts that are equal on all ranks; see `rank_call`
  std::int32_t source = -1;               ///< of send_receive
  std::int32_t target = -1;
  std::array<char, 168> place = {};  ///< the last bytes of the place, ended by a zero
};

RankCall rank_call(const MpiCollective& collective);

/// `all_reduce of 8 f32 elements (sum), recorded at train.cpp:12`
std::string describe_rank_call(const RankCall& call);

}  // namespace sinter
