// Which fields of each struct are saved, in their order. Whoever changes what is here counts up
// the version of its section (saved_file.h).
#pragma once

#include "runtime/saved/saved_program.h"
#include "runtime/support/archive.h"
#include "runtime/support/report_fields.h"

namespace sinter {

template <>
constexpr DType last_of() {
  return DType::c64;
}
template <>
constexpr Rounding last_of() {
  return Rounding::wide;
}
template <>
constexpr Math last_of() {
  return Math::fast;
}
template <>
constexpr Buffer::Kind last_of() {
  return Buffer::Kind::temporary;
}
template <>
constexpr KernelKind last_of() {
  return KernelKind::opaque;
}
template <>
constexpr Argument::Kind last_of() {
  return Argument::Kind::table;
}

template <>
constexpr Literal::Kind last_of() {
  return Literal::Kind::real;
}
template <>
inline OpaqueAttribute blank() {
  return {"", ""};
}

// What kernels are and how they are launched.

template <class Archive, Is<Widths> T>
void fields(Archive& archive, T& widths) {
  archive(widths.widest, widths.narrowest);
}

template <class Archive, Is<Argument> T>
void fields(Archive& archive, T& argument) {
  archive(argument.kind, argument.index, argument.extent, argument.c_type, argument.loads,
          argument.stores);
}

template <class Archive, Is<Traffic> T>
void fields(Archive& archive, T& traffic) {
  archive(traffic.is_bound, traffic.writes_are_bound, traffic.bytes_read, traffic.bytes_written);
}

/// Without what only emission and proofs ask for: `code`, `lists`, `read_of`.
template <class Archive, Is<Source> T>
void fields(Archive& archive, T& source) {
  archive(source.entry, source.text, source.arguments, source.table, source.grid, source.threads,
          source.shared_bytes, source.workspace_bytes, source.tickets, source.has_barrier,
          source.is_cooperative, source.cluster, source.may_start_early, source.vector_bytes,
          source.traffic);
}

template <class Archive, Is<ResidentTileSchedule> T>
void fields(Archive& archive, T& resident_tiles) {
  archive(resident_tiles.channels, resident_tiles.arrays, resident_tiles.per_block,
          resident_tiles.rounds, resident_tiles.is_local, resident_tiles.units);
}

template <class Archive, Is<StripSchedule> T>
void fields(Archive& archive, T& strips) {
  archive(strips.channels, strips.outer);
}

template <class Archive, Is<Schedule> T>
void fields(Archive& archive, T& schedule) {
  archive(schedule.threads, schedule.vector, schedule.unroll, schedule.threads_per_row,
          schedule.rows_per_block, schedule.groups, schedule.resident, schedule.in_shared,
          schedule.cluster, schedule.combines_columns, schedule.splits, schedule.blocks_per_sm,
          schedule.splits_rows, schedule.has_hints, schedule.tile, schedule.is_flat, schedule.block_limit,
          schedule.strips, schedule.resident_tiles, schedule.sections);
}

/// Functions are found again by `source.entry`.
template <class Archive, Is<VariantKernel> T>
void fields(Archive& archive, T& kernel) {
  archive(kernel.source, kernel.schedule);
}

// Calls of the user's functions.

template <class Archive, Is<Literal> T>
void fields(Archive& archive, T& literal) {
  archive(literal.kind, literal.integer, literal.real);
}

template <class Archive, Is<OpaqueAttribute> T>
void fields(Archive& archive, T& attribute) {
  archive(attribute.name, attribute.is_text, attribute.number, attribute.text);
}

template <class Archive, Is<CallType> T>
void fields(Archive& archive, T& type) {
  archive(type.dtype, type.shape, type.is_number);
}

template <class Archive, Is<CallDescription> T>
void fields(Archive& archive, T& call) {
  archive(call.function, call.place, call.attributes, call.inputs, call.outputs);
}

template <class Archive, Is<SavedCall> T>
void fields(Archive& archive, T& saved) {
  archive(saved.kernel, saved.call);
}

template <class Archive, Is<SavedFunction> T>
void fields(Archive& archive, T& function) {
  archive(function.name, function.version, function.has_workspace);
}

// What of the plan runs need.

template <class Archive, Is<Buffer> T>
void fields(Archive& archive, T& buffer) {
  archive(buffer.kind, buffer.index, buffer.dtype, buffer.elements, buffer.name, buffer.parent,
          buffer.offset);
}

template <class Archive, Is<Store> T>
void fields(Archive& archive, T& store) {
  archive(store.buffer);
}

template <class Archive, Is<Kernel> T>
void fields(Archive& archive, T& kernel) {
  archive(kernel.name, kernel.kind, kernel.stores, kernel.depends_on, kernel.reads);
}

template <class Archive, Is<Guard> T>
void fields(Archive& archive, T& guard) {
  archive(guard.value, guard.low, guard.high, guard.divisor, guard.reason);
}

template <class Archive, Is<Program> T>
void fields(Archive& archive, T& program) {
  archive(program.buffers, program.kernels, program.guards, program.arch);
}

// The parts of the file.

template <class Archive, Is<Variant> T>
void fields(Archive& archive, T& variant) {
  archive(variant.program, variant.kernels, variant.alignment, variant.unwritten_outputs, variant.report);
}

template <class Archive, Is<SavedVariant> T>
void fields(Archive& archive, T& saved) {
  archive(saved.variant, saved.sizes, saved.images, saved.calls);
}

template <class Archive, Is<SavedKernels> T>
void fields(Archive& archive, T& kernels) {
  archive(kernels.arch, kernels.machine, kernels.target, kernels.stamp, kernels.images,
          kernels.variants);
}

template <class Archive, Is<Numerics> T>
void fields(Archive& archive, T& numerics) {
  archive(numerics.rounding, numerics.math);
}

template <class Archive, Is<SavedProgram> T>
void fields(Archive& archive, T& program) {
  archive(program.graph, program.name, program.inputs, program.outputs, program.symbols,
          program.numerics, program.fuse, program.skip, program.recorded_ops, program.functions);
}

}  // namespace sinter
