#include "tools/sinter/commands/load_program.h"

#include "runtime/execution/executable_state.h"
#include "runtime/saved/read_saved.h"
#include "tools/sinter/arguments/arguments.h"

namespace sinter::command {

LoadedProgram load_program(const std::string& file, Device device) {
  if (!is_saved_executable(file)) return {.graph = read_graph(file)};
  const std::vector<std::byte> bytes = read_trusted_file(file);
  const SavedExecutable saved = read_saved(bytes, file);
  LoadedProgram program{
      .graph = graph_of(saved.program, file),
      .executable = load(file, device, {.options = options_from_environment()}, file.c_str(), 1),
      .numerics = saved.program.numerics};
  const auto variants = program.executable->state()->variants();
  if (!variants.empty()) program.sizes = variants.front()->program.facts.symbols;
  return program;
}

}  // namespace sinter::command
