#include "model.h"

#include "../digits/data.h"
#include "../mlp/model.h"

namespace distributed {

using namespace sinter;  // NOLINT: typical for user code
using digits::kPixels;

Graph training_step(int pieces, int images, const RankGroup& ranks) {
  Graph graph("distributed_step");
  const Tensor pixels = graph.input("pixels", f32, {pieces, images, kPixels});
  const Tensor labels = graph.input("labels", i32, {pieces, images});
  const Tensor step = graph.input("step", i64, {});
  const std::vector<Tensor> weights = mlp::inputs(graph);
  // 1009 is prime, so the batches of an epoch visit the images in a mixed order.
  const Tensor index = remainder((iota(graph, kBatch) + step * kBatch) * 1009, images);
  std::vector<Tensor> losses;
  std::vector<std::vector<Tensor>> slopes(weights.size());  // of each weight, for each piece
  for (int piece = 0; piece < pieces; ++piece) {
    const Tensor x = take(select(pixels, 0, piece), index, 0);
    losses.push_back(
        cross_entropy(mlp::logits(x, weights), take(select(labels, 0, piece), index, 0)));
    const std::vector<Tensor> own = gradient(losses.back(), weights);
    for (std::size_t i = 0; i < weights.size(); ++i) slopes[i].push_back(own[i]);
  }
  const AllReduceOptions mean = {.reduction = RankReduction::mean, .axis = 0};
  for (std::size_t i = 0; i < weights.size(); ++i)
    graph.update(weights[i], weights[i] - all_reduce(stack(slopes[i]), ranks, mean) * 0.5F);
  graph.update(step, step + 1);
  graph.output("loss", all_reduce(stack(losses), ranks, mean));
  return graph;
}

}  // namespace distributed
