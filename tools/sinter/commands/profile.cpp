#include "tools/sinter/commands/profile.h"

#include "ir/oracle/random_inputs.h"
#include "tools/sinter/commands/run_graph.h"
#include "tools/sinter/output/progress.h"

#include <fmt/format.h>

namespace sinter::command {

void profile(const ProfileArguments& arguments) {
  const Numerics numerics = numerics_of(arguments.numerics);
  const Graph graph = read_graph(arguments.graph.file);
  const SymbolSizes sizes = choose_sizes(graph, arguments.graph.sizes);
  const HostArrays inputs = random_inputs(graph, sizes.values, arguments.seed);
  Progress progress(fmt::format("tuning and timing {}", graph.name()), /*total=*/0,
                    arguments.quiet);
  const Profile result = profile_graph(graph, inputs,
                                       {.device = device_named(arguments.device),
                                        .file = arguments.graph.file.c_str(),
                                        .symbols = sizes.values,
                                        .fuse = !arguments.unfused,
                                        .numerics = numerics},
                                       arguments.repeats)
                             .profile;
  progress.hide();
  if (arguments.json)
    fmt::print("{}\n", profile_json(result));
  else
    fmt::print("{}", profile_table(result));
}

}  // namespace sinter::command
