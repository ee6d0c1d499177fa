// `sinter cache`: what the disk cache holds, whether it is sound, and taking it away.
#pragma once

#include "tools/sinter/commands/command.h"

#include <cstdint>
#include <optional>

namespace sinter::command {

struct CacheArguments {
  bool json = false;
  bool repair = false;                ///< verify: take damaged entries away
  bool yes = false;                   ///< clear: do not ask
  std::optional<std::int64_t> bytes;  ///< prune: down to as many
  std::optional<double> days;         ///< prune: what was not used for longer
};

void list_entries(const CacheArguments& arguments);
void sum_entries(const CacheArguments& arguments);
/// False if an entry is damaged and still there, or a file is not the cache's.
bool verify_entries(const CacheArguments& arguments);
void prune_entries(const CacheArguments& arguments);
void clear_entries(const CacheArguments& arguments);
void print_cache_path();

void declare_cache(CLI::App& app, Command& chosen);

}  // namespace sinter::command
