// Collectives as text, for messages. It is inline, because the library of MPI uses it, too.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "sinter/communicator.h"

namespace sinter {

/// True if the collective reduces values.
inline bool has_reduction(Collective kind) {
  return kind == Collective::all_reduce || kind == Collective::reduce_scatter ||
         kind == Collective::reduce_to;
}

/// `rank 3`; `no rank` for -1.
inline std::string peer_text(int rank) {
  return rank < 0 ? "no rank" : fmt::format("rank {}", rank);
}

/// ` (sum on rank 1)`
inline std::string details_text(const CollectiveCall& call) {
  constexpr std::string_view kReductions[] = {"sum", "prod", "max", "min", "mean"};
  const std::string_view reduction = kReductions[static_cast<std::size_t>(call.reduction)];
  switch (call.kind) {
    case Collective::all_reduce:
    case Collective::reduce_scatter: return fmt::format(" ({})", reduction);
    case Collective::reduce_to: return fmt::format(" ({} on rank {})", reduction, call.root);
    case Collective::broadcast: return fmt::format(" (from rank {})", call.root);
    case Collective::send_receive:
      return fmt::format(" (from {}, to {})", peer_text(call.source), peer_text(call.target));
    default: return "";
  }
}

/// `all_reduce of 8 f32 elements (sum), recorded at train.cpp:12`
inline std::string describe(const CollectiveCall& call) {
  constexpr std::string_view kNames[] = {"all_reduce", "all_gather", "reduce_scatter", "broadcast",
                                         "reduce_to",  "all_to_all", "send_receive"};
  return fmt::format("{} of {} {} elements{}, recorded at {}",
                     kNames[static_cast<std::size_t>(call.kind)], call.elements, name(call.dtype),
                     details_text(call), call.place.empty() ? "an unknown place" : call.place);
}

}  // namespace sinter
