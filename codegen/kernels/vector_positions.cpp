#include "codegen/kernels/vector_positions.h"

#include <fmt/format.h>

namespace sinter {

VectorPositions::VectorPositions(KernelWriter& writer)
    : writer_(writer), size_(writer.body.parallel_size()) {
  const bool has_one_axis = writer.body.parallel_axes == 1;
  // With several axes, the extent of the last one is in the text too, so the size is no parameter.
  size_text_ = has_one_axis ? writer.size_text(size_) : writer.text(size_);
  // With several axes, the vector width divides the last extent, so no vector crosses a row end.
  may_end_ = has_one_axis && divisor_of(size_, writer.program.facts) % writer.schedule.vector != 0;
  is_known_ = has_one_axis ? writer.is_known(size_) : size_.is_number();
}

bool VectorPositions::may_be_outside(std::int64_t per_block) const {
  return !is_known_ || size_.number() % per_block != 0;
}

Tile VectorPositions::declare_tile(const std::string& first, bool is_whole) const {
  Tile tile{.count = {}, .accumulator = {}, .index = {}};
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
  const std::string extent = atomic(writer_.text(body.space.extent(body.parallel_axes - 1)));
  writer_.axis_names[body.parallel_axes - 1] =
      writer_.declare_index("column", fmt::format("{} % {}", first, extent));
  const std::vector<int> outer = indices_below(body.parallel_axes - 1);
  if (outer.size() == 1)
    writer_.axis_names[0] = writer_.declare_index("row", fmt::format("{} / {}", first, extent));
  else
    writer_.declare_axes(fmt::format("{} / {}", first, extent), outer, "row");
}

}  // namespace sinter
