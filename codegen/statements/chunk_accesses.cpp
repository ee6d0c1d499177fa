#include "codegen/statements/chunk_accesses.h"

#include <fmt/format.h>

#include <optional>

#include "compiler/body/access.h"
#include "compiler/program/reduction_tree.h"

namespace sinter {

bool KernelWriter::is_across(const Index& at, DType dtype, int buffer, int aligned) const {
  if (schedule.is_for_cpu() || schedule.vector == 1 || has_indirect(at)) return false;
  const int axis = body.reduced_axis();
  const std::optional<Extent> along = coefficient_of(at, axis);
  const std::optional<Extent> across =
      step_along(at, vector_axis, schedule.vector, program.facts);
  if (!along || !along->is(1) || !across || across->is(0) || across->is(1)) return false;
  const auto chunk = static_cast<int>(kChunk);
  return widest_access(at, dtype, alignment_of(buffer, dtype, aligned), body.space.extent(axis),
                       axis, chunk, program.facts) == chunk;
}

bool KernelWriter::may_load_across(int value) {
  const Value& v = value_at(value);
  return may_load_ahead(value) && vector_ahead(v).empty() &&
         !shared_buffers_.contains(buffer_of(v)) &&
         is_across(v.at, v.dtype, buffer_of(v), v.aligned);
}

bool KernelWriter::may_store_across(int store) {
  const BodyStore& to = body.stores[static_cast<std::size_t>(store)];
  const int buffer = buffer_of(to);
  return to.conditions.empty() && tile_calls_[static_cast<std::size_t>(store)].empty() &&
         !written_to_shared_.contains(buffer) &&
         is_across(to.at, to.node->dtype, buffer, to.aligned);
}

std::string KernelWriter::step_text(const Index& at) {
  return text(*step_along(at, vector_axis, schedule.vector, program.facts));
}

void KernelWriter::write_load_across(int value, const std::string& array) {
  const Value& v = value_at(value);
  count_load(v);
  record_access(AccessKind::load, buffer_of(v), static_cast<int>(kChunk));
  out.line(fmt::format("load_across({}, {}, {}, {});", array, buffer_name(buffer_of(v), false),
                       text(v.at, false), step_text(v.at)));
}

void KernelWriter::write_store_across(int store, const std::string& array) {
  const BodyStore& to = body.stores[static_cast<std::size_t>(store)];
  count_store(to);
  record_access(AccessKind::store, buffer_of(to), static_cast<int>(kChunk));
  out.line(fmt::format("store_across({}, {}, {}, {});", buffer_name(buffer_of(to), true),
                       text(to.at, false), step_text(to.at), array));
}

ChunkAccesses::ChunkAccesses(KernelWriter& writer, std::span<const int> loads,
                             std::span<const int> stores)
    : writer_(writer) {
  for (const int load : loads)
    if (writer.may_load_across(load)) arrays_.push_back({.load = load});
  for (const int store : stores)
    if (writer.may_store_across(store)) arrays_.push_back({.store = store});
}

void ChunkAccesses::write(const std::string& condition, const std::function<void()>& inside) {
  const auto vectors = static_cast<int>(kChunk);
  bool has_stores = false;
  for (Array& array : arrays_) {
    if (array.load >= 0) {
      array.name = writer_.declare_ahead(array.load, vectors);
      writer_.write_load_across(array.load, array.name);
      writer_.read_ahead(array.load, array.name + "[within]");
      continue;
    }
    const Node* const node = writer_.body.stores[static_cast<std::size_t>(array.store)].node;
    array.name = writer_.name_for(node, "_chunk");
    writer_.out.line(fmt::format("Vector<{}, {}> {}[{}];", info(node->dtype).c_name,
                                 writer_.schedule.vector, array.name, vectors));
    writer_.write_to_tile(array.store, array.name + "[within] = {};");
    has_stores = true;
  }
  const std::string first = writer_.axis_names[writer_.body.reduced_axis()];
  inside();
  writer_.axis_names[writer_.body.reduced_axis()] = first;
  const auto write_stores = [&] {
    for (const Array& array : arrays_)
      if (array.store >= 0) writer_.write_store_across(array.store, array.name);
  };
  if (has_stores) writer_.out.block_if(condition, write_stores);
  for (const Array& array : arrays_) {
    if (array.load >= 0)
      writer_.read_ahead(array.load, {});
    else
      writer_.write_to_tile(array.store, {});
    writer_.release(array.name);
  }
}

}  // namespace sinter
