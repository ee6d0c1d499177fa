// RNN, GRU and LSTM, unrolled over time.
//
// One matrix product serves the inputs of all steps; each step has a product with its state.
#include "sinter/library_ops.h"
#include "sinter/nn.h"
#include "sinter/views.h"
#include "tools/onnx/node/operands.h"
#include "tools/onnx/ops/axes.h"
#include "tools/onnx/ops/networks/activation_word.h"
#include "tools/onnx/ops/op_table.h"

#include <algorithm>

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

/// The number of steps above which the recorded program would be too large.
constexpr std::int64_t kMostSteps = 2048;

/// The operands of one direction. Empty tensors are zeros.
struct Direction {
  Tensor weights;        ///< [gates * hidden, inputs]
  Tensor state_weights;  ///< [gates * hidden, hidden]
  Tensor bias;           ///< [gates * hidden]
  Tensor state_bias;     ///< [gates * hidden]
  Tensor peepholes;      ///< [3 * hidden]; of LSTM
  Tensor h;              ///< [batch, hidden]
  Tensor c;              ///< [batch, hidden]; of LSTM
  bool is_reverse = false;
};

struct State {
  Tensor h;
  Tensor c;  ///< of LSTM
};

/// Part `k` of the last axis, which has parts of `size` elements.
Tensor part(const Tensor& x, std::int64_t k, std::int64_t size, std::int64_t count = 1) {
  return slice(x, -1, k * size, (k + count) * size);
}

/// Activations, and the node's limit of their operands.
class Gates {
 public:
  Gates(const Call& call, std::vector<Activation> activations)
      : activations_(std::move(activations)), clip_(call.attributes().real("clip", 0)) {}
  Tensor operator()(std::size_t i, const Tensor& x) const {
    return activations_[i](clip_ > 0 ? clamp(x, -clip_, clip_) : x);
  }

 private:
  std::vector<Activation> activations_;
  double clip_;
};

Tensor plus(const Tensor& x, const Tensor& bias) { return bias.node() ? x + bias : x; }

State rnn_step(const Call&, const Gates& gates, const Direction& direction, const Tensor& x,
               const State& state) {
  const Tensor from_state = matmul(state.h, direction.state_weights, {.transpose_b = true});
  return {gates(0, plus(x + from_state, direction.state_bias)), {}};
}

/// The gates are update, reset and hidden.
State gru_step(const Call& call, const Gates& gates, const Direction& direction, const Tensor& x,
               const State& state) {
  const std::int64_t n = state.h.shape()[1].number();
  const Tensor& h = state.h;
  Tensor update_and_reset;
  Tensor candidate;
  if (call.attributes().flag("linear_before_reset", false)) {
    const Tensor all =
        plus(matmul(h, direction.state_weights, {.transpose_b = true}), direction.state_bias);
    update_and_reset = gates(0, part(x, 0, n, 2) + part(all, 0, n, 2));
    candidate = gates(1, part(x, 2, n) + part(update_and_reset, 1, n) * part(all, 2, n));
  } else {
    const auto rows = [&](std::int64_t k, std::int64_t count) {
      return slice(direction.state_weights, 0, k * n, (k + count) * n);
    };
    const auto bias = [&](std::int64_t k, std::int64_t count) {
      return direction.state_bias.node() ? part(direction.state_bias, k, n, count) : Tensor();
    };
    update_and_reset =
        gates(0, plus(part(x, 0, n, 2) + matmul(h, rows(0, 2), {.transpose_b = true}), bias(0, 2)));
    const Tensor kept = part(update_and_reset, 1, n) * h;
    candidate =
        gates(1, plus(part(x, 2, n) + matmul(kept, rows(2, 1), {.transpose_b = true}), bias(2, 1)));
  }
  const Tensor update = part(update_and_reset, 0, n);
  return {(1 - update) * candidate + update * h, {}};
}

