// Writes the values of a body: single elements, the vectors of a tile, and the values of a row.
#include <fmt/format.h>

#include <algorithm>

#include "codegen/statements/kernel_writer.h"
#include "codegen/text/literal.h"
#include "ir/graph/operand_index.h"
#include "ir/record/custom.h"
#include "sinter/error.h"

namespace sinter {

void KernelWriter::find_varying_values() {
  if (vector_axis < 0) return;
  for (std::size_t i = 0; i < body.values.size(); ++i) {
    const Value& value = body.values[i];
    const std::optional<Extent> step =
        step_along(value.at, vector_axis, schedule.vector, program.facts);
    bool varies = !step || !step->is(0) || !are_same_along_vector(value.conditions);
    // A kept value is a vector, even if its elements are equal.
    for (const int operand : value.operands)
      varies = varies || varies_along_vector(operand) || is_kept(operand);
    // A reduction over the vector axis gives one value for the whole vector.
    if (value.kind == Value::Kind::reduced) varies = vector_axis != body.reduced_axis();
    if (value.kind == Value::Kind::scanned) varies = vector_axis == body.reduced_axis();
    varies_along_vector_[i] = varies;
  }
}

// --- expressions --------------------------------------------------------------------------------

std::string KernelWriter::operand_text(int value) {
  const auto at = static_cast<std::size_t>(value);
  if (!texts_[at].empty()) return texts_[at];
  const Value& v = body.values[at];
  switch (v.kind) {
    case Value::Kind::literal:
      return c_literal(
          attribute(*v.node, "value").literal,
          info(v.dtype).compute == DType::f32 && v.node->op == Op::constant ? DType::f32 : v.dtype);
    case Value::Kind::scalar: {
      const auto place = static_cast<int>(attribute(*v.node, "index").integer);
      std::string& name = scalars_[place];
      if (name.empty())
        name = names_.take(is_anonymous_ ? "scalar"
                                         : graph().inputs[static_cast<std::size_t>(place)].name);
      return is_narrow(v.dtype) ? fmt::format("to_float({})", name) : name;
    }
    default: break;
  }
  throw InternalError(
      fmt::format("value {} of kernel {} is used before it is computed", value, kernel.name));
}

/// A Value::Kind::number, at element `k` of a vector or at its first.
std::string KernelWriter::number_text(const Value& value, bool at_element) {
  // A position fits the index type. A value computed from it may not.
  const bool is_position = value.node->op == Op::iota &&
                           attribute(*value.node, "step").integer == 1 &&
                           attribute(*value.node, "start").integer == 0;
  const std::string number =
      is_position ? text(value.at, at_element) : wide_text(value.at, at_element);
  if (is_narrow(value.dtype))
    return fmt::format("rounded<{}>(static_cast<double>({}))", name(value.dtype), number);
  return fmt::format("static_cast<{}>({})", compute_c_type(value.dtype), number);
}

std::string KernelWriter::value_expression(int value) {
  const Value& v = value_at(value);
  if (v.kind == Value::Kind::number) return number_text(v, varies_along_vector(value));
  if (v.kind == Value::Kind::select) {
    const bool is_in_memory = selects_unconverted_loads(v);
    std::vector<std::string> segments;
    for (const int operand : v.operands)
      segments.push_back(is_in_memory ? in_memory_of(v.dtype, operand_text(operand))
                                      : operand_text(operand));
    std::string result = segments.back();
    for (std::size_t i = v.conditions.size(); i-- > 0;) {
      Condition segment = v.conditions[i];
      segment.begin = 0;  // earlier segments are excluded by then
      const std::string text =
          condition_text({&segment, 1}, !is_same_along_vector(v.conditions[i]));
      result = fmt::format("({}) ? {} : {}", text, segments[i], result);
    }
    return is_in_memory ? computed(v.dtype, result) : result;
  }
  std::vector<std::string> operands;
  for (const int operand : v.operands) operands.push_back(operand_text(operand));
  if (v.node->op == Op::custom) return custom_call(*v.node, operands);
  return op_text(*v.node, operands, program.numerics);
}

std::string KernelWriter::custom_call(const Node& node, std::span<const std::string> operands) {
  const std::string_view text = attribute(node, "source").text;
  auto known = std::ranges::find(
      customs_, text, [](const Node* custom) { return attribute(*custom, "source").text; });
  if (known == customs_.end()) known = customs_.insert(customs_.end(), &node);
  return fmt::format("{}_{}::{}({})", custom_namespace(), known - customs_.begin(),
                     parse_signature(text).function, fmt::join(operands, ", "));
}

/// Writes one element: the only one of a value that is constant along the vector axis, else element
/// k.
void KernelWriter::write_scalar(int value) {
  const Value& v = value_at(value);
  const std::string name = name_for(v.node);
  const std::string_view type = compute_c_type(v.dtype);
  if (v.kind != Value::Kind::load) {
    out.line(fmt::format("const {} {} = {};", type, name, value_expression(value)));
  } else {
    const Access access = varies_along_vector(value) ? Access::element : Access::scalar;
    const std::string call = load_call(v, {access, {}}, {});
    // The elements of a masked tail that do not exist may not be loaded.
    const bool may_end = !count_.empty() && varies_along_vector(value);
    std::string guard = tiled_element(v).empty() ? condition_text(v.conditions, true) : "";
    if (may_end) guard = fmt::format("k < {}{}{}", count_, guard.empty() ? "" : " && ", guard);
    count_load(v);
    if (!guard.empty() && is_unconverted_segment(value)) {
      out.line(fmt::format("const {0} {1} = ({2}) ? {3} : {0}{{}};", info(v.dtype).c_name, name,
                           guard, call));
      set_text(value, computed(v.dtype, name));
      return;
    }
    std::string loaded = computed(v.dtype, call);
    if (!guard.empty()) loaded = fmt::format("({}) ? {} : static_cast<{}>(0)", guard, loaded, type);
    out.line(fmt::format("const {} {} = {};", type, name, loaded));
  }
  set_text(value, name);
}

void KernelWriter::write_vector_load(int value, const std::string& count,
                                     const std::string& destination) {
  const Value& v = value_at(value);
  if (destination.empty() && !v.conditions.empty())
    return write_conditional_loads({&value, 1}, count);
  const std::string call = load_call(v, load_form(v), count);
  count_load(v);
  // A tile is stored after all its work, so its loads need no copies.
  if (schedule.is_for_cpu() && in_tile_ && destination.empty() && call.starts_with("load<")) {
    const std::string name = name_for(v.node);
    out.line(fmt::format("const auto& {} = load_view{};", name, call.substr(4)));
    set_text(value, computed(v.dtype, name + "[k]"));
  } else if (destination.empty()) {
    const std::string name = name_for(v.node);
    out.line(fmt::format("const Vector<{}, {}> {} = {};", info(v.dtype).c_name, schedule.vector,
                         name, call));
    set_text(value, computed(v.dtype, name + "[k]"));
  } else if (v.conditions.empty()) {
    out.line(fmt::format("{} = {};", destination, call));
  } else {
    out.line(
        fmt::format("if ({}) {} = {};", condition_text(v.conditions, false), destination, call));
  }
}

namespace {

bool reads_through(const Index& index, const IndexAtom& atom) {
  return std::ranges::any_of(index.terms, [&](const IndexTerm& term) {
    return term.atom == &atom || reads_through(term.atom->numerator, atom);
  });
}

/// True if the address or a condition of `value` depends on the value that `atom` reads.
bool reads_through(const Value& value, const IndexAtom& atom) {
  return reads_through(value.at, atom) ||
         std::ranges::any_of(value.conditions, [&](const Condition& condition) {
           return reads_through(condition.at, atom);
         });
}

}  // namespace

std::vector<bool> KernelWriter::needed_for(std::span<const int> roots) const {
  std::vector<bool> needed(body.values.size(), false);
  const auto need = [&](int value) { needed[static_cast<std::size_t>(value)] = true; };
  for (const int root : roots) need(root);
  for (std::size_t i = body.values.size(); i-- > 0;) {
    if (!needed[i] || !texts_[i].empty()) continue;
    for (const int operand : body.values[i].operands) need(operand);
    for (const auto& [atom, source] : body.indirect)
      if (reads_through(body.values[i], *atom)) need(source);
  }
  return needed;
}

void KernelWriter::write_in_scope(std::span<const int> roots, const std::function<void()>& inside) {
  const std::vector<bool> needed = needed_for(roots);
  const std::vector<std::string> before = texts_;
  in_tile_ = true;
  for (std::size_t i = 0; i < body.values.size(); ++i) {
    if (needed[i] && texts_[i].empty() && !is_plain(body.values[i]))
      write_scalar(static_cast<int>(i));
  }
  inside();
  texts_ = before;
  for (const std::string& name : tile_names_) names_.release(name);
  tile_names_.clear();
  in_tile_ = false;
}

bool KernelWriter::is_update(const BodyStore& store) const {
  const int buffer = buffer_of(store);
  return std::ranges::any_of(body.values, [&](const Value& value) {
    return value.kind == Value::Kind::load && buffer_of(value) == buffer;
  });
}

bool KernelWriter::is_late_update(const BodyStore& store) const {
  const int buffer = buffer_of(store);
  return std::ranges::any_of(body.values, [&](const Value& value) {
    return value.kind == Value::Kind::load && buffer_of(value) == buffer &&
           (value.varies || value.stage > 0);
  });
}

bool KernelWriter::has_updates() const {
  return std::ranges::any_of(body.stores, [&](const BodyStore& store) { return is_update(store); });
}

bool KernelWriter::loads_overwritten() const {
  return std::ranges::any_of(body.values, [&](const Value& value) {
    return value.kind == Value::Kind::load && overwritten_.contains(buffer_of(value));
  });
}

bool KernelWriter::is_in_place(int value) const {
  const Value& v = value_at(value);
  return v.kind == Value::Kind::load && v.conditions.empty() &&
         buffer_of(v) == kernel.stores[0].buffer && v.at == body.stores[0].at;
}

// --- kept values --------------------------------------------------------------------------------

std::string KernelWriter::kept_type(int value) const {
  const Value& v = value_at(value);
  return fmt::format("Vector<{}, {}>",
                     v.kind == Value::Kind::load ? info(v.dtype).c_name : compute_c_type(v.dtype),
                     schedule.vector);
}

void KernelWriter::set_kept(int value, const std::string& name) {
  const auto at = static_cast<std::size_t>(value);
  const Value& v = body.values[at];
  kept_vectors_[at] = name;
  texts_[at] = v.kind == Value::Kind::load ? computed(v.dtype, name + "[k]") : name + "[k]";
}

void KernelWriter::declare_kept(int value, int rows, int parts, int tiles) {
  const std::string name = name_for(value_at(value).node);
  out.line(fmt::format("{} {}{}{}[{}];", kept_type(value), name,
                       rows > 1 ? fmt::format("[{}]", rows) : "",
                       parts > 1 ? fmt::format("[{}]", parts) : "", tiles));
  set_kept(value,
           fmt::format("{}{}{}[tile]", name, rows > 1 ? "[ahead]" : "", parts > 1 ? "[part]" : ""));
}

void KernelWriter::write_reconversions(std::span<const int> kept) {
  for (const int value : kept) {
    const Value& v = value_at(value);
    const std::string& place = kept_vector(value);
    if (v.kind == Value::Kind::load && size_of(v.dtype) < 4 && !place.empty())
      out.line(fmt::format("convert_again({});", place));
  }
}

void KernelWriter::forget_values() {
  vector_axis = -1;
  for (std::string& text : texts_) text.clear();
  for (std::string& place : kept_vectors_) place.clear();
}

}  // namespace sinter
