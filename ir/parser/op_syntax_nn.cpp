// The OpSyntax of sinter/nn.h. Trailing operands with a default in C++, such as weight and bias,
// may be omitted in the text form too.
#include "ir/parser/op_syntax_groups.h"
#include "ir/record/record.h"
#include "sinter/nn.h"

#include <fmt/format.h>

namespace sinter {

namespace {

// clang-format off
const AttributeInfo kSlope          = {.name = "slope",           .kind = AttributeKind::literal,  .default_text = "0.01"};
const AttributeInfo kAlpha          = {.name = "alpha",           .kind = AttributeKind::literal,  .default_text = "1"};
const AttributeInfo kBeta           = {.name = "beta",            .kind = AttributeKind::literal,  .default_text = "1"};
const AttributeInfo kThreshold      = {.name = "threshold",       .kind = AttributeKind::literal,  .default_text = "20"};
const AttributeInfo kLow            = {.name = "low",             .kind = AttributeKind::literal,  .default_text = "-1"};
const AttributeInfo kHigh           = {.name = "high",            .kind = AttributeKind::literal,  .default_text = "1"};
const AttributeInfo kValue          = {.name = "value",           .kind = AttributeKind::literal,  .default_text = "1"};
const AttributeInfo kDelta          = {.name = "delta",           .kind = AttributeKind::literal,  .default_text = "1"};
const AttributeInfo kP              = {.name = "p",               .kind = AttributeKind::literal,  .default_text = "2"};
const AttributeInfo kEps            = {.name = "eps",             .kind = AttributeKind::literal,  .default_text = "1e-05"};
const AttributeInfo kLengthEps      = {.name = "eps",             .kind = AttributeKind::literal,  .default_text = "1e-12"};
const AttributeInfo kCosineEps      = {.name = "eps",             .kind = AttributeKind::literal,  .default_text = "1e-08"};
const AttributeInfo kRmsEps         = {.name = "eps",             .kind = AttributeKind::literal,  .default_text = "1.1920929e-07"};  // f32's epsilon; f64 has its own
const AttributeInfo kMomentum       = {.name = "momentum",        .kind = AttributeKind::literal,  .default_text = "0.1"};
const AttributeInfo kSmoothing      = {.name = "label_smoothing", .kind = AttributeKind::literal,  .default_text = "0"};
const AttributeInfo kIgnore         = {.name = "ignore_index",    .kind = AttributeKind::integer,  .default_text = "-100"};
const AttributeInfo kReduction      = {.name = "reduction",       .kind = AttributeKind::integer,  .default_text = "2"};  // 0 none, 1 sum, 2 mean
const AttributeInfo kLogTarget      = {.name = "log_target",      .kind = AttributeKind::boolean,  .default_text = "false"};
const AttributeInfo kStdCorrection  = {.name = "correction",      .kind = AttributeKind::integer,  .default_text = ""};
const AttributeInfo kGroups         = {.name = "groups",          .kind = AttributeKind::integer,  .default_text = ""};
const AttributeInfo kVectorAxis     = {.name = "axis",            .kind = AttributeKind::integer,  .default_text = "1"};
const AttributeInfo kNormAxes       = {.name = "axes",            .kind = AttributeKind::integers, .default_text = "[-1]"};
const AttributeInfo kQuantizedDType = {.name = "dtype",           .kind = AttributeKind::dtype,    .default_text = "i8"};
// clang-format on

Reduction reduction(const Call& call) {
  const std::int64_t value = call.integer("reduction");
  if (value < 0 || value > 2)
    fail(call.syntax.name,
         fmt::format("reduction is {}; it must be 0 (none), 1 (sum) or 2 (mean)", value),
         call.location);
  return static_cast<Reduction>(value);
}

/// The axes of a norm; the last axis if the text gives none.
std::vector<std::int64_t> norm_axes(const Call& call) {
  const ParsedAttribute& axes = call.argument("axes");
  return axes.given ? axes.integers : std::vector<std::int64_t>{-1};
}

/// Throws UserError unless the call has `least` to `most` operands.
void check_operands(const Call& call, std::size_t least, std::size_t most) {
  const std::size_t given = call.operands.size();
  if (given < least || given > most)
    fail(call.syntax.name, fmt::format("{} operands; it takes {} to {}", given, least, most),
         call.location);
}

/// Operand `place`, or the number `otherwise` if the call omits it.
Operand operand_or(const Call& call, std::size_t place, int otherwise) {
  return place < call.operands.size() ? call.operands[place]
                                      : Operand(Literal::of(otherwise), call.location);
}

Tensor weight_of_classes(const Call& call) {
  check_operands(call, 2, 3);
  if (call.operands.size() == 2) return {};
  if (call.operands[2].is_literal())
    fail(call.syntax.name, "the weight is a number; it must be a Tensor", call.location);
  return call.operands[2].tensor;
}

Results record_layer_norm(const Call& c) {
  check_operands(c, 1, 3);
  return {layer_norm(c.operands[0], norm_axes(c), operand_or(c, 1, 1), operand_or(c, 2, 0),
                     c.real("eps"))};
}

Results record_rms_norm(const Call& c) {
  check_operands(c, 1, 2);
  std::optional<double> eps;
  if (c.argument("eps").given) eps = c.real("eps");
  return {rms_norm(c.operands[0], norm_axes(c), operand_or(c, 1, 1), eps)};
}

Results record_group_norm(const Call& c) {
  check_operands(c, 1, 3);
  return {group_norm(c.operands[0], c.integer("groups"), operand_or(c, 1, 1), operand_or(c, 2, 0),
                     c.real("eps"))};
}

Results record_instance_norm(const Call& c) {
  check_operands(c, 1, 3);
  return {instance_norm(c.operands[0], operand_or(c, 1, 1), operand_or(c, 2, 0), c.real("eps"))};
}

Results record_batch_norm(const Call& c) {
  check_operands(c, 3, 5);
  const BatchNorm all = batch_norm(c.operands[0], c.operands[1], c.operands[2], operand_or(c, 3, 1),
                                   operand_or(c, 4, 0), c.real("momentum"), c.real("eps"));
  return {all.y, all.mean, all.var, all.running_mean, all.running_var};
}

Results record_batch_norm_inference(const Call& c) {
  check_operands(c, 3, 5);
  return {batch_norm_inference(c.operands[0], c.operands[1], c.operands[2], operand_or(c, 3, 1),
                               operand_or(c, 4, 0), c.real("eps"))};
}

Results record_cross_entropy(const Call& c) {
  const CrossEntropyOptions options = {.weight = weight_of_classes(c),
                                       .ignore_index = c.integer("ignore_index"),
                                       .label_smoothing = c.real("label_smoothing"),
                                       .reduction = reduction(c)};
  return {cross_entropy(c.operands[0], c.operands[1], options)};
}

Results record_nll_loss(const Call& c) {
  const NllOptions options = {.weight = weight_of_classes(c),
                              .ignore_index = c.integer("ignore_index"),
                              .reduction = reduction(c)};
  return {nll_loss(c.operands[0], c.operands[1], options)};
}

Results record_quantize(const Call& c) {
  check_operands(c, 2, 3);
  return {quantize(c.operands[0], c.operands[1], operand_or(c, 2, 0), c.argument("dtype").dtype)};
}

Results record_dequantize(const Call& c) {
  check_operands(c, 2, 3);
  return {dequantize(c.operands[0], c.operands[1], operand_or(c, 2, 0))};
}

Operand value_operand(const Call& c) { return {c.argument("value").literal, c.location}; }

}  // namespace

// clang-format off
std::vector<OpSyntax> nn_op_syntax() {
  return {
      {"leaky_relu",        nullptr,  1, 1, {kSlope},                  [](const Call& c) -> Results { return {leaky_relu(c.operands[0], c.real("slope"))}; }},
      {"elu",               nullptr,  1, 1, {kAlpha},                  [](const Call& c) -> Results { return {elu(c.operands[0], c.real("alpha"))}; }},
      {"selu",              nullptr,  1, 1, {},                        [](const Call& c) -> Results { return {selu(c.operands[0])}; }},
      {"silu",              nullptr,  1, 1, {},                        [](const Call& c) -> Results { return {silu(c.operands[0])}; }},
      {"swish",             nullptr,  1, 1, {kBeta},                   [](const Call& c) -> Results { return {swish(c.operands[0], c.real("beta"))}; }},
      {"mish",              nullptr,  1, 1, {},                        [](const Call& c) -> Results { return {mish(c.operands[0])}; }},
      {"softplus",          nullptr,  1, 1, {kBeta, kThreshold},       [](const Call& c) -> Results { return {softplus(c.operands[0], c.real("beta"), c.real("threshold"))}; }},
      {"gelu_tanh",         nullptr,  1, 1, {},                        [](const Call& c) -> Results { return {gelu_tanh(c.operands[0])}; }},
      {"hardswish",         nullptr,  1, 1, {},                        [](const Call& c) -> Results { return {hardswish(c.operands[0])}; }},
      {"hardsigmoid",       nullptr,  1, 1, {},                        [](const Call& c) -> Results { return {hardsigmoid(c.operands[0])}; }},
      {"hardtanh",          nullptr,  1, 1, {kLow, kHigh},             [](const Call& c) -> Results { return {hardtanh(c.operands[0], c.real("low"), c.real("high"))}; }},
      {"softsign",          nullptr,  1, 1, {},                        [](const Call& c) -> Results { return {softsign(c.operands[0])}; }},
      {"swiglu",            nullptr,  2, 1, {},                        [](const Call& c) -> Results { return {swiglu(c.operands[0], c.operands[1])}; }},
      {"geglu",             nullptr,  2, 1, {},                        [](const Call& c) -> Results { return {geglu(c.operands[0], c.operands[1])}; }},
      {"rotary_embedding",  nullptr,  3, 1, {},                        [](const Call& c) -> Results { return {rotary_embedding(c.operands[0], c.operands[1], c.operands[2])}; }},
      {"clamp",             nullptr,  3, 1, {},                        [](const Call& c) -> Results { return {clamp(c.operands[0], c.operands[1], c.operands[2])}; }},
      {"lerp",              nullptr,  3, 1, {},                        [](const Call& c) -> Results { return {lerp(c.operands[0], c.operands[1], c.operands[2])}; }},
      {"addcmul",           nullptr,  3, 1, {kValue},                  [](const Call& c) -> Results { return {addcmul(c.operands[0], c.operands[1], c.operands[2], value_operand(c))}; }},
      {"addcdiv",           nullptr,  3, 1, {kValue},                  [](const Call& c) -> Results { return {addcdiv(c.operands[0], c.operands[1], c.operands[2], value_operand(c))}; }},
      {"logaddexp",         nullptr,  2, 1, {},                        [](const Call& c) -> Results { return {logaddexp(c.operands[0], c.operands[1])}; }},
      {"norm",              nullptr,  1, 1, {kP, kAxes, kKeep},        [](const Call& c) -> Results { return {norm(c.operands[0], c.real("p"), c.argument("axes").integers, c.keep())}; }},
      {"std",               nullptr,  1, 1, {kAxes, kStdCorrection, kKeep}, [](const Call& c) -> Results { return {std_dev(c.operands[0], c.argument("axes").integers, c.small("correction"), c.keep())}; }},
      {"count_nonzero",     nullptr,  1, 1, {kAxes, kKeep},            [](const Call& c) -> Results { return {count_nonzero(c.operands[0], c.argument("axes").integers, c.keep())}; }},
      {"l2_normalize",      nullptr,  1, 1, {kVectorAxis, kLengthEps}, [](const Call& c) -> Results { return {l2_normalize(c.operands[0], c.small("axis"), c.real("eps"))}; }},
      {"cosine_similarity", nullptr,  2, 1, {kVectorAxis, kCosineEps}, [](const Call& c) -> Results { return {cosine_similarity(c.operands[0], c.operands[1], c.small("axis"), c.real("eps"))}; }},
      {"layer_norm",        nullptr, -1, 1, {kNormAxes, kEps},         record_layer_norm},
      {"rms_norm",          nullptr, -1, 1, {kNormAxes, kRmsEps},      record_rms_norm},
      {"group_norm",        nullptr, -1, 1, {kGroups, kEps},           record_group_norm},
      {"instance_norm",     nullptr, -1, 1, {kEps},                    record_instance_norm},
      {"batch_norm",        nullptr, -1, 5, {kMomentum, kEps},         record_batch_norm},
      {"batch_norm_inference", nullptr, -1, 1, {kEps},                 record_batch_norm_inference},
      {"cross_entropy",     nullptr, -1, 1, {kIgnore, kSmoothing, kReduction}, record_cross_entropy},
      {"nll_loss",          nullptr, -1, 1, {kIgnore, kReduction},     record_nll_loss},
      {"mse_loss",          nullptr,  2, 1, {kReduction},              [](const Call& c) -> Results { return {mse_loss(c.operands[0], c.operands[1], reduction(c))}; }},
      {"l1_loss",           nullptr,  2, 1, {kReduction},              [](const Call& c) -> Results { return {l1_loss(c.operands[0], c.operands[1], reduction(c))}; }},
      {"huber_loss",        nullptr,  2, 1, {kDelta, kReduction},      [](const Call& c) -> Results { return {huber_loss(c.operands[0], c.operands[1], c.real("delta"), reduction(c))}; }},
      {"bce_with_logits",   nullptr,  2, 1, {kReduction},              [](const Call& c) -> Results { return {bce_with_logits(c.operands[0], c.operands[1], reduction(c))}; }},
      {"kl_div",            nullptr,  2, 1, {kLogTarget, kReduction},  [](const Call& c) -> Results { return {kl_div(c.operands[0], c.operands[1], c.integer("log_target") != 0, reduction(c))}; }},
      {"quantize",          nullptr, -1, 1, {kQuantizedDType},         record_quantize},
      {"dequantize",        nullptr, -1, 1, {},                        record_dequantize},
  };
}
// clang-format on

}  // namespace sinter
