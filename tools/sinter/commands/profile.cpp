// `sinter profile`: times each kernel of a graph, and a copy of the same bytes.
#include "ir/oracle/random_inputs.h"
#include "runtime/observe/device_times.h"
#include "tools/sinter/arguments/options.h"
#include "tools/sinter/commands/run_graph.h"
#include "tools/sinter/output/progress.h"

#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace sinter::command {

namespace {

struct ProfileArguments {
  GraphArguments graph;
  NumericsArguments numerics;
  std::string device;  ///< host or cuda; empty: a GPU if there is one, else the host device
  std::uint64_t seed = 0;
  int repeats = 15;
  bool unfused = false;  ///< one kernel per node
  bool quiet = false;    ///< no progress
  bool json = false;
};

void profile(const ProfileArguments& arguments) {
  const Device device = device_named(arguments.device);
  const bool has_times = may_record_times(device.name(), "profile");
  const Numerics numerics = numerics_of(arguments.numerics);
  const Graph graph = read_graph(arguments.graph.file);
  const SymbolSizes sizes = choose_sizes(graph, arguments.graph.sizes);
  const HostArrays inputs = random_inputs(graph, sizes.values, arguments.seed);
  Progress progress(fmt::format("tuning and timing {}", graph.name()), /*total=*/0,
                    arguments.quiet);
  const Profile result = profile_graph(graph, inputs,
                                       {.device = device,
                                        .file = arguments.graph.file.c_str(),
                                        .symbols = sizes.values,
                                        .fuse = !arguments.unfused,
                                        .numerics = numerics},
                                       arguments.repeats)
                             .profile;
  progress.hide();
  if (!has_times) return print_rehearsal(graph, device, arguments.json);
  if (arguments.json)
    fmt::print("{}\n", profile_json(result));
  else
    fmt::print("{}", profile_table(result));
}

}  // namespace

void declare_profile(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<ProfileArguments>();
  CLI::App& command =
      *app.add_subcommand("profile", "Time each kernel of a graph, and a copy of the same bytes");
  add_graph(command, arguments->graph);
  add_device_and_seed(command, arguments->device, arguments->seed);
  add_repeats(command, arguments->repeats, "Timed launches of each kernel");
  command.add_flag("--unfused", arguments->unfused, "One kernel per node");
  add_numerics(command, arguments->numerics);
  add_quiet(command, arguments->quiet);
  command.add_flag("--json", arguments->json, "Print JSON");
  command.footer("Example:\n  sinter profile softmax.sinter --size rows=8192");
  set_graph_action(command, action, arguments, profile);
}

}  // namespace sinter::command
