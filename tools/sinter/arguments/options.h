// The options that several commands share.
#pragma once

#include "tools/sinter/arguments/arguments.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace sinter::command {

/// One of these words.
CLI::Validator one_of(std::span<const char* const> words);
/// Of timed launches.
inline constexpr int kMostRepeats = 100'000;

/// Digits, and nothing else: neither octal nor rounded to what fits.
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most);
/// Nothing that takes a value takes an empty one, which a shell makes of a variable that is not
/// set.
void refuse_empty_values(CLI::App& app);

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
