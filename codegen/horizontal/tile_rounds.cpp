#include "codegen/horizontal/tile_rounds.h"

#include <algorithm>
#include <numeric>

#include "compiler/body/collapse_axes.h"
#include "compiler/body_building/kernel_body.h"
#include "compiler/horizontal/local_tiles.h"
#include "compiler/target/target.h"
#include "sinter/error.h"

namespace sinter {

namespace {

/// What the launch itself writes may not be read before a barrier.
std::string_view restrict_of(const PanelArray& array) {
  return array.written < 0 ? " __restrict__" : "";
}

}  // namespace

PanelRounds::PanelRounds(const Program& program, const Kernel& kernel, const Schedule& schedule,
                         std::string_view entry, Naming naming)
    : program_(program),
      kernel_(kernel),
      schedule_(schedule),
      entry_(entry),
      naming_(naming),
      chosen_(schedule.panels) {
  std::vector<Body> bodies;
  for (const Kernel& member : kernel.members) bodies.push_back(body_of(program, member));
  std::optional<Panels> found =
      chosen_.is_local ? find_local_panels(program, kernel.members, bodies, kernel.inner,
                                           schedule.members, chosen_.units)
                       : find_panels(program, kernel.members, bodies, schedule.members);
  ensure(found.has_value(), "kernel " + kernel.name + " is to keep panels, but has none");
  panels_ = with_aligned_arrays(std::move(*found), chosen_.channels);
  panels_.arrays.resize(static_cast<std::size_t>(chosen_.arrays));
  groups_per_round_ = (groups() + chosen_.rounds - 1) / chosen_.rounds;
  std::int64_t begin = 0;
  for (const PanelArray& array : panels_.arrays) {
    copies_.push_back({copy_of(panels_, array, chosen_.channels, program.facts.alignment), begin});
    const std::int64_t places = chosen_.channels * array.per_channel;
    begin += (places * size_of(array.access.dtype) + 15) / 16 * 16;
  }
}

const PanelArray& PanelRounds::array_of(int buffer) const {
  return *std::ranges::find(panels_.arrays, buffer,
                            [](const PanelArray& array) { return array.access.buffer; });
}

void PanelRounds::read_from_panels(KernelWriter& writer, std::size_t member) const {
  const PanelMember& own = panels_.members[member];
  if (own.part != PanelMember::Part::panels) return;
  for (const PanelArray& array : panels_.arrays) {
    const int buffer = array.access.buffer;
    if (std::ranges::find(writer.kernel.stores, buffer, &Store::buffer) !=
        writer.kernel.stores.end())
      writer.write_to_shared(buffer, place_of(array, writer, own.walk), array.is_in_memory);
    const bool is_loaded = std::ranges::any_of(writer.body.values, [&](const Value& value) {
      return value.kind == Value::Kind::load && program_.buffer_of.lookup(value.node) == buffer;
    });
    if (!is_loaded) continue;
    writer.read_from_shared(buffer, place_of(array, writer, own.walk));
  }
}

std::optional<Index> PanelRounds::place_of(const PanelArray& array, KernelWriter& writer,
                                           const PanelWalk& walk) const {
  if (panels_.has_units) return std::nullopt;
  IndexSpace& space = writer.body.space;
  const bool across = array.has_neighbouring_channels();
  const std::int64_t segment = chosen_.channels * panels_.rows;
  const auto at = [&](const Index& channel, const Index& row) {
    return space.add(space.scale(channel, across ? 1 : panels_.rows),
                     space.scale(row, across ? chosen_.channels : 1));
  };
  if (walk.segments == 1) return at(space.axis(walk.channel_axis), space.axis(walk.row_axis));
  if (walk.has_all) {
    const Index rows = space.axis(walk.row_axis);
    if (across) return at(space.axis(walk.channel_axis), rows);
    return space.add(at(space.axis(walk.channel_axis), space.modulo(rows, panels_.rows)),
                     space.scale(space.divide(rows, panels_.rows), segment));
  }
  const StripSchedule& strips = writer.schedule.strips;
  const StripPosition position =
      strip_position(space, space.axis(0), strips.outer, strips.channels);
  return space.add(at(position.channel, space.axis(writer.body.reduced_axis())),
                   space.scale(position.outer, segment));
}

std::string PanelRounds::pointer(int buffer, std::size_t member) const {
  const PanelArray& array = array_of(buffer);
  const Copy& copy = copies_[static_cast<std::size_t>(&array - panels_.arrays.data())];
  const std::int64_t shift =
      chosen_.channels * (panels_.has_units                   ? array.per_channel
                          : array.has_neighbouring_channels() ? 1
                                                              : panels_.rows);
  const PanelWalk& walk = panels_.members[member].walk;
  const std::string_view number = walk.is_merged && walk.segments == 1 ? "number" : "group";
  const bool is_written = array.is_written && std::ranges::count(kernel_.members[member].stores,
                                                                 buffer, &Store::buffer) > 0;
  return fmt::format("reinterpret_cast<{}{}*>(panel{}) - {} * {}", is_written ? "" : "const ",
                     info(array.access.dtype).c_name,
                     copy.begin == 0 ? "" : fmt::format(" + {}", copy.begin), number, shift);
}

std::vector<Argument> PanelRounds::arguments() const {
  std::vector<Argument> arguments;
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    if (panels_.arrays[i].is_written) continue;
    const PanelAccess& access = panels_.arrays[i].access;
    arguments.push_back({.kind = Argument::Kind::buffer,
                         .index = access.buffer,
                         .extent = 0,
                         .c_type = fmt::format("const {}*{}", info(access.dtype).c_name,
                                               restrict_of(panels_.arrays[i])),
                         .loads = Widths::of(copies_[i].vector * size_of(access.dtype))});
  }
  return arguments;
}

