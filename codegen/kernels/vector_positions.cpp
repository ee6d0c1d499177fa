#include "codegen/kernels/vector_positions.h"

#include <fmt/format.h>

namespace sinter {

namespace {

/// The last axis as vectors divide it. For CPUs each row begins with a vector, also if no whole
/// vectors fill it: the last one is shorter.
Extent row_of_vectors(const KernelWriter& writer) {
  const Extent row = writer.body.space.extent(writer.body.parallel_axes - 1);
  const int vector = writer.schedule.vector;
  const bool is_padded =
      writer.schedule.is_for_cpu() && !(row.is_number() && row.number() % vector == 0);
  return is_padded ? ceil_div(row, vector) * Extent(vector) : row;
}

/// The iteration space with padded rows.
Extent padded_size(const KernelWriter& writer) {
  const Body& body = writer.body;
  if (body.parallel_axes <= 1 || !writer.schedule.is_for_cpu()) return body.parallel_size();
  Extent size = row_of_vectors(writer);
  for (int axis = 0; axis + 1 < body.parallel_axes; ++axis) size = size * body.space.extent(axis);
  return size;
}

}  // namespace

VectorPositions::VectorPositions(KernelWriter& writer)
    : writer_(writer), size_(padded_size(writer)) {
  const Body& body = writer.body;
  const bool has_one_axis = writer.body.parallel_axes == 1;
  // With several axes, the extent of the last one is in the text too, so the size is no parameter.
  size_text_ = has_one_axis ? writer.size_text(size_) : writer.text(size_);
  // With several axes, the vector width divides the last extent, so no vector crosses a row end.
  const std::int64_t divisor = writer.schedule.is_for_cpu() && size_.is_number()
                                   ? size_.number()
                                   : divisor_of(size_, writer.program.facts);
  may_end_ = has_one_axis && divisor % writer.schedule.vector != 0;
  is_known_ = has_one_axis ? writer.is_known(size_) : size_.is_number();
  is_padded_ =
      body.parallel_axes > 1 && row_of_vectors(writer) != body.space.extent(body.parallel_axes - 1);
}

bool VectorPositions::may_be_outside(std::int64_t per_block) const {
  return !is_known_ || size_.number() % per_block != 0;
}

Tile VectorPositions::declare_tile(const std::string& first, bool is_whole) const {
  Tile tile{.count = {}, .accumulator = {}, .index = {}};
  if (is_padded_) {
    declare_position(first);
    const int last = writer_.body.parallel_axes - 1;
    tile.count = "count";
    writer_.declare_index(
        "count", fmt::format("minimum({}, {} - {})", writer_.index_number(writer_.schedule.vector),
                             atomic(writer_.text(writer_.body.space.extent(last))),
                             writer_.axis_names[last]));
    return tile;
  }
  if (may_end_ && !is_whole) {
    tile.count = "count";
    writer_.declare_index(
        "count", fmt::format("minimum({}, {} - {})", writer_.index_number(writer_.schedule.vector),
                             atomic(size_text_), first));
  }
  declare_position(first);
  return tile;
}

void VectorPositions::declare_position(const std::string& first) const {
  const Body& body = writer_.body;
  if (body.parallel_axes == 0) return;
  if (body.parallel_axes == 1) {
    writer_.axis_names[0] = first;
    return;
  }
  const std::string extent = atomic(writer_.text(row_of_vectors(writer_)));
  writer_.axis_names[body.parallel_axes - 1] =
      writer_.declare_index("column", fmt::format("{} % {}", first, extent));
  const std::vector<int> outer = indices_below(body.parallel_axes - 1);
  if (outer.size() == 1)
    writer_.axis_names[0] = writer_.declare_index("row", fmt::format("{} / {}", first, extent));
  else
    writer_.declare_axes(fmt::format("{} / {}", first, extent), outer, "row");
}

}  // namespace sinter
