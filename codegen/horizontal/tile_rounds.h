// Writes the tile rounds of a horizontally fused kernel whose blocks keep resident tiles of its
// operands in shared memory (compiler/horizontal/resident_tiles.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/statements/kernel_writer.h"
#include "compiler/horizontal/resident_tiles.h"

namespace sinter {

/// The launch that the rounds are written into.
struct LaunchText {
  SourceWriter& out;
  std::string_view index_type;
  std::vector<std::string> arrays;  ///< the values of TileRounds::arguments
  /// Returns the text of a call of `section` for block `block`.
  std::function<std::string(std::size_t section, const std::string& block)> call;
  /// The same for code of the section that accesses all arrays in memory.
  std::function<std::string(std::size_t section, const std::string& block)> call_in_memory;
  std::function<std::string(std::size_t section)> blocks;  ///< the number of blocks of `section`
  std::function<const Source&(std::size_t section)> source;
};

/// A loop over 0 … count - 1, distributed over the blocks of the grid.
std::string grid_loop(std::string_view index_type, std::string_view variable,
                      const std::string& count);
/// The condition that `variable` of such a loop is not in the first round of the block.
std::string is_later_round(std::string_view index_type, std::string_view variable);

class TileRounds {
 public:
  TileRounds(const Program& program, const Kernel& kernel, const Schedule& schedule,
             std::string_view entry, Naming naming);

  /// Makes the section load and store arrays with resident tiles in the tile.
  void read_from_resident_tiles(KernelWriter& writer, std::size_t section) const;
  /// The pointer that is passed to such a section: the first element of `buffer` in the tile.
  std::string shared_pointer(int buffer, std::size_t section) const;
  /// The number of the tile that is passed to such a section.
  std::string_view tile_number(std::size_t section) const;

  /// True if some tiles may not stay, so that `section` also runs on arrays in memory.
  bool runs_in_memory(std::size_t section) const {
    return tile_schedule_.kept > 0 && resident_tiles_.runs_on_tiles(section);
  }
  /// Adds the traffic of a section in memory, for the tiles that do not stay, to its traffic
  /// `on_tiles`.
  void add_traffic(std::size_t section, Source& on_tiles, const Source& in_memory) const;

  /// The number of grid barriers of the kernel.
  int barriers() const;
  std::int64_t resident_tiles_per_round() const {
    return resident_tiles_.outer * groups_per_round_;
  }
  /// The arrays that are copied into resident tiles, as arguments of the kernel.
  std::vector<Argument> arguments() const;
  /// Bytes that copying the resident tiles reads, by buffer.
  std::map<int, Extent> bytes_read() const;
  /// Reserves shared memory for resident tiles behind the sections' own, and declares pointers.
  void declare(SourceWriter& out, Source& source) const;
  /// The function that copies one resident tile from memory; empty if no array is copied.
  std::string copy_function(std::string_view index_type) const;

  /// Writes all phases of all rounds.
  void write(const LaunchText& launch) const;

 private:
  /// An array within a resident tile.
  struct Copy : ResidentTileCopy {
    std::int64_t begin = 0;  ///< offset in the resident tile, in bytes
  };

  /// The tile of `array`, as the section with `axes` accesses it.
  SharedTile shared_tile_of(const ResidentTileArray& array, KernelWriter& writer,
                            const TileAxes& axes) const;
  /// The index of an element in a resident tile, counted from the position where channel 0 would
  /// be; nullopt: the index in memory.
  std::optional<Index> shared_index_of(const ResidentTileArray& array, KernelWriter& writer,
                                       const TileAxes& axes) const;
  std::int64_t groups() const { return resident_tiles_.channels / tile_schedule_.channels; }
  bool has_rounds() const { return tile_schedule_.rounds > 1; }
  /// True if the tiles behind the first ones of each round do not stay.
  bool has_tiles_in_memory() const { return tile_schedule_.kept > 0; }
  /// True if every call ends with a barrier, so that rounds need none of their own.
  bool meets_after_calls() const { return has_rounds() && !has_tiles_in_memory(); }
  /// The blocks of one round of a section whose rounds have some channels each.
  std::int64_t blocks_per_round(std::size_t section) const;
  const ResidentTileArray& array_of(int buffer) const;
  /// True if any array is copied from memory into resident tiles.
  bool copies() const;
  bool is_local() const { return tile_schedule_.is_local; }
  /// The number of grid barriers of a kernel with local tiles.
  int local_barriers() const;
  /// Local tiles: the work of all phases on each tile.
  void write_local(const LaunchText& launch) const;
  /// Local tiles: the other sections that run after `barriers` grid barriers. Returns true if each
  /// of them has Source::ends_met.
  bool write_after_barriers(const LaunchText& launch, int barriers) const;
  /// The work of `phase` on resident tiles.
  void write_resident_tiles(const LaunchText& launch, int phase) const;
  void write_resident_tile(const LaunchText& launch, std::span<const std::size_t> sections,
                           bool meets) const;
  /// The elements of the tiles that do not stay, for each of `sections`.
  void write_tiles_in_memory(const LaunchText& launch, std::span<const std::size_t> sections,
                             bool meets) const;
  /// Declares the outer position, the group of channels and the number of tile `item`.
  void declare_tile(const LaunchText& launch, bool has_number) const;
  /// `elements` of all tiles: the part in the tiles that do not stay.
  Extent in_memory_part(Extent elements) const;
  /// True if each call of `phase` on a tile ends with a barrier, because a later call uses shared
  /// memory that it has used.
  bool meets_on_tiles(const LaunchText& launch, int phase) const;
  /// A loop over the blocks of a section without resident tiles. `block` is the argument of its
  /// call. `is_used`: the phase has used shared memory since the last barrier.
  void write_blocks(const LaunchText& launch, std::size_t section, const std::string& count,
                    const std::string& block, const std::string& end, bool& is_used) const;
  /// `grid_barrier(tickets);` behind `phase`.
  std::string grid_barrier_behind(const LaunchText& launch, int phase) const;
  /// The sections of `phase` that have no resident tiles.
  void write_other_sections(const LaunchText& launch, int phase) const;
  /// The call that copies a resident tile from memory.
  std::string copy_call(const LaunchText& launch) const;

  const Program& program_;
  const Kernel& kernel_;
  const Schedule& schedule_;
  std::string entry_;
  Naming naming_;
  ResidentTileSchedule tile_schedule_;
  ResidentTiles resident_tiles_;
  std::vector<Copy> copies_;                               ///< one per array
  std::vector<std::vector<ResidentTileAccess>> accesses_;  ///< of the sections on tiles
  std::int64_t groups_per_round_ = 1;
};

}  // namespace sinter
