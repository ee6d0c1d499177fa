#include "compiler/tiling/column_split.h"

#include <vector>

#include "compiler/program/op_cost.h"

namespace sinter {

std::int64_t cluster_bytes(const Schedule& schedule, const Body& body) {
  std::vector<std::int64_t> of_pass(static_cast<std::size_t>(body.passes()) + 1);
  for (const BodyReduction& reduction : body.reductions)
    of_pass[static_cast<std::size_t>(reduction.stage)] +=
        cluster_bytes(schedule, state_bytes(*reduction.node));
  return *std::ranges::max_element(of_pass);
}

}  // namespace sinter
