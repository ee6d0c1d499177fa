// Writes the values of a body: single elements, the vectors of a tile, and the values of a row.
#include <fmt/format.h>

#include <algorithm>

#include "codegen/statements/kernel_writer.h"
#include "codegen/statements/loads_once.h"
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
    bool varies = !step || !step->is(0);
    for (const Condition& condition : value.conditions)
      varies = varies || !is_same_along_vector(condition);
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
  const Value& v = body.values[static_cast<std::size_t>(value)];
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
      const std::string text = condition_text({segment}, !is_same_along_vector(v.conditions[i]));
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
  const Value& v = body.values[static_cast<std::size_t>(value)];
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
      texts_[static_cast<std::size_t>(value)] = computed(v.dtype, name);
      return;
    }
    std::string loaded = computed(v.dtype, call);
    if (!guard.empty()) loaded = fmt::format("({}) ? {} : static_cast<{}>(0)", guard, loaded, type);
    out.line(fmt::format("const {} {} = {};", type, name, loaded));
  }
  texts_[static_cast<std::size_t>(value)] = name;
}

void KernelWriter::write_vector_load(int value, const std::string& count,
                                     const std::string& destination) {
  const Value& v = body.values[static_cast<std::size_t>(value)];
  if (destination.empty() && !v.conditions.empty())
    return write_conditional_loads({&value, 1}, count);
  const std::string call = load_call(v, load_form(v), count);
  count_load(v);
  if (destination.empty()) {
    const std::string name = name_for(v.node);
    out.line(fmt::format("const Vector<{}, {}> {} = {};", info(v.dtype).c_name, schedule.vector,
                         name, call));
    texts_[static_cast<std::size_t>(value)] = computed(v.dtype, name + "[k]");
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
    const Value::Kind kind = body.values[i].kind;
    const bool is_plain = kind == Value::Kind::literal || kind == Value::Kind::scalar;
    if (needed[i] && texts_[i].empty() && !is_plain) write_scalar(static_cast<int>(i));
  }
  inside();
  texts_ = before;
  for (const std::string& name : tile_names_) names_.release(name);
  tile_names_.clear();
  in_tile_ = false;
}

bool KernelWriter::is_in_place(int value) const {
  const Value& v = body.values[static_cast<std::size_t>(value)];
  return v.kind == Value::Kind::load && v.conditions.empty() &&
         program.buffer_of.lookup(v.node) == kernel.stores[0].buffer && v.at == body.stores[0].at;
}

// --- tiles --------------------------------------------------------------------------------------

std::string KernelWriter::kept_type(int value) const {
  const Value& v = body.values[static_cast<std::size_t>(value)];
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
  const std::string name = name_for(body.values[static_cast<std::size_t>(value)].node);
  out.line(fmt::format("{} {}{}{}[{}];", kept_type(value), name,
                       rows > 1 ? fmt::format("[{}]", rows) : "",
                       parts > 1 ? fmt::format("[{}]", parts) : "", tiles));
  set_kept(value,
           fmt::format("{}{}{}[tile]", name, rows > 1 ? "[ahead]" : "", parts > 1 ? "[part]" : ""));
}

void KernelWriter::write_kept_loads(std::span<const int> kept, const Tile& tile) {
  for (const int value : kept) {
    const Value& v = body.values[static_cast<std::size_t>(value)];
    if (v.kind == Value::Kind::load && load_form(v).access != Access::element)
      write_vector_load(value, tile.count, kept_vectors_[static_cast<std::size_t>(value)]);
  }
}

void KernelWriter::write_reconversions(std::span<const int> kept) {
  for (const int value : kept) {
    const Value& v = body.values[static_cast<std::size_t>(value)];
    const std::string& place = kept_vectors_[static_cast<std::size_t>(value)];
    if (v.kind == Value::Kind::load && size_of(v.dtype) < 4 && !place.empty())
      out.line(fmt::format("convert_again({});", place));
  }
}

void KernelWriter::write_kept_element(int value) {
  const Value& v = body.values[static_cast<std::size_t>(value)];
  const std::string place = kept_vectors_[static_cast<std::size_t>(value)] + "[k]";
  if (v.kind != Value::Kind::load) {
    out.line(fmt::format("{} = {};", place, value_expression(value)));
    return;
  }
  std::string guard = condition_text(v.conditions, true);
  if (!count_.empty())
    guard = fmt::format("k < {}{}{}", count_, guard.empty() ? "" : " && ", guard);
  out.line(fmt::format("{}{} = {};", guard.empty() ? "" : "if (" + guard + ") ", place,
                       load_call(v, {Access::element, {}}, {})));
  count_load(v);
}

