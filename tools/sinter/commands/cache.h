// `sinter cache`: lists, verifies and removes the entries of the disk cache.
#pragma once

#include "tools/sinter/commands/command.h"

#include <cstdint>
#include <optional>

namespace sinter::command {

struct CacheArguments {
  bool json = false;
  bool repair = false;                ///< verify: remove damaged entries
  bool yes = false;                   ///< clear: do not ask for confirmation
  std::optional<std::int64_t> bytes;  ///< prune: the size to shrink to
  std::optional<double> days;         ///< prune: remove entries that were not used for longer
};

void list_entries(const CacheArguments& arguments);
void sum_entries(const CacheArguments& arguments);
/// False if a damaged entry remains, or a file that does not belong to the cache.
bool verify_entries(const CacheArguments& arguments);
void prune_entries(const CacheArguments& arguments);
void clear_entries(const CacheArguments& arguments);
void print_cache_path();

void declare_cache(CLI::App& app, Action& action);

}  // namespace sinter::command
