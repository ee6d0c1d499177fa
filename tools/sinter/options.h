// The options that several commands share.
#pragma once

#include "tools/sinter/arguments.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace sinter::command {

/// One of these words.
CLI::Validator one_of(std::span<const char* const> words);
CLI::Validator not_negative();

/// --size
void add_sizes(CLI::App& command, std::vector<std::string>& sizes);
/// FILE and --size.
void add_graph(CLI::App& command, GraphArguments& arguments);
/// --arch
void add_arch(CLI::App& command, std::string& arch);
/// --rounding and --math
void add_numerics(CLI::App& command, NumericsArguments& arguments);
/// --device
void add_device(CLI::App& command, std::string& device);
/// --quiet
void add_quiet(CLI::App& command, bool& quiet);
/// --device and --seed: where a graph runs, and on what.
void add_place(CLI::App& command, std::string& device, std::uint64_t& seed);

}  // namespace sinter::command