/// The gates are input, output, forget and cell.
State lstm_step(const Call& call, const Gates& gates, const Direction& direction, const Tensor& x,
                const State& state) {
  const std::int64_t n = state.h.shape()[1].number();
  const Tensor all = plus(x + matmul(state.h, direction.state_weights, {.transpose_b = true}),
                          direction.state_bias);
  const auto with_peephole = [&](const Tensor& gate, std::int64_t k, const Tensor& cell) {
    return direction.peepholes.node() ? gate + part(direction.peepholes, k, n) * cell : gate;
  };
  const Tensor input = gates(0, with_peephole(part(all, 0, n), 0, state.c));
  const Tensor forget = call.attributes().flag("input_forget", false)
                            ? 1 - input
                            : gates(0, with_peephole(part(all, 2, n), 2, state.c));
  const Tensor cell = forget * state.c + input * gates(1, part(all, 3, n));
  const Tensor output = gates(0, with_peephole(part(all, 1, n), 1, cell));
  return {output * gates(2, cell), cell};
}

using StepFunction = State (*)(const Call&, const Gates&, const Direction&, const Tensor&,
                               const State&);

struct Cell {
  std::int64_t gates;
  std::vector<std::string> activations;
  bool has_cell_state;
  StepFunction step;
};

/// The operands of a node, with time first.
struct Operands {
  Tensor x;        ///< [time, batch, inputs]
  Tensor lengths;  ///< [batch, 1], or empty
  std::int64_t steps = 0;
  std::int64_t hidden = 0;
  bool is_batch_first = false;  ///< in the model: layout = 1
};

struct DirectionResult {
  std::vector<Tensor> h;  ///< per step: [batch, hidden]
  State last;
};

DirectionResult run_direction(const Call& call, const Cell& cell, const Gates& gates,
                              const Operands& operands, const Direction& direction) {
  const Tensor from_input =
      plus(matmul(operands.x, direction.weights, {.transpose_b = true}), direction.bias);
  DirectionResult result{std::vector<Tensor>(static_cast<std::size_t>(operands.steps)),
                         {direction.h, direction.c}};
  for (std::int64_t i = 0; i < operands.steps; ++i) {
    const std::int64_t t = direction.is_reverse ? operands.steps - 1 - i : i;
    State next = cell.step(call, gates, direction, select(from_input, 0, t), result.last);
    Tensor y = next.h;
    if (operands.lengths.node()) {  // shorter sequences keep their state, and give zeros
      const Tensor is_inside = operands.lengths > t;
      y = where(is_inside, next.h, 0);
      next.h = where(is_inside, next.h, result.last.h);
      if (next.c.node()) next.c = where(is_inside, next.c, result.last.c);
    }
    result.h[static_cast<std::size_t>(t)] = y;
    result.last = next;
  }
  return result;
}

Operands operands_of(const Call& call) {
  Operands operands{.x = call.tensor(0)};
  operands.is_batch_first = call.attributes().flag("layout", false);
  if (operands.x.rank() != 3)
    refuse(fmt::format("the input has rank {}, not 3", operands.x.rank()));
  if (operands.is_batch_first) operands.x = transpose(operands.x, 0, 1);
  operands.steps = number_of(operands.x.shape()[0]);
  if (operands.steps < 1 || operands.steps > kMostSteps)
    refuse(fmt::format("there are {} steps; steps are unrolled, from 1 to {}", operands.steps,
                       kMostSteps));
  const Tensor state_weights = call.tensor(2);
  if (state_weights.rank() != 3)
    refuse(fmt::format("the weights of the state have rank {}, not 3", state_weights.rank()));
  operands.hidden = number_of(state_weights.shape()[2]);
  if (call.has_input(4)) operands.lengths = unsqueeze(call.tensor(4), -1);
  return operands;
}

/// Direction `d` of an initial state, or zeros.
Tensor initial_state(const Call& call, const Operands& operands, std::size_t input, int d) {
  if (!call.has_input(input))
    return full(call.graph(), {operands.x.shape()[1], operands.hidden}, 0.0, operands.x.dtype());
  const Tensor states = call.tensor(input);
  if (states.rank() != 3 || !states.shape()[2].is(operands.hidden))
    refuse(fmt::format("an initial state is {}; it must have rank 3 and {} elements at the end",
                       to_string(states.shape()), operands.hidden));
  return select(states, operands.is_batch_first ? 1 : 0, d);
}

