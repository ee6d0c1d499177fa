// Attention and rotary embeddings.
#include "sinter/nn.h"
#include "sinter/views.h"
#include "tools/onnx/node/element_type_attribute.h"
#include "tools/onnx/node/limits.h"
#include "tools/onnx/node/operands.h"
#include "tools/onnx/ops/op_table.h"
#include "tools/onnx/ops/products/matrix_product.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

/// [batch, sequence, heads · width] as [batch, heads, sequence, width].
Tensor split_heads(const Tensor& x, std::int64_t heads) {
  if (heads < 1 || !x.shape()[2].is_number() || x.shape()[2].number() % heads != 0)
    refuse(fmt::format("{} columns do not divide into {} heads", to_string(x.shape()[2]), heads));
  const Tensor apart =
      reshape(x, {x.shape()[0], x.shape()[1], heads, x.shape()[2].number() / heads});
  return permute(apart, {0, 2, 1, 3});
}

/// Each head of x `times` times in succession.
Tensor repeat_heads(const Tensor& x, std::int64_t times) {
  return times == 1 ? x : repeat(x, times, 1);
}

std::int64_t heads_of(const Tensor& x) {
  if (!x.shape()[1].is_number())
    refuse(fmt::format("its heads are {}; they must be a number", to_string(x.shape()[1])));
  return x.shape()[1].number();
}

/// The number of keys of each batch element that count: [batch, 1, 1, 1].
Tensor key_counts(const Call& call) {
  const Tensor counts = cast(call.tensor(6), i64);
  if (counts.rank() != 1)
    refuse(fmt::format("nonpad_kv_seqlen has rank {}; it must be a vector", counts.rank()));
  return reshape(counts, {counts.shape()[0], 1, 1, 1});
}

/// The positions of keys that each query sees, in bool; empty if it sees all. They broadcast to
/// the scores [batch, heads, queries, keys].
Tensor seen_positions(const Call& call, const Tensor& scores, const Tensor& offset) {
  const Extent queries = scores.shape()[2];
  const Extent keys = scores.shape()[3];
  const Tensor key = reshape(iota(call.graph(), keys), {1, 1, 1, keys});
  Tensor query = reshape(iota(call.graph(), queries), {1, 1, queries, 1});
  if (offset.node()) query = query + offset;
  Tensor seen;
  const auto restrict_to = [&](const Tensor& more) {
    seen = seen.node() ? logical_and(seen, more) : more;
  };
  const std::int64_t left = call.attributes().integer("left_window_size", -1);
  const std::int64_t right = call.attributes().integer("right_window_size", -1);
  if (call.attributes().flag("is_causal", false)) restrict_to(key <= query);
  if (left >= 0) restrict_to(key >= query - left);
  if (right >= 0) restrict_to(key <= query + right);
  if (call.has_input(6)) restrict_to(key < key_counts(call));
  return seen;
}

/// The mask, with −inf or false for keys after its end.
Tensor full_mask(const Call& call, const Tensor& scores) {
  const Tensor mask = call.tensor(3);
  const Extent keys = scores.shape()[3];
  if (mask.rank() == 0 || mask.shape().back() == keys || mask.shape().back().is(1)) return mask;
  std::vector<Extent> missing(mask.shape().begin(), mask.shape().end());
  missing.back() = keys - mask.shape().back();
  return concat({mask, full(call.graph(), missing, lowest_value(mask.dtype()), mask.dtype())}, -1);
}

/// The scores after the mask: −inf at positions that are not seen.
Tensor with_mask(const Call& call, const Tensor& scores, const Tensor& offset) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Tensor result = scores;
  if (const Tensor seen = seen_positions(call, scores, offset); seen.node())
    result = where(seen, result, -kInfinity);
  if (!call.has_input(3)) return result;
  const Tensor mask = full_mask(call, scores);
  return mask.dtype() == boolean ? where(mask, result, -kInfinity)
                                 : result + cast(mask, scores.dtype());
}

/// The number of keys before the first query: those of the cache.
Tensor query_offset(const Call& call, const Tensor& q) {
  if (call.has_input(4)) return call.size_value(call.tensor(4).shape()[2]);
  if (!call.has_input(6)) return {};
  return key_counts(call) - call.size_value(q.shape()[2]);
}

/// softmax along the last axis; a row of only −inf gives zeros.
Tensor softmax_of_seen(const Tensor& scores) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return where(eq(max(scores, {-1}, keep), -kInfinity), 0.0, softmax(scores, -1));
}

/// The intermediate result that the fourth output shows.
enum class ShownScores : std::uint8_t { product, capped, masked, softmax };

