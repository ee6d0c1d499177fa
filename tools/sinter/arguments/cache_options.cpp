#include "tools/sinter/arguments/options.h"
#include "tools/sinter/commands/cache.h"

#include <charconv>
#include <limits>
#include <system_error>

#include <fmt/format.h>

namespace sinter::command {

namespace {

constexpr double kMaxDays = 100'000;

/// Accepts a number of days, which may have a fraction.
CLI::Validator days() {
  return {[](const std::string& text) -> std::string {
            double number = 0;
            const char* const end = text.data() + text.size();
            const auto [stop, error] = std::from_chars(text.data(), end, number);
            if (error != std::errc{} || stop != end || !(number >= 0 && number <= kMaxDays))
              return fmt::format("{} is not a number of days from 0 to {}", text, kMaxDays);
            return {};
          },
          ""};
}

}  // namespace

void declare_cache(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<CacheArguments>();
  CLI::App& cache =
      *app.add_subcommand("cache", "Show, check and empty the disk cache of compiled kernels");
  cache.require_subcommand(1);
  cache.footer("Example:\n  sinter cache stats");
  const auto add = [&](const char* name, const char* what, const char* example,
                       auto work) -> CLI::App& {
    CLI::App& command = *cache.add_subcommand(name, what);
    command.footer(std::string("Example:\n  ") + example);
    set_action(command, action, arguments, work);
    return command;
  };
  add("ls", "List the entries, most recently used first", "sinter cache ls --json", list_entries)
      .add_flag("--json", arguments->json, "Print JSON");
  add("stats", "Count entries and bytes, by kind", "sinter cache stats", sum_entries)
      .add_flag("--json", arguments->json, "Print JSON");
  add("verify", "Verify the checksums of all entries; exit 1 if an entry is damaged",
      "sinter cache verify --repair", verify_entries)
      .add_flag("--repair", arguments->repair, "Remove damaged entries");
  CLI::App& prune = add("prune", "Remove the least recently used entries",
                        "sinter cache prune --bytes 1000000000 --age 30", prune_entries);
  prune
      .add_option("--bytes", arguments->bytes,
                  "Remove entries until at most this many bytes remain")
      ->type_name("NUMBER")
      ->transform(whole_number(0, std::numeric_limits<std::int64_t>::max()));
  prune
      .add_option("--age", arguments->days, "Remove entries that were not used for this many days")
      ->type_name("DAYS")
      ->check(days());
  add("clear", "Remove all entries", "sinter cache clear --yes", clear_entries)
      .add_flag("--yes", arguments->yes, "Do not ask for confirmation");
  add("path", "Print the folder of the disk cache", "sinter cache path",
      [](const CacheArguments&) { print_cache_path(); });
}

}  // namespace sinter::command
