// Resident tiles: parts of operands that the blocks of a horizontally fused kernel keep in shared
// memory across grid barriers. Batch norm, for example, reduces its input in one phase and reads it
// again in another. With resident tiles the kernel reads it once, even if it is too large for a
// block or a cluster.
//
// The arrays have the shape outer × channels × rows (N × C × HW). A resident tile is one outer
// position with some adjacent channels and all their rows. If one section reduces outer × rows in
// one level of the reduction tree, and another one only rows, a tile has all outer positions. If
// not all resident tiles fit on the device at once, the phases run in rounds, each for some of the
// channels. Arrays of other shapes may consist of units of memory, such as images (memory_units.h).
// A tile then has adjacent units. Or only some tiles stay, and sections access the elements of the
// others in memory.
//
// A section may also write an array that later phases read. In the tiles that stay, it is then
// never in memory if nothing else reads it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "compiler/body/body.h"
#include "compiler/body/sub_buffer.h"
#include "compiler/horizontal/tile_axes.h"
#include "compiler/program/kernel.h"
#include "compiler/target/target.h"

namespace sinter {

/// An array whose tiles stay resident.
struct ResidentTileArray {
  ResidentTileAccess access;         ///< the addresses of its elements
  int loading_sections = 0;          ///< sections that load it
  std::int64_t loaded_elements = 0;  ///< elements that all of them load
  std::int64_t per_channel = 1;      ///< elements of one channel in a tile
  int last_written_phase = -1;  ///< the last phase that writes it before it is copied; -1: none
  /// A section writes it to the resident tile; `is_in_memory`: also to memory.
  bool is_produced = false;
  bool is_in_memory = true;
  /// The repeated reads, and writes to memory, that a resident tile saves per element.
  double saved_per_element(std::int64_t elements) const {
    return static_cast<double>(loaded_elements) / static_cast<double>(elements) + (!is_produced ? -1
                                                                                   : is_in_memory
                                                                                       ? 0
                                                                                       : 1);
  }
  /// True if channels are contiguous in memory, false if rows are.
  bool has_contiguous_channels() const { return access.channel_stride == 1; }
};

/// The work of a section in a round.
struct ResidentTileSection {
  enum class Role : std::uint8_t {
    resident_tiles,  ///< the blocks of the round's resident tiles
    channels,        ///< the blocks of the round's channels
    first,           ///< all of its work, in the first round
    last,            ///< all of its work, in the last round
  };
  Role role = Role::first;
  TileAxes axes;
};

struct ResidentTiles {
  std::int64_t outer = 1;
  std::int64_t channels = 1;
  std::int64_t segments = 1;              ///< outer positions of a resident tile: one or all
  std::int64_t rows = 1;                  ///< of each segment
  std::vector<ResidentTileArray> arrays;  ///< most loads first
  std::vector<ResidentTileSection> sections;
  int copy_phase = 0;            ///< the phase that copies the tiles
  int first_repeated_phase = 0;  ///< the first phase that has work in every round
  bool may_have_rounds = false;  ///< false: all tiles must fit at once
  bool is_local = false;         ///< these are local tiles (local_tiles.h)
  bool has_units = false;        ///< channels are units of memory (memory_units.h)
  /// Local tiles, by section: the number of grid barriers before it. Local tiles come first.
  std::vector<int> barriers_before;

