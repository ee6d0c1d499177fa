// AdamW whose moments are divided among the ranks: an example of the page "Several devices".
#pragma once

#include "sinter/sinter.h"

namespace sinter::test {

// --8<-- [start:step]
/// Records one step of AdamW for `weight` [n, …], where n is a multiple of the number of ranks.
/// `slope` is the gradient of this rank. The inputs m, v and shard have the rank's n / ranks rows.
inline void sharded_adamw(Graph& graph, Tensor weight, Tensor slope, const RankGroup& ranks) {
  const Tensor g = reduce_scatter(slope, ranks, 0, RankReduction::mean);  // this rank's rows
  const Tensor shard = graph.input("shard", f32, g.shape());
  const Tensor m = graph.input("m", f32, g.shape());
  const Tensor v = graph.input("v", f32, g.shape());
  const Tensor new_m = m * 0.9F + g * 0.1F;
  const Tensor new_v = v * 0.999F + g * g * 0.001F;
  const Tensor moved = shard * 0.9999F - new_m / (sqrt(new_v) + 1e-8F) * 0.01F;
  graph.update(m, new_m);
  graph.update(v, new_v);
  graph.update(shard, moved);
  graph.update(weight, all_gather(moved, ranks));
}
// --8<-- [end:step]

}  // namespace sinter::test
