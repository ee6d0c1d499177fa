#include "codegen/horizontal/fused_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "codegen/horizontal/exchanged_buffers.h"
#include "codegen/horizontal/shared_parameters.h"
#include "codegen/horizontal/tile_rounds.h"
#include "codegen/kernels/kernel_kinds.h"
#include "codegen/statements/kernel_writer.h"
#include "sinter/error.h"

namespace sinter {

namespace {

/// A function that computes one or more sections.
struct Callee {
  SectionFunction function;
  std::size_t sections = 0;
  bool is_noinline = false;  ///< not inlined
};

/// A section of the launch.
struct Section {
  std::size_t callee = 0;           ///< the index of the function that computes it
  Source source;                    ///< without text
  std::vector<int> shared_buffers;  ///< as in SectionFunction
};

/// The type of a table value that is passed as an argument of type `c_type`.
std::string value_type(std::string c_type) {
  if (const auto restrict = c_type.find(" __restrict__"); restrict != c_type.npos)
    c_type.erase(restrict);
  constexpr std::string_view kConst = "const ";
  if (!c_type.ends_with("*") && c_type.starts_with(kConst)) c_type.erase(0, kConst.size());
  return c_type;
}

class FusedLaunchWriter {
 public:
  FusedLaunchWriter(const Program& program, const Kernel& kernel, const Schedule& schedule,
                    std::string_view entry, Naming naming)
      : program_(program),
        kernel_(kernel),
        schedule_(schedule),
        naming_(naming),
        parameters_(program, source_, entry, naming) {
    source_.entry = entry;
    source_.threads = schedule.threads;
    if (schedule.resident_tiles) resident_tiles_.emplace(program, kernel, schedule, entry, naming);
  }

  Source write() {
    const std::set<int> between = exchanged_buffers(program_, kernel_);
    const std::vector<std::set<int>> later = overwritten_buffers(program_, kernel_);
    for (std::size_t i = 0; i < kernel_.sections.size(); ++i)
      write_section(i, between, later[static_cast<std::size_t>(kernel_.sections[i].phase)]);
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      deduct_repeated_reads(i, sections_[i]);
      if (in_memory_[i]) merge_in_memory(i);
      merge_requirements(sections_[i].source);
    }
    const int barriers = resident_tiles_ ? resident_tiles_->barriers() : phases(kernel_) - 1;
    source_.is_cooperative = barriers > 0 && !kernel_.has_tail;
    if (barriers > 0) declare_tickets();
    if (resident_tiles_) {
      write_rounds();
    } else {
      for (int phase = 0; phase < phases(kernel_); ++phase) write_phase(phase);
    }
    // Each barrier flips the counter's top bit. An arrival without a wait makes their number even,
    // so that the counter is 0 again.
    if (source_.is_cooperative && barriers % 2 == 1) out_.line("grid_depart(tickets);");
    finish();
    return std::move(source_);
  }

 private:
  void write_section(std::size_t number, const std::set<int>& exchanged,
                     const std::set<int>& overwritten) {
    const std::string name = fmt::format("{}_{}", source_.entry, number);
    sections_.push_back(section_of(number, name, true, exchanged, overwritten));
    in_memory_.emplace_back();
    if (resident_tiles_ && resident_tiles_->runs_in_memory(number))
      in_memory_.back() = section_of(number, name + "_in_memory", false, exchanged, overwritten);
  }

  /// `on_tiles`: with resident tiles, if the section has any. Adds its function to `callees_`.
  Section section_of(std::size_t number, const std::string& name, bool on_tiles,
                     const std::set<int>& exchanged, const std::set<int>& overwritten) {
    const Kernel& section = kernel_.sections[number];
    const auto written = [&](std::string_view function_name, Naming naming) {
      KernelWriter writer(program_, section, schedule_.sections[number], function_name, naming);
      writer.become_section(exchanged, overwritten);
      if (section.foreach_list >= 0) writer.become_listed();
      if (resident_tiles_ && on_tiles) resident_tiles_->read_from_resident_tiles(writer, number);
      write_by_kind(writer);
      SectionFunction function = writer.finish_section();
      ensure(function.source.threads == schedule_.threads,
             "sections of a horizontally fused kernel have blocks of different sizes");
      return function;
    };
    const bool is_listed = section.foreach_list >= 0;
    std::size_t callee = callees_.size();
    if (is_listed || may_be_repeated(section)) {
      // Sections share a function if their texts are equal except for names.
      SectionFunction function = written("section", Naming::anonymous);
      callee =
          callee_of_code_.try_emplace({is_listed, std::move(function.code)}, callee).first->second;
      if (callee < callees_.size()) {
        ++callees_[callee].sections;
        callees_[callee].is_noinline |= !is_listed;
        return {.callee = callee,
                .source = std::move(function.source),
                .shared_buffers = std::move(function.shared_buffers)};
      }
    }
    // With resident tiles no section is inlined, because blocks run many sections. Compilers take
    // longer for one long function than for its parts, and the parts need no more registers.
    callees_.push_back({.function = written(name, naming_),
                        .sections = 1,
                        .is_noinline = resident_tiles_.has_value()});
    const SectionFunction& function = callees_.back().function;
    return {.callee = callee, .source = function.source, .shared_buffers = function.shared_buffers};
  }

