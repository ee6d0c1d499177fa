// Writes loads: the form of each access, and the bytes that it adds to the traffic.
#include <fmt/format.h>

#include <algorithm>

#include "codegen/statements/kernel_writer.h"
#include "compiler/body/footprint.h"

namespace sinter {

std::int64_t KernelWriter::alignment_of(int buffer, DType dtype, int aligned) const {
  const std::int64_t bytes = std::int64_t{aligned} * size_of(dtype);
  const bool is_bound =
      program.buffers[static_cast<std::size_t>(buffer)].kind != Buffer::Kind::temporary;
  return is_bound ? std::min<std::int64_t>(program.facts.alignment, bytes) : bytes;
}

int KernelWriter::elements_at_once(const Index& at, DType dtype, int buffer, int aligned) {
  if (schedule.is_for_cpu()) return schedule.vector;
  return widest_access(at, dtype, alignment_of(buffer, dtype, aligned),
                       body.space.extent(vector_axis), vector_axis, schedule.vector, program.facts);
}

void KernelWriter::record_access(AccessKind kind, int buffer, int elements) {
  const int size = size_of(program.buffers[static_cast<std::size_t>(buffer)].dtype);
  const int bytes = std::max(std::min(elements * size, 16), size);
  (kind == AccessKind::load ? loads_ : stores_)[buffer].add(bytes);
  source.vector_bytes = std::max(source.vector_bytes, bytes);
}

void KernelWriter::record_vector(AccessKind kind, int buffer, int each, const std::string& count) {
  record_access(kind, buffer, each);
  if (each == schedule.vector && !count.empty()) record_access(kind, buffer, 1);
}

KernelWriter::LoadForm KernelWriter::load_form(const Value& value) {
  if (!tiled_element(value).empty()) return {Access::element};
  if (vector_axis < 0 || schedule.vector == 1) return {Access::scalar};
  const std::optional<Extent> step =
      step_along(value.at, vector_axis, schedule.vector, program.facts);
  if (!step || !are_same_along_vector(value.conditions)) return {Access::element};
  const int buffer = buffer_of(value);
  const int each = step->is(1) ? elements_at_once(value.at, value.dtype, buffer, value.aligned) : 1;
  if (each == schedule.vector) return {.access = Access::vector, .each = each};
  if (each > 1) return {.access = Access::partial_vectors, .each = each};
  return {Access::strided, text(*step)};
}

std::string_view KernelWriter::load_hint(const Value& value) const {
  if (last_reads_.empty()) return "";
  const int last = last_reads_[index_of(value)];
  // A hinted load bypasses coherence, so it may return stale data of an array that the launch
  // writes.
  const int buffer = buffer_of(value);
  if (shared_buffers_.contains(buffer) || !row_of(value).empty()) return "";
  const bool is_written =
      exchanged_.contains(buffer) || std::ranges::count(kernel.stores, buffer, &Store::buffer) > 0;
  if (last < 0 || is_written) return "";
  return last <= pass ? "_streaming" : "_retained";
}

std::string KernelWriter::index_text(const Value& load, bool at_element) {
  std::string index = text(load.at, at_element);
  const auto shared = shared_buffers_.find(buffer_of(load));
  const bool is_in_tile = shared != shared_buffers_.end() && row_of(load).empty();
  return is_in_tile ? index_in_tile(index, shared->second.step) : index;
}

std::string KernelWriter::load_call(const Value& value, const LoadForm& form,
                                    const std::string& count) {
  if (!tiled_element(value).empty()) return tiled_element(value);
  if (!vector_ahead(value).empty()) return vector_ahead(value);
  const int buffer = buffer_of(value);
  const std::string& row = row_of(value);
  const std::string memory = row.empty() ? buffer_name(buffer, false) : row;
  const std::string at = index_text(value, form.access == Access::element);
  const std::string some = count.empty() ? std::to_string(schedule.vector) : count;
  if (row.empty() && !shared_buffers_.contains(buffer))
    record_vector(AccessKind::load, buffer,
                  form.access == Access::vector ? schedule.vector : form.each, count);
  switch (form.access) {
    case Access::vector:
      return count.empty()
                 ? fmt::format("load{}<{}>({}, {})", load_hint(value), schedule.vector, memory, at)
                 : fmt::format("load_some<{}>({}, {}, {})", schedule.vector, memory, at, count);
    case Access::partial_vectors:
      return fmt::format("load_by<{}, {}>({}, {}, {})", schedule.vector, form.each, memory, at,
                         some);
    case Access::strided:
      return fmt::format("load_apart<{}>({}, {}, {}, {})", schedule.vector, memory, at, form.step,
                         some);
    case Access::scalar:
    case Access::element: break;
  }
  // Only coalesced loads get a hint. Otherwise other loads soon need the rest of the cache line.
  const std::optional<Extent> step =
      vector_axis < 0 || schedule.vector > 1
          ? std::nullopt
          : step_along(value.at, vector_axis, schedule.vector, program.facts);
  return fmt::format("load{}({}, {})", step && step->is(1) ? load_hint(value) : "", memory, at);
}

std::string KernelWriter::declare_loaded_vector(int value, std::string_view initializer) {
  const Value& v = value_at(value);
  std::string name = name_for(v.node);
  out.line(fmt::format("Vector<{}, {}> {}{};", info(v.dtype).c_name, schedule.vector, name,
                       initializer));
  set_text(value, computed(v.dtype, name + "[k]"));
  count_load(v);
  return name;
}

PartialVector KernelWriter::partial_vector_of(const Value& value) {
  if (!schedule.is_flat || load_form(value).access != Access::element) return {};
  return partial_vector_along(value.at, value.dtype,
                              alignment_of(buffer_of(value), value.dtype, value.aligned),
                              vector_axis, schedule.vector / 2, program.facts);
}

void KernelWriter::write_partial_vectors(int value, const std::string& count) {
  const Value& v = value_at(value);
  const PartialVector partial = partial_vector_of(v);
  const int buffer = buffer_of(v);
  record_access(AccessKind::load, buffer, partial.is_same ? 1 : partial.each);
  const std::string name = declare_loaded_vector(value, count.empty() ? "" : "{}");
  const std::string memory = buffer_name(buffer, false);
  const std::string at = index_text(v, true);
  const std::string guard = count.empty() ? "" : fmt::format("if (k < {}) ", count);
  out.directive("#pragma unroll");
  out.line(
      fmt::format("for (int k = 0; k < {}; k += {}) {}", schedule.vector, partial.each, guard) +
      (partial.is_same
           ? fmt::format("put_same<{}>({}, k, load({}, {}));", partial.each, name, memory, at)
           : fmt::format("put({}, k, load<{}>({}, {}));", name, partial.each, memory, at)));
}

std::string KernelWriter::counted_load(int value, int vector) {
  const Value& v = value_at(value);
  count_load(v);
  const int buffer = buffer_of(v);
  record_access(AccessKind::load, buffer, vector);
  return fmt::format("load{}<{}>({}, {})", load_hint(v), vector, buffer_name(buffer, false),
                     index_text(v, false));
}

bool KernelWriter::may_load_ahead(int value) {
  const Value& v = value_at(value);
  if (v.kind != Value::Kind::load || is_kept(value) || !v.conditions.empty()) return false;
  if (!row_of(v).empty() || has_indirect(v.at) || !depends_on(v.at, vector_axis)) return false;
  const Access access = load_form(v).access;
  return access == Access::vector || access == Access::partial_vectors || access == Access::strided;
}

std::string KernelWriter::declare_ahead(int value, int vectors) {
  const Value& v = value_at(value);
  std::string name = name_for(v.node, "_ahead");
  out.line(
      fmt::format("Vector<{}, {}> {}[{}];", info(v.dtype).c_name, schedule.vector, name, vectors));
  return name;
}

void KernelWriter::write_load_ahead(int value, const std::string& place, const Tile& tile) {
  const Value& v = value_at(value);
  out.line(fmt::format("{} = {};", place, load_call(v, load_form(v), tile.count)));
  count_load(v);
}

std::string KernelWriter::copied_from(int load, const std::string& first) {
  constexpr int kBulkBytes = 16;
  const Value& v = value_at(load);
  const int buffer = buffer_of(v);
  record_access(AccessKind::load, buffer,
                schedule.copies == Copies::bulk ? kBulkBytes / size_of(v.dtype) : schedule.vector);
  count_load(v);
  const std::int64_t offset = v.at.constant.number();
  return fmt::format("{} + ({}{})", buffer_name(buffer, false), first,
                     offset == 0 ? "" : fmt::format(" + {}", offset));
}

void KernelWriter::read_from_row(int load, const Index& at, std::string row) {
  Value& value = body.values[static_cast<std::size_t>(load)];
  value.at = at;
  value.aligned = kWellAligned;
  rows_[static_cast<std::size_t>(load)] = std::move(row);
}

void KernelWriter::count_load(const Value& value) {
  // Counted when the tile, the row or shared memory was filled, or when the load was made ahead.
  if (!tiled_element(value).empty() || !row_of(value).empty() ||
      shared_buffers_.contains(buffer_of(value)) || !vector_ahead(value).empty())
    return;
  const Footprint touched = footprint_of(body, value);
  source.traffic.is_bound = source.traffic.is_bound || !touched.is_exact;
  const Extent bytes = touched.elements * Extent(size_of(value.dtype));
  source.traffic.bytes_read = source.traffic.bytes_read + bytes;
  Extent& read = source.bytes_read_of.try_emplace(buffer_of(value), 0).first->second;
  read = read + bytes;
}

}  // namespace sinter
