// Lists the saved fields of each struct, in file order. After a change here, increase the version
// of the section (saved_file.h).
#pragma once

#include "runtime/saved/saved_program.h"
#include "runtime/support/archive.h"
#include "runtime/support/report_fields.h"

namespace sinter {

template <>
constexpr DType last_enumerator() {
  return DType::c64;
}
template <>
constexpr Rounding last_enumerator() {
  return Rounding::wide;
}
template <>
constexpr Math last_enumerator() {
  return Math::fast;
}
template <>
constexpr Buffer::Kind last_enumerator() {
  return Buffer::Kind::temporary;
}
template <>
constexpr KernelKind last_enumerator() {
  return KernelKind::opaque;
}
template <>
constexpr Argument::Kind last_enumerator() {
  return Argument::Kind::table;
}

template <>
constexpr Literal::Kind last_enumerator() {
  return Literal::Kind::real;
}
template <>
inline OpaqueAttribute default_value() {
  return {"", ""};
}

// Kernels and their launches.

template <class Archive, SameOrConst<Widths> T>
void fields(Archive& archive, T& widths) {
  archive(widths.widest, widths.narrowest);
}

template <class Archive, SameOrConst<Argument> T>
void fields(Archive& archive, T& argument) {
  archive(argument.kind, argument.index, argument.extent, argument.c_type, argument.loads,
          argument.stores);
}

template <class Archive, SameOrConst<Traffic> T>
void fields(Archive& archive, T& traffic) {
  archive(traffic.is_bound, traffic.writes_are_bound, traffic.bytes_read, traffic.bytes_written);
}

/// Omits `code_key`, `lists` and `bytes_read_of`, which only emission and static analysis use.
template <class Archive, SameOrConst<Source> T>
void fields(Archive& archive, T& source) {
  archive(source.entry, source.text, source.arguments, source.table, source.grid, source.threads,
          source.shared_bytes, source.workspace_bytes, source.tickets, source.has_barrier,
          source.is_cooperative, source.cluster, source.may_start_early, source.vector_bytes,
          source.traffic);
}

template <class Archive, SameOrConst<ResidentTileSchedule> T>
void fields(Archive& archive, T& resident_tiles) {
  archive(resident_tiles.channels, resident_tiles.arrays, resident_tiles.per_block,
          resident_tiles.rounds, resident_tiles.is_local, resident_tiles.units);
}

template <class Archive, SameOrConst<StripSchedule> T>
void fields(Archive& archive, T& strips) {
  archive(strips.channels, strips.outer);
}

template <class Archive, SameOrConst<Schedule> T>
void fields(Archive& archive, T& schedule) {
  archive(schedule.threads, schedule.vector, schedule.unroll, schedule.threads_per_row,
          schedule.rows_per_block, schedule.groups, schedule.resident, schedule.in_shared,
          schedule.cluster, schedule.combines_columns, schedule.splits, schedule.blocks_per_sm,
          schedule.splits_rows, schedule.has_hints, schedule.tile, schedule.is_flat,
          schedule.block_limit, schedule.strips, schedule.resident_tiles, schedule.sections);
}

/// The loader finds the function by `source.entry`.
template <class Archive, SameOrConst<VariantKernel> T>
void fields(Archive& archive, T& kernel) {
  archive(kernel.source, kernel.schedule);
}

// Calls of the user's functions.

template <class Archive, SameOrConst<Literal> T>
void fields(Archive& archive, T& literal) {
  archive(literal.kind, literal.integer, literal.real);
}

template <class Archive, SameOrConst<OpaqueAttribute> T>
void fields(Archive& archive, T& attribute) {
  archive(attribute.name, attribute.is_text, attribute.number, attribute.text);
}

template <class Archive, SameOrConst<CallType> T>
void fields(Archive& archive, T& type) {
  archive(type.dtype, type.shape, type.is_number);
}

template <class Archive, SameOrConst<CallDescription> T>
void fields(Archive& archive, T& call) {
  archive(call.function, call.place, call.attributes, call.inputs, call.outputs);
}

template <class Archive, SameOrConst<SavedCall> T>
void fields(Archive& archive, T& saved) {
  archive(saved.kernel, saved.call);
}

template <class Archive, SameOrConst<SavedFunction> T>
void fields(Archive& archive, T& function) {
  archive(function.name, function.version, function.has_workspace);
}

// The parts of the plan that runs need.

template <class Archive, SameOrConst<Buffer> T>
void fields(Archive& archive, T& buffer) {
  archive(buffer.kind, buffer.index, buffer.dtype, buffer.elements, buffer.name, buffer.parent,
          buffer.offset);
}

template <class Archive, SameOrConst<Store> T>
void fields(Archive& archive, T& store) {
  archive(store.buffer);
}

template <class Archive, SameOrConst<Kernel> T>
void fields(Archive& archive, T& kernel) {
  archive(kernel.name, kernel.kind, kernel.stores, kernel.depends_on, kernel.reads);
}

template <class Archive, SameOrConst<Guard> T>
void fields(Archive& archive, T& guard) {
  archive(guard.value, guard.low, guard.high, guard.divisor, guard.reason);
}

template <class Archive, SameOrConst<Program> T>
void fields(Archive& archive, T& program) {
  archive(program.buffers, program.kernels, program.guards, program.arch);
}

// The parts of the file.

template <class Archive, SameOrConst<Variant> T>
void fields(Archive& archive, T& variant) {
  archive(variant.program, variant.kernels, variant.alignment, variant.unwritten_outputs,
          variant.report);
}

template <class Archive, SameOrConst<SavedVariant> T>
void fields(Archive& archive, T& saved) {
  archive(saved.variant, saved.sizes, saved.images, saved.calls);
}

template <class Archive, SameOrConst<SavedKernels> T>
void fields(Archive& archive, T& kernels) {
  archive(kernels.arch, kernels.host_machine_level, kernels.target, kernels.host_prelude_hash,
          kernels.images, kernels.variants);
}

template <class Archive, SameOrConst<Numerics> T>
void fields(Archive& archive, T& numerics) {
  archive(numerics.rounding, numerics.math);
}

template <class Archive, SameOrConst<SavedProgram> T>
void fields(Archive& archive, T& program) {
  archive(program.graph, program.name, program.inputs, program.outputs, program.symbols,
          program.numerics, program.fuse, program.skip, program.recorded_ops, program.functions);
}

}  // namespace sinter
