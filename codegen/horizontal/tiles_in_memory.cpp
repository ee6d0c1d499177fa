// Writes the work on tiles that do not stay in shared memory, and counts its bytes.
#include <algorithm>

#include "codegen/horizontal/tile_rounds.h"
#include "compiler/horizontal/tile_axes.h"

namespace sinter {

Extent TileRounds::in_memory_part(Extent elements) const {
  if (!has_tiles_in_memory()) return 0;
  const std::int64_t tiles = resident_tiles_per_round();
  return floor_div(elements, tiles) * Extent(tiles - tile_schedule_.kept);
}

void TileRounds::add_traffic(std::size_t section, Source& on_tiles, const Source& in_memory) const {
  Traffic& traffic = on_tiles.traffic;
  for (const ResidentTileArray& array : resident_tiles_.arrays) {
    const bool is_stored = std::ranges::count(kernel_.sections[section].stores, array.access.buffer,
                                              &Store::buffer) > 0;
    if (is_stored && !array.is_in_memory)
      traffic.bytes_written =
          traffic.bytes_written + in_memory_part(resident_tiles_.elements(array) *
                                                 std::int64_t{size_of(array.access.dtype)});
  }
  const std::int64_t rest = resident_tiles_per_round() - tile_schedule_.kept;
  if (rest == 0) return;
  for (const auto& [buffer, all] : in_memory.bytes_read_of) {
    const bool has_tiles = resident_tiles_.has_array(buffer);
    // Each tile loads its own elements, or all tiles of a group load the same ones.
    bool is_of_tile = true;
    bool is_exact = true;
    for (const ResidentTileAccess& access : accesses_[section]) {
      if (access.buffer != buffer || access.is_store) continue;
      const bool has_outer = access.outer_stride != 0 || resident_tiles_.outer == 1;
      is_of_tile &= access.is_linear && has_outer && access.channel_stride != 0;
      is_exact &= access.is_linear && (access.outer_stride == 0 || access.channel_stride != 0);
    }
    if (!has_tiles && is_of_tile) continue;
    const Extent bytes = has_tiles ? in_memory_part(all) : all;
    traffic.bytes_read = traffic.bytes_read + bytes;
    Extent& read = on_tiles.bytes_read_of.try_emplace(buffer, 0).first->second;
    read = read + bytes;
    traffic.is_bound |=
        !has_tiles && (!is_exact || std::min(rest, tile_schedule_.kept) < groups_per_round_);
  }
}

void TileRounds::declare_tile(const LaunchText& launch, bool has_number) const {
  SourceWriter& out = launch.out;
  const std::string per_round = std::to_string(groups_per_round_);
  out.line(fmt::format("const {} outer = item / {};", launch.index_type, per_round));
  out.line(fmt::format("const {} group = {}item % {};", launch.index_type,
                       has_rounds() ? fmt::format("round * {} + ", per_round) : "", per_round));
  if (groups_per_round_ * tile_schedule_.rounds != groups())
    out.line(fmt::format("if (group >= {}) continue;", groups()));
  if (has_number)
    out.line(fmt::format("const {} number = outer * {} + group;", launch.index_type, groups()));
}

void TileRounds::write_tiles_in_memory(const LaunchText& launch,
                                       std::span<const std::size_t> sections, bool meets) const {
  SourceWriter& out = launch.out;
  // True if shared memory has been used since the last barrier.
  bool is_used = !meets && std::ranges::any_of(sections, [&](std::size_t i) {
    return launch.source(i).shared_bytes > 0;
  });
  for (const std::size_t section : sections) {
    const Source& source = launch.source(section);
    const bool uses_shared = source.shared_bytes > 0;
    if (uses_shared && is_used && !(sections.size() == 1 && source.may_follow_itself))
      out.line("block_barrier();");
    is_used |= uses_shared;
    const std::int64_t blocks =
        blocks_per_resident_tile(kernel_.sections[section], resident_tiles_.sections[section].axes,
                                 schedule_.sections[section], tile_schedule_.channels);
    const std::string tiles = fmt::format("{} - kept", resident_tiles_per_round());
    const std::string count = blocks == 1 ? tiles : fmt::format("({}) * {}", tiles, blocks);
    out.block(grid_loop(launch.index_type, "rest", count), [&] {
      if (uses_shared && !source.may_follow_itself)
        out.line(
            fmt::format("if ({}) block_barrier();", is_later_round(launch.index_type, "rest")));
      out.line(fmt::format("const {} item = kept + rest{};", launch.index_type,
                           blocks == 1 ? "" : fmt::format(" / {}", blocks)));
      declare_tile(launch, true);
      out.line(launch.call_in_memory(
          section, blocks == 1 ? "number" : fmt::format("number * {0} + rest % {0}", blocks)));
    });
  }
}

}  // namespace sinter
