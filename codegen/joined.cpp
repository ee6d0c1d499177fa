#include "codegen/joined.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "codegen/kernel_writer.h"
#include "codegen/shapes.h"
#include "compiler/kernel_body.h"
#include "sinter/error.h"

namespace sinter {

namespace {

/// A parameter of the whole kernel.
struct Parameter {
  Argument argument;
  std::string name;
  bool is_const = true;     ///< in every member
  bool is_restrict = true;  ///< in every member
};

class JoinedWriter {
 public:
  JoinedWriter(const Program& program, const Kernel& kernel, const Schedule& schedule,
               std::string_view entry)
      : program_(program), kernel_(kernel), schedule_(schedule) {
    source_.entry = entry;
    source_.threads = schedule.threads;
    names_.take(entry);
  }

  Source write() {
    const std::set<int> between = exchanged();
    for (std::size_t i = 0; i < kernel_.members.size(); ++i) write_member(i, between);
    for (const MemberFunction& member : members_) unite(member.source);
    source_.is_cooperative = phases(kernel_) > 1 && !kernel_.has_tail;
    if (phases(kernel_) > 1) declare_tickets();
    for (int phase = 0; phase < phases(kernel_); ++phase) write_phase(phase);
    // An arrival without a wait leaves the counter as it was before: it counts rounds by a bit.
    if (source_.is_cooperative && phases(kernel_) % 2 == 0) out_.line("grid_depart(tickets);");
    finish();
    return std::move(source_);
  }

 private:
  /// The buffers that a member writes and another one touches.
  std::set<int> exchanged() const {
    std::map<int, std::set<std::size_t>> touched_by;
    std::set<int> written;
    for (std::size_t i = 0; i < kernel_.members.size(); ++i) {
      for (const Value& value : body_of(program_, kernel_.members[i]).values)
        if (value.kind == Value::Kind::load)
          touched_by[program_.buffer_of.lookup(value.node)].insert(i);
      for (const Store& store : kernel_.members[i].stores) {
        touched_by[store.buffer].insert(i);
        written.insert(store.buffer);
      }
    }
    std::erase_if(written, [&](int buffer) { return touched_by.at(buffer).size() < 2; });
    return written;
  }

  void write_member(std::size_t number, const std::set<int>& exchanged) {
    KernelWriter writer(program_, kernel_.members[number], schedule_.members[number],
                        fmt::format("{}_{}", source_.entry, number));
    writer.become_member(exchanged);
    write_shape(writer);
    members_.push_back(writer.finish_member());
    ensure(members_.back().source.threads == schedule_.threads,
           "members of a joined kernel have blocks of different sizes");
  }

  // --- parameters -------------------------------------------------------------------------------

  void unite(const Source& member) {
    source_.shared_bytes = std::max(source_.shared_bytes, member.shared_bytes);
    source_.vector_bytes = std::max(source_.vector_bytes, member.vector_bytes);
    source_.has_barrier |= member.has_barrier;
    add(shown_, member.traffic, 1);
    add(source_.traffic, member.traffic, is_at_work(member.grid));
  }

  static void add(Traffic& sum, const Traffic& more, Extent times) {
    sum.is_bound |= more.is_bound;
    sum.writes_are_bound |= more.writes_are_bound;
    sum.bytes_read = sum.bytes_read + more.bytes_read * times;
    sum.bytes_written = sum.bytes_written + more.bytes_written * times;
  }

  /// 1 for any number of blocks but 0: a member without blocks reads not even its constants.
  static Extent is_at_work(Extent blocks) {
    constexpr std::int64_t kMoreThanAny = std::int64_t{1} << 40;
    return blocks.is_number() ? Extent(blocks.is(0) ? 0 : 1) : ceil_div(blocks, kMoreThanAny);
  }

