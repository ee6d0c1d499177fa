// Consistency checks of all rows of the op table.
#include "ir/autodiff/op_vjp.h"
#include "ir/graph/node.h"
#include "ir/ops/op.h"
#include "sinter/ops.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace sinter::op_table_test {
namespace {

std::vector<const OpInfo*> elementwise_rows() {
  std::vector<const OpInfo*> rows;
  for (const OpInfo& row : op_table())
    if (row.kind == OpKind::elementwise) rows.push_back(&row);
  return rows;
}

bool takes_floats(const OpInfo& row) { return supports_dtype(row.types, f32); }
bool takes_integers(const OpInfo& row) {
  return supports_dtype(row.types, u64) || supports_dtype(row.types, boolean);
}

/// `text` with operands and suffix filled in, as in an emitter.
std::string formatted(std::string_view text, const char* suffix) {
  using fmt::arg;
  return fmt::format(fmt::runtime(text), arg("a", "p"), arg("b", "q"), arg("c", "r"),
                     arg("f", suffix));
}

/// The number of placeholders {a}, {b} and {c} that `text` contains.
int operands_in(std::string_view text) {
  int count = 0;
  for (const std::string_view field : {"{a}", "{b}", "{c}"})
    count += text.find(field) != std::string_view::npos;
  return count;
}

TEST(OpTableTest, RowsAreFoundByEnumValueAndName) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < op_table().size(); ++i) {
    const OpInfo& row = op_table()[i];
    EXPECT_EQ(static_cast<std::size_t>(row.op), i) << row.name;
    EXPECT_EQ(&info(row.op), &row) << row.name;
    EXPECT_EQ(find_op(row.name), &row) << row.name;
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
  }
  EXPECT_EQ(find_op("softmax"), nullptr);
}

TEST(OpTableTest, DeviceTextsFormatForEveryType) {
  for (const OpInfo* row : elementwise_rows()) {
    SCOPED_TRACE(row->name);
    EXPECT_EQ(row->cuda.empty(), !takes_floats(*row));
    EXPECT_EQ(row->cuda_integer.empty(), !takes_integers(*row));
    for (const std::string_view text : {row->cuda, row->cuda_integer}) {
      if (text.empty()) continue;
      // isnan of an integer is the constant false.
      const bool is_known = row->types == TypeRule::Predicate && operands_in(text) == 0;
      EXPECT_TRUE(is_known || operands_in(text) == row->arity);
      for (const char* suffix : {"f", ""}) {
        const std::string source = formatted(text, suffix);
        EXPECT_EQ(source.find_first_of("{}"), std::string::npos) << source;
        EXPECT_EQ(std::ranges::count(source, '('), std::ranges::count(source, ')')) << source;
      }
    }
  }
}

TEST(OpTableTest, OraclesAcceptTheArityOfTheRow) {
  const long double reals[] = {0.5L, 0.25L, 0.75L};
  const Wide integers[] = {1, 0, 1};
  for (const OpInfo* row : elementwise_rows()) {
    const auto arity = static_cast<std::size_t>(row->arity);
    EXPECT_GE(row->arity, 1);
    EXPECT_LE(row->arity, 3);
    if (takes_floats(*row)) row->host({reals, arity}, f32);
    if (takes_integers(*row)) row->host_integer({integers, arity}, 32);
  }
}

TEST(OpTableTest, CommutativeOpsAreSymmetric) {
  const long double values[] = {-1.5L, -0.0L, 0.0L, 2.0L, 3.25L};
  for (const OpInfo* row : elementwise_rows()) {
    if (!(row->traits & Commutative)) continue;
    ASSERT_EQ(row->arity, 2) << row->name;
    for (const long double a : values)
      for (const long double b : values) {
        const std::array forward = {a, b};
        const std::array backward = {b, a};
        const std::array p = {static_cast<Wide>(a), static_cast<Wide>(b)};
        const std::array q = {p[1], p[0]};
        if (takes_floats(*row)) {
          const long double one_way = row->host(forward, f32);
          const long double other_way = row->host(backward, f32);
          EXPECT_EQ(one_way, other_way) << row->name;
          EXPECT_EQ(std::signbit(one_way), std::signbit(other_way)) << row->name;
        }
        if (takes_integers(*row)) {
          EXPECT_TRUE(row->host_integer(p, 32) == row->host_integer(q, 32)) << row->name;
        }
      }
  }
}

TEST(OpTableTest, VjpsReturnACotangentPerOperand) {
  for (const OpInfo* row : elementwise_rows()) {
    if (!takes_floats(*row)) continue;
    SCOPED_TRACE(row->name);
    Graph graph("g");
    std::vector<Tensor> operands;
    for (int i = 0; i < row->arity; ++i) {
      const bool is_condition = row->types == TypeRule::Where && i == 0;
      operands.push_back(graph.input("x" + std::to_string(i), is_condition ? boolean : f32, {3}));
    }
    std::vector<Operand> recorded(operands.begin(), operands.end());
    const Tensor g = graph.input("g", f32, {3});
    const std::vector<Tensor> cotangents = vjp_of(row->op)(operands, operands.back(), g);
    ASSERT_EQ(cotangents.size(), operands.size());
    for (const Tensor& cotangent : cotangents) EXPECT_EQ(cotangent.dtype(), f32);
  }
}

TEST(OpTableTest, TolerancesAndDocsAreSet) {
  for (const OpInfo& row : op_table()) {
    EXPECT_GE(row.ulp, 0) << row.name;
    EXPECT_LE(row.ulp, 16) << row.name;
    ASSERT_FALSE(row.doc.empty()) << row.name;
    EXPECT_EQ(row.doc.find('|'), std::string_view::npos) << row.name;
  }
}

TEST(OpTableTest, AttributesHaveUniqueNames) {
  for (const OpInfo& row : op_table()) {
    std::set<std::string_view> names;
    for (const AttributeInfo& attribute : row.attributes) {
      EXPECT_FALSE(attribute.name.empty()) << row.name;
      EXPECT_TRUE(names.insert(attribute.name).second) << row.name << " " << attribute.name;
    }
  }
}

TEST(OpTableTest, ReductionsShareTheirAttributes) {
  for (const OpInfo& row : op_table()) {
    if (row.kind != OpKind::reduction) continue;
    EXPECT_EQ(row.attributes[0].name, gives_index(row.op) ? "axis" : "axes") << row.name;
    const bool keeps = std::ranges::any_of(row.attributes, [](const AttributeInfo& attribute) {
      return attribute.name == "keep" && attribute.default_text == "false";
    });
    EXPECT_TRUE(keeps) << row.name;
  }
}

}  // namespace
}  // namespace sinter::op_table_test
