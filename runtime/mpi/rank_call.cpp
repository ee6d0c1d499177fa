#include "runtime/mpi/rank_call.h"

#include <algorithm>

#include "runtime/collectives/collective_text.h"

namespace sinter {

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
  const bool has_root = call.kind == Collective::broadcast || call.kind == Collective::reduce_to;
  const auto reduction = has_reduction(call.kind) ? call.reduction : RankReduction::sum;
  RankCall facts;
  facts.same = {static_cast<std::int64_t>(call.kind), static_cast<std::int64_t>(call.dtype),
                static_cast<std::int64_t>(reduction), call.elements, has_root ? call.root : 0};
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
  return describe({.kind = static_cast<Collective>(call.same[0]),
                   .dtype = static_cast<DType>(call.same[1]),
                   .reduction = static_cast<RankReduction>(call.same[2]),
                   .elements = call.same[3],
                   .root = static_cast<int>(call.same[4]),
                   .source = call.source,
                   .target = call.target,
                   .place = call.place.data()});
}

}  // namespace sinter
