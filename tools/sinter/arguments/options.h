// The options that several commands share.
#pragma once

#include "tools/sinter/arguments/arguments.h"
#include "tools/sinter/commands/command.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <CLI/CLI.hpp>

namespace sinter::command {

/// Makes parsing set `action` to `work(*arguments)` if the command line selects `command`. Work
/// without a result succeeds unless it throws.
template <class Arguments, class Work>
void set_action(CLI::App& command, Action& action, const std::shared_ptr<Arguments>& arguments,
                Work work) {
  command.final_callback([&action, arguments, work] {
    action = [arguments, work] {
      if constexpr (std::is_void_v<decltype(work(*arguments))>) {
        work(*arguments);
        return true;
      } else {
        return work(*arguments);
      }
    };
  });
}

/// The same for a command on a graph: the action calls finish_graph_arguments first.
template <class Arguments, class Work>
void set_graph_action(CLI::App& command, Action& action,
                      const std::shared_ptr<Arguments>& arguments, Work work) {
  set_action(command, action, arguments, [work](Arguments& given) {
    finish_graph_arguments(given.graph);
    return work(given);
  });
}

/// Accepts one of these words.
CLI::Validator one_of(std::span<const char* const> words);
/// Accepts decimal digits only, without octal numbers or rounding to the range.
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most);
/// Makes all options reject empty values, which a shell makes of unset variables.
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
/// --repeats, described by `what`
void add_repeats(CLI::App& command, int& repeats, const char* what);
/// --device and --seed
void add_device_and_seed(CLI::App& command, std::string& device, std::uint64_t& seed);

}  // namespace sinter::command