  bool runs_on_tiles(std::size_t section) const {
    return sections[section].role == ResidentTileSection::Role::resident_tiles;
  }
  /// The elements of the array of `access` in one channel of a tile.
  std::int64_t elements_per_channel(const ResidentTileAccess& access) const {
    return has_units ? access.channel_stride : segments * rows;
  }
  /// True if a section writes one of the arrays.
  bool produces() const { return std::ranges::any_of(arrays, &ResidentTileArray::is_produced); }
  bool has_array(int buffer) const {
    return std::ranges::any_of(
        arrays, [&](const ResidentTileArray& array) { return array.access.buffer == buffer; });
  }
  /// The number of elements of all resident tiles of `array`.
  std::int64_t elements(const ResidentTileArray& array) const {
    return outer * channels * array.per_channel;
  }
  /// The size of a resident tile with this many channels. Each array takes a multiple of 16 bytes.
  std::int64_t bytes_of_resident_tile(std::int64_t resident_tile_channels) const;
  /// The size of all resident tiles of all arrays.
  std::int64_t bytes() const;
  /// Memory traffic that the tiles save: repeated reads, and writes of values that stay in tiles.
  std::int64_t bytes_saved() const;
};

/// The sections of a horizontally fused kernel, and the body of each.
struct FusedSections {
  const Program& program;
  std::span<const Kernel> kernels;
  std::span<const Body> bodies;
  std::span<const int> internal_buffers;  ///< temporaries that only these sections access

  std::size_t size() const { return kernels.size(); }
  const Kernel& operator[](std::size_t section) const { return kernels[section]; }
};

/// True if `section` with `schedule` writes all elements of `buffer` once, without reading any, and
/// no other section writes it. `accessed`: by section.
bool writes_all_of(const FusedSections& sections, const Schedule& schedule,
                   std::span<const AccessedBuffers> accessed, std::size_t section, int buffer);

/// True if `access` reaches all elements of its array, which is dense.
bool is_whole_array(const Program& program, const ResidentTiles& resident_tiles,
                    const ResidentTileAccess& access);
/// The elements of `buffer` that the sections for which `counts` is true load, summed over their
/// loads.
std::int64_t loaded_elements(const FusedSections& sections, int buffer,
                             const std::function<bool(std::size_t section)>& counts);

/// The resident tiles that `sections` with `schedules` can keep; nullopt if there are none.
/// `units`: see ResidentTileSchedule::units.
std::optional<ResidentTiles> find_resident_tiles(const FusedSections& sections,
                                                 std::span<const Schedule> schedules,
                                                 std::int64_t units);

/// A shape that resident tiles may have, and the axes of each section. nullopt: the section does
/// not visit that shape.
struct ResidentTileShape {
  TileAxes shape;
  std::vector<std::optional<TileAxes>> section_axes;
};
/// All shapes that `sections` with `schedules` visit.
std::vector<ResidentTileShape> resident_tile_shapes(const FusedSections& sections,
                                                    std::span<const Schedule> schedules);
/// True if `access` reaches a different element at each position of `resident_tiles`. The elements
/// of a tile must also be contiguous along its channels or its rows.
bool is_resident_tile(const ResidentTiles& resident_tiles, const ResidentTileAccess& access);

/// The copy of an array into a resident tile: `lines` of `length` elements, stored contiguously.
struct ResidentTileCopy {
  std::int64_t lines = 1;
  std::int64_t length = 1;
  std::int64_t stride = 0;  ///< from one line to the next in memory
  int vector = 1;           ///< elements copied at once
};
/// For tiles of `channels` channels, and arrays that start at multiples of `alignment` bytes.
ResidentTileCopy copy_of(const ResidentTiles& resident_tiles, const ResidentTileArray& array,
                         std::int64_t channels, std::int64_t alignment);

/// A schedule with resident tiles, and its predicted savings.
struct ResidentTileChoice {
  Schedule schedule;
  double bytes_saved = 0;
  double seconds_saved = 0;
};

/// The index of the choice that saves the most bytes, among those that are predicted to be about as
/// fast as the fastest. 0 if there are none. `seconds`: the time without resident tiles.
std::size_t best_of(std::span<const ResidentTileChoice> choices, double seconds);
/// The sum of the predicted times of the sections without resident tiles.
double seconds_without_resident_tiles(const FusedSections& sections, const Target& target);

/// Returns `fused`, a schedule of a cooperative kernel, with the best resident tiles, and with the
/// best local tiles. Leaves out those that save no time.
std::vector<ResidentTileChoice> choose_resident_tiles(const FusedSections& sections,
                                                      const Schedule& fused, const Target& target);

}  // namespace sinter
