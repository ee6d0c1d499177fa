// `sinter dump`: shows the result of one compilation stage.
#include "runtime/logging/dump.h"
#include "compiler/plan.h"
#include "runtime/compile/nvrtc_units.h"
#include "runtime/execution/make_variant.h"
#include "runtime/observe/emitted.h"
#include "sinter/error.h"
#include "sinter/text.h"
#include "tools/sinter/arguments/options.h"
#include "tools/sinter/files/text_file.h"
#include "tools/sinter/output/launch_text.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string>

#include <fmt/format.h>

namespace sinter::command {

namespace {

namespace fs = std::filesystem;

/// The stages that dump knows, in the order of compilation.
constexpr const char* kDumpStages[] = {"graph", "lower",    "fold",          "simplify",
                                       "fuse",  "schedule", "fuse_launches", "source",
                                       "ptx",   "cubin",    "launch"};

struct DumpArguments {
  GraphArguments graph;
  NumericsArguments numerics;
  std::string stage = "source";
  std::string arch = "sm_90";
  std::string kernel;     ///< index or name; empty: all kernels
  std::string directory;  ///< empty: standard output
};

/// Text for standard output, or for a file in the output folder.
struct Piece {
  std::string file;
  std::string text;
};

/// The text that `stage`, a pass of the compiler, dumps.
std::string text_after(std::string_view stage, const Graph& graph, const Target& target,
                       const SymbolSizes& sizes, Numerics numerics) {
  std::string result;
  PlanOptions options = plan_options(numerics);
  options.dump = [&](std::string_view pass, const std::string& text) {
    if (pass == stage) result = text;
  };
  plan(graph, target, {.symbols = sizes.values}, without_views(graph, std::move(options)));
  if (result.empty()) throw UserError(fmt::format("stage {}: SINTER_SKIP skips this pass", stage));
  return result;
}

std::string describe_kernels(std::span<const EmittedProgram::Item> kernels) {
  if (kernels.empty()) return "the program has no kernel";
  const std::string first = kernels.front().kernel->name;
  if (kernels.size() == 1) return fmt::format("the program has the kernel 0, {}", first);
  return fmt::format("the program has the kernels 0 to {}, {} to {}", kernels.size() - 1, first,
                     kernels.back().kernel->name);
}

/// The indices of the kernels that `wanted` names; all kernels if it is empty. Throws UsageError if
/// there is no such kernel.
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
        fmt::format("--kernel {}: there is no such kernel; {}", wanted, describe_kernels(kernels)));
  return all;
}

NvrtcUnit unit_of(const Source& source, const Target& target, const std::string& stage) {
  const std::string reason = nvrtc_problem();
  if (!reason.empty()) throw DriverError(fmt::format("stage {} needs NVRTC: {}", stage, reason));
  return compile_unit({&source, 1}, std::string(target.arch));
}

/// The file extension of a stage with one file per kernel; empty for other stages.
std::string_view ending_of(const std::string& stage) {
  if (stage == "source") return "cu";
  if (stage == "launch") return "txt";
  return stage == "ptx" || stage == "cubin" ? std::string_view(stage) : std::string_view();
}

/// The result of `stage` for one kernel. Opaque calls only have the source.
std::string compiled_text(const EmittedProgram::Item& item, const Target& target,
                          const std::string& stage) {
  if (stage == "source" || item.is_call()) return item.source.text;
  const NvrtcUnit unit = unit_of(item.source, target, stage);
  if (stage == "ptx") return unit.ptx;
  return {reinterpret_cast<const char*>(unit.image.data()), unit.image.size()};
}

std::vector<Piece> kernel_pieces(const DumpArguments& arguments, const Graph& graph,
                                 const Target& target, const SymbolSizes& sizes) {
  const EmittedProgram program(graph, target, sizes.values,
                               plan_options(numerics_of(arguments.numerics)));
  std::vector<std::string> launches;
  if (arguments.stage == "launch") launches = launch_texts(program, sizes.values);
  std::vector<Piece> pieces;
  for (const std::size_t i : find_kernels(arguments.kernel, program.kernels())) {
    const EmittedProgram::Item& item = program.kernels()[i];
    if (arguments.stage == "cubin" && item.is_call()) continue;
    pieces.push_back(
        {.file = fmt::format("{}.{}", item.kernel->name, ending_of(arguments.stage)),
         .text = launches.empty() ? compiled_text(item, target, arguments.stage) : launches[i]});
  }
  return pieces;
}

void write_files(const std::string& directory, std::span<const Piece> pieces) {
  std::error_code error;
  fs::create_directories(directory, error);
  for (const Piece& piece : pieces) {
    const fs::path path = fs::path(directory) / piece.file;
    write_text_file(path, piece.text);
    fmt::print("{}\n", path.string());
  }
}

void dump(const DumpArguments& arguments) {
  const bool is_of_kernels = !ending_of(arguments.stage).empty();
  const bool is_binary = arguments.stage == "cubin";
  if (!arguments.kernel.empty() && !is_of_kernels)
    throw UsageError(
        "--kernel: only the stages source, ptx, cubin and launch have one result per kernel");
  if (is_binary && arguments.directory.empty())
    throw UsageError("--stage cubin: cubins are not text; give a folder for them with -o DIR");
  const Target& target = target_of(arguments.arch);
  const Graph graph = read_graph(arguments.graph.file);
  const SymbolSizes sizes = choose_sizes(graph, arguments.graph.sizes);

  std::vector<Piece> pieces;
  if (is_of_kernels) {
    pieces = kernel_pieces(arguments, graph, target, sizes);
  } else {
    std::string text =
        arguments.stage == "graph"
            ? print(graph)
            : text_after(arguments.stage, graph, target, sizes, numerics_of(arguments.numerics));
    pieces.push_back(
        {.file = fmt::format("{}_{}.{}", graph.name(), arguments.stage, extension_of(text)),
         .text = std::move(text)});
  }

  const std::string text = sizes.text(graph);
  const std::string head = text.empty() ? "" : fmt::format("// sizes: {}\n", text);
  if (!is_binary)
    for (Piece& piece : pieces) piece.text = head + piece.text;
  if (!arguments.directory.empty()) return write_files(arguments.directory, pieces);
  for (std::size_t i = 0; i < pieces.size(); ++i)
    fmt::print("{}{}", i == 0 ? "" : "\n", pieces[i].text);
}

}  // namespace

void declare_dump(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<DumpArguments>();
  CLI::App& command = *app.add_subcommand("dump", "Show the result of one compilation stage");
  add_graph(command, arguments->graph);
  command.add_option("--stage", arguments->stage, "The stage to show")
      ->type_name("STAGE")
      ->check(one_of(kDumpStages))
      ->capture_default_str();
  add_arch(command, arguments->arch);
  add_numerics(command, arguments->numerics);
  command.add_option("--kernel", arguments->kernel, "Only this kernel, by index (from 0) or name")
      ->type_name("KERNEL");
  command.add_option("-o,--output", arguments->directory, "Write files into this folder")
      ->type_name("DIR");
  command.footer(
      "Example:\n  sinter dump softmax.sinter --stage source --arch sm_90 --size rows=4096");
  set_graph_action(command, action, arguments, dump);
}

}  // namespace sinter::command