void PanelRounds::declare(SourceWriter& out, Source& source) const {
  const std::int64_t begin = (source.shared_bytes + 15) / 16 * 16;
  source.shared_bytes = begin + chosen_.per_block * panels_.bytes_of_panel(chosen_.channels);
  const Target* target = find_target(program_.arch);
  ensure(target && source.shared_bytes <= target->shared_per_block_opt_in,
         fmt::format("kernel {}: panels need {} bytes of shared memory, more than there are",
                     kernel_.name, source.shared_bytes));
  for (std::size_t i = 0; i < copies_.size(); ++i)
    source.vector_bytes =
        std::max(source.vector_bytes, copies_[i].vector * size_of(panels_.arrays[i].access.dtype));
  out.line(fmt::format("unsigned char* const panels = shared_memory() + {};", begin));
  if (is_local()) return;
  out.line("// Blocks that have more panels than places fill the last place again in each phase.");
  out.line(
      fmt::format("const bool has_place = static_cast<int>(blockIdx.x + gridDim.x * {}) >= {};",
                  chosen_.per_block, panels_per_round()));
}

Extent PanelRounds::bytes_read() const {
  Extent bytes = 0;
  for (const PanelArray& array : panels_.arrays)
    if (!array.is_written)
      bytes = bytes + Extent(panels_.elements(array) * std::int64_t{size_of(array.access.dtype)});
  return bytes;
}

bool PanelRounds::copies() const {
  return std::ranges::any_of(panels_.arrays,
                             [](const PanelArray& array) { return !array.is_written; });
}

int PanelRounds::steps() const { return *std::ranges::max_element(panels_.steps); }

int PanelRounds::barriers() const {
  if (is_local()) return steps();
  const int first = panels_.first_of_rounds;
  return first + (kernel_.members.back().phase - first) * chosen_.rounds;
}