/// Loads of vectors with a masked tail. One test covers all of them, so that no branch separates
/// the loads of whole vectors.
void KernelWriter::write_masked_loads(std::span<const int> loads, const std::string& count) {
  std::vector<bool> values(body.values.size());
  for (const int load : loads) values[static_cast<std::size_t>(load)] = true;
  if (loads.size() < 2 || !reads_once(body, values, {&vector_axis, 1})) {
    for (const int load : loads) write_vector_load(load, count, {});
    return;
  }
  std::vector<std::string> names;
  for (const int load : loads) {
    const Value& v = body.values[static_cast<std::size_t>(load)];
    names.push_back(name_for(v.node));
    out.line(
        fmt::format("Vector<{}, {}> {};", info(v.dtype).c_name, schedule.vector, names.back()));
    texts_[static_cast<std::size_t>(load)] = computed(v.dtype, names.back() + "[k]");
    count_load(v);
  }
  const auto write = [&](const std::string& some) {
    for (std::size_t i = 0; i < loads.size(); ++i) {
      const Value& v = body.values[static_cast<std::size_t>(loads[i])];
      out.line(fmt::format("{} = {};", names[i], load_call(v, {Access::vector, {}}, some)));
    }
  };
  out.block(fmt::format("if ({} == {})", count, schedule.vector), [&] { write({}); });
  out.block("else", [&] { write(count); });
}

/// Writes the statements before the loop over a vector's elements. Returns the values that the loop
/// must compute.
std::vector<int> KernelWriter::write_tile_loads(const std::vector<bool>& values, const Sinks& sinks,
                                                const Tile& tile) {
  std::vector<int> in_loop;
  std::vector<int> conditional;
  std::vector<int> random;
  std::vector<int> masked;
  for (std::size_t i = 0; i < body.values.size(); ++i) {
    const Value& value = body.values[i];
    const int id = static_cast<int>(i);
    const bool is_done = !texts_[i].empty() && !is_kept(id);
    if (!values[i] || is_done || value.kind == Value::Kind::literal ||
        value.kind == Value::Kind::scalar)
      continue;
    const bool keep = std::ranges::find(sinks.kept, id) != sinks.kept.end();
    if (is_kept(id) && !keep) continue;  // an earlier pass has computed it
    if (!varies_along_vector(id) && !keep)
      write_scalar(id);
    else if (has_consecutive_words(id))
      random.push_back(id);
    else if (uses_division_call(id, sinks))
      write_quotients(id);
    else if (value.kind == Value::Kind::load && partial_vector_of(value).each > 1)
      write_partial_vectors(id, tile.count);
    else if (value.kind != Value::Kind::load || schedule.vector == 1 ||
             load_form(value).access == Access::element)
      in_loop.push_back(id);
    else if (!keep && !value.conditions.empty())
      conditional.push_back(id);
    else if (!keep && !tile.count.empty() && load_form(value).access == Access::vector &&
             vector_ahead(value).empty())
      masked.push_back(id);
    else if (!keep || !tile.loads_done)
      write_vector_load(id, tile.count, kept_vectors_[i]);
  }
  write_masked_loads(masked, tile.count);
  write_conditional_loads(conditional, tile.count);
  for (const int value : random) write_random_words(value);  // while the loads are in flight
  return in_loop;
}

/// True if exactly one store and nothing else uses `value`. It then needs no variable.
bool KernelWriter::is_only_stored(int value, const std::vector<bool>& values,
                                  const Sinks& sinks) const {
  if (body.values[static_cast<std::size_t>(value)].kind == Value::Kind::load || is_kept(value))
    return false;
  int uses = 0;
  for (std::size_t user = 0; user < body.values.size(); ++user)
    if (values[user])
      uses += static_cast<int>(std::ranges::count(body.values[user].operands, value));
  for (const auto& [atom, source] : body.indirect) uses += source == value ? 1 : 0;
  for (const int index : sinks.reductions)
    uses += body.reductions[static_cast<std::size_t>(index)].operand == value ? 1 : 0;
  for (const int index : sinks.columns)
    uses += body.columns[static_cast<std::size_t>(index)].operand == value ? 1 : 0;
  int stores = 0;
  for (const int index : sinks.stores)
    stores += body.stores[static_cast<std::size_t>(index)].value == value ? 1 : 0;
  return uses == 0 && stores == 1;
}

/// Writes the body of the loop over a vector's elements.
void KernelWriter::write_elements(std::span<const int> values, const Sinks& sinks, const Tile& tile,
                                  std::span<const std::string> results) {
  if (sinks.before_each) sinks.before_each();
  for (const int value : values) {
    if (is_kept(value))
      write_kept_element(value);
    else
      write_scalar(value);
  }
  for (const int index : sinks.reductions) {
    const BodyReduction& reduction = body.reductions[static_cast<std::size_t>(index)];
    const std::string guard = tile.count.empty() ? "" : fmt::format("if (k < {}) ", tile.count);
    const std::string accumulator = tile.accumulator.empty() ? "" : tile.accumulator + ", ";
    out.line(fmt::format("{}{}.add({}k, {}, {});", guard,
                         texts_[static_cast<std::size_t>(reduction.result)], accumulator,
                         operand_text(reduction.operand),
                         gives_index(reduction.node->op) ? tile.index : "0"));
  }
  if (sinks.after_each) sinks.after_each();
  for (const int index : sinks.columns) {
    const BodyReduction& column = body.columns[static_cast<std::size_t>(index)];
    std::string guard = tile.count.empty() ? "" : fmt::format("k < {}", tile.count);
    if (!store_condition.empty()) guard = store_condition + (guard.empty() ? "" : " && ") + guard;
    out.line(fmt::format("{}{}.add({}, {}, {});", guard.empty() ? "" : "if (" + guard + ") ",
                         texts_[static_cast<std::size_t>(column.result)], tile.held_index,
                         operand_text(column.operand), gives_index(column.node->op) ? "row" : "0"));
  }
  for (std::size_t i = 0; i < sinks.stores.size(); ++i) {
    const BodyStore& store = body.stores[static_cast<std::size_t>(sinks.stores[i])];
    if (is_stored_whole(store, sinks)) continue;
    const bool is_named =
        !texts_[static_cast<std::size_t>(store.value)].empty() ||
        body.values[static_cast<std::size_t>(store.value)].kind == Value::Kind::literal ||
        body.values[static_cast<std::size_t>(store.value)].kind == Value::Kind::scalar;
    out.line(fmt::format("{}[k] = {};", results[i],
                         in_memory(store.node->dtype, is_named ? operand_text(store.value)
                                                               : value_expression(store.value))));
  }
}