Outputs record_attention(const Call& call) {
  require_inputs(call, 3, 7);
  const Attributes& attributes = call.attributes();
  Tensor q = call.tensor(0);
  Tensor k = call.tensor(1);
  Tensor v = call.tensor(2);
  const bool is_merged = q.rank() == 3;
  if ((q.rank() != 3 && q.rank() != 4) || k.rank() != q.rank() || v.rank() != q.rank())
    refuse(fmt::format("its inputs have the ranks {}, {} and {}; all must be 3, or all 4", q.rank(),
                       k.rank(), v.rank()));
  if (is_merged) {
    q = split_heads(q, attributes.integer("q_num_heads"));
    k = split_heads(k, attributes.integer("kv_num_heads"));
    v = split_heads(v, attributes.integer("kv_num_heads"));
  }
  attributes.ignore("q_num_heads");
  attributes.ignore("kv_num_heads");
  if (call.has_input(4)) k = concat({call.tensor(4), k}, 2);
  if (call.has_input(5)) v = concat({call.tensor(5), v}, 2);
  const Tensor present_key = k;
  const Tensor present_value = v;
  const std::int64_t heads = heads_of(q);
  for (const std::int64_t shared : {heads_of(k), heads_of(v)})
    if (shared < 1 || heads % shared != 0)
      refuse(fmt::format("{} heads cannot share {} heads of keys or values", heads, shared));
  k = repeat_heads(k, heads / heads_of(k));
  v = repeat_heads(v, heads / heads_of(v));

  if (!q.shape()[3].is_number())
    refuse(
        fmt::format("its heads have the width {}; it must be a number", to_string(q.shape()[3])));
  const double default_scale = 1 / std::sqrt(static_cast<double>(q.shape()[3].number()));
  const double scale = std::sqrt(attributes.real("scale", default_scale));
  const double softcap = attributes.real("softcap", 0);
  const auto shown = static_cast<ShownScores>(attributes.integer("qk_matmul_output_mode", 0) & 3);
  const Tensor product = matrix_product(q * scale, k * scale, {.transpose_b = true});
  const Tensor capped = softcap > 0 ? tanh(product / softcap) * softcap : product;
  const Tensor masked = with_mask(call, capped, query_offset(call, q));
  const DType precision =
      attributes.has("softmax_precision") ? dtype_named(call, "softmax_precision") : q.dtype();
  const Tensor weights = cast(softmax_of_seen(cast(masked, precision)), q.dtype());
  Tensor y = matrix_product(weights, v);
  if (is_merged)
    y = reshape(permute(y, {0, 2, 1, 3}),
                {y.shape()[0], y.shape()[2], y.shape()[1] * y.shape()[3]});
  const Tensor scores[] = {product, capped, masked, weights};
  return {y, present_key, present_value, scores[static_cast<std::size_t>(shown)]};
}

/// Pairs of elements of each head rotated by the angles whose cosines and sines are inputs.
Outputs record_rotary_embedding(const Call& call) {
  require_inputs(call, 3, 4);
  const Attributes& attributes = call.attributes();
  const Tensor x = call.tensor(0);
  if (x.rank() != 3 && x.rank() != 4)
    refuse(fmt::format("its input has rank {}; it must have rank 3 or 4", x.rank()));
  const Tensor heads =
      x.rank() == 3 ? split_heads(x, attributes.integer("num_heads", 0)) : x;  // [b, h, s, d]
  attributes.ignore("num_heads");
  if (!heads.shape()[3].is_number())
    refuse(fmt::format("its heads have the width {}", to_string(heads.shape()[3])));
  const std::int64_t width = heads.shape()[3].number();
  const std::int64_t given = attributes.integer("rotary_embedding_dim", 0);
  const std::int64_t rotated = given == 0 ? width : given;
  if (rotated < 0 || rotated > width || rotated % 2 != 0)
    refuse(fmt::format("it rotates {} of {} elements; the number must be even", rotated, width));
  const auto angles = [&](std::size_t input) {
    Tensor cache = call.tensor(input);
    if (call.has_input(3)) cache = take(cache, call.tensor(3), 0);
    return unsqueeze(slice(cache, cache.rank() - 1, 0, rotated / 2), 1);  // [b, 1, s, d / 2]
  };
  const Tensor cosines = angles(1);
  const Tensor sines = angles(2);
  const bool is_interleaved = attributes.flag("interleaved", false);
  const Tensor head = slice(heads, 3, 0, rotated);
  const Tensor a = is_interleaved ? slice(head, 3, 0, rotated, 2) : slice(head, 3, 0, rotated / 2);
  const Tensor b =
      is_interleaved ? slice(head, 3, 1, rotated, 2) : slice(head, 3, rotated / 2, rotated);
  const Tensor real = cosines * a - sines * b;
  const Tensor imaginary = sines * a + cosines * b;
  Tensor y = is_interleaved ? reshape(stack({real, imaginary}, -1), head.shape())
                            : concat({real, imaginary}, 3);
  if (rotated < width) y = concat({y, slice(heads, 3, rotated, width)}, 3);
  if (x.rank() == 3) y = reshape(permute(y, {0, 2, 1, 3}), x.shape());
  return {y};
}

constexpr OpRow kAttention[] = {
    {"Attention", record_attention},
    {"RotaryEmbedding", record_rotary_embedding},
};

}  // namespace

std::span<const OpRow> attention_ops() { return kAttention; }

}  // namespace sinter::onnx