std::string PanelRounds::function(std::string_view index_type) const {
  if (!copies()) return {};
  SourceWriter out(1);
  std::vector<std::string> parameters;
  // Rests that are on their way at once, up to what registers have place for.
  constexpr std::int64_t kMostAtOnce = 256;
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
    if (panels_.arrays[i].is_written) continue;
    const PanelAccess& access = panels_.arrays[i].access;
    const Copy& copy = copies_[i];
    const std::string_view type = info(access.dtype).c_name;
    parameters.push_back(
        fmt::format("const {}*{} from_{}", type, restrict_of(panels_.arrays[i]), i));
    const std::int64_t vectors = copy.lines * copy.length / copy.vector % (8 * schedule_.threads);
    const std::int64_t bytes =
        (vectors + schedule_.threads - 1) / schedule_.threads * copy.vector * size_of(access.dtype);
    if (at_once > 0 && at_once + bytes > kMostAtOnce) write_group();
    at_once += bytes;
    const std::string from =
        fmt::format("from_{}, outer * {} + group * {}{}, {}", i, access.outer_stride,
                    chosen_.channels * access.channel_stride,
                    access.offset == 0 ? "" : fmt::format(" + {}", access.offset),
                    fmt::format("{}{}", copy.stride, index_type == "int" ? "" : "ll"));
    const std::string to = fmt::format("reinterpret_cast<{}*>(panel{})", type,
                                       copy.begin == 0 ? "" : fmt::format(" + {}", copy.begin));
    rounds.push_back(fmt::format("PanelCopy<{}, {}, {}, {}, {}> copy_{};", type, schedule_.threads,
                                 copy.vector, copy.lines, copy.length, i));
    rounds.push_back(fmt::format("copy_{}.copy_rounds({}, {});", i, from, to));
    loads.push_back(fmt::format("copy_{}.load_rest({});", i, from));
    stores.push_back(fmt::format("copy_{}.keep_rest({});", i, to));
  }
  write_group();
  out.line("block_barrier();");
  parameters.push_back("unsigned char* panel");
  parameters.push_back(fmt::format("const {} outer", index_type));
  parameters.push_back(fmt::format("const {} group", index_type));
  std::vector<std::string> names;
  for (const PanelArray& array : panels_.arrays)
    if (!array.is_written)
      names.push_back(
          program_.name_of(program_.buffers[static_cast<std::size_t>(array.access.buffer)]));
  const std::string head =
      naming_ == Naming::anonymous
          ? ""
          : fmt::format("// keeps {} of {} {} of {} for all phases\n", chosen_.channels,
                        panels_.channels, panels_.has_units ? "units" : "channels",
                        fmt::join(names, ", "));
  // Called rather than written out wherever it is: compilers would keep what all calls have in
  // common in registers, through all members.
  return head + fmt::format(
                    "static __device__ __noinline__ void\n{0}_keep({1}) {{\n{2}}}\n", entry_,
                    fmt::join(parameters, ",\n" + std::string(entry_.size() + 6, ' ')), out.text());
}

void PanelRounds::write_panels(SourceWriter& out, int phase, std::string_view index_type,
                               std::span<const std::string> arrays, const Call& call) const {
  std::vector<std::size_t> members;
  for (std::size_t i = 0; i < kernel_.members.size(); ++i)
    if (kernel_.members[i].phase == phase && panels_.members[i].part == PanelMember::Part::panels)
      members.push_back(i);
  const int first = panels_.first_phase;
  if (members.empty() && phase != first) return;
  const std::string per_round = std::to_string(groups_per_round_);
  const auto loop = fmt::format(
      "for (int item = static_cast<int>(blockIdx.x), place = 0; item < {}; item += "
      "static_cast<int>(gridDim.x), ++place)",
      panels_per_round());
  out.block(loop, [&] {
    out.line(fmt::format("const {} outer = item / {};", index_type, per_round));
    out.line(fmt::format("const {} group = {}item % {};", index_type,
                         has_rounds() ? fmt::format("round * {} + ", per_round) : "", per_round));
    if (groups_per_round_ * chosen_.rounds != groups())
      out.line(fmt::format("if (group >= {}) continue;", groups()));
    const int last = chosen_.per_block - 1;
    out.line(last == 0
                 ? std::string("unsigned char* const panel = panels;")
                 : fmt::format("unsigned char* const panel = panels + minimum(place, {}) * {};",
                               last, panels_.bytes_of_panel(chosen_.channels)));
    const std::string keep =
        fmt::format("{}_keep({}, panel, outer, group);", entry_, fmt::join(arrays, ", "));
    const std::string again =
        last == 0 ? "if (!has_place) " : fmt::format("if (!has_place && place >= {}) ", last);
    if (phase >= first) out.line(phase == first ? keep : again + keep);
    write_panel(out, members, index_type, call);
  });
}