void KernelWriter::write_tile(const std::vector<bool>& values, const Sinks& sinks,
                              const Tile& tile) {
  find_varying_values();
  count_ = tile.count;
  in_tile_ = true;
  const std::vector<std::string> before = texts_;
  std::vector<int> in_loop = write_tile_loads(values, sinks, tile);
  drop_unused_philox_indices(in_loop, values, sinks);
  std::erase_if(in_loop, [&](int value) { return is_only_stored(value, values, sinks); });

  std::vector<std::string> results;
  for (const int store : sinks.stores) {
    const BodyStore& to = body.stores[static_cast<std::size_t>(store)];
    if (is_stored_whole(to, sinks)) {
      results.push_back(quotients_name(to.value));
      continue;
    }
    const Buffer& memory = program.buffers[static_cast<std::size_t>(buffer_of(to))];
    results.push_back(names_.take(is_anonymous_ ? "result" : program.name_of(memory)));
    tile_names_.push_back(results.back());
    out.line(fmt::format("Vector<{}, {}> {};", info(to.node->dtype).c_name, schedule.vector,
                         results.back()));
  }
  const bool has_elements = std::ranges::any_of(sinks.stores, [&](int store) {
    return !is_stored_whole(body.stores[static_cast<std::size_t>(store)], sinks);
  });
  if (!in_loop.empty() || !sinks.reductions.empty() || !sinks.columns.empty() || has_elements ||
      sinks.after_each) {
    out.directive("#pragma unroll");
    out.block(fmt::format("for (int k = 0; k < {}; ++k)", schedule.vector),
              [&] { write_elements(in_loop, sinks, tile, results); });
  }
  const auto write_stores = [&] {
    for (std::size_t i = 0; i < sinks.stores.size(); ++i)
      write_store(body.stores[static_cast<std::size_t>(sinks.stores[i])], results[i], tile.count);
  };
  if (store_condition.empty())
    write_stores();
  else
    out.block(fmt::format("if ({})", store_condition), write_stores);

  // Variables of this tile go out of scope here; kept values stay.
  for (std::size_t i = 0; i < texts_.size(); ++i)
    if (!is_kept(static_cast<int>(i))) texts_[i] = before[i];
  for (const std::string& name : tile_names_) names_.release(name);
  tile_names_.clear();
  in_tile_ = false;
  count_.clear();
}

// --- rows ---------------------------------------------------------------------------------------

void KernelWriter::write_row_values(int stage, bool is_final) {
  find_varying_values();
  for (std::size_t i = 0; i < body.values.size(); ++i) {
    const Value& value = body.values[i];
    const bool is_plain = value.kind == Value::Kind::literal || value.kind == Value::Kind::scalar ||
                          value.kind == Value::Kind::reduced;
    if (value.varies || value.stage != stage || value.is_final != is_final || is_plain ||
        !texts_[i].empty())
      continue;
    const int id = static_cast<int>(i);
    if (!varies_along_vector(id) || schedule.vector == 1) {
      write_scalar(id);
      continue;
    }
    if (value.kind == Value::Kind::load && load_form(value).access != Access::element) {
      write_vector_load(id, {}, {});
      continue;
    }
    const std::string name = name_for(value.node);
    out.line(fmt::format("Vector<{}, {}> {};", compute_c_type(value.dtype), schedule.vector, name));
    out.directive("#pragma unroll");
    out.block(fmt::format("for (int k = 0; k < {}; ++k)", schedule.vector), [&] {
      write_scalar(id);
      out.line(fmt::format("{}[k] = {};", name, texts_[i]));
    });
    texts_[i] = name + "[k]";
  }
}

void KernelWriter::write_row_values_from(int stage, bool is_final) {
  int last = stage;
  for (const Value& value : body.values) last = std::max(last, value.stage);
  for (; stage <= last; ++stage) write_row_values(stage, is_final);
}

void KernelWriter::forget_values() {
  vector_axis = -1;
  for (std::string& text : texts_) text.clear();
  for (std::string& place : kept_vectors_) place.clear();
}

}  // namespace sinter
