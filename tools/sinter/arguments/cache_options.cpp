#include "tools/sinter/arguments/options.h"
#include "tools/sinter/commands/cache.h"

#include <charconv>
#include <limits>
#include <system_error>

#include <fmt/format.h>

namespace sinter::command {

namespace {

using Arguments = std::shared_ptr<CacheArguments>;

/// Adds a command of `sinter cache`; `work` returns true if it worked.
template <class Work>
CLI::App& add_part(CLI::App& cache, const char* name, const char* what, const char* example,
                   Command& chosen, Work work) {
  CLI::App& command = *cache.add_subcommand(name, what);
  command.footer(std::string("Example:\n  ") + example);
  command.final_callback([&chosen, work] { chosen = work; });
  return command;
}

/// What always works, or throws.
auto that_works(void (*work)(const CacheArguments&), const Arguments& arguments) {
  return [work, arguments] {
    work(*arguments);
    return true;
  };
}

constexpr double kMostDays = 100'000;

/// Also parts of days.
CLI::Validator days() {
  return {[](const std::string& text) -> std::string {
            double number = 0;
            const char* const end = text.data() + text.size();
            const auto [stop, error] = std::from_chars(text.data(), end, number);
            if (error != std::errc{} || stop != end || !(number >= 0 && number <= kMostDays))
              return fmt::format("{} is not a number of days from 0 to {}", text, kMostDays);
            return {};
          },
          ""};
}

}  // namespace

void declare_cache(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<CacheArguments>();
  CLI::App& cache =
      *app.add_subcommand("cache", "Show, check and empty the disk cache of compiled kernels");
  cache.require_subcommand(1);
  cache.footer("Example:\n  sinter cache stats");
  for (CLI::App* command :
       {&add_part(cache, "ls", "List the entries, the latest used first", "sinter cache ls --json",
                  chosen, that_works(list_entries, arguments)),
        &add_part(cache, "stats", "Count entries and bytes, by kind", "sinter cache stats", chosen,
                  that_works(sum_entries, arguments))})
    command->add_flag("--json", arguments->json, "Print JSON");
  add_part(cache, "verify", "Hold every entry against its checksums; exit 1 if any is damaged",
           "sinter cache verify --repair", chosen,
           [arguments] { return verify_entries(*arguments); })
      .add_flag("--repair", arguments->repair, "Remove what is damaged");
  CLI::App& prune = add_part(cache, "prune", "Remove what was used longest ago",
                             "sinter cache prune --bytes 1000000000 --age 30", chosen,
                             that_works(prune_entries, arguments));
  prune.add_option("--bytes", arguments->bytes, "Down to as many bytes")
      ->type_name("NUMBER")
      ->transform(whole_number(0, std::numeric_limits<std::int64_t>::max()));
  prune.add_option("--age", arguments->days, "What was not used for as many days")
      ->type_name("DAYS")
      ->check(days());
  add_part(cache, "clear", "Remove all entries", "sinter cache clear --yes", chosen,
           that_works(clear_entries, arguments))
      .add_flag("--yes", arguments->yes, "Do not ask");
  add_part(cache, "path", "Print where the disk cache lies", "sinter cache path", chosen, [] {
    print_cache_path();
    return true;
  });
}

}  // namespace sinter::command
