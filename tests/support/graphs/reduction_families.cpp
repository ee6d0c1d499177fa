#include "tests/support/graphs/reduction_families.h"

#include <fmt/format.h>

#include <iterator>

namespace sinter::test {
namespace {

bool has_cluster(const Schedule& schedule) { return schedule.cluster > 1; }
bool has_splits(const Schedule& schedule) { return schedule.splits > 1; }
bool is_kept(const Schedule& schedule) { return schedule.resident; }
/// Parts of a row in different blocks; for scans, tiles in different blocks with a look-back.
bool is_split(const Schedule& schedule) { return schedule.splits_rows; }

const ReductionFamily kFamilies[] = {
    {.name = "short_rows",
     .shapes = {"7, 64", "7, 63", "5, 61"},
     .reduced = "[1]",
     .axis = 1,
     .kind = "row_reduce"},
    {.name = "long_rows",
     .shapes = {"3, 4096", "3, 4095", "2, 4099"},
     .reduced = "[1]",
     .axis = 1,
     .kind = "row_reduce"},
    {.name = "rows_of_clusters",
     .shapes = {"5, 32768", "5, 32773", "5, 32771"},
     .reduced = "[1]",
     .axis = 1,
     .kind = "row_reduce",
     .is_tested_schedule = has_cluster,
     .statements = "  {x}_h = max {x} {{axes = [1], keep = true}}\n  {x}_d = sub {x}, {x}_h\n"
                   "  {x}_e = min {x}_d {{axes = [1]}}\n",
     .results = ", {x}_e"},
    {.name = "columns",
     .shapes = {"64, 16", "63, 15", "61, 17"},
     .reduced = "[0]",
     .axis = 0,
     .kind = "column_reduce"},
    {.name = "tall_columns",
     .shapes = {"8192, 4", "8191, 3", "8209, 3"},
     .reduced = "[0]",
     .axis = 0,
     .kind = "column_reduce"},
    {.name = "kept_columns",
     .shapes = {"512, 40", "1021, 33", "4099, 9"},
     .reduced = "[0]",
     .has_wide_states = false,
     .kind = "column_reduce",
     .is_tested_schedule = is_kept,
     .statements = "  {x}_w = cast {x} {{to = f32}}\n  {x}_y = softmax {x}_w {{axis = 0}}\n",
     .results = ", {x}_y"},
    {.name = "columns_of_clusters",
     .shapes = {"8192, 24", "8191, 17", "8209, 19"},
     .reduced = "[0]",
     .has_wide_states = false,
     .kind = "column_reduce",
     .is_tested_schedule = has_cluster,
     .statements = "  {x}_h = max {x} {{axes = [0], keep = true}}\n  {x}_d = sub {x}, {x}_h\n"
                   "  {x}_e = min {x}_d {{axes = [0]}}\n",
     .results = ", {x}_d, {x}_e"},
    {.name = "few_columns",
     .shapes = {"8192, 24", "8190, 7", "12289, 5"},
     .reduced = "[0]",
     .axis = 0,
     .has_variance = false,
     .kind = "column_reduce",
     .is_tested_schedule = has_splits},
    {.name = "full",
     .shapes = {"16384", "16383", "16381"},
     .reduced = "[0]",
     .axis = 0,
     .has_variance = false,
     .kind = "full_reduce",
     .is_tested_schedule = is_split},
    {.name = "rows_and_columns",
     .shapes = {"64, 32", "63, 33", "61, 37"},
     .reduced = "[1]",
     .has_wide_states = false,
     .kind = "row_column_reduce",
     .statements = "  {x}_c = sum {x} {{axes = [0]}}\n  {x}_d = max {x} {{axes = [0]}}\n",
     .results = ", {x}_c, {x}_d"},
    {.name = "many_rows_and_columns",
     .shapes = {"1024, 24", "1021, 33"},
     .reduced = "[1]",
     .has_wide_states = false,
     .kind = "row_column_reduce",
     .statements = "  {x}_c = sum {x} {{axes = [0]}}\n  {x}_d = argmin {x} {{axis = 0}}\n",
     .results = ", {x}_c, {x}_d"},
    {.name = "results_of_rows",
     .shapes = {"256, 32", "255, 33", "257, 31"},
     .reduced = "[1]",
     .axis = 1,
     .kind = "row_reduce",
     .statements = "  {x}_e = mul {x}_s, 3\n  {x}_f = sum {x}_e\n  {x}_g = min {x}_e\n",
     .results = ", {x}_f, {x}_g"},
    {.name = "mixed_axes",
     .shapes = {"4, 8, 16, 32", "3, 5, 15, 33", "3, 7, 13, 31"},
     .reduced = "[0, 2]",
     .kind = "column_reduce"},
    {.name = "scans",
     .shapes = {"3, 512", "3, 511", "2, 509"},
     .kind = "scan",
     .statements = "  {x}_a = cumsum {x} {{axis = 1}}\n"
                   "  {x}_b = cummax {x}_a {{axis = 1, reverse = true}}\n"
                   "  {x}_c = cumprod {x} {{axis = 0}}\n",
     .results = "{x}_a, {x}_b, {x}_c"},
    {.name = "look_back_scans",
     .shapes = {"3, 2048", "3, 2047", "2, 2053"},
     .kind = "scan",
     .is_tested_schedule = is_split,
     .statements = "  {x}_a = cumsum {x} {{axis = 1}}\n  {x}_b = cummax {x} {{axis = 1}}\n",
     .results = "{x}_a, {x}_b"},
    {.name = "look_back_scans_of_columns",
     .shapes = {"2048, 3", "2047, 5", "2053, 2"},
     .kind = "scan",
     .is_tested_schedule = is_split,
     .statements = "  {x}_a = cumsum {x} {{axis = 0}}\n",
     .results = "{x}_a"},
};

constexpr DType kDTypes[] = {f32, bf16, f16, f64, i32, i64, u8};

/// The statements for one input, and their results. All its reductions may share a kernel.
struct Statements {
  std::string text;
  std::string results;
};

Statements statements(const ReductionFamily& family, DType dtype, const std::string& x) {
  Statements made;
  const auto add = [&](std::string_view text, std::string_view results) {
    made.text += fmt::format(fmt::runtime(text), fmt::arg("x", x), fmt::arg("axis", family.axis),
                             fmt::arg("axes", family.reduced));
    made.results += fmt::format(fmt::runtime(results), fmt::arg("x", x));
  };
  if (!family.reduced.empty()) {
    add("  {x}_s = sum {x} {{axes = {axes}}}\n", "{x}_s");
    add("  {x}_m = max {x} {{axes = {axes}}}\n", ", {x}_m");
  }
  if (family.axis >= 0) add("  {x}_p = argmax {x} {{axis = {axis}}}\n", ", {x}_p");
  if (is_floating(dtype) && family.has_wide_states && !family.reduced.empty()) {
    if (family.has_variance)
      add("  {x}_v, {x}_n = var_mean {x} {{axes = {axes}}}\n", ", {x}_v, {x}_n");
    add("  {x}_l = logsumexp {x} {{axes = {axes}}}\n", ", {x}_l");
  }
  add(family.statements, family.results);
  return made;
}

}  // namespace

std::vector<ReductionFamily> reduction_families() {
  return {std::begin(kFamilies), std::end(kFamilies)};
}

std::vector<DType> reduction_dtypes() { return {std::begin(kDTypes), std::end(kDTypes)}; }

std::string graph_text(const ReductionFamily& family, DType dtype) {
  return graph_text(family, dtype, family.shapes);
}

std::string graph_text(const ReductionFamily& family, DType dtype,
                       const std::vector<std::string_view>& shapes) {
  std::string inputs;
  std::string body;
  std::string outputs;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const std::string x = fmt::format("x{}", i);
    const std::string_view comma = i == 0 ? "" : ", ";
    inputs += fmt::format("{}{}: {}[{}]", comma, x, name(dtype), shapes[i]);
    const Statements made = statements(family, dtype, x);
    body += made.text;
    outputs += std::string(comma) + made.results;
  }
  return fmt::format("graph {}({}) {{\n{}  return {}\n}}\n", family.name, inputs, body, outputs);
}

}  // namespace sinter::test
