#include "compiler/program/print_program.h"

#include "compiler/program/guards.h"
#include "ir/text/print.h"

#include <fmt/format.h>

namespace sinter {

namespace {

class Printer {
 public:
  explicit Printer(const Program& program) : program_(program), names_(program.names()) {}

  std::string run() {
    text_ = fmt::format("program {}: {} of {}\n", program_.graph->name(),
                        counted(std::ssize(program_.kernels), "kernel"),
                        counted(program_.recorded_ops, "recorded op"));
    for (const Kernel& kernel : program_.kernels) print_kernel(kernel);
    for (const Boundary& boundary : program_.boundaries)
      line("{} {} | {} ({}): {}", boundary.is_inside ? "inside" : "boundary", boundary.producer,
           boundary.consumer, bytes_text(boundary.bytes), boundary.reason);
    for (const Guard& guard : program_.guards) line("guard {}: {}", to_string(guard), guard.reason);
    return std::move(text_);
  }

 private:
  template <class... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    text_ += fmt::format(format, std::forward<Arguments>(arguments)...) + "\n";
  }

  void print_kernel(const Kernel& kernel) {
    const bool is_scheduled = !kernel.candidates.empty();
    if (kernel.kind == KernelKind::opaque) {
      line("kernel {}: opaque", kernel.name);
      line("  {}", opaque_text(kernel.nodes, names_));
      print_stores(kernel);
    } else if (kernel.sections.empty()) {
      line("kernel {}{}", kernel.name, is_scheduled ? space_text(kernel) : "");
      print_work(kernel);
    } else {
      line("kernel {}: {} in {}{}", kernel.name, counted(std::ssize(kernel.sections), "section"),
           counted(phases(kernel), "phase"),
           kernel.has_tail ? ", the last block runs the later phases" : "");
    }
    for (const Kernel& section : kernel.sections) {
      line("  phase {}: {}{}", section.phase, section.name, space_text(section));
      print_work(section);
    }
    for (const int before : kernel.depends_on)
      line("  after {}", program_.kernels[static_cast<std::size_t>(before)].name);
    if (is_scheduled) line("  schedule {}", to_string(kernel.schedule));
    for (const Schedule& candidate : kernel.candidates)
      if (!(candidate == kernel.schedule)) line("  candidate {}", to_string(candidate));
    for (const std::string& note : kernel.notes) line("  note {}", note);
  }

  void print_work(const Kernel& kernel) {
    for (const Node* node : kernel.nodes)
      line("  {}: {}", statement_text(*node, names_), type_text(*node));
    print_stores(kernel);
  }

  void print_stores(const Kernel& kernel) {
    for (const Store& store : kernel.stores)
      line("  store {} in {}", names_.of(store.node), buffer_text(store.buffer));
  }

  /// `: pointwise over [rows, 64]`, or `: row_reduce over [rows] of 4096` elements each.
  std::string space_text(const Kernel& kernel) const {
    const std::string text = fmt::format(": {} over {}", name(kernel.kind),
                                         to_string(std::span<const Extent>(kernel.parallel)));
    return kernel.reduced.is(1) ? text : fmt::format("{} of {}", text, to_string(kernel.reduced));
  }

  std::string buffer_text(int index) const {
    const Buffer& buffer = program_.buffers[static_cast<std::size_t>(index)];
    if (buffer.parent >= 0)
      return fmt::format("{} from {}", buffer_text(buffer.parent), to_string(buffer.offset));
    switch (buffer.kind) {
      case Buffer::Kind::input: return fmt::format("input {}", buffer.name);
      case Buffer::Kind::output: return fmt::format("output {}", buffer.name);
      case Buffer::Kind::temporary: return fmt::format("temporary {}", program_.name_of(buffer));
    }
    return {};
  }

  const Program& program_;
  const ValueNames& names_;
  std::string text_;
};

}  // namespace

std::string print(const Program& program) { return Printer(program).run(); }

std::string counted(std::int64_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

std::string bytes_text(double bytes) {
  if (bytes >= 1 << 20) return fmt::format("{:.1f} MiB", bytes / (1 << 20));
  if (bytes >= 1 << 10) return fmt::format("{:.1f} KiB", bytes / (1 << 10));
  return fmt::format("{:.0f} bytes", bytes);
}

}  // namespace sinter
