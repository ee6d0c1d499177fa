// The OpSyntax of the op table and of the functions in sinter/ops.h.
#include "ir/parser/op_syntax.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <unordered_map>

#include "ir/parser/op_syntax_groups.h"
#include "ir/record/record.h"
#include "sinter/custom_op.h"
#include "sinter/error.h"

namespace sinter {

namespace {

/// The number that `text` is, in every locale.
template <class Number>
Number number_from(std::string_view text) {
  Number number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  ensure(result.ec == std::errc(), "op table: the default of a number is a number");
  return number;
}

}  // namespace

void read_default(const AttributeInfo& info, ParsedAttribute& argument) {
  const std::string_view text = info.default_text;
  if (text == kAbsent) return;
  switch (info.kind) {
    case AttributeKind::integer: argument.integer = number_from<std::int64_t>(text); return;
    case AttributeKind::boolean: argument.integer = text == "true"; return;
    case AttributeKind::string: argument.text = text; return;
    case AttributeKind::dtype:
      for (const DTypeInfo& row : kDTypes)
        if (row.name == text) argument.dtype = row.dtype;
      return;
    case AttributeKind::integers:
    case AttributeKind::extents: return;  // the only default of a list is the empty list
    case AttributeKind::extent: argument.extent = number_from<std::int64_t>(text); return;
    case AttributeKind::literal: argument.literal = Literal::of(number_from<double>(text)); return;
  }
  throw InternalError(fmt::format("op table: attribute {} cannot have a default", info.name));
}

const ParsedAttribute& Call::argument(std::string_view name) const {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (syntax.attributes[i].name == name) return arguments[i];
  throw InternalError(fmt::format("op {} has no attribute {}", syntax.name, name));
}

int Call::small(std::string_view name) const {
  const std::int64_t value = integer(name);
  if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max())
    throw UserError(fmt::format("{}: {} = {} is out of range", syntax.name, name, value));
  return static_cast<int>(value);
}

double Call::real(std::string_view name) const { return as_real(argument(name).literal); }

std::span<const std::int64_t> Call::axis_or_all() const {
  const ParsedAttribute& axis = argument("axis");
  return {&axis.integer, axis.given ? 1U : 0U};
}

Keep Call::keep() const { return integer("keep") != 0 ? Keep::yes : Keep::no; }

