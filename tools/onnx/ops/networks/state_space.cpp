// Recurrences of linear attention, and the causal convolution in front of them.
#include "sinter/library_ops.h"
#include "sinter/nn.h"
#include "sinter/views.h"
#include "tools/onnx/node/operands.h"
#include "tools/onnx/ops/axes.h"
#include "tools/onnx/ops/op_table.h"

#include <cmath>

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

/// Steps are unrolled, so many would make the recorded program too large.
constexpr std::int64_t kMostUnrolled = 2048;

/// [batch, time, heads * width] with the heads as an axis.
Tensor with_heads(const Tensor& x, std::int64_t heads, std::string_view what) {
  if (x.rank() != 3) refuse(fmt::format("its {} has rank {}; it must be 3", what, x.rank()));
  const std::int64_t columns = number_of(x.shape()[2]);
  if (heads < 1 || columns % heads != 0)
    refuse(
        fmt::format("the {} columns of its {} do not divide into {} heads", columns, what, heads));
  return reshape(x, {x.shape()[0], x.shape()[1], heads, columns / heads});
}

/// How a step changes the state.
struct UpdateRule {
  bool decays = false;    ///< the state is multiplied by exp(decay) first
  bool corrects = false;  ///< what the state gives for the key is subtracted from the value
};

UpdateRule update_rule(const Call& call) {
  const std::string word = call.attributes().text("update_rule", "gated_delta");
  if (word == "linear") return {};
  if (word == "gated") return {.decays = true};
  if (word == "delta") return {.corrects = true};
  if (word == "gated_delta") return {.decays = true, .corrects = true};
  refuse(fmt::format("update_rule is '{}'; it must be linear, gated, delta or gated_delta", word));
}

/// The operands of all steps, in f32: [batch, time, heads, width].
struct LinearAttention {
  Tensor q;
  Tensor k;
  Tensor v;
  Tensor decay;
  Tensor beta;
  double scale = 1;
  std::int64_t sharing = 1;  ///< query heads per head of keys
};

/// One step: updates the state [batch, heads, key, value] and returns [batch, query heads, value].
Tensor attention_step(const LinearAttention& given, std::int64_t t, Tensor& state) {
  const auto at = [&](const Tensor& x) { return select(x, 1, t); };
  const Tensor k = unsqueeze(at(given.k), -1);
  if (given.decay.node()) state = state * unsqueeze(exp(at(given.decay)), -1);
  Tensor v = at(given.v);
  if (given.beta.node()) v = at(given.beta) * (v - sum(state * k, {2}));
  state = state + k * unsqueeze(v, 2);
  const Tensor read = given.sharing == 1 ? state : repeat(state, given.sharing, 1);
  return sum(read * unsqueeze(at(given.q), -1), {2}) * given.scale;
}

LinearAttention linear_attention_of(const Call& call) {
  const std::int64_t q_heads = call.attributes().integer("q_num_heads");
  const std::int64_t heads = call.attributes().integer("kv_num_heads");
  if (heads < 1 || q_heads % heads != 0)
    refuse(fmt::format("{} query heads cannot share {} heads of keys", q_heads, heads));
  const auto wide = [&](std::size_t i, std::int64_t count, std::string_view what) {
    return with_heads(cast(call.tensor(i), f32), count, what);
  };
  LinearAttention given{.q = wide(0, q_heads, "query"),
                        .k = wide(1, heads, "key"),
                        .v = wide(2, heads, "value"),
                        .sharing = q_heads / heads};
  const UpdateRule rule = update_rule(call);
  if (rule.decays) given.decay = wide(4, heads, "decay");
  if (rule.corrects) {
    const bool is_shared = call.shape(5).size() == 3 && call.shape(5)[2].is(1);
    given.beta = wide(5, is_shared ? 1 : heads, "beta");
  }
  given.scale = call.attributes().real("scale", 0);
  if (given.scale == 0)
    given.scale = 1 / std::sqrt(static_cast<double>(number_of(given.q.shape()[3])));
  return given;
}

Outputs record_linear_attention(const Call& call) {
  require_inputs(call, 3, 6);
  call.attributes().ignore("chunk_size");  // a hint
  const LinearAttention given = linear_attention_of(call);
  const std::int64_t steps = number_of(given.q.shape()[1]);
  if (steps < 1 || steps > kMostUnrolled)
    refuse(
        fmt::format("there are {} steps; steps are unrolled, from 1 to {}", steps, kMostUnrolled));
  const DType result = call.dtype(0);
  const Extent heads = given.k.shape()[2];
  Tensor state =
      call.has_input(3)
          ? cast(call.tensor(3), f32)
          : full(call.graph(), {given.k.shape()[0], heads, given.k.shape()[3], given.v.shape()[3]},
                 0.0, f32);
  std::vector<Tensor> outputs;
  for (std::int64_t t = 0; t < steps; ++t) outputs.push_back(attention_step(given, t, state));
  const Tensor y = stack(outputs, 1);  // [batch, time, heads, value]
  return {cast(reshape(y, {y.shape()[0], y.shape()[1], -1}), result),
          cast(state, call.has_input(3) ? call.dtype(3) : result)};
}

/// Each channel has a filter, which sees the present and earlier elements. The second output has
/// the elements that the next call needs.
Outputs record_causal_convolution(const Call& call) {
  require_inputs(call, 2, 4);
  const Tensor x = call.tensor(0);
  const Tensor w = call.tensor(1);
  if (x.rank() != 3 || w.rank() != 3)
    refuse(fmt::format("its inputs have the ranks {} and {}; both must be 3", x.rank(), w.rank()));
  const std::int64_t channels = number_of(x.shape()[1]);
  const std::int64_t before = number_of(w.shape()[2]) - 1;
  const Tensor past = call.has_input(3)
                          ? call.tensor(3)
                          : full(call.graph(), {x.shape()[0], channels, before}, 0.0, x.dtype());
  const Tensor padded = before == 0 ? x : concat({past, x}, 2);
  Tensor y = conv(padded, w, {.groups = channels});
  if (call.has_input(2)) y = y + unsqueeze(call.tensor(2), -1);
  const std::string activation = call.attributes().text("activation", "none");
  if (activation == "silu" || activation == "swish")
    y = silu(y);
  else if (activation != "none")
    refuse(fmt::format("activation is '{}'; it must be none, silu or swish", activation));
  return {y, slice(padded, 2, x.shape()[2], x.shape()[2] + before)};
}

constexpr OpRow kStateSpace[] = {
    {"CausalConvWithState", record_causal_convolution},
    {"LinearAttention", record_linear_attention},
};

}  // namespace

std::span<const OpRow> state_space_ops() { return kStateSpace; }

}  // namespace sinter::onnx
