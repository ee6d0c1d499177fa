// Graphs with library ops, for runs on the host device and on GPUs.
#pragma once

#include <string_view>
#include <vector>

#include "sinter/sinter.h"

namespace sinter::test {

struct LibraryGraph {
  const char* name;
  Graph (*make)();
  std::vector<Size> sizes = {};
};

/// A network of two layers with its loss and the gradients of its weights, for a batch of any size.
inline Graph mlp_gradients(DType dtype) {
  Graph graph("mlp_gradients");
  const Extent rows = graph.extent("rows");
  const Tensor x = graph.input("x", dtype, {rows, 48});
  const Tensor w1 = graph.input("w1", dtype, {48, 64});
  const Tensor b1 = graph.input("b1", dtype, {64});
  const Tensor w2 = graph.input("w2", dtype, {64, 16});
  const Tensor hidden = maximum(matmul(x, w1) + b1, 0.0F);
  const Tensor y = cast(matmul(hidden, w2), f32);
  const Tensor loss = mean(y * y, {0, 1});
  const std::vector<Tensor> gradients = gradient(loss, {w1, b1, w2});
  graph.output("loss", loss);
  graph.output("g1", gradients[0]);
  graph.output("gb", gradients[1]);
  graph.output("g2", gradients[2]);
  return graph;
}

/// Causal attention of several heads that share keys and values.
inline Graph attention_of_heads() {
  Graph graph("attention_of_heads");
  const Extent length = graph.extent("length");
  const Tensor q = graph.input("q", bf16, {2, 4, length, 32});
  const Tensor k = graph.input("k", bf16, {2, 2, length, 32});
  const Tensor v = graph.input("v", bf16, {2, 2, length, 24});
  graph.output("y", attention(q, k, v, {.is_causal = true}));
  return graph;
}

/// Two convolutions around a norm, and the gradients of their filters.
inline Graph conv_gradients(DType dtype) {
  Graph graph("conv_gradients");
  const Extent images = graph.extent("images");
  const Tensor x = graph.input("x", dtype, {images, 8, 14, 15});
  const Tensor w1 = graph.input("w1", dtype, {16, 8, 3, 3});
  const Tensor w2 = graph.input("w2", dtype, {16, 4, 3, 3});
  const Tensor h = maximum(conv(x, w1, {.padding_begin = {1, 1}}), 0.0F);
  const Tensor y =
      cast(conv(h, w2, {.strides = {2, 2}, .padding_begin = {1, 1}, .groups = 4}), f32);
  const Tensor loss = mean(y * y, {0, 1, 2, 3});
  const std::vector<Tensor> gradients = gradient(loss, {w1, w2});
  graph.output("loss", loss);
  graph.output("g1", gradients[0]);
  graph.output("g2", gradients[1]);
  return graph;
}

/// An image that a transposed convolution makes larger.
inline Graph larger_image() {
  Graph graph("larger_image");
  const Tensor x = graph.input("x", f32, {2, 6, 7, 5});
  const Tensor w = graph.input("w", f32, {6, 4, 3, 3});
  ConvTransposeOptions options;
  options.strides = {2, 2};
  options.padding_begin = {1, 1};
  options.output_padding = {1, 1};
  graph.output("y", conv_transpose(exp(x), w, options));
  return graph;
}

/// Products of vectors, integers and a broadcast batch.
inline Graph other_products() {
  Graph graph("other_products");
  const Tensor a = graph.input("a", f32, {3, 1, 20, 16});
  const Tensor b = graph.input("b", f32, {2, 16, 12});
  const Tensor v = graph.input("v", f32, {12});
  const Tensor i = graph.input("i", i8, {32, 64});
  const Tensor j = graph.input("j", i8, {16, 64});
  graph.output("broadcast", matmul(a, b));
  graph.output("vector", matmul(b, v));
  graph.output("dot", matmul(v, v));
  graph.output("integers", matmul(i, j, {.transpose_b = true}));
  return graph;
}

inline std::vector<LibraryGraph> library_graphs() {
  return {{"MlpGradients", [] { return mlp_gradients(f32); }, {{"rows", 33}}},
          {"MlpGradientsBf16", [] { return mlp_gradients(bf16); }, {{"rows", 64}}},
          {"Attention", attention_of_heads, {{"length", 40}}},
          {"ConvGradients", [] { return conv_gradients(f32); }, {{"images", 3}}},
          {"ConvGradientsF16", [] { return conv_gradients(f16); }, {{"images", 2}}},
          {"LargerImage", larger_image},
          {"OtherProducts", other_products}};
}

}  // namespace sinter::test
