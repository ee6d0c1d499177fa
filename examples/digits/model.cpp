#include "model.h"

#include "data.h"

namespace digits {

using namespace sinter;  // NOLINT: typical for user code

namespace {

/// pixels [n, 64] · weight [10, 64] + bias [10] → [n, 10]
Tensor logits_of(Tensor x, int images, Tensor weight, Tensor bias) {
  const Tensor products =
      reshape(x, {images, 1, kPixels}) * reshape(weight, {1, kClasses, kPixels});
  return (sum(products, {2}) + bias).label("logits");
}

Tensor brightness(Tensor pixels) { return (pixels * (1.0 / 16)).label("x"); }

}  // namespace

Graph training_step() {
  Graph graph("digits_step");
  const Tensor pixels = graph.input("pixels", f32, {kBatch, kPixels});
  const Tensor labels = graph.input("labels", i32, {kBatch});
  const Tensor weight = graph.input("weight", f32, {kClasses, kPixels});
  const Tensor bias = graph.input("bias", f32, {kClasses});
  const Tensor rate = graph.scalar("rate", f32);

  const Tensor x = brightness(pixels);
  const Tensor logits = logits_of(x, kBatch, weight, bias);
  const Tensor shifted = logits - max(logits, {1}, keep);
  const Tensor e = exp(shifted);
  const Tensor total = sum(e, {1}, keep);
  const Tensor is_label = eq(reshape(labels, {kBatch, 1}), iota(graph, kClasses, 0, 1, i32));
  const Tensor picked = sum(where(is_label, shifted, 0.0F), {1}, keep);
  const Tensor loss = mean(log(total) - picked).label("loss");

  // The gradient of the mean cross-entropy is (softmax - one-hot) / batch.
  const Tensor d_logits = ((e / total - cast(is_label, f32)) * (1.0 / kBatch)).label("d_logits");
  const Tensor d_products =
      reshape(d_logits, {kBatch, kClasses, 1}) * reshape(x, {kBatch, 1, kPixels});
  graph.update(weight, weight - rate * sum(d_products, {0}).label("d_weight"));
  graph.update(bias, bias - rate * sum(d_logits, {0}).label("d_bias"));

  const Tensor loss_sum = graph.input("loss_sum", f32, {});
  const Tensor steps = graph.input("steps", i32, {});
  const Tensor has_nan = graph.input("has_nan", boolean, {});
  graph.update(loss_sum, loss_sum + loss);
  graph.update(steps, steps + 1);
  graph.update(has_nan, logical_or(has_nan, ne(loss, loss)));
  return graph;
}

Graph accuracy(int images) {
  Graph graph("digits_accuracy");
  const Tensor pixels = graph.input("pixels", f32, {images, kPixels});
  const Tensor labels = graph.input("labels", i32, {images});
  const Tensor weight = graph.input("weight", f32, {kClasses, kPixels});
  const Tensor bias = graph.input("bias", f32, {kClasses});
  const Tensor guess = argmax(logits_of(brightness(pixels), images, weight, bias), 1);
  graph.output("accuracy", mean(cast(eq(cast(guess, i32), labels), f32)));
  return graph;
}

}  // namespace digits
