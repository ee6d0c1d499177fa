// Rounds of a horizontally fused kernel whose blocks keep resident tiles of its operands in shared
// memory (compiler/horizontal/resident_tiles.h).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "codegen/statements/kernel_writer.h"
#include "compiler/horizontal/resident_tiles.h"

namespace sinter {

class TileRounds {
 public:
  TileRounds(const Program& program, const Kernel& kernel, const Schedule& schedule,
             std::string_view entry, Naming naming);

  /// The section's loads of what is kept are from a resident tile, and its stores go there.
  void read_from_resident_tiles(KernelWriter& writer, std::size_t section) const;
  /// What such a section is called with: where `buffer` would begin, counted from the resident
  /// tile.
  std::string pointer(int buffer, std::size_t section) const;

  /// The first phase that every round has.
  int first_phase_of_rounds() const { return resident_tiles_.first_of_rounds; }
  bool is_local() const { return chosen_.is_local; }
  /// How often the whole grid meets in the phases of local tiles.
  int steps() const;
  /// How often it meets in all.
  int barriers() const;
  std::int64_t resident_tiles_per_round() const {
    return resident_tiles_.outer * groups_per_round_;
  }
  /// The arrays that are copied, as arguments of the kernel.
  std::vector<Argument> arguments() const;
  /// What copying all resident tiles reads.
  Extent bytes_read() const;
  /// Declares where resident tiles are, behind what sections have of shared memory.
  void declare(SourceWriter& out, Source& source) const;
  /// The function that copies a resident tile from memory, if any array is.
  std::string function(std::string_view index_type) const;

  /// The text of a section's call for the block that is written as `block`.
  using Call = std::function<std::string(std::size_t section, const std::string& block)>;
  /// The work of `phase` on resident tiles.
  void write_resident_tiles(SourceWriter& out, int phase, std::string_view index_type,
                            std::span<const std::string> arrays, const Call& call) const;
  /// Local tiles: the work of all phases on each.
  void write_local(SourceWriter& out, std::string_view index_type,
                   std::span<const std::string> arrays, const Call& call) const;
  /// The sections that take no part in it and whose turn is at `step`, as write_others.
  void write_step(SourceWriter& out, int step, std::string_view index_type, const Call& call,
                  const std::function<std::string(std::size_t section)>& all_blocks) const;
  /// The other sections of `phase`, of which `all_blocks` has the number of blocks.
  void write_others(SourceWriter& out, int phase, std::string_view index_type, const Call& call,
                    const std::function<std::string(std::size_t section)>& all_blocks) const;

 private:
  /// An array within a resident tile.
  struct Copy : ResidentTileCopy {
    std::int64_t begin = 0;  ///< in the resident tile, in bytes
  };

  /// Where a section finds an element, counted from where channel 0 would be; none: as in memory.
  std::optional<Index> place_of(const ResidentTileArray& array, KernelWriter& writer,
                                const TileWalk& walk) const;
  std::int64_t groups() const { return resident_tiles_.channels / chosen_.channels; }
  bool has_rounds() const { return chosen_.rounds > 1; }
  std::int64_t blocks_per_round(std::size_t section) const;
  const ResidentTileArray& array_of(int buffer) const;
  /// True if memory has what resident tiles begin with.
  bool copies() const;
  void write_loop(SourceWriter& out, std::string_view index_type, std::string_view block,
                  const std::string& count, const std::function<void()>& body) const;
  void write_resident_tile(SourceWriter& out, std::span<const std::size_t> sections,
                           std::string_view index_type, const Call& call) const;
  /// The number of a block of a section that has channels, of which `block` counts those of a
  /// round.
  std::string block_of_round(std::size_t section) const;

  const Program& program_;
  const Kernel& kernel_;
  const Schedule& schedule_;
  std::string entry_;
  Naming naming_;
  ResidentTileSchedule chosen_;
  ResidentTiles resident_tiles_;
  std::vector<Copy> copies_;  ///< of each array
  std::int64_t groups_per_round_ = 1;
};

}  // namespace sinter
