#include "model.h"

#include "../digits/data.h"

namespace mlp {

using namespace sinter;  // NOLINT: typical for user code
using digits::kClasses, digits::kPixels;

const std::vector<Parameter>& parameters() {
  static const std::vector<Parameter> all = {{"w1", {kPixels, kHidden}, 0.18F},
                                             {"b1", {kHidden}, 0},
                                             {"w2", {kHidden, kClasses}, 0.12F},
                                             {"b2", {kClasses}, 0}};
  return all;
}

std::vector<Tensor> inputs(Graph& graph) {
  std::vector<Tensor> all;
  for (const Parameter& one : parameters()) {
    const std::vector<Extent> shape(one.shape.begin(), one.shape.end());
    all.push_back(graph.input(one.name, f32, shape));
  }
  return all;
}

Tensor logits(Tensor pixels, const std::vector<Tensor>& p) {
  const Tensor hidden = relu(matmul(pixels * (1.0F / 16), p[0]) + p[1]);
  return matmul(hidden, p[2]) + p[3];
}

std::string velocity_of(const Parameter& parameter) {
  return std::string(parameter.name) + "_velocity";
}

Graph training_step(int images) {
  Graph graph("mlp_step");
  const Tensor pixels = graph.input("pixels", f32, {images, kPixels});
  const Tensor labels = graph.input("labels", i32, {images});
  const Tensor step = graph.input("step", i64, {});
  const std::vector<Tensor> weights = inputs(graph);
  // 1009 is prime, so the batches of an epoch visit the images in a mixed order.
  const Tensor first = step * kBatch;
  const Tensor index = remainder((iota(graph, kBatch) + first) * 1009, images);
  const Tensor x = take(pixels, index, 0);
  const Tensor loss = cross_entropy(logits(x, weights), take(labels, index, 0));
  const std::vector<Tensor> slopes = gradient(loss, weights);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Tensor velocity = graph.input(velocity_of(parameters()[i]), f32, weights[i].shape());
    const Tensor moved = velocity * 0.9F + slopes[i];
    graph.update(velocity, moved);
    graph.update(weights[i], weights[i] - moved * 0.1F);
  }
  graph.update(step, step + 1);
  graph.output("loss", loss);
  return graph;
}

Graph accuracy(int images) {
  Graph graph("mlp_accuracy");
  const Tensor pixels = graph.input("pixels", f32, {images, kPixels});
  const Tensor labels = graph.input("labels", i32, {images});
  const Tensor guess = argmax(logits(pixels, inputs(graph)), 1);
  graph.output("accuracy", mean(cast(eq(cast(guess, i32), labels), f32)));
  return graph;
}

}  // namespace mlp
