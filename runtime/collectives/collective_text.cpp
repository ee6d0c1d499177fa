#include "runtime/collectives/collective_text.h"

#include <fmt/format.h>

namespace sinter {

namespace {

constexpr std::string_view kCollectiveNames[] = {"all_reduce", "all_gather", "reduce_scatter", "broadcast",
                                       "reduce_to",  "all_to_all", "send_receive"};
constexpr std::string_view kReductionNames[] = {"sum", "prod", "max", "min", "mean"};

std::string peer_text(int rank) { return rank < 0 ? "no rank" : fmt::format("rank {}", rank); }

std::string details_text(const CollectiveCall& call) {
  const std::string_view reduction = kReductionNames[static_cast<std::size_t>(call.reduction)];
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

}  // namespace

std::string describe(const CollectiveCall& call) {
  return fmt::format("{} of {} {} elements{}, recorded at {}",
                     kCollectiveNames[static_cast<std::size_t>(call.kind)], call.elements, name(call.dtype),
                     details_text(call), call.place.empty() ? "an unknown place" : call.place);
}

bool has_reduction(Collective kind) {
  return kind == Collective::all_reduce || kind == Collective::reduce_scatter ||
         kind == Collective::reduce_to;
}

}  // namespace sinter