  Parameter& parameter(const Argument& argument, const std::string& name) {
    const auto is_same = [&](const Parameter& known) {
      return known.argument.kind == argument.kind && known.argument.index == argument.index &&
             known.argument.extent == argument.extent;
    };
    const auto known = std::ranges::find_if(parameters_, is_same);
    if (known != parameters_.end()) return *known;
    const bool is_scratch =
        argument.kind == Argument::Kind::tickets || argument.kind == Argument::Kind::workspace;
    parameters_.push_back({.argument = argument, .name = is_scratch ? name : names_.take(name)});
    return parameters_.back();
  }

  /// An extent as text; symbols become parameters.
  std::string text(Extent extent) {
    const IndexWriter writer{
        .c_type = index_type_,
        .axis = {},
        .symbol =
            [this](const ExtentAtom& atom) {
              const Extent symbol = program_.graph->data().extents->symbol(atom.name);
              return parameter({.kind = Argument::Kind::extent,
                                .index = 0,
                                .extent = symbol,
                                .c_type = fmt::format("const {}", index_type_)},
                               std::string(atom.name))
                  .name;
            },
        .indirect = {}};
    return writer.text(extent);
  }

  /// What a member is called with for one of its parameters; scratch memory is dealt out.
  std::string argument_text(const Argument& argument, const std::string& name) {
    Parameter& known = parameter(argument, name);
    known.is_const = known.is_const && argument.c_type.starts_with("const ");
    known.is_restrict = known.is_restrict && argument.c_type.ends_with("__restrict__");
    known.argument.load_bytes = std::max(known.argument.load_bytes, argument.load_bytes);
    known.argument.store_bytes = std::max(known.argument.store_bytes, argument.store_bytes);
    if (argument.kind == Argument::Kind::extent &&
        argument.c_type.find("long") != std::string::npos)
      known.argument.c_type = argument.c_type;
    const auto part = [&](const Extent& offset) {
      return offset.is(0) ? known.name : fmt::format("{} + {}", known.name, text(offset));
    };
    if (argument.kind == Argument::Kind::workspace) return part(source_.workspace_bytes);
    if (argument.kind == Argument::Kind::tickets) return part(source_.tickets);
    return known.name;
  }

  void declare_tickets() {
    source_.has_barrier = true;
    Parameter& tickets =
        parameter({.kind = Argument::Kind::tickets, .index = 0, .extent = 0, .c_type = "unsigned*"},
                  "tickets");
    tickets.is_const = tickets.is_restrict = false;
    source_.tickets = 1;
  }

  // --- phases -----------------------------------------------------------------------------------

  std::string call(std::size_t number, const std::string& block) {
    const MemberFunction& member = members_[number];
    std::vector<std::string> arguments;
    for (std::size_t i = 0; i < member.names.size(); ++i)
      arguments.push_back(argument_text(member.source.arguments[i], member.names[i]));
    arguments.push_back(block);
    source_.workspace_bytes =
        source_.workspace_bytes + ceil_div(member.source.workspace_bytes, 256) * Extent(256);
    source_.tickets = source_.tickets + member.source.tickets;
    return fmt::format("{}({});", member.name, fmt::join(arguments, ", "));
  }

