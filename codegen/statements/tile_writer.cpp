// Writes tiles: the loads of a vector, the loop over its elements, and its stores. Also writes the
// values of a row.
#include <fmt/format.h>

#include <algorithm>

#include "codegen/statements/element_loops.h"
#include "codegen/statements/kernel_writer.h"
#include "codegen/statements/loads_once.h"
#include "compiler/program/op_cost.h"

namespace sinter {

void KernelWriter::write_kept_loads(std::span<const int> kept, const Tile& tile) {
  for (const int value : kept) {
    const Value& v = value_at(value);
    if (v.kind == Value::Kind::load && load_form(v).access != Access::element)
      write_vector_load(value, tile.count, kept_vector(value));
  }
}

void KernelWriter::write_kept_element(int value) {
  const Value& v = value_at(value);
  const std::string place = kept_vector(value) + "[k]";
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
  for (const int load : loads) names.push_back(declare_loaded_vector(load));
  const auto write = [&](const std::string& some) {
    for (std::size_t i = 0; i < loads.size(); ++i)
      out.line(fmt::format("{} = {};", names[i],
                           load_call(value_at(loads[i]), {Access::vector, {}}, some)));
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
    if (!values[i] || is_done || is_plain(value)) continue;
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

/// True if an index, a reduction, or a value among `users` uses `value`.
bool KernelWriter::has_use(int value, const std::vector<bool>& users, const Sinks& sinks) const {
  for (std::size_t user = 0; user < body.values.size(); ++user)
    if (users[user] && std::ranges::count(body.values[user].operands, value) > 0) return true;
  for (const auto& [atom, source] : body.indirect)
    if (source == value) return true;
  const auto is_operand = [&](const std::vector<int>& indices,
                              const std::vector<BodyReduction>& reductions) {
    return std::ranges::any_of(indices, [&](int index) {
      return reductions[static_cast<std::size_t>(index)].operand == value;
    });
  };
  return is_operand(sinks.reductions, body.reductions) || is_operand(sinks.columns, body.columns);
}

/// The number of stores among `sinks` that write `value`.
std::ptrdiff_t KernelWriter::stores_of(int value, const Sinks& sinks) const {
  return std::ranges::count_if(sinks.stores, [&](int store) {
    return body.stores[static_cast<std::size_t>(store)].value == value;
  });
}

/// True if exactly one store and nothing else uses `value`. It then needs no variable.
bool KernelWriter::is_only_stored(int value, const std::vector<bool>& values,
                                  const Sinks& sinks) const {
  return value_at(value).kind != Value::Kind::load && !is_kept(value) &&
         !has_use(value, values, sinks) && stores_of(value, sinks) == 1;
}

/// The vector whose elements `reduction` adds, if it exists before the loop; else empty.
std::string KernelWriter::whole_operand(const BodyReduction& reduction) const {
  constexpr std::string_view kElement = "[k]";
  const std::string& text = texts_[static_cast<std::size_t>(reduction.operand)];
  if (!varies_along_vector(reduction.operand) || !text.ends_with(kElement)) return "";
  std::string name = text.substr(0, text.size() - kElement.size());
  const bool is_name = name.find_first_of("( ") == name.npos;
  return is_name ? name : "";
}

/// For CPUs: true if the loop over the elements of a row adds each of them to the state of its
/// column. Compilers vectorise such a loop if a state is one number.
bool KernelWriter::adds_in_loop(const BodyReduction& reduction, const Tile& tile) const {
  return tile.accumulator.empty() &&
         state_bytes(*reduction.node) == size_of(info(value_at(reduction.operand).dtype).compute);
}

/// For CPUs: the vectors that add_vectors adds behind the loop over the elements; empty for those
/// that the loop adds. The additions of a row have a loop of their own, because compilers vectorise
/// it along the accumulators.
std::vector<std::string> KernelWriter::declare_vectors_to_add(const Sinks& sinks,
                                                              const Tile& tile) {
  std::vector<std::string> vectors;
  for (const int index : sinks.reductions) {
    const BodyReduction& reduction = body.reductions[static_cast<std::size_t>(index)];
    vectors.push_back(whole_operand(reduction));
    if (!vectors.back().empty()) continue;
    if (adds_in_loop(reduction, tile)) {
      out.line(fmt::format("{}* __restrict__ const {} = {}.current;", state_type(*reduction.node),
                           columns_of(reduction), result_text(reduction)));
      continue;
    }
    vectors.back() = elements_to_add(reduction);
    out.line(fmt::format("Vector<{}, {}> {};", compute_c_type(value_at(reduction.operand).dtype),
                         schedule.vector, vectors.back()));
  }
  return vectors;
}

void KernelWriter::add_vectors(const std::vector<std::string>& vectors, const Sinks& sinks,
                               const Tile& tile) {
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    if (vectors[i].empty()) continue;
    const BodyReduction& reduction = body.reductions[static_cast<std::size_t>(sinks.reductions[i])];
    std::string first = tile.index;  // of element 0
    if (const auto k = first.find(" + k"); k != first.npos) first.erase(k);
    out.line(fmt::format("{}.add_vector({}{}, {}, {});", result_text(reduction),
                         tile.accumulator.empty() ? "" : tile.accumulator + ", ", vectors[i],
                         gives_index(reduction.node->op) ? first : "0",
                         tile.count.empty() ? std::to_string(schedule.vector) : tile.count));
  }
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
    if (schedule.is_for_cpu()) {
      if (!whole_operand(reduction).empty()) continue;
      if (adds_in_loop(reduction, tile))
        out.line(fmt::format("{}[k].add({}, 0);", columns_of(reduction),
                             operand_text(reduction.operand)));
      else
        out.line(fmt::format("{}[k] = {};", elements_to_add(reduction),
                             operand_text(reduction.operand)));
      continue;
    }
    const std::string guard = tile.count.empty() ? "" : fmt::format("if (k < {}) ", tile.count);
    const std::string accumulator = tile.accumulator.empty() ? "" : tile.accumulator + ", ";
    out.line(fmt::format("{}{}.add({}k, {}, {});", guard, result_text(reduction), accumulator,
                         operand_text(reduction.operand),
                         gives_index(reduction.node->op) ? tile.index : "0"));
  }
  if (sinks.after_each) sinks.after_each();
  for (const int index : sinks.columns) {
    const BodyReduction& column = body.columns[static_cast<std::size_t>(index)];
    std::string guard = tile.count.empty() ? "" : fmt::format("k < {}", tile.count);
    if (!store_condition.empty()) guard = store_condition + (guard.empty() ? "" : " && ") + guard;
    out.line(fmt::format("{}{}.add({}, {}, {});", guard.empty() ? "" : "if (" + guard + ") ",
                         result_text(column), tile.held_index, operand_text(column.operand),
                         gives_index(column.node->op) ? "row" : "0"));
  }
  for (std::size_t i = 0; i < sinks.stores.size(); ++i) {
    const BodyStore& store = body.stores[static_cast<std::size_t>(sinks.stores[i])];
    if (is_stored_whole(store, sinks)) continue;
    const Value& value = value_at(store.value);
    const bool is_named = !texts_[static_cast<std::size_t>(store.value)].empty() || is_plain(value);
    const std::string text = is_named ? operand_text(store.value) : value_expression(store.value);
    const bool is_exact = schedule.is_for_cpu() &&
                          (value.kind == Value::Kind::op || value.kind == Value::Kind::load) &&
                          program.numerics.rounding == Rounding::as_recorded;
    const DType dtype = store.node->dtype;
    out.line(fmt::format("{}[k] = {};", results[i],
                         is_exact ? exact_in_memory(dtype, text) : in_memory(dtype, text)));
  }
}

/// Writes the loop over a vector's elements; several ones for a long loop on a CPU.
void KernelWriter::write_element_loops(std::span<const int> values, const Sinks& sinks,
                                       const Tile& tile, std::span<const std::string> results) {
  std::vector<ElementLoop> loops = {{.values = {values.begin(), values.end()}}};
  const bool only_stores =
      sinks.reductions.empty() && sinks.columns.empty() && !sinks.before_each && !sinks.after_each;
  if (schedule.is_for_cpu() && only_stores) loops = split_element_loop(body, values);
  const std::string length = std::to_string(schedule.vector);
  const auto type_of = [&](int value) { return compute_c_type(value_at(value).dtype); };
  std::map<int, std::string> vectors;  // of saved values
  for (ElementLoop& loop : loops) {
    std::erase_if(loop.saved, [&](int value) { return is_kept(value); });
    for (const int value : loop.saved) {
      vectors[value] = name_for(value_at(value).node, "_elements");
      out.line(fmt::format("Vector<{}, {}> {};", type_of(value), length, vectors[value]));
    }
    out.unrolled("k", length, [&] {
      for (const int value : loop.loaded) {
        if (is_kept(value)) continue;
        const std::string name = name_for(value_at(value).node);
        out.line(fmt::format("const {} {} = {}[k];", type_of(value), name, vectors.at(value)));
        set_text(value, name);
      }
      if (&loop == &loops.back()) return write_elements(loop.values, sinks, tile, results);
      write_elements(loop.values, {}, tile, {});
      for (const int value : loop.saved)
        out.line(fmt::format("{}[k] = {};", vectors.at(value), operand_text(value)));
    });
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

  const bool adds_elements = std::ranges::any_of(sinks.reductions, [&](int index) {
    return !schedule.is_for_cpu() ||
           whole_operand(body.reductions[static_cast<std::size_t>(index)]).empty();
  });
  bool has_loop =
      !in_loop.empty() || adds_elements || !sinks.columns.empty() || sinks.after_each != nullptr;
  std::vector<std::string> results;
  for (const int store : sinks.stores) {
    const BodyStore& to = body.stores[static_cast<std::size_t>(store)];
    const bool is_whole = is_stored_whole(to, sinks);
    results.push_back(is_whole ? quotients_name(to.value) : declare_stored_vector(to));
    has_loop |= !is_whole;
  }
  std::vector<std::string> added;
  if (schedule.is_for_cpu()) added = declare_vectors_to_add(sinks, tile);
  if (has_loop) write_element_loops(in_loop, sinks, tile, results);
  if (schedule.is_for_cpu()) add_vectors(added, sinks, tile);
  out.block_if(store_condition, [&] {
    for (std::size_t i = 0; i < sinks.stores.size(); ++i)
      write_store(body.stores[static_cast<std::size_t>(sinks.stores[i])], results[i], tile.count);
  });

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
  count_ = row_count;
  for (std::size_t i = 0; i < body.values.size(); ++i) {
    const Value& value = body.values[i];
    if (value.varies || value.stage != stage || value.is_final != is_final || is_plain(value) ||
        value.kind == Value::Kind::reduced || !texts_[i].empty())
      continue;
    const int id = static_cast<int>(i);
    if (!varies_along_vector(id) || schedule.vector == 1) {
      write_scalar(id);
      continue;
    }
    if (value.kind == Value::Kind::load && load_form(value).access != Access::element) {
      write_vector_load(id, row_count, {});
      continue;
    }
    const std::string name = name_for(value.node);
    out.line(fmt::format("Vector<{}, {}> {};", compute_c_type(value.dtype), schedule.vector, name));
    out.unrolled("k", std::to_string(schedule.vector), [&] {
      write_scalar(id);
      out.line(fmt::format("{}[k] = {};", name, texts_[i]));
    });
    texts_[i] = name + "[k]";
  }
  count_.clear();
}

void KernelWriter::write_row_values_from(int stage, bool is_final) {
  int last = stage;
  for (const Value& value : body.values) last = std::max(last, value.stage);
  for (; stage <= last; ++stage) write_row_values(stage, is_final);
}

}  // namespace sinter
