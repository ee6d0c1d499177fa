#include "tests/virtual_gpu/mutation/tool/table.h"

#include <map>
#include <sstream>

#include <fmt/format.h>

#include "sinter/error.h"
#include "tests/virtual_gpu/mutation/examination.h"

namespace sinter::virtual_gpu::mutation {

namespace {

constexpr std::string_view kHead = R"(# Mutations

This page shows which check of the [virtual GPU](../../../docs/internals/virtual_gpu.md) catches a synchronising instruction that is missing.
The program `virtual_gpu_mutations` writes it. It removes or weakens each such instruction of the PTX of golden graphs, one at a time. Then it
runs the kernel under these schedules: {}. The first schedule that shows the change is in the table.

A `result` differs from that of the unchanged kernel in at least one bit. `endless` kernels execute 20 times as many instructions. Other
words name a check.

)";

std::vector<std::string> split(const std::string& line, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(line);
  for (std::string part; std::getline(stream, part, separator);) {
    const std::size_t begin = part.find_first_not_of(' ');
    const std::size_t end = part.find_last_not_of(' ');
    parts.push_back(begin == std::string::npos ? "" : part.substr(begin, end - begin + 1));
  }
  return parts;
}

std::string counted(const std::map<std::string, int>& counts) {
  std::string text;
  for (const auto& [what, count] : counts)
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", what, count);
  return text;
}

std::string row_text(const Row& row) {
  return fmt::format("| {} | {} | {} | {} |\n", row.name, row.kind, row.instructions, row.caught);
}

/// The sum of the numbers behind the colons.
int sum_of(const std::string& counts) {
  int sum = 0;
  for (const std::string& one : split(counts, ';'))
    sum += std::stoi(one.substr(one.rfind(':') + 1));
  return sum;
}

}  // namespace

std::vector<Row> rows_of(const Case& one, const std::vector<Examined>& outcomes,
                         std::vector<std::string>& not_caught) {
  std::vector<Row> rows;
  for (int i = 0; i < kMutationKinds; ++i) {
    Row row{.name = one.name, .kind = std::string(name_of(static_cast<MutationKind>(i)))};
    std::map<std::string, int> caught;
    for (const Examined& examined : outcomes) {
      if (examined.kind != row.kind) continue;
      ++row.instructions;
      if (examined.outcome != "nothing") {
        ++caught[fmt::format("{}, {}", examined.outcome, examined.schedule)];
        continue;
      }
      not_caught.push_back(
          fmt::format("{}: nothing shows that {} {} of kernel {}, line {}, is missing; either the "
                      "kernel does not need it, or a check or a size of the case must change",
                      one.name, row.kind, examined.number, examined.kernel, examined.line));
    }
    row.caught = counted(caught);
    if (row.instructions > 0) rows.push_back(std::move(row));
  }
  return rows;
}

std::string page_of(const std::vector<Row>& rows) {
  std::string schedules;
  for (const ScheduleChoice& choice : examined_schedules())
    schedules += (schedules.empty() ? "" : ", ") + name_of(choice);
  std::string page = fmt::format(kHead, schedules);
  page += "## Sums\n\n| instruction | removed | caught | not caught |\n|---|---|---|---|\n";
  for (int i = 0; i < kMutationKinds; ++i) {
    const std::string_view kind = name_of(static_cast<MutationKind>(i));
    int instructions = 0;
    int caught = 0;
    for (const Row& row : rows)
      if (row.kind == kind) {
        instructions += row.instructions;
        caught += sum_of(row.caught);
      }
    page +=
        fmt::format("| {} | {} | {} | {} |\n", kind, instructions, caught, instructions - caught);
  }
  page += "\n## Graphs\n\n| graph | instruction | removed | caught by check, schedule |\n";
  page += "|---|---|---|---|\n";
  for (const Row& row : rows) page += row_text(row);
  return page;
}

std::vector<Row> read_rows(std::string_view page) {
  std::vector<Row> rows;
  std::istringstream lines{std::string(page)};
  bool is_table = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("## ")) is_table = line == "## Graphs";
    if (!is_table || !line.starts_with("| ") || line.starts_with("| graph ")) continue;
    const std::vector<std::string> cells = split(line, '|');
    if (cells.size() < 5)
      throw UserError("the table of mutations has a row without 4 cells: " + line);
    rows.push_back({.name = cells[1],
                    .kind = cells[2],
                    .instructions = std::stoi(cells[3]),
                    .caught = cells[4]});
  }
  return rows;
}

}  // namespace sinter::virtual_gpu::mutation
