// `sinter corpus`: takes every graph in a folder through the stages, and reports costs.
#include "sinter/error.h"
#include "tools/sinter/arguments/options.h"
#include "tools/sinter/files/corpus_file.h"
#include "tools/sinter/files/text_file.h"
#include "tools/sinter/output/corpus_report.h"
#include "tools/sinter/output/progress.h"
#include "tools/sinter/output/streams.h"

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <future>
#include <limits>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

namespace sinter::command {

namespace {

namespace fs = std::filesystem;

struct CorpusArguments {
  std::string directory;
  std::string stage = kCorpusStages[kCorpusStageCount - 1];  ///< the last stage to run
  std::string arch = "sm_90";
  std::string only;  ///< files whose name contains it; empty: all
  int jobs = 0;      ///< files in parallel; 0: one per core
  std::int64_t limit_elements = 4'000'000;
  bool nvrtc = false;
  bool unfused = false;
  bool json = false;
  bool quiet = false;   ///< no progress
  std::string save;     ///< file for the totals; empty: none
  std::string compare;  ///< file with earlier totals; empty: none
};

/// The .sinter files in the folder and its subfolders, sorted by name.
std::vector<CorpusFile> find_files(const CorpusArguments& arguments) {
  std::vector<CorpusFile> files;
  try {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(arguments.directory)) {
      if (!entry.is_regular_file() || entry.path().extension() != ".sinter") continue;
      std::string name = entry.path().lexically_relative(arguments.directory).generic_string();
      if (name.find(arguments.only) == std::string::npos) continue;
      files.push_back({.path = entry.path().string(), .name = std::move(name)});
    }
  } catch (const fs::filesystem_error& error) {
    throw UsageError(
        fmt::format("{} cannot be read: {}", arguments.directory, error.code().message()));
  }
  if (files.empty())
    throw UsageError(fmt::format(
        "{} contains no .sinter file{}", arguments.directory,
        arguments.only.empty() ? "" : fmt::format(" with {} in its name", arguments.only)));
  std::ranges::sort(files, {}, &CorpusFile::name);
  return files;
}

CorpusRequest request_of(const CorpusArguments& arguments) {
  const auto* stage = std::ranges::find(kCorpusStages, arguments.stage);
  return {.last = static_cast<CorpusStage>(stage - std::begin(kCorpusStages)),
          .target = &target_of(arguments.arch),
          .limit_elements = arguments.limit_elements,
          .nvrtc = arguments.nvrtc,
          .unfused_only = arguments.unfused};
}

/// The reports in the order of the files, made by `threads` threads. Calls `ready` with each report
/// as soon as it and all earlier ones are complete.
std::vector<FileReport> run_all(std::span<const CorpusFile> files, const CorpusRequest& request,
                                std::size_t threads,
                                const std::invocable<const FileReport&> auto& ready) {
  std::vector<std::promise<FileReport>> promises(files.size());
  std::vector<std::future<FileReport>> made;
  for (std::promise<FileReport>& promise : promises) made.push_back(promise.get_future());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < files.size(); i = next++)
      promises[i].set_value(run_corpus_file(files[i], request));
  };
  std::vector<std::jthread> workers;  // joined before the variables above are destroyed
  for (std::size_t i = 0; i < std::min(threads, files.size()); ++i) workers.emplace_back(work);
  std::vector<FileReport> reports;
  for (std::future<FileReport>& report : made) {
    reports.push_back(report.get());
    ready(reports.back());
  }
  return reports;
}

/// False if a file failed or a total is worse than the baseline. Throws UsageError if there are no
/// files.
bool corpus(const CorpusArguments& arguments) {
  if (arguments.stage != kCorpusStages[kCorpusStageCount - 1] &&
      (arguments.nvrtc || arguments.unfused))
    throw UsageError(fmt::format("{} applies only to the stage run; omit --stage {}",
                                 arguments.nvrtc ? "--nvrtc" : "--unfused", arguments.stage));
  const CorpusRequest request = request_of(arguments);
  const std::vector<CorpusFile> files = find_files(arguments);
  if (!arguments.save.empty()) require_writable(arguments.save);
  const std::string baseline =
      arguments.compare.empty()
          ? ""
          : read_text_file(arguments.compare, "--compare " + arguments.compare);
  std::size_t name_width = 0;
  for (const CorpusFile& file : files) name_width = std::max(name_width, file.name.size());
  const std::size_t threads = arguments.jobs > 0 ? static_cast<std::size_t>(arguments.jobs)
                                                 : std::thread::hardware_concurrency();

  Progress progress("graphs", files.size(), arguments.quiet);
  const std::vector<FileReport> reports =
      run_all(files, request, std::max<std::size_t>(threads, 1), [&](const FileReport& report) {
        if (!arguments.json) {
          progress.hide();
          fmt::print("{}\n", line_of(report, name_width));
          std::fflush(stdout);  // shows progress if the output is a pipe
        }
        progress.step(report.name);
      });
  progress.hide();
  if (arguments.json)
    fmt::print("{}\n", corpus_json(reports));
  else
    fmt::print("{}", totals_text(reports));
  if (!arguments.save.empty()) write_text_file(arguments.save, corpus_totals_json(reports));
  bool has_fallen = false;
  if (!arguments.compare.empty())
    for (const std::string& fall : regressions(reports, baseline)) {
      log_line(fmt::format("sinter: worse than {}: {}\n", arguments.compare, fall));
      has_fallen = true;
    }
  return !has_fallen && std::ranges::all_of(reports, &std::string::empty, &FileReport::error);
}

}  // namespace

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
      ->check(one_of(kCorpusStages))
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
                  "Fail if a total is worse than in this file, written by --save; - reads "
                  "standard input")
      ->type_name("FILE");
  command.footer("Example:\n  sinter corpus patterns --stage run --only softmax");
  set_action(command, action, arguments, corpus);
}

}  // namespace sinter::command
