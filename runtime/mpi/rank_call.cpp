#include "runtime/mpi/rank_call.h"

#include <algorithm>

#include <fmt/format.h>

namespace sinter {

namespace {

constexpr std::string_view kKinds[] = {"all_reduce", "all_gather", "reduce_scatter", "broadcast",
                                       "reduce_to",  "all_to_all", "send_receive"};
constexpr std::string_view kReductions[] = {"sum", "prod", "max", "min", "mean"};

std::string name_of_peer(std::int32_t rank) {
  return rank < 0 ? "no rank" : fmt::format("rank {}", rank);
}

std::string describe_details(const RankCall& call) {
  const auto reduction = kReductions[static_cast<std::size_t>(call.same[2])];
  switch (static_cast<Collective>(call.same[0])) {
    case Collective::all_reduce:
    case Collective::reduce_scatter: return fmt::format(" ({})", reduction);
    case Collective::reduce_to: return fmt::format(" ({} on rank {})", reduction, call.same[4]);
    case Collective::broadcast: return fmt::format(" (from rank {})", call.same[4]);
    case Collective::send_receive:
      return fmt::format(" (from {}, to {})", name_of_peer(call.source), name_of_peer(call.target));
    default: return "";
  }
}

}  // namespace

std::shared_ptr<const MpiCollective> mpi_collective(const CollectiveCall& call) {
  auto collective = std::make_shared<MpiCollective>();
  collective->call = call;
  collective->call.stream = nullptr;
  collective->call.on_host = nullptr;
  collective->call.place = {};
  collective->place = std::string(call.place);
  return collective;
}

RankCall rank_call(const MpiCollective& collective) {
  const CollectiveCall& call = collective.call;
  const bool reduces = call.kind == Collective::all_reduce ||
                       call.kind == Collective::reduce_scatter ||
                       call.kind == Collective::reduce_to;
  const bool has_root = call.kind == Collective::broadcast || call.kind == Collective::reduce_to;
  RankCall facts;
  facts.same = {static_cast<std::int64_t>(call.kind), static_cast<std::int64_t>(call.dtype),
                reduces ? static_cast<std::int64_t>(call.reduction) : 0, call.elements,
                has_root ? call.root : 0};
  if (call.kind == Collective::send_receive) {
    facts.source = call.source;
    facts.target = call.target;
  }
  std::string_view place = collective.place;
  if (place.size() >= facts.place.size())
    place.remove_prefix(place.size() - (facts.place.size() - 1));
  std::ranges::copy(place, facts.place.begin());
  return facts;
}

std::string describe_rank_call(const RankCall& call) {
  return fmt::format("{} of {} {} elements{} at {}", kKinds[static_cast<std::size_t>(call.same[0])],
                     call.same[3], name(static_cast<DType>(call.same[1])), describe_details(call),
                     call.place[0] ? call.place.data() : "an unknown place");
}

}  // namespace sinter
