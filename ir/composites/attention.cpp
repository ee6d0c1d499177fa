// Scaled dot product attention, composed of two matrix products and a softmax.
#include "ir/record/composite.h"
#include "ir/record/index_operands.h"
#include "ir/record/record.h"
#include "sinter/library_ops.h"
#include "sinter/nn.h"
#include "sinter/views.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

namespace sinter {

namespace {

constexpr std::string_view kAttention = "attention";

/// q, k and v whose heads broadcast. If several heads of q share one head of k and v, q has the
/// shape [..., heads of k, shared, s, d]. Then k and v are [..., heads, 1, t, d].
struct Heads {
  Tensor q;
  Tensor k;
  Tensor v;
  std::int64_t shared = 1;
};

/// x with the heads split into groups of `shared`.
Tensor split_heads(Tensor x, Extent heads, std::int64_t shared) {
  ShapeVector shape(x.shape().begin(), x.shape().end());
  shape[shape.size() - 3] = heads;
  shape.insert(shape.end() - 2, Extent(shared));
  return reshape(x, shape);
}

Heads heads_of(const Operand& q, const Operand& k, const Operand& v) {
  Heads heads{.q = q.tensor, .k = k.tensor, .v = v.tensor};
  const std::span<const Extent> of_q = q.tensor.shape();
  const std::span<const Extent> of_k = k.tensor.shape();
  if (of_q.size() < 3 || of_k.size() < 3) return heads;
  const Extent queries = of_q[of_q.size() - 3];
  const Extent keys = of_k[of_k.size() - 3];
  if (queries == keys || queries.is(1) || keys.is(1)) return heads;
  if (!queries.is_number() || !keys.is_number() || keys.is(0) ||
      queries.number() % keys.number() != 0)
    fail(kAttention,
         fmt::format("q is {} and k {}; the heads of q, axis -3, must be a multiple of those of k",
                     type_text(*q.tensor.node()), type_text(*k.tensor.node())),
         q.location);
  heads.shared = queries.number() / keys.number();
  heads.q = split_heads(heads.q, keys, heads.shared);
  heads.k = unsqueeze(heads.k, -3);
  heads.v = unsqueeze(heads.v, -3);
  return heads;
}

/// `scores` with -inf at the positions that are not seen, or with a mask added.
Tensor masked(Tensor scores, const Operand& mask, std::int64_t shared) {
  Tensor own = mask.tensor;
  if (shared > 1 && own.rank() >= 3) {
    const Extent heads = own.shape()[own.shape().size() - 3];
    own = heads.is(1) ? unsqueeze(own, -3)
                      : split_heads(own, floor_div(heads, shared), shared);
  }
  if (own.dtype() == boolean)
    return where(own, scores, -std::numeric_limits<double>::infinity());
  return scores + cast(own, scores.dtype());
}

Tensor without_later_positions(Tensor scores, Location location) {
  GraphData& graph = *scores.graph();
  const std::size_t rank = scores.shape().size();
  const Extent shape[] = {scores.shape()[rank - 2], scores.shape()[rank - 1]};
  const Tensor row = indices_along(graph, shape, 0, location);
  const Tensor column = indices_along(graph, shape, 1, location);
  const Tensor is_seen = ge(row, column);
  return where(is_seen, scores, -std::numeric_limits<double>::infinity());
}

Tensor compose_attention(const Operand& q, const Operand& k, const Operand& v,
                        const std::optional<Operand>& mask, const AttentionOptions& options) {
  const LocationScope scope(q);
  const Operand* const all[] = {&q, &k, &v, mask ? &*mask : &q};
  graph_of(kAttention, all);
  if (mask) node_of(kAttention, *mask);
  for (const Operand* operand : {&q, &k, &v})
    if (const Node& node = node_of(kAttention, *operand); node.rank() < 2 || !is_floating(node.dtype))
      fail(kAttention,
           fmt::format("an operand is {}; it must be floating, with at least two axes",
                       type_text(node)),
           q.location);
  const Extent width = q.tensor.shape().back();
  if (!options.scale && !width.is_number())
    fail(kAttention,
         fmt::format("the width of q is {}, not a number; give the scale", to_string(width)),
         q.location);
  const double scale = options.scale.value_or(
      1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(width.number(), 1))));
  const Heads heads = heads_of(q, k, v);
  const DType compute = info(q.tensor.dtype()).compute;
  const Tensor products = matmul(
      heads.q, heads.k,
      {.transpose_b = true, .result = compute, .allow_tf32 = options.allow_tf32});
  Tensor scores = products * scale;
  if (mask) {
    const Tensor seen = masked(scores, *mask, heads.shared);
    if (!std::ranges::equal(seen.shape(), scores.shape()))
      fail(kAttention,
           fmt::format("the mask is {}, but the products of q and k are {}; it must broadcast to "
                       "their shape",
                       type_text(*mask->tensor.node()), type_text(*scores.node())),
           q.location);
    scores = seen;
  }
  if (options.is_causal) scores = without_later_positions(scores, q.location);
  const Tensor weights = cast(softmax(scores, -1), v.tensor.dtype());
  const Tensor result = matmul(weights, heads.v, {.allow_tf32 = options.allow_tf32});
  if (heads.shared == 1) return result;
  ShapeVector shape(result.shape().begin(), result.shape().end());
  shape.erase(shape.end() - 3);
  shape[shape.size() - 3] = q.tensor.shape()[q.tensor.shape().size() - 3];
  return reshape(result, shape);
}

}  // namespace

Tensor attention(const Operand& q, const Operand& k, const Operand& v,
                 const AttentionOptions& options) {
  return compose_attention(q, k, v, std::nullopt, options);
}

Tensor attention(const Operand& q, const Operand& k, const Operand& v, const Operand& mask,
                 const AttentionOptions& options) {
  return compose_attention(q, k, v, mask, options);
}

}  // namespace sinter
