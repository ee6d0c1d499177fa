#include "tools/sinter/arguments/options.h"
#include "tools/sinter/commands/corpus.h"

#include <limits>

namespace sinter::command {

void declare_corpus(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<CorpusArguments>();
  CLI::App& command = *app.add_subcommand(
      "corpus", "Plan, compile and run all graphs in a folder, and report costs");
  command
      .add_option("DIR", arguments->directory, "A folder to search for .sinter files, recursively")
      ->type_name("")
      ->required();
  command.add_option("--stage", arguments->stage, "The last stage to run")
      ->type_name("STAGE")
      ->check(CLI::IsMember(
          std::vector<std::string>(std::begin(kCorpusStages), std::end(kCorpusStages))))
      ->capture_default_str();
  add_arch(command, arguments->arch);
  command.add_option("--only", arguments->only, "Only files whose name contains this text")
      ->type_name("TEXT");
  command.add_option("--jobs", arguments->jobs, "Files in parallel; 0: one per core")
      ->type_name("NUMBER")
      ->transform(whole_number(0, 4096))
      ->capture_default_str();
  command
      .add_option("--limit-elements", arguments->limit_elements,
                  "Stage run: skip graphs with a value of more elements")
      ->type_name("NUMBER")
      ->transform(whole_number(0, std::numeric_limits<std::int64_t>::max()))
      ->capture_default_str();
  command.add_flag("--nvrtc", arguments->nvrtc, "Stage run: also compile with NVRTC");
  command.add_flag("--unfused", arguments->unfused, "Stage run: one kernel per node only");
  command.add_flag("--json", arguments->json, "Print JSON");
  add_quiet(command, arguments->quiet);
  command.add_option("--save", arguments->save, "Write the totals to this file, as a baseline")
      ->type_name("FILE");
  command
      .add_option("--compare", arguments->compare,
                  "Fail if a total is worse than in this file, written by --save")
      ->type_name("FILE");
  command.footer("Example:\n  sinter corpus patterns --stage run --only softmax");
  set_action(command, action, arguments, corpus);
}

}  // namespace sinter::command
