// Writes the function that copies arrays from memory into a resident tile, and counts its bytes.
#include "codegen/horizontal/tile_rounds.h"
#include "ir/support/round_up.h"

namespace sinter {

namespace {

/// Arrays that the launch itself writes are not `__restrict__`, so that the compiler does not move
/// their loads above a barrier.
std::string_view restrict_of(const ResidentTileArray& array) {
  return array.last_written_phase < 0 ? " __restrict__" : "";
}

}  // namespace

bool TileRounds::copies() const {
  return std::ranges::any_of(resident_tiles_.arrays,
                             [](const ResidentTileArray& array) { return !array.is_produced; });
}

std::vector<Argument> TileRounds::arguments() const {
  std::vector<Argument> arguments;
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    if (resident_tiles_.arrays[i].is_produced) continue;
    const ResidentTileAccess& access = resident_tiles_.arrays[i].access;
    arguments.push_back({.kind = Argument::Kind::buffer,
                         .index = access.buffer,
                         .extent = 0,
                         .c_type = fmt::format("const {}*{}", info(access.dtype).c_name,
                                               restrict_of(resident_tiles_.arrays[i])),
                         .loads = Widths::of(copies_[i].vector * size_of(access.dtype))});
  }
  return arguments;
}

std::map<int, Extent> TileRounds::bytes_read() const {
  std::map<int, Extent> bytes;
  for (const ResidentTileArray& array : resident_tiles_.arrays)
    if (!array.is_produced) {
      const Extent all =
          resident_tiles_.elements(array) * std::int64_t{size_of(array.access.dtype)};
      bytes[array.access.buffer] = all - in_memory_part(all);
    }
  return bytes;
}

std::string TileRounds::copy_function(std::string_view index_type) const {
  if (!copies()) return {};
  SourceWriter out(1);
  std::vector<std::string> parameters;
  // The most bytes of remainders that a thread has in flight, so that they fit in registers.
  constexpr std::int64_t kMaxBytesInFlight = 256;
  std::int64_t at_once = 0;
  std::vector<std::string> rounds, loads, stores;
  const auto write_group = [&] {
    for (std::vector<std::string>* lines : {&rounds, &loads, &stores}) {
      for (const std::string& line : *lines) out.line(line);
      lines->clear();
    }
    at_once = 0;
  };
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    if (resident_tiles_.arrays[i].is_produced) continue;
    const ResidentTileAccess& access = resident_tiles_.arrays[i].access;
    const Copy& copy = copies_[i];
    const std::string_view type = info(access.dtype).c_name;
    parameters.push_back(
        fmt::format("const {}*{} from_{}", type, restrict_of(resident_tiles_.arrays[i]), i));
    const std::int64_t vectors = copy.lines * copy.length / copy.vector % (8 * schedule_.threads);
    const std::int64_t bytes =
        divide_up(vectors, schedule_.threads) * copy.vector * size_of(access.dtype);
    if (at_once > 0 && at_once + bytes > kMaxBytesInFlight) write_group();
    at_once += bytes;
    const std::string from =
        fmt::format("from_{}, outer * {} + group * {}{}, {}", i, access.outer_stride,
                    tile_schedule_.channels * access.channel_stride,
                    access.offset == 0 ? "" : fmt::format(" + {}", access.offset),
                    fmt::format("{}{}", copy.stride, index_type == "int" ? "" : "ll"));
    const std::string to = fmt::format("reinterpret_cast<{}*>(resident_tile{})", type,
                                       copy.begin == 0 ? "" : fmt::format(" + {}", copy.begin));
    rounds.push_back(fmt::format("ResidentTileCopy<{}, {}, {}, {}, {}> copy_{};", type,
                                 schedule_.threads, copy.vector, copy.lines, copy.length, i));
    rounds.push_back(fmt::format("copy_{}.copy_rounds({}, {});", i, from, to));
    loads.push_back(fmt::format("copy_{}.load_rest({});", i, from));
    stores.push_back(fmt::format("copy_{}.keep_rest({});", i, to));
  }
  write_group();
  parameters.push_back("unsigned char* resident_tile");
  parameters.push_back(fmt::format("const {} outer", index_type));
  parameters.push_back(fmt::format("const {} group", index_type));
  std::vector<std::string> names;
  for (const ResidentTileArray& array : resident_tiles_.arrays)
    if (!array.is_produced)
      names.push_back(
          program_.name_of(program_.buffers[static_cast<std::size_t>(array.access.buffer)]));
  const std::string head =
      naming_ == Naming::anonymous
          ? ""
          : fmt::format("// keeps {} of {} {} of {} for all phases\n", tile_schedule_.channels,
                        resident_tiles_.channels, resident_tiles_.has_units ? "units" : "channels",
                        fmt::join(names, ", "));
  // Not inlined, because compilers would keep the common subexpressions of all calls in registers
  // through all sections.
  return head + fmt::format(
                    "static __device__ __noinline__ void\n{0}_keep({1}) {{\n{2}}}\n", entry_,
                    fmt::join(parameters, ",\n" + std::string(entry_.size() + 6, ' ')), out.text());
}

std::string TileRounds::copy_call(const LaunchText& launch) const {
  return fmt::format("{}_keep({}, resident_tile, outer, group);", entry_,
                     fmt::join(launch.arrays, ", "));
}

}  // namespace sinter
