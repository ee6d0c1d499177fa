// Checks each rewrite rule bit by bit at special values: signed zeros, NaN, infinities and limits.
#include "compiler/simplify/rule.h"

#include "compiler/simplify/fold.h"
#include "compiler/simplify/graph_sweep.h"
#include "compiler/simplify/simplify.h"
#include "ir/oracle/interpret.h"
#include "ir/record/record.h"
#include "tests/support/graphs/oracle_support.h"

#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include <gtest/gtest.h>

namespace sinter::rule_test {

void PrintTo(const Rule& rule, std::ostream* out) { *out << rule.name; }

namespace {

constexpr DType kAllDTypes[] = {f32, f64, f16, bf16, i32, i64,    boolean, i8,
                                i16, u8,  u16, u32,  u64, f8e4m3, f8e5m2};

std::vector<double> special_values(DType dtype) {
  if (dtype == boolean) return {0, 1};
  if (dtype == i32) return {0, 1, -1, 7, -7, 2147483647.0, -2147483648.0, 65536, 46341};
  if (dtype == i64) return {0, 1, -1, 7, -7, 0x1p62, -0x1p63, 4294967296.0, 3037000500.0};
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double tiny = std::ldexp(1.0, info(dtype).min_exponent - info(dtype).mantissa_bits + 1);
  const double huge = std::ldexp(1.75, info(dtype).max_exponent);
  return {0.0,  -0.0,      1.0,  -1.0,     0.1,
          -3.7, 2.5,       nan,  infinity, -infinity,
          tiny, -3 * tiny, huge, -huge,    std::ldexp(1.5, info(dtype).min_exponent),
          1e-4, 300.0};
}

/// A pattern over actual inputs of `dtype`.
class Instance {
 public:
  Instance(const Rule& rule, DType dtype) : dtype_(dtype) {
    for (const Node* node : {rule.from.node(), rule.to.node()}) add_inputs(*node);
    count_ = 1;
    for (const auto& [name, pattern] : wildcards_)
      count_ *= special_values(input_dtype(*pattern)).size();
    std::size_t period = 1;
    for (const auto& [name, pattern] : wildcards_) {
      const DType type = input_dtype(*pattern);
      const std::vector<double> values = special_values(type);
      std::vector<double> column(count_);
      for (std::size_t i = 0; i < count_; ++i) column[i] = values[i / period % values.size()];
      period *= values.size();
      const auto extent = static_cast<std::int64_t>(count_);
      inputs[name] = array(type, {extent}, column);
      bound_.bind(pattern, graph.input(name, type, {Extent(extent)}).node());
    }
  }

  /// Records the pattern over the inputs. Returns nullopt if an op does not support the dtype.
  std::optional<Tensor> record(const Node& pattern) {
    try {
      return build(pattern).tensor;
    } catch (const UserError&) {
      return std::nullopt;
    }
  }

  Graph graph{"instance"};
  HostArrays inputs;

 private:
  DType input_dtype(const Node& pattern) const {
    return pattern.dtype == boolean ? boolean : dtype_;
  }

  void add_inputs(const Node& pattern) {
    if (pattern.op == Op::input)
      wildcards_.emplace(std::string(1, "xyzpq"[pattern.attributes[0].integer]), &pattern);
    for (const Node* operand : pattern.operands) add_inputs(*operand);
  }

  Operand build(const Node& pattern) {
    if (pattern.op == Op::input) return tensor(graph.data(), bound_.lookup(&pattern));
    if (const std::optional<Literal> number = uniform_value(pattern))
      return tensor(graph.data(),
                    make_uniform(graph.data(), {}, cast_literal(*number, number_dtype(pattern)),
                                 number_dtype(pattern), {}));
    std::vector<Operand> operands;
    for (const Node* operand : pattern.operands) operands.push_back(build(*operand));
    // All values of a pattern have one dtype, so a record with casts is not an instance.
    if (!supports_dtype(info(pattern.op).types, operands.back().tensor.dtype()))
      throw UserError("the op does not take the dtype");
    return record_elementwise(pattern.op, operands);
  }
  DType number_dtype(const Node& pattern) const { return input_dtype(pattern); }

