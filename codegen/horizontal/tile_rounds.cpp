#include "codegen/horizontal/tile_rounds.h"

#include <algorithm>

#include "compiler/body/collapse_axes.h"
#include "compiler/body_building/build_body.h"
#include "compiler/horizontal/local_tiles.h"
#include "compiler/horizontal/memory_units.h"
#include "ir/support/round_up.h"
#include "sinter/error.h"

namespace sinter {

std::string grid_loop(std::string_view index_type, std::string_view variable,
                      const std::string& count) {
  return fmt::format(
      "for ({0} {1} = static_cast<{0}>(blockIdx.x); {1} < {2}; {1} += static_cast<{0}>(gridDim.x))",
      index_type, variable, count);
}

std::string is_later_round(std::string_view index_type, std::string_view variable) {
  return fmt::format("{} >= static_cast<{}>(gridDim.x)", variable, index_type);
}

TileRounds::TileRounds(const Program& program, const Kernel& kernel, const Schedule& schedule,
                       std::string_view entry, Naming naming)
    : program_(program),
      kernel_(kernel),
      schedule_(schedule),
      entry_(entry),
      naming_(naming),
      tile_schedule_(schedule.resident_tiles) {
  std::vector<Body> bodies;
  for (const Kernel& section : kernel.sections) bodies.push_back(body_of(program, section));
  const FusedSections sections{.program = program,
                               .kernels = kernel.sections,
                               .bodies = bodies,
                               .internal_buffers = kernel.internal_buffers};
  std::optional<ResidentTiles> found =
      tile_schedule_.is_local
          ? find_local_tiles(sections, schedule.sections, tile_schedule_.units)
          : find_resident_tiles(sections, schedule.sections, tile_schedule_.units);
  ensure(found.has_value(),
         "kernel " + kernel.name + ": the schedule has resident tiles, but no array can have them");
  resident_tiles_ = with_aligned_arrays(std::move(*found), tile_schedule_.channels);
  resident_tiles_.arrays.resize(static_cast<std::size_t>(tile_schedule_.arrays));
  groups_per_round_ = divide_up(groups(), tile_schedule_.rounds);
  accesses_.resize(kernel.sections.size());
  for (std::size_t i = 0; i < kernel.sections.size(); ++i)
    if (runs_in_memory(i))
      accesses_[i] = resident_tiles_.has_units
                         ? visit_in_units(program, kernel.sections[i], bodies[i],
                                          schedule.sections[i], resident_tiles_.channels)
                               .value()
                               .accesses
                         : accesses_of(program, kernel.sections[i], bodies[i],
                                       resident_tiles_.sections[i].axes);
  std::int64_t begin = 0;
  for (const ResidentTileArray& array : resident_tiles_.arrays) {
    copies_.push_back(
        {copy_of(resident_tiles_, array, tile_schedule_.channels, program.facts.alignment), begin});
    const std::int64_t places = tile_schedule_.channels * array.per_channel;
    begin += round_up(places * size_of(array.access.dtype), 16);
  }
}

const ResidentTileArray& TileRounds::array_of(int buffer) const {
  return *std::ranges::find(resident_tiles_.arrays, buffer,
                            [](const ResidentTileArray& array) { return array.access.buffer; });
}

void TileRounds::read_from_resident_tiles(KernelWriter& writer, std::size_t section) const {
  if (!resident_tiles_.runs_on_tiles(section)) return;
  const TileAxes& axes = resident_tiles_.sections[section].axes;
  for (const ResidentTileArray& array : resident_tiles_.arrays) {
    const int buffer = array.access.buffer;
    if (std::ranges::find(writer.kernel.stores, buffer, &Store::buffer) !=
        writer.kernel.stores.end())
      writer.write_to_shared(buffer, shared_tile_of(array, writer, axes), array.is_in_memory);
    const bool is_loaded = std::ranges::any_of(writer.body.values, [&](const Value& value) {
      return value.kind == Value::Kind::load && program_.buffer_of.lookup(value.node) == buffer;
    });
    if (!is_loaded) continue;
    writer.read_from_shared(buffer, shared_tile_of(array, writer, axes));
  }
}

SharedTile TileRounds::shared_tile_of(const ResidentTileArray& array, KernelWriter& writer,
                                      const TileAxes& axes) const {
  const std::int64_t per_channel = resident_tiles_.has_units         ? array.per_channel
                                   : array.has_contiguous_channels() ? 1
                                                                     : resident_tiles_.rows;
  return {.at = shared_index_of(array, writer, axes),
          .step = tile_schedule_.channels * per_channel};
}

std::optional<Index> TileRounds::shared_index_of(const ResidentTileArray& array,
                                                 KernelWriter& writer, const TileAxes& axes) const {
  if (resident_tiles_.has_units) return std::nullopt;
  IndexSpace& space = writer.body.space;
  const bool across = array.has_contiguous_channels();
  const std::int64_t segment = tile_schedule_.channels * resident_tiles_.rows;
  const auto at = [&](const Index& channel, const Index& row) {
    return space.add(space.scale(channel, across ? 1 : resident_tiles_.rows),
                     space.scale(row, across ? tile_schedule_.channels : 1));
  };
  if (axes.segments == 1) return at(space.axis(axes.channel_axis), space.axis(axes.row_axis));
  if (axes.reduces_all_segments) {
    const Index rows = space.axis(axes.row_axis);
    if (across) return at(space.axis(axes.channel_axis), rows);
    return space.add(at(space.axis(axes.channel_axis), space.modulo(rows, resident_tiles_.rows)),
                     space.scale(space.divide(rows, resident_tiles_.rows), segment));
  }
  const StripSchedule& strips = writer.schedule.strips;
  const StripPosition position =
      strip_position(space, space.axis(0), strips.outer, strips.channels);
  return space.add(at(position.channel, space.axis(writer.body.reduced_axis())),
                   space.scale(position.outer, segment));
}

std::string TileRounds::shared_pointer(int buffer, std::size_t section) const {
  const ResidentTileArray& array = array_of(buffer);
  const Copy& copy = copies_[static_cast<std::size_t>(&array - resident_tiles_.arrays.data())];
  const bool is_written = array.is_produced && std::ranges::count(kernel_.sections[section].stores,
                                                                  buffer, &Store::buffer) > 0;
  return fmt::format("reinterpret_cast<{}{}*>(resident_tile{})", is_written ? "" : "const ",
                     info(array.access.dtype).c_name,
                     copy.begin == 0 ? "" : fmt::format(" + {}", copy.begin));
}

std::string_view TileRounds::tile_number(std::size_t section) const {
  const TileAxes& axes = resident_tiles_.sections[section].axes;
  return axes.merges_outer && axes.segments == 1 ? "number" : "group";
}

void TileRounds::declare(SourceWriter& out, Source& source) const {
  const std::int64_t begin = round_up(source.shared_bytes, 16);
  source.shared_bytes = begin + tile_schedule_.per_block *
                                    resident_tiles_.bytes_of_resident_tile(tile_schedule_.channels);
  ensure(
      source.shared_bytes <= program_.shared_per_block,
      fmt::format("kernel {}: resident tiles need {} bytes of shared memory, more than a block has",
                  kernel_.name, source.shared_bytes));
  for (std::size_t i = 0; i < copies_.size(); ++i)
    source.vector_bytes = std::max(
        source.vector_bytes, copies_[i].vector * size_of(resident_tiles_.arrays[i].access.dtype));
  out.line(fmt::format("unsigned char* const resident_tiles = shared_memory() + {};", begin));
  if (is_local()) {
    source.has_barrier = true;
    return;
  }
  if (has_tiles_in_memory()) {
    source.planned_blocks = divide_up(tile_schedule_.kept, tile_schedule_.per_block);
    out.line(fmt::format("const int kept = minimum({}, {} * static_cast<int>(gridDim.x));",
                         tile_schedule_.kept, tile_schedule_.per_block));
    return;
  }
  out.line(
      "// Blocks that have more resident tiles than places fill the last place again in each "
      "phase.");
  out.line(
      fmt::format("const bool has_place = static_cast<int>(blockIdx.x + gridDim.x * {}) >= {};",
                  tile_schedule_.per_block, resident_tiles_per_round()));
}

int TileRounds::local_barriers() const {
  return *std::ranges::max_element(resident_tiles_.barriers_before);
}

int TileRounds::barriers() const {
  if (is_local()) return local_barriers();
  const int first = resident_tiles_.first_repeated_phase;
  return first + (kernel_.sections.back().phase - first) * tile_schedule_.rounds;
}

bool TileRounds::meets_on_tiles(const LaunchText& launch, int phase) const {
  // No grid barrier separates the rounds, nor the sections on a local tile.
  if (is_local() || meets_after_calls()) return true;
  const auto writes_tile = [&](const Store& store) {
    return std::ranges::any_of(resident_tiles_.arrays, [&](const ResidentTileArray& array) {
      return array.access.buffer == store.buffer;
    });
  };
  const bool is_alone = std::ranges::count(kernel_.sections, phase, &Kernel::phase) == 1;
  for (std::size_t i = 0; i < kernel_.sections.size(); ++i) {
    if (kernel_.sections[i].phase != phase || !resident_tiles_.runs_on_tiles(i)) continue;
    const Source& source = launch.source(i);
    if (source.shared_bytes > 0 && !(is_alone && source.may_follow_itself)) return true;
    // A grid barrier follows, which is a block barrier too.
    if (!has_tiles_in_memory() && std::ranges::any_of(kernel_.sections[i].stores, writes_tile))
      return true;
  }
  return false;
}

std::string TileRounds::grid_barrier_behind(const LaunchText& launch, int phase) const {
  bool have_met = true;
  for (std::size_t i = 0; i < kernel_.sections.size(); ++i)
    if (kernel_.sections[i].phase == phase && !meets_after_calls())
      have_met &= !runs_in_memory(i) &&
                  (launch.source(i).ends_met ||
                   (resident_tiles_.runs_on_tiles(i) && meets_on_tiles(launch, phase)));
  return have_met ? "grid_barrier<true>(tickets);" : "grid_barrier(tickets);";
}

void TileRounds::write(const LaunchText& launch) const {
  if (is_local()) {
    write_local(launch);
    bool have_met = true;
    for (int barriers = 0; barriers <= local_barriers(); ++barriers) {
      if (barriers > 0)
        launch.out.line(have_met ? "grid_barrier<true>(tickets);" : "grid_barrier(tickets);");
      have_met = write_after_barriers(launch, barriers);
    }
    return;
  }
  const auto write_round = [&] {
    for (int phase = 0; phase < phases(kernel_); ++phase) {
      const bool is_in_first_round = has_rounds() && phase <= resident_tiles_.first_repeated_phase;
      if (phase > 0)
        launch.out.line((is_in_first_round ? "if (round == 0) " : "") +
                        grid_barrier_behind(launch, phase - 1));
      write_resident_tiles(launch, phase);
      write_other_sections(launch, phase);
    }
  };
  if (!has_rounds()) return write_round();
  launch.out.directive("#pragma unroll 1");
  launch.out.block(
      fmt::format("for (int round = 0; round < {}; ++round)", tile_schedule_.rounds), [&] {
        if (!meets_after_calls())
          launch.out.line("if (round > 0) block_barrier();  // the tiles have the same places");
        write_round();
      });
}

void TileRounds::write_local(const LaunchText& launch) const {
  SourceWriter& out = launch.out;
  std::vector<std::size_t> sections;
  for (std::size_t i = 0; i < kernel_.sections.size(); ++i)
    if (resident_tiles_.runs_on_tiles(i)) sections.push_back(i);
  const std::string count = std::to_string(resident_tiles_per_round());
  out.block(grid_loop(launch.index_type, "item", count), [&] {
    out.line(fmt::format("const {} outer = item / {};", launch.index_type, groups()));
    out.line(fmt::format("const {} group = item % {};", launch.index_type, groups()));
    out.line("unsigned char* const resident_tile = resident_tiles;");
    if (copies()) {
      out.line(copy_call(launch));
      out.line("block_barrier();");
    }
    write_resident_tile(launch, sections, true);
  });
}

bool TileRounds::write_after_barriers(const LaunchText& launch, int barriers) const {
  bool is_used = false;
  bool have_met = true;
  for (std::size_t i = 0; i < kernel_.sections.size(); ++i) {
    if (resident_tiles_.barriers_before[i] != barriers || resident_tiles_.runs_on_tiles(i))
      continue;
    write_blocks(launch, i, launch.blocks(i), "block", "", is_used);
    have_met &= launch.source(i).ends_met;
  }
  return have_met;
}

void TileRounds::write_blocks(const LaunchText& launch, std::size_t section,
                              const std::string& count, const std::string& block,
                              const std::string& end, bool& is_used) const {
  SourceWriter& out = launch.out;
  const Source& source = launch.source(section);
  const bool uses_shared = source.shared_bytes > 0;
  out.block(grid_loop(launch.index_type, "block", count), [&] {
    if (!end.empty()) out.line(fmt::format("if ({} >= {}) break;", block, end));
    if (!meets_after_calls() && uses_shared && is_used)
      out.line("block_barrier();");
    else if (!meets_after_calls() && uses_shared && count != "1" && !source.may_follow_itself)
      out.line(fmt::format("if ({}) block_barrier();", is_later_round(launch.index_type, "block")));
    out.line(launch.call(section, block));
    if (meets_after_calls()) out.line("block_barrier();");
  });
  is_used |= uses_shared;
}

void TileRounds::write_resident_tiles(const LaunchText& launch, int phase) const {
  SourceWriter& out = launch.out;
  std::vector<std::size_t> sections;
  for (std::size_t i = 0; i < kernel_.sections.size(); ++i)
    if (kernel_.sections[i].phase == phase && resident_tiles_.runs_on_tiles(i))
      sections.push_back(i);
  const int first = resident_tiles_.copy_phase;
  if (sections.empty() && phase != first) return;
  const std::string count =
      has_tiles_in_memory() ? "kept" : std::to_string(resident_tiles_per_round());
  const auto loop = fmt::format(
      "for (int item = static_cast<int>(blockIdx.x), place = 0; item < {}; item += "
      "static_cast<int>(gridDim.x), ++place)",
      count);
  const bool meets = meets_on_tiles(launch, phase);
  out.block(loop, [&] {
    declare_tile(launch, false);
    const int last = tile_schedule_.per_block - 1;
    const std::string place =
        has_tiles_in_memory() ? "place" : fmt::format("minimum(place, {})", last);
    out.line(last == 0
                 ? std::string("unsigned char* const resident_tile = resident_tiles;")
                 : fmt::format("unsigned char* const resident_tile = resident_tiles + {} * {};",
                               place,
                               resident_tiles_.bytes_of_resident_tile(tile_schedule_.channels)));
    const bool have_met = !sections.empty() && std::ranges::all_of(sections, [&](std::size_t i) {
      return launch.source(i).has_met;
    });
    const auto copy = [&] {
      if (!meets && !have_met && !has_tiles_in_memory())
        out.line(fmt::format(
            "if (place > {}) block_barrier();  // the previous tile has the same place", last));
      out.line(copy_call(launch));
      out.line("block_barrier();");
    };
    const std::string again =
        last == 0 ? "if (!has_place)" : fmt::format("if (!has_place && place >= {})", last);
    if (phase == first && copies()) copy();
    if (phase > first && !has_tiles_in_memory()) out.block(again, copy);
    write_resident_tile(launch, sections, meets);
  });
  if (has_tiles_in_memory()) write_tiles_in_memory(launch, sections, meets);
}

void TileRounds::write_resident_tile(const LaunchText& launch,
                                     std::span<const std::size_t> sections, bool meets) const {
  SourceWriter& out = launch.out;
  if (!sections.empty())
    out.line(fmt::format("const {} number = outer * {} + group;", launch.index_type, groups()));
  for (const std::size_t section : sections) {
    const std::int64_t blocks =
        blocks_per_resident_tile(kernel_.sections[section], resident_tiles_.sections[section].axes,
                                 schedule_.sections[section], tile_schedule_.channels);
    const auto write_call = [&](const std::string& block) {
      out.line(launch.call(section, block));
      if (meets) out.line("block_barrier();");
    };
    if (blocks == 1) {
      write_call("number");
      continue;
    }
    out.directive("#pragma unroll 1");
    out.block(fmt::format("for ({0} block = number * {1}; block < number * {1} + {1}; ++block)",
                          launch.index_type, blocks),
              [&] { write_call("block"); });
  }
}

std::int64_t TileRounds::blocks_per_round(std::size_t section) const {
  return blocks_per_resident_tile(kernel_.sections[section], resident_tiles_.sections[section].axes,
                                  schedule_.sections[section],
                                  groups_per_round_ * tile_schedule_.channels);
}

void TileRounds::write_other_sections(const LaunchText& launch, int phase) const {
  SourceWriter& out = launch.out;
  bool is_used = false;
  for (std::size_t i = 0; i < kernel_.sections.size(); ++i)
    is_used |= kernel_.sections[i].phase == phase && resident_tiles_.runs_on_tiles(i) &&
               launch.source(i).shared_bytes > 0 &&
               (has_tiles_in_memory() || !meets_on_tiles(launch, phase));
  for (std::size_t i = 0; i < kernel_.sections.size(); ++i) {
    const ResidentTileSection::Role role = resident_tiles_.sections[i].role;
    if (kernel_.sections[i].phase != phase || resident_tiles_.runs_on_tiles(i)) continue;
    const bool is_whole = role != ResidentTileSection::Role::channels || !has_rounds();
    const std::string blocks = launch.blocks(i);
    const std::string count = is_whole ? blocks : std::to_string(blocks_per_round(i));
    // `block` counts the blocks of one round.
    const std::string block = is_whole ? "block" : fmt::format("round * {} + block", count);
    const bool in_one_round = is_whole && has_rounds();
    const int round = role == ResidentTileSection::Role::first ? 0 : tile_schedule_.rounds - 1;
    out.block_if(in_one_round ? fmt::format("round == {}", round) : "", [&] {
      const bool may_end = !is_whole && groups_per_round_ * tile_schedule_.rounds != groups();
      write_blocks(launch, i, count, block, may_end ? blocks : "", is_used);
    });
  }
}

}  // namespace sinter
