#include "tools/sinter/output/launch_text.h"

#include "compiler/body/sub_buffer.h"
#include "ir/graph/node.h"
#include "ir/shape/extent.h"
#include "runtime/execution/launch_set.h"
#include "tools/sinter/output/format_numbers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sinter::command {

namespace {

class LaunchWriter {
 public:
  LaunchWriter(const EmittedProgram& emitted, std::span<const std::int64_t> symbols)
      : symbols_(symbols), variant_{.program = emitted.program()} {
    for (const EmittedProgram::Item& item : emitted.kernels())
      variant_.kernels.push_back({.source = item.source, .schedule = item.kernel->schedule});
    layout_ = lay_out(variant_, MemoryPlanner(variant_.program), symbols);
  }

  std::string write(std::size_t number) const {
    const Kernel& kernel = variant_.program.kernels[number];
    const Source& source = variant_.kernels[number].source;
    if (kernel.kind == KernelKind::opaque)
      return fmt::format(
          "step {}: {}\n  calls {} on the stream; its workspace is not included in the size of the "
          "arena\n{}",
          number, kernel.name, attribute(*kernel.nodes.front(), "function").text, waits(kernel));
    const std::int64_t grid = evaluate(source.grid, symbols_);
    std::string text = fmt::format(
        "step {}: {}{}\n  kernel {}\n  grid {}{}, block {}{}, {} of shared memory{}\n{}", number,
        kernel.name, grid == 0 ? " (no blocks: not launched)" : "", source.entry, grid,
        source.is_cooperative ? " or as many as are resident at once" : "", source.threads,
        source.cluster > 1 ? fmt::format(", cluster {}", source.cluster) : "",
        bytes_text(source.shared_bytes),
        source.may_start_early ? ", starts early if its machine code permits it" : "",
        waits(kernel));
    for (std::size_t i = 0; i < source.arguments.size(); ++i)
      text += argument_line("argument", i, source.arguments[i], number);
    for (std::size_t i = 0; i < source.table.size(); ++i)
      text += argument_line("table", i, source.table[i], number);
    return text;
  }

  std::string head() const {
    return fmt::format("program {}: {}, {} of arena, {}, {} of tables\n",
                       variant_.program.graph->name(),
                       counted(static_cast<std::int64_t>(variant_.kernels.size()), "step"),
                       bytes_text(layout_.arena_bytes), counted(layout_.tickets, "ticket"),
                       bytes_text(layout_.table_bytes));
  }

 private:
  std::string waits(const Kernel& kernel) const {
    if (kernel.depends_on.empty()) return "  after nothing\n";
    std::vector<std::string> names;
    for (const int earlier : kernel.depends_on)
      names.push_back(
          fmt::format("step {} ({})", earlier,
                      variant_.program.kernels[static_cast<std::size_t>(earlier)].name));
    return fmt::format("  after {}\n", fmt::join(names, ", "));
  }

  std::string argument_line(const char* list, std::size_t place, const Argument& argument,
                            std::size_t number) const {
    return fmt::format("  {} {}: {}{}{}\n", list, place, argument.c_type,
                       argument.c_type.empty() ? "" : " ", value_of(argument, number));
  }

  std::string value_of(const Argument& argument, std::size_t number) const {
    const auto from = [&](std::int64_t unit) { return evaluate(argument.extent, symbols_) * unit; };
    switch (argument.kind) {
      case Argument::Kind::buffer: return buffer_text(static_cast<std::size_t>(argument.index));
      case Argument::Kind::scalar:
        return "scalar " +
               variant_.program.graph->data().inputs[static_cast<std::size_t>(argument.index)].name;
      case Argument::Kind::extent:
        return fmt::format("{} = {}", to_string(argument.extent), from(1));
      case Argument::Kind::workspace:
        return fmt::format("workspace at arena + {}", layout_.workspace_offsets[number] + from(1));
      case Argument::Kind::tickets:
        return fmt::format("tickets from {} on", layout_.ticket_offsets[number] + from(1));
      case Argument::Kind::table:
        return fmt::format("table at tables + {}", layout_.table_offsets[number]);
      case Argument::Kind::table_values: return "the table below";
    }
    return {};
  }

  /// The array that contains the buffer, the offset in it, and the size in bytes.
  std::string buffer_text(std::size_t index) const {
    const Buffer& buffer = variant_.program.buffers[index];
    const std::string bytes = bytes_text(bytes_of(buffer, symbols_));
    if (buffer.kind == Buffer::Kind::temporary)
      return fmt::format("{} at arena + {}, {}", variant_.program.name_of(buffer),
                         layout_.buffer_offsets[index], bytes);
    const char* const kind = buffer.kind == Buffer::Kind::input ? "input" : "output";
    if (buffer.parent < 0) return fmt::format("{} {}, {}", kind, buffer.name, bytes);
    const Buffer& whole = variant_.program.buffers[static_cast<std::size_t>(buffer.parent)];
    return fmt::format("{} {} + {}, {}", kind, whole.name, offset_bytes(buffer, symbols_), bytes);
  }

  std::span<const std::int64_t> symbols_;
  Variant variant_;  ///< without loaded functions
  ScratchLayout layout_;
};

}  // namespace

std::vector<std::string> launch_texts(const EmittedProgram& emitted,
                                      std::span<const std::int64_t> symbols) {
  const LaunchWriter writer(emitted, symbols);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < emitted.kernels().size(); ++i) texts.push_back(writer.write(i));
  // The first paragraph begins with a summary of the program.
  if (!texts.empty()) texts.front() = writer.head() + "\n" + texts.front();
  return texts;
}

}  // namespace sinter::command
