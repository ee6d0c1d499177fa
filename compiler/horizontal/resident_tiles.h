// ResidentTiles: what the blocks of a horizontally fused kernel keep of its operands in shared
// memory while the grid finds what later phases need. Batch norm over more data than a block or a
// cluster holds reduces it in one phase and comes back to it in another: with resident tiles it is
// read once.
//
// The arrays concerned have the shape outer × channels × rows (N × C × HW). A resident tile is one
// place of outer with neighbouring channels; or all of outer where some section reduces outer ×
// rows at once, in one level of the reduction tree, and another one rows only. Where all resident
// tiles do not fit on the device at once, the phases are gone through in rounds, each for some of
// the channels.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compiler/body/body.h"
#include "compiler/horizontal/tile_walk.h"
#include "compiler/program/kernel.h"
#include "compiler/target/target.h"

namespace sinter {

/// An array that blocks keep resident tiles of.
struct ResidentTileArray {
  ResidentTileAccess access;     ///< where its elements are
  int loads = 0;                 ///< sections that load it
  std::int64_t loaded = 0;       ///< elements, by all of them
  std::int64_t per_channel = 1;  ///< elements that a resident tile has of each channel
  int written = -1;              ///< the last phase that writes it before it is copied; -1: none
  /// Local tiles: a section makes it, in the resident tile instead of in memory, or in both.
  bool is_written = false;
  bool is_in_memory = true;
  /// True if channels are neighbours in memory, false if rows are.
  bool has_neighbouring_channels() const { return access.channel_stride == 1; }
};

/// What a section does in a round.
struct ResidentTileSection {
  enum class Part : std::uint8_t {
    resident_tiles,  ///< its blocks that have the round's resident tiles
    channels,        ///< its blocks that have the round's channels
    first,           ///< all of its work, in the first round
    last,            ///< all of its work, in the last round
  };
  Part part = Part::first;
  TileWalk walk;
};

struct ResidentTiles {
  std::int64_t outer = 1;
  std::int64_t channels = 1;
  std::int64_t segments = 1;  ///< places of outer that each resident tile has: 1 or all of them
  std::int64_t rows = 1;      ///< of each segment
  std::vector<ResidentTileArray> arrays;  ///< those that are loaded most often first
  std::vector<ResidentTileSection> sections;
  int first_phase = 0;           ///< that loads them: where they are copied
  int first_of_rounds = 0;       ///< the first phase that has work in every round
  bool may_have_rounds = false;  ///< else all resident tiles are worked on at once
  bool is_local = false;         ///< local_tiles.h
  bool has_units = false;        ///< channels are units of memory (unit_walk.h)
  /// Of each section: how often the whole grid meets before it. Local tiles are worked on first.
  std::vector<int> steps;

  /// Of all resident tiles of `array`.
  std::int64_t elements(const ResidentTileArray& array) const {
    return outer * channels * array.per_channel;
  }
  /// Of a resident tile with so many channels, per array a multiple of 16.
  std::int64_t bytes_of_resident_tile(std::int64_t resident_tile_channels) const;
  /// Of all resident tiles of all arrays.
  std::int64_t bytes() const;
  /// What is not read again, and what is not written at all.
  std::int64_t bytes_saved() const;
};

/// The resident tiles that `sections` with `schedules` can keep; nullopt if there are none.
std::optional<ResidentTiles> find_resident_tiles(const Program& program,
                                                 std::span<const Kernel> sections,
                                                 std::span<const Body> bodies,
                                                 std::span<const Schedule> schedules);

/// A shape that resident tiles may have, and how each section goes through it, if it does.
struct ResidentTileShape {
  TileWalk shape;
  std::vector<std::optional<TileWalk>> walks;
};
/// All shapes that `sections` with `schedules` go through.
std::vector<ResidentTileShape> resident_tile_shapes(const Program& program,
                                                    std::span<const Kernel> sections,
                                                    std::span<const Body> bodies,
                                                    std::span<const Schedule> schedules);
/// True for arrays that differ at each place of `resident tiles`, and have neighbours in memory
/// along one axis.
bool is_resident_tile(const ResidentTiles& resident_tiles, const ResidentTileAccess& access);

/// How an array comes into a resident tile: `lines` of `length` elements, one behind the other.
struct ResidentTileCopy {
  std::int64_t lines = 1;
  std::int64_t length = 1;
  std::int64_t stride = 0;  ///< in memory, from each line to the next
  int vector = 1;           ///< elements copied at once
};
/// For resident tiles of so many channels of arrays that begin at multiples of `alignment` bytes.
ResidentTileCopy copy_of(const ResidentTiles& resident_tiles, const ResidentTileArray& array,
                         std::int64_t channels, std::int64_t alignment);

/// How to keep resident tiles, and what that is predicted to save.
struct ResidentTileChoice {
  Schedule schedule;
  double bytes_saved = 0;
  double seconds_saved = 0;
};

/// The choice, of those that are predicted to be about as fast as the fastest, that saves most
/// bytes; 0 of none. `seconds` is what the kernel takes without resident tiles.
std::size_t best_of(std::span<const ResidentTileChoice> choices, double seconds);
/// What the sections take without resident tiles, one after the other.
double seconds_without_resident_tiles(std::span<const Body> bodies, const Target& target,
                                      const Facts& facts);

/// `joined`, a schedule of a cooperative kernel, with resident tiles, and with local ones; none
/// where they would not pay. `inner`: what they write and nothing else reads.
std::vector<ResidentTileChoice> choose_resident_tiles(const Program& program,
                                                      std::span<const Kernel> sections,
                                                      std::span<const Body> bodies,
                                                      std::span<const int> inner,
                                                      const Schedule& joined, const Target& target);

}  // namespace sinter
