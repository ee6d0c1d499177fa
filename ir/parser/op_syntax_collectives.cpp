// The OpSyntax of sinter/collectives.h.
#include "ir/collectives/collective_node.h"
#include "ir/parser/op_syntax_groups.h"
#include "ir/record/record.h"

#include <fmt/format.h>

namespace sinter {

namespace {

// clang-format off
const AttributeInfo kFrontAxis  = {.name = "axis",        .kind = AttributeKind::integer, .default_text = "0"};
const AttributeInfo kSplitAxis  = {.name = "split_axis",  .kind = AttributeKind::integer, .default_text = "0"};
const AttributeInfo kConcatAxis = {.name = "concat_axis", .kind = AttributeKind::integer, .default_text = "0"};
const AttributeInfo kOrdered    = {.name = "ordered",     .kind = AttributeKind::boolean, .default_text = "false"};
// clang-format on

RankGroup group_of(const Call& c) {
  return {.name = c.argument("group").text, .size = c.small("ranks")};
}

RankReduction reduction_attribute(const Call& c) {
  const std::string& text = c.argument("reduction").text;
  if (const auto reduction = rank_reduction(text)) return *reduction;
  fail(c.syntax.name,
       fmt::format("there is no reduction \"{}\"; there are sum, prod, max, min and mean", text),
       c.location);
}

Reduce order_of(const Call& c) {
  return c.integer("ordered") != 0 ? Reduce::ordered : Reduce::fast;
}

Results record_all_reduce(const Call& c) {
  AllReduceOptions options{.reduction = reduction_attribute(c), .order = order_of(c)};
  if (c.argument("axis").given) options.axis = c.small("axis");
  return {all_reduce(c.operands[0], group_of(c), options)};
}

Results record_all_gather(const Call& c) {
  return {all_gather(c.operands[0], group_of(c), c.small("axis"))};
}

Results record_reduce_scatter(const Call& c) {
  return {reduce_scatter(c.operands[0], group_of(c), c.small("axis"), reduction_attribute(c),
                         order_of(c))};
}

Results record_broadcast(const Call& c) {
  return {broadcast(c.operands[0], group_of(c), c.small("root"))};
}

Results record_reduce_to(const Call& c) {
  return {reduce_to(c.operands[0], group_of(c), c.small("root"))};
}

Results record_all_to_all(const Call& c) {
  return {all_to_all(c.operands[0], group_of(c), c.small("split_axis"), c.small("concat_axis"))};
}

Results record_send_receive(const Call& c) {
  const std::vector<std::int64_t>& ranks = c.argument("pairs").integers;
  const RankGroup group = group_of(c);
  check_pairs(ranks, group.size, c.location);
  std::vector<RankPair> pairs;
  for (std::size_t i = 0; i < ranks.size(); i += 2)
    pairs.push_back({.from = static_cast<int>(ranks[i]), .to = static_cast<int>(ranks[i + 1])});
  return {send_receive(c.operands[0], group, pairs)};
}

/// A row of the op table, with attributes that only the recording function has.
OpSyntax collective_syntax(Op op, Results (*record)(const Call&), std::vector<AttributeInfo> more = {}) {
  const OpInfo& row = info(op);
  OpSyntax syntax{.name = row.name,
                  .row = &row,
                  .operands = row.arity,
                  .results = 1,
                  .attributes = row.attributes,
                  .record = record};
  std::erase_if(syntax.attributes,
                [](const AttributeInfo& attribute) { return attribute.name == "sequence"; });
  syntax.attributes.insert(syntax.attributes.end(), more.begin(), more.end());
  return syntax;
}

}  // namespace

std::vector<OpSyntax> collective_op_syntax() {
  return {
      collective_syntax(Op::all_reduce, record_all_reduce, {kAxisOrAll, kOrdered}),
      collective_syntax(Op::all_gather, record_all_gather, {kFrontAxis}),
      collective_syntax(Op::reduce_scatter, record_reduce_scatter, {kFrontAxis, kOrdered}),
      collective_syntax(Op::broadcast, record_broadcast),
      collective_syntax(Op::reduce_to, record_reduce_to),
      collective_syntax(Op::all_to_all, record_all_to_all, {kSplitAxis, kConcatAxis}),
      collective_syntax(Op::send_receive, record_send_receive),
  };
}

}  // namespace sinter
