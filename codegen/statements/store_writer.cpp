// Writes stores: vectors of a tile, and results of rows and columns.
#include <fmt/format.h>

#include <algorithm>

#include "codegen/statements/kernel_writer.h"
#include "compiler/body/footprint.h"

namespace sinter {

void KernelWriter::count_store(const BodyStore& store) {
  const auto shared = written_to_shared_.find(buffer_of(store));
  if (shared != written_to_shared_.end() && !shared->second.is_in_memory) return;
  source.traffic.bytes_written = source.traffic.bytes_written +
                                 stored_elements(body, store) * Extent(size_of(store.node->dtype));
}

std::vector<KernelWriter::Destination> KernelWriter::destinations_of(const BodyStore& store) {
  const int buffer = buffer_of(store);
  std::vector<Destination> result;
  const auto shared = written_to_shared_.find(buffer);
  if (shared == written_to_shared_.end() || shared->second.is_in_memory)
    result.push_back({.name = buffer_name(buffer, true), .at = store.at});
  if (shared != written_to_shared_.end())
    result.push_back({.name = shared_buffers_.at(buffer).name,
                      .at = shared->second.at.value_or(store.at),
                      .is_shared = true,
                      .step = shared_buffers_.at(buffer).step});
  return result;
}

std::string KernelWriter::index_text(const Destination& to, bool at_element) {
  std::string index = text(to.at, at_element);
  return to.is_shared ? index_in_tile(index, to.step) : index;
}

void KernelWriter::write_store(const BodyStore& store, const std::string& vector,
                               const std::string& count) {
  const std::string& call = tile_calls_[static_cast<std::size_t>(&store - body.stores.data())];
  if (!call.empty()) return out.line(fmt::format(fmt::runtime(call), vector));
  count_store(store);
  for (const Destination& to : destinations_of(store)) {
    if (std::ranges::any_of(store.conditions,
                            [&](const Condition& condition) { return is_at_first(condition); })) {
      record_access(AccessKind::store, buffer_of(store), 1);
      out.block_if(condition_text(store.conditions, false), [&] {
        out.line(fmt::format("store({}, {}, {}[0]);", to.name, index_text(to, false), vector));
      });
    } else if (are_same_along_vector(store.conditions)) {
      out.block_if(condition_text(store.conditions, false),
                   [&] { write_vector_store(store, to, vector, count); });
    } else {
      write_elements_of(store, to, vector, count);
    }
  }
}

std::string KernelWriter::counted_store(int store, int vector, const std::string& values) {
  const BodyStore& to = body.stores[static_cast<std::size_t>(store)];
  count_store(to);
  const int buffer = buffer_of(to);
  record_access(AccessKind::store, buffer, vector);
  return fmt::format("store<{}>({}, {}, {});", vector, buffer_name(buffer, true),
                     text(to.at, false), values);
}

void KernelWriter::write_vector_store(const BodyStore& store, const Destination& destination,
                                      const std::string& vector, const std::string& count) {
  const int buffer = buffer_of(store);
  const std::string& to = destination.name;
  const Index& at = destination.at;
  const std::string where = index_text(destination, false);
  const std::string some = count.empty() ? std::to_string(schedule.vector) : count;
  const std::optional<Extent> step =
      vector_axis < 0 ? std::optional<Extent>(0)
                      : step_along(at, vector_axis, schedule.vector, program.facts);
  const bool has_neighbours = schedule.vector > 1 && step && step->is(1);
  const int each = has_neighbours
                       ? elements_at_once(at, store.node->dtype, buffer,
                                          destination.is_shared ? kWellAligned : store.aligned)
                       : 1;
  record_vector(AccessKind::store, buffer, each, count);
  if (schedule.vector == 1) {
    out.line(fmt::format("store({}, {}, {}[0]);", to, where, vector));
  } else if (each == schedule.vector) {
    out.line(count.empty()
                 ? fmt::format("store<{}>({}, {}, {});", schedule.vector, to, where, vector)
                 : fmt::format("store_some<{}>({}, {}, {}, {});", schedule.vector, to, where,
                               vector, count));
  } else if (each > 1) {
    out.line(fmt::format("store_by<{}, {}>({}, {}, {}, {});", schedule.vector, each, to, where,
                         vector, some));
  } else if (step) {
    out.line(fmt::format("store_apart<{}>({}, {}, {}, {}, {});", schedule.vector, to, where,
                         text(*step), vector, some));
  } else {
    write_elements_of(store, destination, vector, count);
  }
}

void KernelWriter::write_elements_of(const BodyStore& store, const Destination& to,
                                     const std::string& vector, const std::string& count) {
  record_access(AccessKind::store, buffer_of(store), 1);
  std::vector<std::string> guards;
  if (!count.empty()) guards.push_back(fmt::format("k < {}", count));
  if (!store.conditions.empty()) guards.push_back(condition_text(store.conditions, true));
  out.block_if(condition_of_vectors(store.conditions), [&] {
    out.unrolled("k", std::to_string(schedule.vector), [&] {
      const std::string guard =
          guards.empty() ? "" : fmt::format("if ({}) ", fmt::join(guards, " && "));
      out.line(
          fmt::format("{}store({}, {}, {}[k]);", guard, to.name, index_text(to, true), vector));
    });
  });
}

void KernelWriter::write_element_store(const BodyStore& store, const std::string& value) {
  count_store(store);
  record_access(AccessKind::store, buffer_of(store), 1);
  out.block_if(condition_text(store.conditions, false), [&] {
    for (const Destination& to : destinations_of(store))
      out.line(fmt::format("store({}, {}, {});", to.name, index_text(to, false),
                           in_memory(store.node->dtype, value)));
  });
}

std::string KernelWriter::declare_stored_vector(const BodyStore& store) {
  const Buffer& memory = program.buffers[static_cast<std::size_t>(buffer_of(store))];
  std::string name = names_.take(is_anonymous_ ? "result" : program.name_of(memory));
  if (in_tile_) tile_names_.push_back(name);
  out.line(
      fmt::format("Vector<{}, {}> {};", info(store.node->dtype).c_name, schedule.vector, name));
  return name;
}

void KernelWriter::write_row_store(const BodyStore& store) {
  const std::string value = operand_text(store.value);
  if (vector_axis == body.reduced_axis() || schedule.vector == 1)
    return write_element_store(store, value);
  const std::string vector = declare_stored_vector(store);
  out.directive("#pragma unroll");
  out.line(fmt::format("for (int k = 0; k < {}; ++k) {}[k] = {};", schedule.vector, vector,
                       in_memory(store.node->dtype, value)));
  write_store(store, vector, row_count);
}

void KernelWriter::write_row_stores(const std::string& condition, RowStores which) {
  const auto is_one = [&](const BodyStore& store) {
    return !store.varies && !store.of_columns && store.is_final == which.is_final;
  };
  if (std::ranges::none_of(body.stores, is_one)) return;
  if (std::ranges::any_of(body.stores, [&](const BodyStore& store) {
        return is_one(store) && (which.has_met ? is_late_update(store) : is_update(store));
      })) {
    source.has_barrier = true;
    out.line("block_barrier();  // the other threads have read the old values");
  }
  out.block(fmt::format("if ({})", condition), [&] {
    for (const BodyStore& store : body.stores)
      if (is_one(store)) write_row_store(store);
  });
}

void KernelWriter::write_column_stores() {
  std::vector<int> roots;
  for (const BodyStore& store : body.stores)
    if (store.of_columns) roots.push_back(store.value);
  write_in_scope(roots, [&] {
    for (const BodyStore& store : body.stores)
      if (store.of_columns) write_element_store(store, operand_text(store.value));
  });
}

}  // namespace sinter