  /// True if another section has the same kind and equally many ops and results.
  bool may_be_repeated(const Kernel& section) const {
    return std::ranges::count_if(kernel_.sections, [&](const Kernel& other) {
             return other.kind == section.kind && other.nodes.size() == section.nodes.size() &&
                    other.stores.size() == section.stores.size();
           }) > 1;
  }

  // --- parameters -------------------------------------------------------------------------------

  /// Counts a buffer once that several sections of a phase read as the same argument of the same
  /// function.
  void deduct_repeated_reads(std::size_t number, Section& of) {
    const std::size_t callee = of.callee;
    Source& section = of.source;
    if (callees_[callee].sections == 1) return;
    for (std::size_t i = 0; i < section.arguments.size(); ++i) {
      const Argument& argument = section.arguments[i];
      const auto read = section.bytes_read_of.find(argument.index);
      if (argument.kind != Argument::Kind::buffer || read == section.bytes_read_of.end()) continue;
      const auto [known, is_first] = read_by_phase_.try_emplace(
          {kernel_.sections[number].phase, callee, i, argument.index}, read->second);
      if (is_first) continue;
      if (known->second != read->second) {
        section.traffic.is_bound = true;
        continue;
      }
      section.traffic.bytes_read = section.traffic.bytes_read - read->second;
      section.bytes_read_of.erase(read);
    }
  }

  /// Merges what the code without resident tiles needs into the section with them.
  void merge_in_memory(std::size_t number) {
    Section& more = *in_memory_[number];
    deduct_repeated_reads(number, more);
    Source& section = sections_[number].source;
    resident_tiles_->add_traffic(number, section, more.source);
    section.shared_bytes = std::max(section.shared_bytes, more.source.shared_bytes);
    section.vector_bytes = std::max(section.vector_bytes, more.source.vector_bytes);
    section.has_barrier |= more.source.has_barrier;
    section.may_follow_itself &= more.source.may_follow_itself;
  }

  void merge_requirements(const Source& section) {
    source_.shared_bytes = std::max(source_.shared_bytes, section.shared_bytes);
    source_.vector_bytes = std::max(source_.vector_bytes, section.vector_bytes);
    source_.cluster = std::max(source_.cluster, section.cluster);
    source_.has_barrier |= section.has_barrier;
    add(full_traffic_, section.traffic, 1);
    // A section without blocks reads nothing, not even operands of constant size.
    const Extent times = one_unless_zero(section.grid);
    add(source_.traffic, section.traffic, times);
    for (const auto& [buffer, bytes] : section.bytes_read_of) add_read(buffer, bytes * times);
  }

  void add_read(int buffer, Extent bytes) {
    Extent& read = source_.bytes_read_of.try_emplace(buffer, 0).first->second;
    read = read + bytes;
  }

  static void add(Traffic& sum, const Traffic& more, Extent times) {
    sum.is_bound |= more.is_bound;
    sum.writes_are_bound |= more.writes_are_bound;
    sum.bytes_read = sum.bytes_read + more.bytes_read * times;
    sum.bytes_written = sum.bytes_written + more.bytes_written * times;
  }

  void declare_tickets() {
    source_.has_barrier = true;
    source_.tickets = 1;
    parameters_.add_tickets();
  }

  // --- phases -----------------------------------------------------------------------------------

  /// A section, or the sections of a list that one function computes in adjacent blocks.
  using Run = std::vector<std::size_t>;

  const SectionFunction& function_of(std::size_t section) const {
    return callees_[sections_[section].callee].function;
  }

