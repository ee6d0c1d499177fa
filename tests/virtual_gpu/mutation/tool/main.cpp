// virtual_gpu_mutations: the mutation test of the golden graphs' PTX.
//
//     virtual_gpu_mutations show [CASE…]    prints the outcome of each mutation
//     virtual_gpu_mutations list            prints the names of all cases
//     virtual_gpu_mutations write [JOBS]    writes the table; 2 jobs by default
//     virtual_gpu_mutations check [SECONDS] examines a sample and compares it with the table
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include <fmt/format.h>

#include "sinter/error.h"
#include "tests/support/files/read_text.h"
#include "tests/virtual_gpu/mutation/tool/table.h"

namespace sinter::virtual_gpu::mutation {

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kFolder = SINTER_SOURCE_DIR "/tests/virtual_gpu/mutation";

std::string page_file() { return std::string(kFolder) + "/mutations.md"; }

int show(const std::vector<std::string>& names) {
  std::vector<Case> cases;
  for (const std::string& name : names) cases.push_back(find_case(name));
  if (names.empty()) cases = all_cases();
  auto start = Clock::now();
  run_cases(
      cases, names.size() == 1 ? 1 : 2,
      [&](const Case& one, const std::vector<Examined>& outcomes, const std::string& problem) {
        const std::chrono::duration<double> seconds = Clock::now() - start;
        start = Clock::now();
        fmt::print("# {}: {} mutations, {:.1f} s {}\n", one.name, outcomes.size(), seconds.count(),
                   problem);
        for (const Examined& examined : outcomes)
          fmt::print("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", one.name, examined.kernel, examined.number,
                     examined.kind, examined.line, examined.outcome, examined.schedule,
                     examined.message);
        std::fflush(stdout);
      });
  return 0;
}

int list() {
  for (const Case& one : all_cases()) fmt::print("{}\n", one.name);
  return 0;
}

int write(int jobs) {
  const std::vector<Case> cases = all_cases();
  std::map<std::string, std::vector<Row>> rows_by_case;
  std::vector<std::string> problems;
  run_cases(
      cases, jobs,
      [&](const Case& one, const std::vector<Examined>& outcomes, const std::string& problem) {
        if (!problem.empty()) problems.push_back(problem);
        rows_by_case[one.name] = rows_of(one, outcomes, problems);
        fmt::print("{}: {} mutations\n", one.name, outcomes.size());
        std::fflush(stdout);
      });
  std::vector<Row> rows;
  for (const Case& one : cases)
    for (const Row& row : rows_by_case[one.name]) rows.push_back(row);
  std::ofstream(page_file()) << page_of(rows);
  for (const std::string& problem : problems) fmt::print(stderr, "{}\n", problem);
  return problems.empty() ? 0 : 1;
}

std::string text_of(const std::vector<Row>& rows) {
  std::string text;
  for (const Row& row : rows)
    text += fmt::format("  {}, {}: caught {}\n", row.kind, row.instructions,
                        row.caught.empty() ? "-" : row.caught);
  return text;
}

unsigned long sample_seed() {
  if (const char* const given = std::getenv("SINTER_TEST_SEED")) return std::stoul(given);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<unsigned long>(std::chrono::duration_cast<std::chrono::hours>(now).count());
}

/// Examines cases of the table in a random order until the time has passed.
int check(double seconds) {
  std::map<std::string, std::vector<Row>> expected;
  for (Row& row : read_rows(test::read_text(page_file())))
    expected[row.name].push_back(std::move(row));
  std::vector<std::string> names;
  for (const auto& [name, rows] : expected) names.push_back(name);
  const unsigned long seed = sample_seed();
  fmt::print("SINTER_TEST_SEED={} repeats this sample\n", seed);
  std::shuffle(names.begin(), names.end(), std::mt19937_64(seed));
  int failures = 0;
  const auto start = Clock::now();
  for (const std::string& name : names) {
    if (std::chrono::duration<double>(Clock::now() - start).count() > seconds) break;
    run_cases(
        {find_case(name)}, 1,
        [&](const Case& one, const std::vector<Examined>& outcomes, const std::string& problem) {
          std::vector<std::string> problems;
          if (!problem.empty()) problems.push_back(problem);
          const std::vector<Row> rows = rows_of(one, outcomes, problems);
          const bool is_same = rows == expected[name];
          fmt::print("{}: {}\n", name, is_same ? "as in the table" : "not as in the table");
          if (is_same && problems.empty()) return;
          ++failures;
          fmt::print("{}\nthe table has\n{}but the run shows\n{}", fmt::join(problems, "\n"),
                     text_of(expected[name]), text_of(rows));
        });
  }
  if (failures > 0)
    fmt::print(
        "`virtual_gpu_mutations write` writes the table anew; see "
        "docs/internals/virtual_gpu.md\n");
  return failures == 0 ? 0 : 1;
}

int run(const std::vector<std::string>& arguments) {
  const std::string command = arguments.empty() ? "" : arguments[0];
  const std::vector<std::string> rest(arguments.begin() + (arguments.empty() ? 0 : 1),
                                      arguments.end());
  if (command == "show") return show(rest);
  if (command == "list" && rest.empty()) return list();
  if (command == "write" && rest.size() <= 1) return write(rest.empty() ? 2 : std::stoi(rest[0]));
  if (command == "check" && rest.size() <= 1) return check(rest.empty() ? 10 : std::stod(rest[0]));
  throw UserError(
      "usage: virtual_gpu_mutations show [CASE…] | list | write [JOBS] | check [SECONDS]");
}

}  // namespace

}  // namespace sinter::virtual_gpu::mutation

int main(int argc, char** argv) {
  try {
    return sinter::virtual_gpu::mutation::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    fmt::print(stderr, "virtual_gpu_mutations: {}\n", error.what());
    return 2;
  }
}
