// The `sinter` command: works with graphs in text form.
//
// Exit codes: 0 it worked; 1 the work failed (a graph with mistakes, a kernel that does not
// compile, a result beyond its bounds); 2 it was called the wrong way.
#include "sinter/error.h"
#include "tools/sinter/corpus.h"
#include "tools/sinter/dump.h"
#include "tools/sinter/explain.h"
#include "tools/sinter/ops.h"
#include "tools/sinter/profile.h"
#include "tools/sinter/run.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <new>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

namespace sinter::command {

namespace {

constexpr int kWorked = 0;
constexpr int kFailed = 1;
constexpr int kUsage = 2;

/// Returns true if it worked.
using Command = std::function<bool()>;

void add_graph(CLI::App& command, GraphArguments& arguments) {
  command.add_option("FILE", arguments.file, "A graph in text form; - reads standard input")
      ->type_name("");
  command
      .add_option("--size", arguments.sizes,
                  fmt::format("Sizes of symbols; those not given are {}, or less where values "
                              "would be large",
                              kDefaultSize))
      ->type_name("NAME=NUMBER")
      ->delimiter(',');
}

void add_arch(CLI::App& command, std::string& arch) {
  command.add_option("--arch", arch, "The GPU to plan and compile for: sm_80, h200, ...")
      ->type_name("ARCH")
      ->capture_default_str();
}

void add_numerics(CLI::App& command, NumericsArguments& arguments) {
  const auto one_of = [](std::span<const char* const> words) {
    return CLI::IsMember(std::vector<std::string>(words.begin(), words.end()));
  };
  command.add_option("--rounding", arguments.rounding, "Where ops of narrow dtypes round")
      ->type_name("MODE")
      ->check(one_of(kRoundings))
      ->capture_default_str();
  command.add_option("--math", arguments.math, "How functions of f32 are computed on GPUs")
      ->type_name("MODE")
      ->check(one_of(kMaths))
      ->capture_default_str();
}

CLI::Validator not_negative() {
  return {[](const std::string& text) {
            return text.starts_with('-') ? text + " is negative; give a number from 0 on" : "";
          },
          ""};
}

/// Where a graph runs, and on what.
template <class Arguments>
void add_place(CLI::App& command, Arguments& arguments) {
  command
      .add_option("--device", arguments.device,
                  "Where to run: host or cuda; default: cuda if there is a GPU")
      ->type_name("DEVICE")
      ->check(CLI::IsMember({"host", "cuda"}));
  command.add_option("--seed", arguments.seed, "Of the random inputs")
      ->type_name("NUMBER")
      ->check(not_negative())
      ->capture_default_str();
}

void add_dump(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<DumpArguments>();
  CLI::App& command = *app.add_subcommand("dump", "Show what one stage makes of a graph");
  add_graph(command, arguments->graph);
  command.add_option("--stage", arguments->stage, "Which stage")
      ->type_name("STAGE")
      ->check(
          CLI::IsMember(std::vector<std::string>(std::begin(kDumpStages), std::end(kDumpStages))))
      ->capture_default_str();
  add_arch(command, arguments->arch);
  add_numerics(command, arguments->numerics);
  command
      .add_option("--kernel", arguments->kernel, "Only this kernel: its number, from 0, or name")
      ->type_name("KERNEL");
  command.add_option("-o,--output", arguments->directory, "Write files into this folder")
      ->type_name("DIR");
  command.footer(
      "Example:\n  sinter dump softmax.sinter --stage source --arch sm_90 --size rows=4096");
  command.final_callback([arguments, &chosen] {
    chosen = [arguments] {
      settle(arguments->graph);
      dump(*arguments);
      return true;
    };
  });
}

void add_run(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App& command = *app.add_subcommand("run", "Run a graph on random inputs");
  add_graph(command, arguments->graph);
  add_place(command, *arguments);
  command.add_flag("--check", arguments->check,
                   "Judge the results by the oracle, and compare fused with unfused bits");
  command.add_flag("--unfused", arguments->unfused, "One kernel per node");
  add_numerics(command, arguments->numerics);
  command.add_flag("--json", arguments->json, "Print JSON");
  command.footer("Example:\n  sinter run softmax.sinter --device host --size rows=64 --check");
  command.final_callback([arguments, &chosen] {
    chosen = [arguments] {
      settle(arguments->graph);
      return run(*arguments);
    };
  });
}

void add_profile(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<ProfileArguments>();
  CLI::App& command =
      *app.add_subcommand("profile", "Time each kernel of a graph beside a copy of the same bytes");
  add_graph(command, arguments->graph);
  add_place(command, *arguments);
  command.add_option("--repeats", arguments->repeats, "Timed launches of each kernel")
      ->type_name("NUMBER")
      ->check(not_negative())
      ->capture_default_str();
  command.add_flag("--unfused", arguments->unfused, "One kernel per node");
  add_numerics(command, arguments->numerics);
  command.add_flag("--json", arguments->json, "Print JSON");
  command.footer("Example:\n  sinter profile softmax.sinter --size rows=8192");
  command.final_callback([arguments, &chosen] {
    chosen = [arguments] {
      settle(arguments->graph);
      profile(*arguments);
      return true;
    };
  });
}

void add_explain(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<ExplainArguments>();
  CLI::App& command =
      *app.add_subcommand("explain", "Say which kernels a graph becomes, why, and what they cost");
  add_graph(command, arguments->graph);
  add_arch(command, arguments->arch);
  add_numerics(command, arguments->numerics);
  command.add_flag("--json", arguments->json, "Print JSON");
  command.add_option("--html", arguments->html, "Write one HTML page to this file")
      ->type_name("OUT");
  command.footer("Example:\n  sinter explain softmax.sinter --size rows=4096 --arch sm_90");
  command.final_callback([arguments, &chosen] {
    chosen = [arguments] {
      settle(arguments->graph);
      explain(*arguments);
      return true;
    };
  });
}

void add_corpus(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<CorpusArguments>();
  CLI::App& command =
      *app.add_subcommand("corpus", "Say how far every graph of a folder comes, and what it costs");
  command
      .add_option("DIR", arguments->directory, "A folder with .sinter files, also in its folders")
      ->type_name("")
      ->required();
  command.add_option("--stage", arguments->stage, "The last stage to go through")
      ->type_name("STAGE")
      ->check(CLI::IsMember(
          std::vector<std::string>(std::begin(kCorpusStages), std::end(kCorpusStages))))
      ->capture_default_str();
  add_arch(command, arguments->arch);
  command.add_option("--only", arguments->only, "Only files with this in their name")
      ->type_name("TEXT");
  command.add_option("--jobs", arguments->jobs, "Files at a time; 0: one per core")
      ->type_name("NUMBER")
      ->check(not_negative())
      ->capture_default_str();
  command
      .add_option("--limit-elements", arguments->limit_elements,
                  "Stage run: leaves out graphs that have a larger value")
      ->type_name("NUMBER")
      ->check(not_negative())
      ->capture_default_str();
  command.add_flag("--nvrtc", arguments->nvrtc, "Stage run: also compile by NVRTC");
  command.add_flag("--unfused", arguments->unfused, "Stage run: one kernel per node only");
  command.add_flag("--json", arguments->json, "Print JSON");
  command.add_option("--save", arguments->save, "Write the totals to this file, as a baseline")
      ->type_name("FILE");
  command
      .add_option("--compare", arguments->compare,
                  "Fail if a total is worse than in this file of --save")
      ->type_name("FILE");
  command.footer("Example:\n  sinter corpus patterns --stage run --only softmax");
  command.final_callback(
      [arguments, &chosen] { chosen = [arguments] { return corpus(*arguments); }; });
}

void add_ops(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<OpsArguments>();
  CLI::App& command = *app.add_subcommand("ops", "List the ops that graphs are made of");
  command.add_flag("--json", arguments->json, "Print JSON");
  command.footer("Example:\n  sinter ops");
  command.final_callback([arguments, &chosen] {
    chosen = [arguments] {
      ops(*arguments);
      return true;
    };
  });
}

int complain(const std::exception& error, int code) {
  fmt::print(stderr, "sinter: {}\n", error.what());
  return code;
}

/// Runs the command; what it throws becomes a message and an exit code.
int run_command(const Command& command) {
  try {
    const bool worked = command();
    if (std::fflush(stdout) != 0 || std::ferror(stdout))
      throw UserError("the output cannot be written");
    return worked ? kWorked : kFailed;
  } catch (const UsageError& error) {
    return complain(error, kUsage);
  } catch (const TextFailure& error) {
    fmt::print(stderr, "{}\n", error.what());
    return kFailed;
  } catch (const std::bad_alloc&) {
    return complain(std::runtime_error("there is not enough memory"), kFailed);
  } catch (const std::exception& error) {
    return complain(error, kFailed);
  }
}

/// Throws UsageError where the first word is no command.
void check_command(const CLI::App& app, int count, char** words) {
  const std::string first = count > 1 ? words[1] : "";
  if (first.starts_with('-') && first != "-") return;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  if (std::ranges::find(names, first) == names.end())
    throw UsageError(fmt::format(
        "{}; the commands are {}: see sinter --help",
        first.empty() ? "a command is missing" : fmt::format("there is no command {}", first),
        fmt::join(names, ", ")));
}

int parse_and_run(int count, char** words) {
  CLI::App app("sinter: fused kernels from graphs in text form", "sinter");
  app.set_version_flag("--version", "sinter " SINTER_VERSION);
  app.require_subcommand(1);
  app.footer(
      "sinter COMMAND --help shows the options of a command and an example.\n"
      "Exit codes: 0 it worked, 1 the work failed, 2 it was called the wrong way.");
  Command chosen;
  add_dump(app, chosen);
  add_run(app, chosen);
  add_profile(app, chosen);
  add_explain(app, chosen);
  add_corpus(app, chosen);
  add_ops(app, chosen);
  try {
    check_command(app, count, words);
    app.parse(count, words);
  } catch (const UsageError& error) {
    return complain(error, kUsage);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kWorked : kUsage;
  }
  return run_command(chosen);
}

}  // namespace

}  // namespace sinter::command

int main(int count, char** words) { return sinter::command::parse_and_run(count, words); }