  std::vector<Run> runs_of(int phase) const {
    std::vector<Run> runs;
    std::map<std::size_t, std::size_t> run_of;  // callee → run
    for (std::size_t i = 0; i < kernel_.sections.size(); ++i) {
      if (kernel_.sections[i].phase != phase) continue;
      if (kernel_.sections[i].foreach_list < 0) {
        runs.push_back({i});
        continue;
      }
      const auto [run, is_new] = run_of.try_emplace(sections_[i].callee, runs.size());
      if (is_new) runs.emplace_back();
      runs[run->second].push_back(i);
    }
    return runs;
  }

  Extent blocks_of(const Run& run) const {
    Extent blocks = 0;
    for (const std::size_t section : run) blocks = blocks + sections_[section].source.grid;
    return blocks;
  }

  /// Reserves the section's scratch memory behind that of earlier calls.
  void reserve_section_scratch(const Source& section) {
    source_.workspace_bytes =
        source_.workspace_bytes + ceil_div(section.workspace_bytes, 256) * Extent(256);
    source_.tickets = source_.tickets + section.tickets;
  }

  std::string call(std::size_t number, const std::string& block) {
    return call(number, sections_[number], block);
  }

  std::string call(std::size_t number, const Section& section, const std::string& block) {
    const SectionFunction& function = callees_[section.callee].function;
    std::vector<std::string> arguments;
    for (std::size_t i = 0; i < function.names.size(); ++i)
      arguments.push_back(parameters_.argument(section.source.arguments[i], function.names[i]));
    for (const int buffer : section.shared_buffers)
      arguments.push_back(resident_tiles_->shared_pointer(buffer, number));
    if (!section.shared_buffers.empty())
      arguments.emplace_back(resident_tiles_->tile_number(number));
    arguments.push_back(block);
    reserve_section_scratch(section.source);
    return fmt::format("{}({});", function.name, fmt::join(arguments, ", "));
  }

  /// True if all sections of `run` take the same value as argument `i`.
  bool is_common(const Run& run, std::size_t i) const {
    const Argument& first = sections_[run[0]].source.arguments[i];
    if (first.kind == Argument::Kind::workspace || first.kind == Argument::Kind::tickets)
      return false;
    return std::ranges::all_of(run, [&](std::size_t section) {
      const Argument& argument = sections_[section].source.arguments[i];
      return argument.index == first.index && argument.extent == first.extent;
    });
  }

  /// One call for all sections of `run`. Arguments that differ between the sections come from the
  /// table row of the block's section.
  void write_table_call(const Run& run, const std::string& block) {
    const SectionFunction& function = function_of(run[0]);
    const std::size_t begin = source_.table.size();
    std::vector<std::size_t> columns;
    for (std::size_t i = 0; i < function.names.size(); ++i)
      if (!is_common(run, i)) columns.push_back(i);
    Extent blocks = 0;
    for (const std::size_t number : run) {
      const Source& section = sections_[number].source;
      source_.table.push_back({.kind = Argument::Kind::extent, .extent = blocks, .c_type = {}});
      for (const std::size_t i : columns) {
        Argument argument = section.arguments[i];
        if (argument.kind == Argument::Kind::workspace) argument.extent = source_.workspace_bytes;
        if (argument.kind == Argument::Kind::tickets) argument.extent = source_.tickets;
        source_.table.push_back(std::move(argument));
      }
      blocks = blocks + section.grid;
      reserve_section_scratch(section);
    }
    source_.lists.push_back({.begin = begin, .rows = run.size(), .columns = columns.size() + 1});
    out_.line(fmt::format("const unsigned long long* const row = table_row({}, {}, {}, {}, {});",
                          parameters_.table(), begin, run.size(), columns.size() + 1, block));
    std::vector<std::string> arguments;
    for (std::size_t i = 0; i < function.names.size(); ++i) {
      const auto column = std::ranges::find(columns, i);
      const Argument& argument = sections_[run[0]].source.arguments[i];
      arguments.push_back(column == columns.end()
                              ? parameters_.argument(argument, function.names[i])
                              : fmt::format("table_value<{}>(row, {})", value_type(argument.c_type),
                                            column - columns.begin() + 1));
    }
    arguments.push_back(fmt::format("{} - table_value<{}>(row, 0)", block, function.index_type));
    for (std::size_t i = 0; i < arguments.size(); ++i)
      out_.line(fmt::format(
          "{}{}{}", i == 0 ? function.name + "(" : std::string(function.name.size() + 1, ' '),
          arguments[i], i + 1 == arguments.size() ? ");" : ","));
  }