Direction direction_of(const Call& call, const Cell& cell, const Operands& operands, int d) {
  Direction direction{.weights = select(call.tensor(1), 0, d),
                      .state_weights = select(call.tensor(2), 0, d)};
  if (call.has_input(3)) {
    const Tensor biases = select(call.tensor(3), 0, d);
    direction.bias = part(biases, 0, cell.gates * operands.hidden);
    direction.state_bias = part(biases, 1, cell.gates * operands.hidden);
  }
  direction.h = initial_state(call, operands, 5, d);
  if (cell.has_cell_state) {
    direction.c = initial_state(call, operands, 6, d);
    if (call.has_input(7)) direction.peepholes = select(call.tensor(7), 0, d);
  }
  return direction;
}

Outputs run_cell(const Call& call, const Cell& cell) {
  const std::string word = call.attributes().text("direction", "forward");
  if (word != "forward" && word != "reverse" && word != "bidirectional")
    refuse(fmt::format("direction is {}; it must be forward, reverse or bidirectional", word));
  require_inputs(call, 3, cell.has_cell_state ? 8 : 6);
  if (call.opset() < 7) call.attributes().ignore("output_sequence");  // the outputs say so, too
  const int directions = word == "bidirectional" ? 2 : 1;
  const Operands operands = operands_of(call);
  if (const std::int64_t size = call.attributes().integer("hidden_size", operands.hidden);
      size != operands.hidden)
    refuse(fmt::format("hidden_size is {}, but the weights have {}", size, operands.hidden));
  const std::size_t per_direction = cell.activations.size();
  const std::vector<Activation> activations =
      activations_of(call, cell.activations, per_direction * static_cast<std::size_t>(directions));
  std::vector<std::vector<Tensor>> h(static_cast<std::size_t>(operands.steps));
  std::vector<Tensor> last_h;
  std::vector<Tensor> last_c;
  for (int d = 0; d < directions; ++d) {
    const auto first = activations.begin() +
                       static_cast<std::ptrdiff_t>(per_direction * static_cast<std::size_t>(d));
    const Gates gates(call, {first, first + static_cast<std::ptrdiff_t>(per_direction)});
    Direction direction = direction_of(call, cell, operands, d);
    direction.is_reverse = d == 1 || word == "reverse";
    const DirectionResult result = run_direction(call, cell, gates, operands, direction);
    for (std::size_t t = 0; t < h.size(); ++t) h[t].push_back(result.h[t]);
    last_h.push_back(result.last.h);
    last_c.push_back(result.last.c);
  }
  std::vector<Tensor> steps;
  for (const std::vector<Tensor>& step : h) steps.push_back(stack(step, 0));
  // [time, directions, batch, hidden], or [batch, time, directions, hidden]
  Tensor y = stack(steps, 0);
  if (operands.is_batch_first) y = permute(y, {2, 0, 1, 3});
  const int state_axis = operands.is_batch_first ? 1 : 0;
  Outputs outputs = {y, stack(last_h, state_axis)};
  if (cell.has_cell_state) outputs.push_back(stack(last_c, state_axis));
  return outputs;
}

Outputs record_rnn(const Call& call) {
  return run_cell(call, {1, {"Tanh"}, /*has_cell_state=*/false, rnn_step});
}
Outputs record_gru(const Call& call) {
  return run_cell(call, {3, {"Sigmoid", "Tanh"}, /*has_cell_state=*/false, gru_step});
}
Outputs record_lstm(const Call& call) {
  return run_cell(call, {4, {"Sigmoid", "Tanh", "Tanh"}, /*has_cell_state=*/true, lstm_step});
}

constexpr OpRow kRecurrent[] = {
    {"GRU", record_gru},
    {"LSTM", record_lstm},
    {"RNN", record_rnn},
};

}  // namespace

std::span<const OpRow> recurrent_ops() { return kRecurrent; }

}  // namespace sinter::onnx