  DType dtype_;
  std::map<std::string, const Node*> wildcards_;
  WildcardBindings bound_;
  std::size_t count_ = 1;
};

bool applies(When when, DType dtype) {
  if (when == When::floats) return is_floating(dtype);
  if (when == When::integers) return is_integer(dtype);
  if (when == When::has_sign) return !is_unsigned(dtype);
  return true;
}

/// True if `dtype` has all constants of the pattern. Otherwise the rule does not match.
bool has_numbers(const Node& pattern, DType dtype) {
  if (const std::optional<Literal> number = uniform_value(pattern))
    return number->kind != Literal::Kind::real || (is_f8(dtype) && std::isfinite(number->real)) ||
           (is_floating(dtype) && !is_f8(dtype)) ||
           (is_integer(dtype) && std::isfinite(number->real) &&
            !(std::signbit(number->real) && (number->real == 0 || is_unsigned(dtype))));
  return std::ranges::all_of(pattern.operands,
                             [&](const Node* operand) { return has_numbers(*operand, dtype); });
}

/// The number of nodes of the expression tree.
int size_of(const Node& pattern) {
  int count = 1;
  for (const Node* operand : pattern.operands) count += size_of(*operand);
  return count;
}

int ops_in(const Node& pattern) {
  int count = is_source(pattern.op) ? 0 : 1;
  for (const Node* operand : pattern.operands) count += ops_in(*operand);
  return count;
}

int largest_ulp(const Node& pattern) {
  int ulp = info(pattern.op).ulp;
  for (const Node* operand : pattern.operands) ulp = std::max(ulp, largest_ulp(*operand));
  return ulp;
}

class RuleTest : public testing::TestWithParam<Rule> {};

TEST_P(RuleTest, KeepsAllBits) {
  const Rule& rule = GetParam();
  int sampled = 0;
  for (const DType dtype : kAllDTypes) {
    if (!applies(rule.when, dtype) || !has_numbers(*rule.from.node(), dtype)) continue;
    Instance instance(rule, dtype);
    const std::optional<Tensor> from = instance.record(*rule.from.node());
    const std::optional<Tensor> to = instance.record(*rule.to.node());
    if (!from || !to) continue;
    const Tensor full_to = broadcast_to(*to, from->shape());
    const Node* const nodes[] = {from->node(), full_to.node()};
    const std::vector<Expected> values =
        interpret_nodes(instance.graph.data(), instance.inputs, {}, nodes);
    const std::optional<std::vector<std::int64_t>> different =
        first_difference(to_array(values[0]), to_array(values[1]));
    EXPECT_FALSE(different.has_value())
        << name(dtype) << " at " << different->at(0) << ": " << values[0].real(different->at(0))
        << " became " << values[1].real(different->at(0));
    ++sampled;
  }
  EXPECT_GT(sampled, 0);
}

TEST_P(RuleTest, FiresOnItsPattern) {
  const Rule& rule = GetParam();
  for (const DType dtype : kAllDTypes) {
    if (!applies(rule.when, dtype) || !has_numbers(*rule.from.node(), dtype)) continue;
    Instance instance(rule, dtype);
    const std::optional<Tensor> from = instance.record(*rule.from.node());
    if (!from) continue;
    instance.graph.output("out", *from);
    simplify(instance.graph.data());
    const std::vector<const Node*> left = reachable(instance.graph.data());
    EXPECT_LE(std::ranges::count_if(left, [](const Node* n) { return !is_source(n->op); }),
              ops_in(*rule.to.node()))
        << name(dtype);
  }
}

TEST_P(RuleTest, IsSmallerAndExact) {
  const Rule& rule = GetParam();
  EXPECT_LT(size_of(*rule.to.node()), size_of(*rule.from.node()));
  EXPECT_LE(ops_in(*rule.to.node()), 1);
  EXPECT_EQ(largest_ulp(*rule.from.node()), 0);
  EXPECT_EQ(largest_ulp(*rule.to.node()), 0);
}

std::string test_name(const testing::TestParamInfo<Rule>& info) {
  std::string name;
  for (const char c : info.param.name)
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Table, RuleTest, testing::ValuesIn(rule_table().rules), test_name);

TEST(RuleTableTest, NamesAreUnique) {
  std::set<std::string_view> names;
  for (const Rule& rule : rule_table().rules)
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
}

TEST(RuleTableTest, SamplingFindsAWrongRule) {
  // x + 0 → x is wrong for floats, because -0 + 0 is +0.
  Graph graph("wrong");
  const Tensor x = graph.input("x", f32, {});
  const Rule wrong{.name = "wrong", .from = x + 0.0, .to = x};
  Instance instance(wrong, f32);
  const Node* const nodes[] = {instance.record(*wrong.from.node())->node(),
                               instance.record(*wrong.to.node())->node()};
  const std::vector<Expected> values =
      interpret_nodes(instance.graph.data(), instance.inputs, {}, nodes);
  EXPECT_FALSE(equal_bits(to_array(values[0]), to_array(values[1])));
}

}  // namespace
}  // namespace sinter::rule_test