  void write_phase(int phase) {
    const bool is_tail = phase > 0 && kernel_.has_tail;
    if (phase > 0 && source_.is_cooperative) {
      out_.line(fmt::format("grid_barrier{}(tickets);", ends_met(phase - 1) ? "<true>" : ""));
    }
    if (is_tail && phase == 1)
      out_.line(fmt::format("if (!last_block{}(tickets, gridDim.x)) return;",
                            ends_met(0) ? "<true>" : ""));
    if (is_tail && phase > 1) out_.line("block_barrier();  // of the results of the phase before");
    const std::vector<Run> runs = runs_of(phase);
    std::string_view& index_type = parameters_.index_type;
    index_type = "int";
    for (const Run& run : runs)
      if (function_of(run[0]).index_type != "int") index_type = function_of(run[0]).index_type;
    Extent blocks = 0;
    std::vector<std::string> starts;
    for (const Run& run : runs) {
      starts.push_back(blocks.is(0) ? "0" : parameters_.text(blocks));
      blocks = blocks + blocks_of(run);
    }
    if (!is_tail) source_.grid = most_blocks(source_.grid, blocks, phase == 0);
    // With equal cluster sizes, every section's first block is the first of a cluster.
    const bool has_one_size = phase > 0 || std::ranges::all_of(runs, [&](const Run& run) {
                                return function_of(run[0]).source.cluster == source_.cluster;
                              });
    ensure(source_.cluster == 1 || (has_one_size && !source_.is_cooperative),
           "sections with different cluster sizes share a phase, or a cooperative kernel has "
           "clusters");
    // A tail needs a last block even if no section has work, so at least one cluster is launched.
    const bool may_be_idle =
        phase == 0 && kernel_.has_tail && (!blocks.is_number() || blocks.is(0));
    if (may_be_idle)
      source_.grid = blocks + (Extent(1) - one_unless_zero(blocks)) * Extent(source_.cluster);
    const auto calls = [&] {
      out_.block_if(may_be_idle ? "block < " + parameters_.text(blocks) : "",
                    [&] { write_calls(runs, starts); });
    };
    if (phase == 0 && !source_.is_cooperative) {
      out_.line(fmt::format("const {0} block = static_cast<{0}>(blockIdx.x);", index_type));
      calls();
      return;
    }
    const bool follows_itself =
        runs.size() == 1 && function_of(runs[0][0]).source.may_follow_itself;
    Extent sharing = 0;  // blocks that use shared memory
    for (const Run& run : runs)
      if (function_of(run[0]).source.shared_bytes > 0) sharing = sharing + blocks_of(run);
    const bool shares = !follows_itself && !(sharing.is_number() && sharing.number() <= 1);
    const std::string end = parameters_.text(blocks);
    const std::string loop =
        is_tail ? fmt::format("for ({} block = 0; block < {}; ++block)", index_type, end)
                : grid_loop(index_type, "block", end);
    out_.block(loop, [&] {
      // The block before it has used the same shared memory.
      if (shares)
        out_.line(fmt::format("if ({}) block_barrier();",
                              is_tail ? "block > 0" : is_later_round(index_type, "block")));
      calls();
    });
  }

  /// True if all sections of `phase` end with a barrier and then with work of thread 0.
  bool ends_met(int phase) const {
    for (std::size_t i = 0; i < kernel_.sections.size(); ++i)
      if (kernel_.sections[i].phase == phase && !sections_[i].source.ends_met) return false;
    return true;
  }

