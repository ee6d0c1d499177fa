#include "ir/parser/spelling.h"

#include <fmt/format.h>

#include <limits>
#include <unordered_map>

#include "ir/parser/spelling_groups.h"
#include "ir/record/record.h"
#include "sinter/custom_op.h"
#include "sinter/error.h"

namespace sinter {

void read_default(const AttributeInfo& info, WrittenAttribute& argument) {
  const std::string_view text = info.default_text;
  switch (info.kind) {
    case AttributeKind::integer: argument.integer = std::stoll(std::string(text)); return;
    case AttributeKind::boolean: argument.integer = text == "true"; return;
    case AttributeKind::string: argument.text = text; return;
    case AttributeKind::dtype:
      for (const DTypeInfo& row : kDTypes)
        if (row.name == text) argument.dtype = row.dtype;
      return;
    case AttributeKind::integers:
    case AttributeKind::extents: return;  // the only default of a list is the empty one
    case AttributeKind::extent: argument.extent = std::stoll(std::string(text)); return;
    case AttributeKind::literal:
      argument.literal = Literal::of(std::stod(std::string(text)));
      return;
  }
  throw InternalError(fmt::format("op table: attribute {} cannot have a default", info.name));
}

const WrittenAttribute& Call::argument(std::string_view name) const {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (spelling.attributes[i].name == name) return arguments[i];
  throw InternalError(fmt::format("spelling {} has no attribute {}", spelling.name, name));
}

int Call::small(std::string_view name) const {
  const std::int64_t value = integer(name);
  if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max())
    throw UserError(fmt::format("{}: {} = {} is out of range", spelling.name, name, value));
  return static_cast<int>(value);
}

double Call::real(std::string_view name) const { return as_real(argument(name).literal); }

Keep Call::keep() const { return integer("keep") != 0 ? Keep::yes : Keep::no; }

namespace {

Results record_row(const Call& call) {
  return {record_elementwise(call.spelling.row->op, call.operands)};
}

Results record_reduction_row(const Call& call) {
  const bool has_correction = call.spelling.row->op == Op::var;
  ReductionOptions options{.keep = call.keep()};
  if (has_correction) options.correction = call.small("correction");
  if (gives_index(call.spelling.row->op)) {
    const std::int64_t axes[] = {call.integer("axis")};
    return {record_reduction(call.spelling.row->op, call.operands[0], axes, options)};
  }
  const WrittenAttribute& order = call.argument("order");
  if (order.given) options.order = order.integers;
  return {record_reduction(call.spelling.row->op, call.operands[0], call.argument("axes").integers,
                           options)};
}

Results record_scan_row(const Call& call) {
  const ScanOptions options{.exclusive = call.integer("exclusive") != 0,
                            .reverse = call.integer("reverse") != 0};
  return {record_scan(call.spelling.row->op, call.operands[0], call.integer("axis"), options)};
}

// clang-format off
/// Structural ops and sources: their attributes come from the op table.
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

/// Functions written in ops, and spellings that mean other ops.
std::vector<Spelling> composites() {
  return {
      {"copy",        nullptr, 1, 1, {},      copy},
      {"max_with_index", nullptr, 1, 2, {kAxis, kKeep}, [](const Call& c) -> Results {
         const WithIndex both = max_with_index(c.operands[0], c.small("axis"), c.keep());
         return {both.value, both.index}; }},
      {"min_with_index", nullptr, 1, 2, {kAxis, kKeep}, [](const Call& c) -> Results {
         const WithIndex both = min_with_index(c.operands[0], c.small("axis"), c.keep());
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

std::vector<Spelling> make_spellings() {
  std::vector<Spelling> result = composites();
  for (std::vector<Spelling> (*group)() : {view_spellings, nn_spellings})
    for (Spelling& spelling : group()) result.push_back(std::move(spelling));
  for (const OpInfo& row : op_table()) {
    Spelling spelling{.name = row.name,
                      .row = &row,
                      .operands = row.arity,
                      .results = 1,
                      .attributes = row.attributes,
                      .record = nullptr};
    if (row.kind == OpKind::elementwise) spelling.record = record_row;
    if (row.kind == OpKind::reduction) spelling.record = record_reduction_row;
    if (row.kind == OpKind::scan) {
      spelling.record = record_scan_row;
      // Ways to say more than one node: they do not come back when it is printed.
      for (const std::string_view name : {"exclusive", "reverse"})
        spelling.attributes.push_back(
            {.name = name, .kind = AttributeKind::boolean, .default_text = "false"});
    }
    for (const RowRecorder& recorder : kRowRecorders)
      if (recorder.op == row.op) {
        spelling.operands = recorder.operands;
        spelling.record = recorder.record;
      }
    // Read from the source.
    if (row.op == Op::custom) spelling.attributes.pop_back();
    // Inputs, scalars and constants have a syntax of their own.
    if (spelling.record) result.push_back(std::move(spelling));
  }
  return result;
}

const std::vector<Spelling>& spellings() {
  // These are never destroyed: a thread may still parse while the process ends.
  static const auto& all = *new std::vector<Spelling>(make_spellings());
  return all;
}

}  // namespace

const Spelling* find_spelling(std::string_view name) {
  static const auto& by_name = *[] {
    auto* const map = new std::unordered_map<std::string_view, const Spelling*>;
    for (const Spelling& spelling : spellings()) map->emplace(spelling.name, &spelling);
    return map;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

const std::vector<std::string_view>& spelled_names() {
  static const auto& names = *[] {
    auto* const result = new std::vector<std::string_view>;
    for (const Spelling& spelling : spellings()) result->push_back(spelling.name);
    return result;
  }();
  return names;
}

}  // namespace sinter
