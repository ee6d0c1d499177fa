// Measures facts about a GPU that sinter otherwise assumes: the planner's constants, and the errors
// of approximate instructions.
#include <cstdio>
#include <exception>
#include <functional>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "bench/approximations/measure_command.h"
#include "bench/constants/measure_command.h"

int main(int count, char** words) {
  CLI::App app("Measures facts about a GPU that sinter otherwise assumes", "measure_gpu");
  std::function<int()> action;
  sinter::constants::declare(app, action);
  sinter::approximations::declare(app, action);
  app.require_subcommand(1);
  app.footer("Exit status: 0 all is measured, 1 some is not, 2 usage.");
  try {
    app.parse(count, words);
    return action();
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "measure_gpu: {}\n", error.what());
    return 1;
  }
}