  /// Writes all phases of all rounds.
  void write_rounds() {
    for (const Callee& callee : callees_)
      if (callee.function.index_type != "int") parameters_.index_type = callee.function.index_type;
    source_.grid = resident_tiles_->resident_tiles_per_round();
    resident_tiles_->declare(out_, source_);
    for (const auto& [buffer, bytes] : resident_tiles_->bytes_read()) {
      for (Traffic* traffic : {&source_.traffic, &full_traffic_})
        traffic->bytes_read = traffic->bytes_read + bytes;
      add_read(buffer, bytes);
    }
    std::vector<std::string> arrays;
    for (const Argument& argument : resident_tiles_->arguments()) {
      const Buffer& buffer = program_.buffers[static_cast<std::size_t>(argument.index)];
      arrays.push_back(parameters_.argument(
          argument, (naming_ == Naming::anonymous ? "array" : program_.name_of(buffer)) + "_in"));
    }
    resident_tiles_->write(
        {.out = out_,
         .index_type = parameters_.index_type,
         .arrays = std::move(arrays),
         .call = [&](std::size_t section,
                     const std::string& block) { return call(section, block); },
         .call_in_memory =
             [&](std::size_t section, const std::string& block) {
               return call(section, in_memory_[section].value(), block);
             },
         .blocks =
             [&](std::size_t section) { return parameters_.text(sections_[section].source.grid); },
         .source = [&](std::size_t section) -> const Source& {
           return sections_[section].source;
         }});
  }

  /// The maximum of both, or the sum of symbolic sizes, because blocks without work are harmless.
  static Extent most_blocks(Extent before, Extent here, bool is_first) {
    if (is_first) return here;
    if (before.is_number() && here.is_number()) return std::max(before.number(), here.number());
    return before + here;
  }

  void write_calls(const std::vector<Run>& runs, const std::vector<std::string>& starts) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const bool is_last = i + 1 == runs.size();
      const std::string block = i == 0 ? "block" : fmt::format("block - {}", atomic(starts[i]));
      const std::string condition =
          is_last ? "" : fmt::format("if (block < {})", atomic(starts[i + 1]));
      const std::string head = (i == 0 ? "" : is_last ? "else" : "else ") + condition;
      if (runs[i].size() > 1 && runs.size() == 1) return write_table_call(runs[i], block);
      if (runs[i].size() > 1) {
        out_.block(head, [&] { write_table_call(runs[i], block); });
        continue;
      }
      const std::string text = call(runs[i][0], block);
      if (runs.size() == 1) return out_.line(text);
      out_.line(head);
      out_.line("  " + text);
    }
  }

  // --- the whole kernel -------------------------------------------------------------------------

  std::string head_comment() const {
    return fmt::format("// sinter kernel {} · {} kernels in {} phase{} · threads {}\n",
                       source_.entry, kernel_.sections.size(), phases(kernel_),
                       phases(kernel_) == 1 ? "" : "s", source_.threads) +
           traffic_comment(full_traffic_) + reproduce_comment(program_, kernel_) + "\n";
  }

  void finish() {
    std::string text = naming_ == Naming::anonymous ? "" : head_comment();
    if (resident_tiles_) text += resident_tiles_->copy_function(parameters_.index_type) + "\n";
    for (const Callee& callee : callees_) {
      if (callee.sections > 1 && naming_ != Naming::anonymous)
        text += fmt::format("// {} sections run this code; the first of them:\n", callee.sections);
      const SectionFunction& function = callee.function;
      text += fmt::format("{}static __device__ {} void\n{}\n", function.head,
                          callee.is_noinline ? "__noinline__" : "__forceinline__", function.text);
    }
    const std::vector<std::string> parameters = parameters_.declare();
    const std::string separator = ",\n" + std::string(source_.entry.size() + 1, ' ');
    text += kernel_head(schedule_, source_.entry,
                        fmt::format("({})", fmt::join(parameters, separator)));
    source_.text = text + write_early_start_wait(program_.arch, source_) + out_.text() + "}\n";
  }

  const Program& program_;
  const Kernel& kernel_;
  const Schedule& schedule_;
  Naming naming_;
  std::vector<Callee> callees_;
  std::vector<Section> sections_;
  /// By section: the code that accesses in memory the tiles that do not stay.
  std::vector<std::optional<Section>> in_memory_;
  /// By membership in a list, and code.
  std::map<std::pair<bool, std::string>, std::size_t> callee_of_code_;
  /// Bytes by phase, callee, argument index and buffer.
  std::map<std::tuple<int, std::size_t, std::size_t, int>, Extent> read_by_phase_;
  Source source_;
  SharedParameters parameters_;
  std::optional<TileRounds> resident_tiles_;
  SourceWriter out_{1};
  Traffic full_traffic_;  ///< the traffic if every section has work, for the head comment
};

}  // namespace

Source write_fused_launch(const Program& program, const Kernel& kernel, const Schedule& schedule,
                          std::string_view entry, Naming naming) {
  return FusedLaunchWriter(program, kernel, schedule, entry, naming).write();
}

}  // namespace sinter