namespace {

Results record_row(const Call& call) {
  return {record_elementwise(call.syntax.row->op, call.operands)};
}

Results record_reduction_row(const Call& call) {
  const bool has_correction = call.syntax.row->op == Op::var;
  ReductionOptions options{.keep = call.keep()};
  if (has_correction) options.correction = call.small("correction");
  if (gives_index(call.syntax.row->op)) {
    const Axes axes = call.axis_or_all();
    return {call.syntax.row->op == Op::argmax ? argmax(call.operands[0], axes, options.keep)
                                              : argmin(call.operands[0], axes, options.keep)};
  }
  const ParsedAttribute& order = call.argument("order");
  if (order.given) options.order = order.integers;
  return {record_reduction(call.syntax.row->op, call.operands[0], call.argument("axes").integers,
                           options)};
}

Results record_scan_row(const Call& call) {
  const ScanOptions options{.exclusive = call.integer("exclusive") != 0,
                            .reverse = call.integer("reverse") != 0};
  return {record_scan(call.syntax.row->op, call.operands[0], call.integer("axis"), options)};
}

// clang-format off
/// Recording functions of structural ops, custom and sources. Their attributes come from the op
/// table.
struct RowRecorder { Op op; int operands; Results (*record)(const Call&); };
const RowRecorder kRowRecorders[] = {
    {Op::cast,            1, [](const Call& c) -> Results { return {cast(c.operands[0], c.argument("to").dtype)}; }},
    {Op::bitcast,         1, [](const Call& c) -> Results { return {bitcast(c.operands[0], c.argument("to").dtype)}; }},
    {Op::reshape,         1, [](const Call& c) -> Results { return {reshape(c.operands[0], c.argument("shape").extents)}; }},
    {Op::permute,         1, [](const Call& c) -> Results { return {permute(c.operands[0], c.argument("axes").integers)}; }},
    {Op::broadcast_to,    1, [](const Call& c) -> Results { return {broadcast_to(c.operands[0], c.argument("shape").extents)}; }},
    {Op::slice,           1, [](const Call& c) -> Results { return {slice(c.operands[0], c.small("axis"), c.argument("begin").extent, c.argument("end").extent, c.small("step"))}; }},
    {Op::flip,            1, [](const Call& c) -> Results { return {flip(c.operands[0], c.argument("axes").integers)}; }},
    {Op::as_strided,      1, [](const Call& c) -> Results { return {as_strided(c.operands[0], c.argument("shape").extents, c.argument("strides").extents, c.argument("offset").extent)}; }},
    {Op::unfold,          1, [](const Call& c) -> Results { return {unfold(c.operands[0], c.small("axis"), c.integer("size"), c.integer("step"))}; }},
    {Op::concat,         -1, [](const Call& c) -> Results { return {concat(c.operands, c.small("axis"))}; }},
    {Op::custom,         -1, [](const Call& c) -> Results { return {custom_op(c.argument("name").text, c.argument("source").text, c.operands, {}, c.location.file, c.location.line)}; }},
    {Op::scatter,         3, [](const Call& c) -> Results { return {scatter(c.operands[0], c.operands[1], c.operands[2], c.integer("accumulate") != 0)}; }},
    {Op::take,            2, [](const Call& c) -> Results { return {take(c.operands[0], c.operands[1], c.small("axis"))}; }},
    {Op::take_along_axis, 2, [](const Call& c) -> Results { return {take_along_axis(c.operands[0], c.operands[1], c.small("axis"))}; }},
    {Op::full,            0, [](const Call& c) -> Results { return {full(c.graph, c.argument("shape").extents, c.argument("value").literal, c.argument("dtype").dtype, c.location.file, c.location.line)}; }},
    {Op::iota,            0, [](const Call& c) -> Results { return {iota(c.graph, c.argument("extent").extent, c.integer("start"), c.integer("step"), c.argument("dtype").dtype, c.location.file, c.location.line)}; }},
    {Op::size,            0, [](const Call& c) -> Results { return {record_size(c.graph.data(), c.argument("extent").extent, c.argument("dtype").dtype, c.location)}; }},
};

const AttributeInfo kCorrection = {.name = "correction", .kind = AttributeKind::integer, .default_text = "0"};

Results copy(const Call& call) {
  if (call.operands[0].is_literal()) fail("copy", "the operand is a number; record it with full", call.location);
  return {call.operands[0].tensor};
}

/// Composites of sinter/ops.h, and copy, which records no node.
std::vector<OpSyntax> composites() {
  return {
      {"copy",        nullptr, 1, 1, {},      copy},
      {"max_with_index", nullptr, 1, 2, {kAxisOrAll, kKeep}, [](const Call& c) -> Results {
         const WithIndex both = max_with_index(c.operands[0], c.axis_or_all(), c.keep());
         return {both.value, both.index}; }},
      {"min_with_index", nullptr, 1, 2, {kAxisOrAll, kKeep}, [](const Call& c) -> Results {
         const WithIndex both = min_with_index(c.operands[0], c.axis_or_all(), c.keep());
         return {both.value, both.index}; }},
      {"reciprocal",  nullptr, 1, 1, {},      [](const Call& c) -> Results { return {reciprocal(c.operands[0])}; }},
      {"square",      nullptr, 1, 1, {},      [](const Call& c) -> Results { return {square(c.operands[0])}; }},
      {"frac",        nullptr, 1, 1, {},      [](const Call& c) -> Results { return {frac(c.operands[0])}; }},
      {"trigamma",    nullptr, 1, 1, {},      [](const Call& c) -> Results { return {trigamma(c.operands[0])}; }},
      {"relu",        nullptr, 1, 1, {},      [](const Call& c) -> Results { return {relu(c.operands[0])}; }},
      {"sigmoid",     nullptr, 1, 1, {},      [](const Call& c) -> Results { return {sigmoid(c.operands[0])}; }},
      {"gelu",        nullptr, 1, 1, {},      [](const Call& c) -> Results { return {gelu(c.operands[0])}; }},
      {"softmax",     nullptr, 1, 1, {kAxis}, [](const Call& c) -> Results { return {softmax(c.operands[0], c.small("axis"))}; }},
      {"log_softmax", nullptr, 1, 1, {kAxis}, [](const Call& c) -> Results { return {log_softmax(c.operands[0], c.small("axis"))}; }},
      {"var_mean",    nullptr, 1, 2, {kAxes, kCorrection, kKeep}, [](const Call& c) -> Results {
         const VarMean both = var_mean(c.operands[0], c.argument("axes").integers, c.small("correction"), c.keep());
         return {both.var, both.mean}; }},
  };
}
// clang-format on

std::vector<OpSyntax> make_op_syntax() {
  std::vector<OpSyntax> result = composites();
  for (std::vector<OpSyntax> (*group)() : {view_op_syntax, nn_op_syntax, library_op_syntax,
                                             collective_op_syntax})
    for (OpSyntax& syntax : group()) result.push_back(std::move(syntax));
  for (const OpInfo& row : op_table()) {
    OpSyntax syntax{.name = row.name,
                    .row = &row,
                    .operands = row.arity,
                    .results = 1,
                    .attributes = row.attributes,
                    .record = nullptr};
    if (row.kind == OpKind::elementwise) syntax.record = record_row;
    if (row.kind == OpKind::reduction) syntax.record = record_reduction_row;
    if (row.kind == OpKind::scan) {
      syntax.record = record_scan_row;
      // These attributes record additional nodes, so the printer never writes them.
      for (const std::string_view name : {"exclusive", "reverse"})
        syntax.attributes.push_back(
            {.name = name, .kind = AttributeKind::boolean, .default_text = "false"});
    }
    for (const RowRecorder& recorder : kRowRecorders)
      if (recorder.op == row.op) {
        syntax.operands = recorder.operands;
        syntax.record = recorder.record;
      }
    // The dtype of a custom op follows from its source.
    if (row.op == Op::custom) syntax.attributes.pop_back();
    // Inputs, scalars and constants have special syntax and no recording function.
    if (syntax.record) result.push_back(std::move(syntax));
  }
  return result;
}

const std::vector<OpSyntax>& all_op_syntax() {
  // Never destroyed, because a thread may still parse while the process exits.
  static const auto& all = *new std::vector<OpSyntax>(make_op_syntax());
  return all;
}

}  // namespace

const OpSyntax* find_op_syntax(std::string_view name) {
  static const auto& by_name = *[] {
    auto* const map = new std::unordered_map<std::string_view, const OpSyntax*>;
    for (const OpSyntax& syntax : all_op_syntax()) map->emplace(syntax.name, &syntax);
    return map;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

std::vector<std::string_view> op_names() {
  std::vector<std::string_view> names;
  for (const OpSyntax& syntax : all_op_syntax()) names.push_back(syntax.name);
  return names;
}

}  // namespace sinter
