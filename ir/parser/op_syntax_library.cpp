// The OpSyntax of sinter/library_ops.h.
#include "ir/parser/op_syntax_groups.h"
#include "ir/record/record.h"
#include "sinter/library_ops.h"

#include <fmt/format.h>

namespace sinter {

namespace {

// clang-format off
const AttributeInfo kStrides       = {.name = "strides",        .kind = AttributeKind::integers, .default_text = "[]"};
const AttributeInfo kDilations     = {.name = "dilations",      .kind = AttributeKind::integers, .default_text = "[]"};
const AttributeInfo kPaddingBegin  = {.name = "padding_begin",  .kind = AttributeKind::integers, .default_text = "[]"};
const AttributeInfo kPaddingEnd    = {.name = "padding_end",    .kind = AttributeKind::integers, .default_text = "[]"};
const AttributeInfo kOutputPadding = {.name = "output_padding", .kind = AttributeKind::integers, .default_text = "[]"};
const AttributeInfo kConvGroups    = {.name = "groups",         .kind = AttributeKind::integer,  .default_text = "1"};
const AttributeInfo kAllowTf32     = {.name = "allow_tf32",     .kind = AttributeKind::boolean,  .default_text = "false"};
const AttributeInfo kIsCausal      = {.name = "is_causal",      .kind = AttributeKind::boolean,  .default_text = "false"};
const AttributeInfo kScale         = {.name = "scale",          .kind = AttributeKind::literal,  .default_text = kAbsent};
// clang-format on

bool allow_tf32(const Call& c) { return c.integer("allow_tf32") != 0; }

Results record_matmul(const Call& c) {
  MatmulOptions options{.transpose_a = c.integer("transpose_a") != 0,
                        .transpose_b = c.integer("transpose_b") != 0,
                        .allow_tf32 = allow_tf32(c)};
  if (const ParsedAttribute& result = c.argument("result"); result.given)
    options.result = result.dtype;
  return {matmul(c.operands[0], c.operands[1], options)};
}

ConvOptions conv_options_of(const Call& c) {
  return {.strides = c.argument("strides").integers,
          .dilations = c.argument("dilations").integers,
          .padding_begin = c.argument("padding_begin").integers,
          .padding_end = c.argument("padding_end").integers,
          .groups = c.integer("groups"),
          .allow_tf32 = allow_tf32(c)};
}

Results record_conv(const Call& c) {
  return {conv(c.operands[0], c.operands[1], conv_options_of(c))};
}

Results record_data_gradient(const Call& c) {
  return {conv_data_gradient(c.operands[0], c.operands[1], c.argument("shape").extents,
                             conv_options_of(c))};
}

Results record_weight_gradient(const Call& c) {
  return {conv_weight_gradient(c.operands[0], c.operands[1], c.argument("shape").extents,
                               conv_options_of(c))};
}

Results record_conv_transpose(const Call& c) {
  return {conv_transpose(c.operands[0], c.operands[1],
                         {conv_options_of(c), c.argument("output_padding").integers})};
}

Results record_attention(const Call& c) {
  const std::size_t given = c.operands.size();
  if (given != 3 && given != 4)
    fail(c.syntax.name, fmt::format("{} operands; it takes q, k, v and perhaps a mask", given),
         c.location);
  AttentionOptions options{.is_causal = c.integer("is_causal") != 0, .allow_tf32 = allow_tf32(c)};
  if (c.argument("scale").given) options.scale = c.real("scale");
  return {given == 3 ? attention(c.operands[0], c.operands[1], c.operands[2], options)
                     : attention(c.operands[0], c.operands[1], c.operands[2], c.operands[3],
                                 options)};
}

/// A row of the op table, with the attributes that the table has.
OpSyntax syntax_of(Op op, Results (*record)(const Call&)) {
  const OpInfo& row = info(op);
  return {.name = row.name,
          .row = &row,
          .operands = row.arity,
          .results = 1,
          .attributes = row.attributes,
          .record = record};
}

}  // namespace

std::vector<OpSyntax> library_op_syntax() {
  return {
      syntax_of(Op::matmul, record_matmul),
      syntax_of(Op::conv, record_conv),
      syntax_of(Op::conv_data_gradient, record_data_gradient),
      syntax_of(Op::conv_weight_gradient, record_weight_gradient),
      {"conv_transpose", nullptr, 2, 1,
       {kStrides, kDilations, kPaddingBegin, kPaddingEnd, kOutputPadding, kConvGroups, kAllowTf32},
       record_conv_transpose},
      {"attention", nullptr, -1, 1, {kIsCausal, kScale, kAllowTf32}, record_attention},
  };
}

}  // namespace sinter
