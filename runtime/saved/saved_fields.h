// Lists the saved fields of each struct, in file order. After a change here, increase the version
// of the section (saved_file.h).
#pragma once

#include "runtime/saved/saved_program.h"
#include "runtime/saved/saved_weights.h"
#include "runtime/support/archive.h"
#include "runtime/support/report_fields.h"

namespace sinter {

constexpr DType last_enumerator(DType) { return DType::c64; }
constexpr Rounding last_enumerator(Rounding) { return Rounding::wide; }
constexpr Math last_enumerator(Math) { return Math::fast; }
constexpr Buffer::Kind last_enumerator(Buffer::Kind) { return Buffer::Kind::temporary; }
constexpr KernelKind last_enumerator(KernelKind) { return KernelKind::opaque; }
constexpr Copies last_enumerator(Copies) { return Copies::bulk; }
constexpr Argument::Kind last_enumerator(Argument::Kind) { return Argument::Kind::table_values; }
constexpr Literal::Kind last_enumerator(Literal::Kind) { return Literal::Kind::real; }
constexpr OpaqueAttribute::Kind last_enumerator(OpaqueAttribute::Kind) {
  return OpaqueAttribute::Kind::integers;
}

template <>
inline OpaqueAttribute default_value() {
  return {"", ""};
}

// Kernels and their launches.

void fields(auto& archive, SameOrConst<Widths> auto& widths) {
  archive(widths.widest, widths.narrowest);
}

void fields(auto& archive, SameOrConst<Argument> auto& argument) {
  archive(argument.kind, argument.index, argument.extent, argument.c_type, argument.loads,
          argument.stores);
}

void fields(auto& archive, SameOrConst<Traffic> auto& traffic) {
  archive(traffic.is_bound, traffic.writes_are_bound, traffic.bytes_read, traffic.bytes_written);
}

/// Omits `code_key`, `lists`, `copied_ahead` and `bytes_read_of`, which only emission and static
/// analysis use.
void fields(auto& archive, SameOrConst<Source> auto& source) {
  archive(source.entry, source.text, source.arguments, source.table, source.grid, source.threads,
          source.shared_bytes, source.workspace_bytes, source.tickets, source.has_barrier,
          source.is_cooperative, source.planned_blocks, source.cluster, source.may_start_early,
          source.vector_bytes, source.traffic);
}

void fields(auto& archive, SameOrConst<ResidentTileSchedule> auto& resident_tiles) {
  archive(resident_tiles.channels, resident_tiles.arrays, resident_tiles.per_block,
          resident_tiles.kept, resident_tiles.rounds, resident_tiles.is_local,
          resident_tiles.units);
}

void fields(auto& archive, SameOrConst<StripSchedule> auto& strips) {
  archive(strips.channels, strips.outer);
}

void fields(auto& archive, SameOrConst<Schedule> auto& schedule) {
  archive(schedule.threads, schedule.vector, schedule.unroll, schedule.threads_per_row,
          schedule.rows_per_block, schedule.groups, schedule.resident, schedule.in_shared,
          schedule.cluster, schedule.combines_columns, schedule.splits, schedule.blocks_per_sm,
          schedule.splits_rows, schedule.has_hints, schedule.tile, schedule.is_flat,
          schedule.copies, schedule.stages, schedule.block_limit, schedule.strips,
          schedule.resident_tiles, schedule.sections);
}

/// The loader finds the function by `source.entry`.
void fields(auto& archive, SameOrConst<VariantKernel> auto& kernel) {
  archive(kernel.source, kernel.schedule);
}

// Calls of the user's functions.

void fields(auto& archive, SameOrConst<Literal> auto& literal) {
  archive(literal.kind, literal.integer, literal.real);
}

void fields(auto& archive, SameOrConst<OpaqueAttribute> auto& attribute) {
  archive(attribute.name, attribute.kind, attribute.number, attribute.text, attribute.integers);
}

void fields(auto& archive, SameOrConst<CallType> auto& type) {
  archive(type.dtype, type.shape, type.is_number);
}

void fields(auto& archive, SameOrConst<CallDescription> auto& call) {
  archive(call.function, call.place, call.attributes, call.inputs, call.outputs);
}

void fields(auto& archive, SameOrConst<SavedCall> auto& saved) {
  archive(saved.kernel, saved.call);
}

void fields(auto& archive, SameOrConst<SavedFunction> auto& function) {
  archive(function.name, function.version, function.has_workspace);
}

// Weights.

void fields(auto& archive, SameOrConst<SavedWeight> auto& weight) {
  archive(weight.input, weight.dtype, weight.is_number, weight.number, weight.shape, weight.strides,
          weight.offset, weight.bytes);
}

// The parts of the plan that runs need.

void fields(auto& archive, SameOrConst<Buffer> auto& buffer) {
  archive(buffer.kind, buffer.index, buffer.dtype, buffer.elements, buffer.name, buffer.parent,
          buffer.offset);
}

void fields(auto& archive, SameOrConst<Store> auto& store) { archive(store.buffer); }

void fields(auto& archive, SameOrConst<Kernel> auto& kernel) {
  archive(kernel.name, kernel.kind, kernel.stores, kernel.depends_on, kernel.reads);
}

void fields(auto& archive, SameOrConst<Guard> auto& guard) {
  archive(guard.value, guard.low, guard.high, guard.divisor, guard.reason);
}

void fields(auto& archive, SameOrConst<Program> auto& program) {
  archive(program.buffers, program.kernels, program.guards, program.arch);
}

// The parts of the file.

void fields(auto& archive, SameOrConst<Variant> auto& variant) {
  archive(variant.program, variant.kernels, variant.alignment, variant.unwritten_outputs,
          variant.report);
}

void fields(auto& archive, SameOrConst<SavedVariant> auto& saved) {
  archive(saved.variant, saved.sizes, saved.images, saved.calls);
}

void fields(auto& archive, SameOrConst<SavedKernels> auto& kernels) {
  archive(kernels.arch, kernels.host_machine_level, kernels.target, kernels.host_prelude_hash,
          kernels.images, kernels.variants);
}

void fields(auto& archive, SameOrConst<Numerics> auto& numerics) {
  archive(numerics.rounding, numerics.math);
}

void fields(auto& archive, SameOrConst<SavedProgram> auto& program) {
  archive(program.graph, program.name, program.inputs, program.outputs, program.symbols,
          program.numerics, program.fuse, program.skip, program.bucket_bytes, program.recorded_ops,
          program.functions);
}

}  // namespace sinter