void PanelRounds::write_panel(SourceWriter& out, std::span<const std::size_t> members,
                              std::string_view index_type, const Call& call) const {
  if (!members.empty())
    out.line(fmt::format("const {} number = outer * {} + group;", index_type, groups()));
  for (const std::size_t member : members) {
    const std::int64_t blocks =
        blocks_per_panel(kernel_.members[member], panels_.members[member].walk,
                         schedule_.members[member], chosen_.channels);
    if (blocks == 1) {
      out.line(call(member, "number"));
      out.line("block_barrier();");
      continue;
    }
    out.directive("#pragma unroll 1");
    out.block(fmt::format("for ({0} block = number * {1}; block < number * {1} + {1}; ++block)",
                          index_type, blocks),
              [&] {
                out.line(call(member, "block"));
                out.line("block_barrier();");
              });
  }
}

std::int64_t PanelRounds::blocks_per_round(std::size_t member) const {
  return blocks_per_panel(kernel_.members[member], panels_.members[member].walk,
                          schedule_.members[member], groups_per_round_ * chosen_.channels);
}

std::string PanelRounds::block_of_round(std::size_t member) const {
  return fmt::format("round * {} + block", blocks_per_round(member));
}

void PanelRounds::write_loop(SourceWriter& out, std::string_view index_type, std::string_view block,
                             const std::string& count, const std::function<void()>& body) const {
  out.block(fmt::format("for ({0} {1} = static_cast<{0}>(blockIdx.x); {1} < {2}; {1} += "
                        "static_cast<{0}>(gridDim.x))",
                        index_type, block, count),
            body);
}

void PanelRounds::write_local(SourceWriter& out, std::string_view index_type,
                              std::span<const std::string> arrays, const Call& call) const {
  std::vector<std::size_t> members;
  for (std::size_t i = 0; i < kernel_.members.size(); ++i)
    if (panels_.members[i].part == PanelMember::Part::panels) members.push_back(i);
  write_loop(out, index_type, "item", std::to_string(panels_per_round()), [&] {
    out.line(fmt::format("const {} outer = item / {};", index_type, groups()));
    out.line(fmt::format("const {} group = item % {};", index_type, groups()));
    out.line("unsigned char* const panel = panels;");
    if (copies())
      out.line(fmt::format("{}_keep({}, panel, outer, group);", entry_, fmt::join(arrays, ", ")));
    write_panel(out, members, index_type, call);
  });
}

void PanelRounds::write_step(
    SourceWriter& out, int step, std::string_view index_type, const Call& call,
    const std::function<std::string(std::size_t member)>& all_blocks) const {
  for (std::size_t i = 0; i < kernel_.members.size(); ++i)
    if (panels_.steps[i] == step && panels_.members[i].part != PanelMember::Part::panels)
      write_loop(out, index_type, "block", all_blocks(i), [&] {
        out.line(call(i, "block"));
        out.line("block_barrier();");
      });
}

void PanelRounds::write_others(
    SourceWriter& out, int phase, std::string_view index_type, const Call& call,
    const std::function<std::string(std::size_t member)>& all_blocks) const {
  for (std::size_t i = 0; i < kernel_.members.size(); ++i) {
    const PanelMember::Part part = panels_.members[i].part;
    if (kernel_.members[i].phase != phase || part == PanelMember::Part::panels) continue;
    const bool is_whole = part != PanelMember::Part::channels || !has_rounds();
    const std::string blocks = all_blocks(i);
    const std::string text = call(i, is_whole ? "block" : block_of_round(i));
    const std::string count = is_whole ? blocks : std::to_string(blocks_per_round(i));
    const auto loop = [&] {
      write_loop(out, index_type, "block", count, [&] {
        const bool may_end = !is_whole && groups_per_round_ * chosen_.rounds != groups();
        if (may_end) out.line(fmt::format("if ({} >= {}) break;", block_of_round(i), blocks));
        out.line(text);
        out.line("block_barrier();");
      });
    };
    if (is_whole && has_rounds())
      out.block(fmt::format("if (round == {})",
                            part == PanelMember::Part::first ? 0 : chosen_.rounds - 1),
                loop);
    else
      loop();
  }
}

}  // namespace sinter