  void write_phase(int phase) {
    const bool is_tail = phase > 0 && kernel_.has_tail;
    if (phase > 0 && source_.is_cooperative) out_.line("grid_barrier(tickets);");
    if (is_tail && phase == 1) out_.line("if (!last_block(tickets, gridDim.x)) return;");
    std::vector<std::size_t> here;
    for (std::size_t i = 0; i < kernel_.members.size(); ++i)
      if (kernel_.members[i].phase == phase) here.push_back(i);
    index_type_ = "int";
    for (const std::size_t member : here)
      if (members_[member].index_type != "int") index_type_ = members_[member].index_type;
    Extent blocks = 0;
    std::vector<std::string> starts;
    for (const std::size_t member : here) {
      starts.push_back(blocks.is(0) ? "0" : text(blocks));
      blocks = blocks + members_[member].source.grid;
    }
    if (!is_tail) source_.grid = most_blocks(source_.grid, blocks, phase == 0);
    // Somebody must be there to be the last block, with or without work.
    const bool may_be_idle =
        phase == 0 && kernel_.has_tail && (!blocks.is_number() || blocks.is(0));
    if (may_be_idle) source_.grid = blocks + Extent(1) - is_at_work(blocks);
    const auto calls = [&] {
      if (may_be_idle)
        out_.block(fmt::format("if (block < {})", text(blocks)),
                   [&] { write_calls(here, starts); });
      else
        write_calls(here, starts);
    };
    if (phase == 0 && !source_.is_cooperative) {
      out_.line(fmt::format("const {0} block = static_cast<{0}>(blockIdx.x);", index_type_));
      calls();
      return;
    }
    const bool shares = std::ranges::any_of(
        here, [&](std::size_t member) { return members_[member].source.has_barrier; });
    const std::string loop =
        is_tail
            ? fmt::format("for ({0} block = 0; block < {1}; ++block)", index_type_, text(blocks))
            : fmt::format(
                  "for ({0} block = static_cast<{0}>(blockIdx.x); block < {1}; block += "
                  "static_cast<{0}>(gridDim.x))",
                  index_type_, text(blocks));
    out_.block(loop, [&] {
      calls();
      // The next block has the same shared memory, and may need what a tail has stored.
      if (shares || is_tail) out_.line("block_barrier();");
    });
  }

  /// The larger one; of symbols the sum, since blocks without work do no harm.
  static Extent most_blocks(Extent before, Extent here, bool is_first) {
    if (is_first) return here;
    if (before.is_number() && here.is_number()) return std::max(before.number(), here.number());
    return before + here;
  }

  void write_calls(const std::vector<std::size_t>& here, const std::vector<std::string>& starts) {
    for (std::size_t i = 0; i < here.size(); ++i) {
      const bool is_last = i + 1 == here.size();
      const std::string block = i == 0 ? "block" : fmt::format("block - {}", atomic(starts[i]));
      const std::string text = call(here[i], block);
      if (here.size() == 1) return out_.line(text);
      const std::string condition =
          is_last ? "" : fmt::format("if (block < {})", atomic(starts[i + 1]));
      out_.line((i == 0 ? "" : is_last ? "else" : "else ") + condition);
      out_.line("  " + text);
    }
  }

  // --- the whole --------------------------------------------------------------------------------

  void finish() {
    std::string text = fmt::format("// sinter kernel {} · {} kernels in {} phase{} · threads {}\n",
                                   source_.entry, members_.size(), phases(kernel_),
                                   phases(kernel_) == 1 ? "" : "s", source_.threads);
    text += traffic_comment(shown_) + reproduce_comment(program_, kernel_) + "\n";
    for (const MemberFunction& member : members_) text += member.text + "\n";
    std::vector<std::string> parameters;
    for (Parameter& parameter : parameters_) {
      Argument& argument = parameter.argument;
      if (argument.kind == Argument::Kind::buffer) {
        const DType dtype = program_.buffers[static_cast<std::size_t>(argument.index)].dtype;
        argument.c_type =
            fmt::format("{}{}*{}", parameter.is_const ? "const " : "", info(dtype).c_name,
                        parameter.is_restrict ? " __restrict__" : "");
      }
      parameters.push_back(fmt::format("{} {}", argument.c_type, parameter.name));
      source_.arguments.push_back(argument);
    }
    text += fmt::format("extern \"C\" __global__ void __launch_bounds__({})\n{}({}) {{\n",
                        source_.threads, source_.entry,
                        fmt::join(parameters, ",\n" + std::string(source_.entry.size() + 1, ' ')));
    source_.text = text + out_.text() + "}\n";
  }

  const Program& program_;
  const Kernel& kernel_;
  const Schedule& schedule_;
  NameSet names_;
  std::vector<MemberFunction> members_;
  std::vector<Parameter> parameters_;
  std::string_view index_type_ = "int";
  SourceWriter out_{1};
  Source source_;
  Traffic shown_;  ///< where every member has work
};

}  // namespace

Source write_joined(const Program& program, const Kernel& kernel, const Schedule& schedule,
                    std::string_view entry) {
  return JoinedWriter(program, kernel, schedule, entry).write();
}

}  // namespace sinter
