// `sinter cache`: lists, verifies and removes the entries of the disk cache.
#include "runtime/cache/cache_contents.h"
#include "runtime/cache/cache_directory.h"
#include "runtime/cache/stored_units.h"
#include "runtime/support/json_tree.h"
#include "sinter/error.h"
#include "tools/sinter/arguments/options.h"
#include "tools/sinter/output/format_numbers.h"
#include "tools/sinter/output/machine.h"
#include "tools/sinter/output/streams.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace sinter::command {

namespace {

namespace fs = std::filesystem;

struct CacheArguments {
  bool json = false;
  bool repair = false;                ///< verify: remove damaged entries
  bool yes = false;                   ///< clear: do not ask for confirmation
  std::optional<std::int64_t> bytes;  ///< prune: the size to shrink to
  std::optional<double> days;         ///< prune: remove entries that were not used for longer
};

/// In the order of StoredKind, then damaged entries.
constexpr const char* kKindNames[] = {"gpu kernels", "host kernels", "host object", "tunings",
                                      "algorithm",   "compiler",     "damaged"};
constexpr std::size_t kDamagedKind = std::size(kKindNames) - 1;

struct OpenedCache {
  std::string directory;
  std::string entries_folder;
  bool is_there = false;  ///< false if nothing was ever stored
};

/// Throws UserError with the cache's reason if the folder cannot be used. Creates nothing.
OpenedCache open_cache(CacheOwner owner) {
  OpenedCache cache{.directory = cache_options().directory, .entries_folder = {}};
  if (cache.directory.empty()) cache.directory = default_cache_directory();
  cache.entries_folder = entries_folder_of(cache.directory);
  struct stat status = {};
  for (const std::string& folder : {cache.directory, cache.entries_folder}) {
    if (!folder.empty() && stat(folder.c_str(), &status) != 0 && errno == ENOENT) return cache;
    if (const std::string why = open_cache_directory(folder, owner); !why.empty())
      throw UserError("the disk cache: " + why);
  }
  cache.is_there = true;
  return cache;
}

/// A listed entry with the results of its check.
struct KnownEntry {
  CachedEntry files;
  std::size_t kind = kDamagedKind;  ///< of kKindNames
  std::string damage = {};
  bool is_foreign = false;
  std::string arch = {};
  std::vector<std::string> kernels = {};
};

/// The existing entries, most recently used first.
std::vector<KnownEntry> read_entries(const OpenedCache& cache) {
  std::vector<KnownEntry> result;
  if (!cache.is_there) return result;
  CacheContents contents = list_cache(cache.entries_folder);
  std::ranges::reverse(contents.entries);
  for (CachedEntry& listed : contents.entries) {
    CheckedEntry checked = check_entry(listed);
    if (checked.is_gone) continue;
    KnownEntry entry{.files = std::move(listed), .damage = std::move(checked.damage)};
    entry.is_foreign = checked.is_foreign;
    if (entry.damage.empty()) {
      StoredDescription stored = describe_stored(checked.payload);
      entry.kind = static_cast<std::size_t>(stored.kind);
      entry.arch = std::move(stored.arch);
      entry.kernels = std::move(stored.entries);
    }
    result.push_back(std::move(entry));
  }
  return result;
}

std::int64_t seconds_since(fs::file_time_type time) {
  const auto age = fs::file_time_type::clock::now() - time;
  return std::max<std::int64_t>(std::chrono::duration_cast<std::chrono::seconds>(age).count(), 0);
}

/// `40 s`, `12 min`, `5 h`, `3 days`
std::string age_text(std::int64_t seconds) {
  if (seconds < 120) return fmt::format("{} s", seconds);
  if (seconds < 120 * 60) return fmt::format("{} min", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{} h", seconds / 3600);
  return fmt::format("{} days", seconds / 86400);
}

nlohmann::ordered_json entry_json(const KnownEntry& entry) {
  nlohmann::ordered_json json = {{"key", entry.files.name},
                                 {"kind", kKindNames[entry.kind]},
                                 {"bytes", entry.files.bytes},
                                 {"age_seconds", seconds_since(entry.files.used)}};
  if (!entry.arch.empty()) json["arch"] = entry.arch;
  if (!entry.kernels.empty()) json["kernels"] = entry.kernels;
  if (!entry.damage.empty()) json["damage"] = entry.damage;
  return json;
}

void print_pruned(const PruneResult& result) {
  if (!result.is_done)
    throw UserError(fmt::format(
        "the disk cache: another process has locked it for {} s, or its file system has no locks; "
        "try again",
        kLongestCacheWait.count()));
  fmt::print("removed {} entr{}, {}\n", result.entries, result.entries == 1 ? "y" : "ies",
             bytes_text(result.bytes));
  if (result.error != 0)
    throw UserError(fmt::format("the disk cache: some entries cannot be removed: {}",
                                std::strerror(result.error)));
}

/// Asks for confirmation on the terminal. True if the answer is yes.
bool confirms(const OpenedCache& cache) {
  log_line(fmt::format("Remove everything in {}? [y/N] ", cache.entries_folder));
  const int answer = std::getchar();
  return answer == 'y' || answer == 'Y';
}

void prune(const PruneLimits& limits) {
  const OpenedCache cache = open_cache(CacheOwner::user);
  if (!cache.is_there) return print_pruned({.is_done = true});
  print_pruned(prune_cache(cache.entries_folder, limits));
}

void list_entries(const CacheArguments& arguments) {
  const std::vector<KnownEntry> entries = read_entries(open_cache(CacheOwner::user_or_root));
  if (arguments.json) {
    auto json = nlohmann::ordered_json::array();
    for (const KnownEntry& entry : entries) json.push_back(entry_json(entry));
    fmt::print("{}\n", json_text(json));
    return;
  }
  if (entries.empty()) fmt::print("the disk cache is empty\n");
  for (const KnownEntry& entry : entries) {
    std::string what = fmt::format("{}", fmt::join(entry.kernels, ", "));
    if (!entry.damage.empty()) what = entry.damage;
    fmt::print("{:16.16}  {:12}  {:7} {:>10}  {:>8}  {}\n", entry.files.name,
               kKindNames[entry.kind], entry.arch, bytes_text(entry.files.bytes),
               age_text(seconds_since(entry.files.used)), what);
  }
}

void sum_entries(const CacheArguments& arguments) {
  const OpenedCache cache = open_cache(CacheOwner::user_or_root);
  const std::int64_t bound = cache_options().max_bytes;
  struct Sum {
    std::int64_t entries = 0;
    std::int64_t bytes = 0;
  };
  std::array<Sum, std::size(kKindNames)> kinds;
  Sum all;
  for (const KnownEntry& entry : read_entries(cache)) {
    for (Sum* sum : {&kinds[entry.kind], &all}) {
      ++sum->entries;
      sum->bytes += entry.files.bytes;
    }
  }
  const auto sum_json = [](const Sum& sum) {
    return nlohmann::ordered_json({{"entries", sum.entries}, {"bytes", sum.bytes}});
  };
  if (arguments.json) {
    nlohmann::ordered_json json = {
        {"directory", cache.directory}, {"bound_bytes", bound}, {"all", sum_json(all)}};
    for (std::size_t i = 0; i < kinds.size(); ++i)
      json["kinds"][kKindNames[i]] = sum_json(kinds[i]);
    fmt::print("{}\n", json_text(json));
    return;
  }
  fmt::print("{:14}{}\n{:14}{}\n", "directory", cache.directory, "bound", bytes_text(bound));
  const auto print_sum = [](const char* name, const Sum& sum) {
    fmt::print("{:14}{:6}  {}\n", name, sum.entries, bytes_text(sum.bytes));
  };
  print_sum("entries", all);
  for (std::size_t i = 0; i < kinds.size(); ++i)
    print_sum(fmt::format("  {}", kKindNames[i]).c_str(), kinds[i]);
}

/// False if a damaged entry remains, or a file that does not belong to the cache.
bool verify_entries(const CacheArguments& arguments) {
  const OpenedCache cache =
      open_cache(arguments.repair ? CacheOwner::user : CacheOwner::user_or_root);
  std::int64_t sound = 0, left = 0;
  for (const KnownEntry& entry : read_entries(cache)) {
    if (entry.damage.empty()) {
      ++sound;
      continue;
    }
    const bool is_removed =
        arguments.repair && !entry.is_foreign && remove_damaged(cache.entries_folder, entry.files);
    if (!is_removed) ++left;
    fmt::print("{}: {}{}\n", entry.files.files.front().string(), entry.damage,
               is_removed ? "; removed" : "");
  }
  fmt::print("{} entr{} sound, {} not\n", sound, sound == 1 ? "y is" : "ies are", left);
  if (left > 0 && !arguments.repair)
    log_line("sinter: sinter cache verify --repair removes damaged entries\n");
  return left == 0;
}

void prune_entries(const CacheArguments& arguments) {
  if (!arguments.bytes && !arguments.days)
    throw UsageError("prune: give --bytes, --age or both; sinter cache clear removes everything");
  PruneLimits limits{.bytes = arguments.bytes, .age = {}};
  if (arguments.days)
    limits.age = std::chrono::seconds(static_cast<std::int64_t>(*arguments.days * 86400));
  prune(limits);
}

void clear_entries(const CacheArguments& arguments) {
  const OpenedCache cache = open_cache(CacheOwner::user);
  if (!arguments.yes && !isatty(STDIN_FILENO))
    throw UsageError("clear: standard input is not a terminal; confirm with --yes");
  if (!arguments.yes && cache.is_there && !confirms(cache)) {
    fmt::print("nothing was removed\n");
    return;
  }
  prune({.bytes = 0, .age = {}});
}

void print_cache_path() {
  std::string directory = cache_options().directory;
  if (directory.empty()) directory = default_cache_directory();
  if (directory.empty())
    throw UserError("the disk cache: " + open_cache_directory("", CacheOwner::user_or_root));
  fmt::print("{}\n", directory);
}

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
