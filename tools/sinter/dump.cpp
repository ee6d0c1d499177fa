#include "tools/sinter/dump.h"

#include "compiler/plan.h"
#include "runtime/emitted.h"
#include "runtime/make_variant.h"
#include "runtime/nvrtc_units.h"
#include "sinter/error.h"
#include "sinter/text.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

namespace sinter::command {

namespace {

namespace fs = std::filesystem;

/// Text for standard output, or for a file of this name in a folder.
struct Piece {
  std::string file;
  std::string text;
};

/// The text that `stage`, a pass of the compiler, leaves.
std::string text_after(std::string_view stage, const Graph& graph, const Target& target,
                       const SymbolSizes& sizes, Numerics numerics) {
  std::string result;
  PlanOptions options = plan_options(numerics);
  options.dump = [&](std::string_view pass, const std::string& text) {
    if (pass == stage) result = text;
  };
  plan(graph, target, {.symbols = sizes.values}, without_views(graph, std::move(options)));
  if (result.empty())
    throw UserError(fmt::format("stage {}: SINTER_SKIP leaves this pass out", stage));
  return result;
}

std::string describe_kernels(std::span<const EmittedProgram::Item> kernels) {
  if (kernels.empty()) return "the program has no kernel";
  const std::string first = kernels.front().kernel->name;
  if (kernels.size() == 1) return fmt::format("the program has the kernel 0, {}", first);
  return fmt::format("the program has the kernels 0 to {}, {} to {}", kernels.size() - 1, first,
                     kernels.back().kernel->name);
}

/// The numbers of the kernels that `wanted` names: all of them if it is empty.
std::vector<std::size_t> find_kernels(const std::string& wanted,
                                      std::span<const EmittedProgram::Item> kernels) {
  std::vector<std::size_t> all;
  std::size_t number = kernels.size();
  std::from_chars(wanted.data(), wanted.data() + wanted.size(), number);
  const bool is_number =
      !wanted.empty() && std::ranges::all_of(wanted, [](char c) { return c >= '0' && c <= '9'; });
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const bool is_it = is_number
                           ? i == number
                           : wanted == kernels[i].kernel->name || wanted == kernels[i].source.entry;
    if (wanted.empty() || is_it) all.push_back(i);
  }
  if (all.empty() && !wanted.empty())
    throw UsageError(
        fmt::format("--kernel {}: there is none; {}", wanted, describe_kernels(kernels)));
  return all;
}

std::string ptx_of(const Source& source, const Target& target) {
  const std::string why_not = why_no_nvrtc();
  if (!why_not.empty()) throw DriverError(fmt::format("stage ptx needs NVRTC: {}", why_not));
  return compile_unit({&source, 1}, std::string(target.arch)).ptx;
}

std::vector<Piece> kernel_pieces(const DumpArguments& arguments, const Graph& graph,
                                 const Target& target, const SymbolSizes& sizes) {
  const EmittedProgram program(graph, target, sizes.values,
                               plan_options(numerics_of(arguments.numerics)));
  const bool is_ptx = arguments.stage == "ptx";
  std::vector<Piece> pieces;
  for (const std::size_t i : find_kernels(arguments.kernel, program.kernels())) {
    const EmittedProgram::Item& item = program.kernels()[i];
    const bool is_compiled = is_ptx && !item.is_call();
    pieces.push_back({.file = fmt::format("{}.{}", item.kernel->name, is_ptx ? "ptx" : "cu"),
                      .text = is_compiled ? ptx_of(item.source, target) : item.source.text});
  }
  return pieces;
}

void write_files(const std::string& directory, std::span<const Piece> pieces) {
  std::error_code error;
  fs::create_directories(directory, error);
  for (const Piece& piece : pieces) {
    const fs::path path = fs::path(directory) / piece.file;
    std::ofstream stream(path, std::ios::binary);
    stream << piece.text;
    if (!stream.flush()) throw UserError(fmt::format("{} cannot be written", path.string()));
    fmt::print("{}\n", path.string());
  }
}

}  // namespace

void dump(const DumpArguments& arguments) {
  const bool is_of_kernels = arguments.stage == "source" || arguments.stage == "ptx";
  if (!arguments.kernel.empty() && !is_of_kernels)
    throw UsageError("--kernel: only the stages source and ptx have kernels of their own");
  const Target& target = target_of(arguments.arch);
  const Graph graph = read_graph(arguments.graph.file);
  const SymbolSizes sizes = choose_sizes(graph, arguments.graph.sizes);

  std::vector<Piece> pieces;
  const std::string file = fmt::format("{}_{}.sinter", graph.name(), arguments.stage);
  if (is_of_kernels)
    pieces = kernel_pieces(arguments, graph, target, sizes);
  else if (arguments.stage == "graph")
    pieces.push_back({.file = file, .text = print(graph)});
  else
    pieces.push_back({.file = file,
                      .text = text_after(arguments.stage, graph, target, sizes,
                                         numerics_of(arguments.numerics))});

  const std::string text = sizes.text(graph);
  const std::string head = text.empty() ? "" : fmt::format("// sizes: {}\n", text);
  for (Piece& piece : pieces) piece.text = head + piece.text;
  if (!arguments.directory.empty()) return write_files(arguments.directory, pieces);
  for (std::size_t i = 0; i < pieces.size(); ++i)
    fmt::print("{}{}", i == 0 ? "" : "\n", pieces[i].text);
}

}  // namespace sinter::command
