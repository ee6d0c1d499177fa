// The OpSyntax of sinter/views.h.
#include "ir/parser/op_syntax_groups.h"
#include "ir/record/record.h"
#include "sinter/views.h"

#include <fmt/format.h>

namespace sinter {

namespace {

// clang-format off
const AttributeInfo kAt          = {.name = "axis",        .kind = AttributeKind::integer,  .default_text = ""};
const AttributeInfo kGivenAxes   = {.name = "axes",        .kind = AttributeKind::integers, .default_text = ""};
const AttributeInfo kIndex       = {.name = "index",       .kind = AttributeKind::extent,   .default_text = ""};
const AttributeInfo kBegin       = {.name = "begin",       .kind = AttributeKind::extent,   .default_text = ""};
const AttributeInfo kEnd         = {.name = "end",         .kind = AttributeKind::extent,   .default_text = ""};
const AttributeInfo kStep        = {.name = "step",        .kind = AttributeKind::integer,  .default_text = "1"};
const AttributeInfo kPadLow      = {.name = "low",         .kind = AttributeKind::integers, .default_text = ""};
const AttributeInfo kPadHigh     = {.name = "high",        .kind = AttributeKind::integers, .default_text = ""};
const AttributeInfo kPadValue    = {.name = "value",       .kind = AttributeKind::literal,  .default_text = "0"};
const AttributeInfo kRepeats     = {.name = "repeats",     .kind = AttributeKind::integers, .default_text = ""};
const AttributeInfo kTimes       = {.name = "times",       .kind = AttributeKind::integer,  .default_text = ""};
const AttributeInfo kShift       = {.name = "shift",       .kind = AttributeKind::integer,  .default_text = ""};
const AttributeInfo kDiagonal    = {.name = "diagonal",    .kind = AttributeKind::integer,  .default_text = "0"};
const AttributeInfo kClasses     = {.name = "classes",     .kind = AttributeKind::extent,   .default_text = ""};
const AttributeInfo kWindow      = {.name = "window",      .kind = AttributeKind::integers, .default_text = ""};
const AttributeInfo kStride      = {.name = "stride",      .kind = AttributeKind::integers, .default_text = ""};
const AttributeInfo kPadding     = {.name = "padding",     .kind = AttributeKind::integers, .default_text = ""};
const AttributeInfo kNearest     = {.name = "nearest",     .kind = AttributeKind::boolean,  .default_text = "false"};
const AttributeInfo kShape       = {.name = "shape",       .kind = AttributeKind::extents,  .default_text = ""};
const AttributeInfo kDType       = {.name = "dtype",       .kind = AttributeKind::dtype,    .default_text = "f32"};
const AttributeInfo kOffset      = {.name = "offset",      .kind = AttributeKind::integer,  .default_text = "0"};
const AttributeInfo kAccumulate  = {.name = "accumulate",  .kind = AttributeKind::boolean,  .default_text = "false"};
const AttributeInfo kMasked      = {.name = "masked",      .kind = AttributeKind::boolean,  .default_text = "false"};
const AttributeInfo kProbability = {.name = "probability", .kind = AttributeKind::literal,  .default_text = ""};
// clang-format on

/// The operands are x, the values, one index per axis, and an optional mask.
Results index_put_of(const Call& call) {
  const std::vector<std::int64_t>& axes = call.argument("axes").integers;
  const bool is_masked = call.integer("masked") != 0;
  const std::size_t wanted = 2 + axes.size() + (is_masked ? 1 : 0);
  if (call.operands.size() != wanted)
    fail("index_put",
         fmt::format("{} operands for {} axes{}; give x, the values, an index for each axis{}",
                     call.operands.size(), axes.size(), is_masked ? " and a mask" : "",
                     is_masked ? " and the mask" : ""),
         call.location);
  const std::span<const Operand> indices = call.operands.subspan(2, axes.size());
  std::optional<Operand> mask;
  if (is_masked) mask = call.operands.back();
  return {index_put(call.operands[0], call.operands[1], indices, axes,
                    call.integer("accumulate") != 0, mask)};
}

Results transpose_of(const Call& call) {
  const std::vector<std::int64_t>& axes = call.argument("axes").integers;
  if (axes.size() != 2)
    fail("transpose", fmt::format("{} axes; give the two axes to swap", axes.size()),
         call.location);
  graph_of("transpose", call.operands[0]);
  for (const std::int64_t axis : axes)
    checked_axis("transpose", axis, *call.operands[0].tensor.node(), call.location);
  return {transpose(call.operands[0], static_cast<int>(axes[0]), static_cast<int>(axes[1]))};
}

}  // namespace

// clang-format off
std::vector<OpSyntax> view_op_syntax() {
  return {
      {"squeeze",        nullptr,  1, 1, {kAt},                      [](const Call& c) -> Results { return {squeeze(c.operands[0], c.small("axis"))}; }},
      {"unsqueeze",      nullptr,  1, 1, {kAt},                      [](const Call& c) -> Results { return {unsqueeze(c.operands[0], c.small("axis"))}; }},
      {"transpose",      nullptr,  1, 1, {kGivenAxes},               transpose_of},
      {"select",         nullptr,  1, 1, {kAt, kIndex},              [](const Call& c) -> Results { return {select(c.operands[0], c.small("axis"), c.argument("index").extent)}; }},
      {"stack",          nullptr, -1, 1, {kAt},                      [](const Call& c) -> Results { return {stack(c.operands, c.small("axis"))}; }},
      {"tile",           nullptr,  1, 1, {kRepeats},                 [](const Call& c) -> Results { return {tile(c.operands[0], c.argument("repeats").integers)}; }},
      {"repeat",         nullptr,  1, 1, {kTimes, kAxis},            [](const Call& c) -> Results { return {repeat(c.operands[0], c.integer("times"), c.small("axis"))}; }},
      {"roll",           nullptr,  1, 1, {kShift, kAxis},            [](const Call& c) -> Results { return {roll(c.operands[0], c.integer("shift"), c.small("axis"))}; }},
      {"pad",            nullptr,  1, 1, {kPadLow, kPadHigh, kPadValue}, [](const Call& c) -> Results { return {pad(c.operands[0], c.argument("low").integers, c.argument("high").integers, c.real("value"))}; }},
      {"pad_edge",       nullptr,  1, 1, {kPadLow, kPadHigh},        [](const Call& c) -> Results { return {pad_edge(c.operands[0], c.argument("low").integers, c.argument("high").integers)}; }},
      {"pad_reflect",    nullptr,  1, 1, {kPadLow, kPadHigh},        [](const Call& c) -> Results { return {pad_reflect(c.operands[0], c.argument("low").integers, c.argument("high").integers)}; }},
      {"slice_scatter",  nullptr,  2, 1, {kAt, kBegin, kEnd, kStep}, [](const Call& c) -> Results { return {slice_scatter(c.operands[0], c.operands[1], c.small("axis"), c.argument("begin").extent, c.argument("end").extent, c.small("step"))}; }},
      {"select_scatter", nullptr,  2, 1, {kAt, kIndex},              [](const Call& c) -> Results { return {select_scatter(c.operands[0], c.operands[1], c.small("axis"), c.argument("index").extent)}; }},
      {"tril",           nullptr,  1, 1, {kDiagonal},                [](const Call& c) -> Results { return {tril(c.operands[0], c.integer("diagonal"))}; }},
      {"triu",           nullptr,  1, 1, {kDiagonal},                [](const Call& c) -> Results { return {triu(c.operands[0], c.integer("diagonal"))}; }},
      {"one_hot",        nullptr,  1, 1, {kClasses, kDType},         [](const Call& c) -> Results { return {one_hot(c.operands[0], c.argument("classes").extent, c.argument("dtype").dtype)}; }},
      {"embedding",      nullptr,  2, 1, {},                         [](const Call& c) -> Results { return {embedding(c.operands[0], c.operands[1])}; }},
      {"index",          nullptr, -1, 1, {kGivenAxes},               [](const Call& c) -> Results { return {index(c.operands[0], c.operands.subspan(1), c.argument("axes").integers)}; }},
      {"index_put",      nullptr, -1, 1, {kGivenAxes, kAccumulate, kMasked}, index_put_of},
      {"scatter_add",    nullptr,  3, 1, {kAt},                      [](const Call& c) -> Results { return {scatter_add(c.operands[0], c.small("axis"), c.operands[1], c.operands[2])}; }},
      {"avg_pool",       nullptr,  1, 1, {kWindow, kStride, kPadding}, [](const Call& c) -> Results { return {avg_pool(c.operands[0], c.argument("window").integers, c.argument("stride").integers, c.argument("padding").integers)}; }},
      {"max_pool",       nullptr,  1, 1, {kWindow, kStride, kPadding}, [](const Call& c) -> Results { return {max_pool(c.operands[0], c.argument("window").integers, c.argument("stride").integers, c.argument("padding").integers)}; }},
      {"max_pool_with_index", nullptr, 1, 2, {kWindow, kStride, kPadding}, [](const Call& c) -> Results {
         const WithIndex both = max_pool_with_index(c.operands[0], c.argument("window").integers, c.argument("stride").integers, c.argument("padding").integers);
         return {both.value, both.index}; }},
      {"max_pool_backward", nullptr, 2, 1, {kShape, kWindow, kStride, kPadding}, [](const Call& c) -> Results { return {max_pool_backward(c.operands[0], c.operands[1], c.argument("shape").extents, c.argument("window").integers, c.argument("stride").integers, c.argument("padding").integers)}; }},
      {"grid_sample",    nullptr,  2, 1, {kNearest},                 [](const Call& c) -> Results { return {grid_sample(c.operands[0], c.operands[1], c.integer("nearest") ? Border::nearest : Border::zeros)}; }},
      {"random_bits",    nullptr,  1, 1, {kShape, kOffset},          [](const Call& c) -> Results { return {random_bits(c.operands[0], c.argument("shape").extents, c.integer("offset"))}; }},
      {"random_uniform", nullptr,  1, 1, {kShape, kDType, kOffset},  [](const Call& c) -> Results { return {random_uniform(c.operands[0], c.argument("shape").extents, c.argument("dtype").dtype, c.integer("offset"))}; }},
      {"random_normal",  nullptr,  1, 1, {kShape, kDType, kOffset},  [](const Call& c) -> Results { return {random_normal(c.operands[0], c.argument("shape").extents, c.argument("dtype").dtype, c.integer("offset"))}; }},
      {"random_bernoulli", nullptr, 1, 1, {kShape, kProbability, kOffset}, [](const Call& c) -> Results { return {random_bernoulli(c.operands[0], c.argument("shape").extents, c.real("probability"), c.integer("offset"))}; }},
      {"dropout",        nullptr,  2, 1, {kProbability, kOffset},    [](const Call& c) -> Results { return {dropout(c.operands[0], c.operands[1], c.real("probability"), c.integer("offset"))}; }},
  };
}
// clang-format on

}  // namespace sinter
