#include "compiler/program/schedule.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/program/print_program.h"

namespace sinter {

std::string to_string(const Schedule& schedule) {
  if (!schedule.sections.empty()) {
    std::string text = fmt::format("threads {}", schedule.threads);
    const std::vector<Schedule>& sections = schedule.sections;
    for (auto first = sections.begin(); first != sections.end();) {
      const auto next = std::find_if(first, sections.end(),
                                     [&](const Schedule& section) { return section != *first; });
      const auto count = next - first;
      text += fmt::format(" | {}{}", count == 1 ? "" : fmt::format("{} times ", count),
                          to_string(*first));
      first = next;
    }
    const ResidentTileSchedule& tiles = schedule.resident_tiles;
    if (tiles.is_local)
      text += fmt::format(" | local tiles of {}, {} blocks per SM",
                          counted(tiles.channels, tiles.units > 0 ? "unit" : "channel"),
                          schedule.blocks_per_sm);
    else if (tiles)
      text += fmt::format(" | {} of {} per block, {}{}, {} blocks per SM",
                          counted(tiles.per_block, "resident tile"),
                          counted(tiles.channels, tiles.units > 0 ? "unit" : "channel"),
                          tiles.kept > 0 ? fmt::format("at most {} in all, ", tiles.kept) : "",
                          counted(tiles.rounds, "round"), schedule.blocks_per_sm);
    return text;
  }
  std::string text = fmt::format("threads {}, vector {}", schedule.threads, schedule.vector);
  if (schedule.is_flat) text += ", flat";
  if (schedule.unroll > 1) text += fmt::format(", unroll {}", schedule.unroll);
  if (schedule.threads_per_row > 1 || schedule.rows_per_block > 1)
    text += fmt::format(", {} per row, {} rows per block", schedule.threads_per_row,
                        schedule.rows_per_block);
  if (schedule.cluster > 1)
    text += fmt::format(", clusters of {} blocks{}", schedule.cluster,
                        schedule.combines_columns ? " that combine columns" : "");
  if (schedule.splits > 1) text += fmt::format(", {} splits", schedule.splits);
  if (schedule.groups > 1) text += fmt::format(", {} groups", schedule.groups);
  if (schedule.resident) text += schedule.in_shared ? ", resident in shared memory" : ", resident";
  if (schedule.splits_rows) text += ", split";
  if (schedule.has_hints) text += ", cache hints";
  if (schedule.tile > 0)
    text += schedule.rows_per_block > 1 ? ", rows transposed in tiles"
                                        : fmt::format(", tiles of {0} x {0}", schedule.tile);
  if (schedule.copies != Copies::none)
    text += fmt::format(", {} of {} copies", counted(schedule.stages, "stage"),
                        schedule.copies == Copies::bulk ? "bulk" : "asynchronous");
  if (schedule.strips) text += ", strips of " + counted(schedule.strips.channels, "channel");
  if (schedule.block_limit > 0)
    text += fmt::format(", blocks end at multiples of {}", schedule.block_limit);
  if (schedule.blocks_per_sm > 0)
    text += fmt::format(", {} per SM", counted(schedule.blocks_per_sm, "block"));
  return text;
}

}  // namespace sinter
