// Recognizes gathers that rotate an axis by indices known at plan time, as in shifted windows.
#include "compiler/body_building/store_mapping.h"
#include "compiler/simplify/fold.h"
#include "ir/types/wide_integer.h"

namespace sinter {

namespace {

/// Limits the work: the indices are evaluated one by one each time a kernel is evaluated.
constexpr std::int64_t kMaxExtent = 1024;
constexpr std::int64_t kMaxValue = std::int64_t{1} << 32;
/// Maximum number of ops between an index and its `iota`. Shared subexpressions are evaluated once
/// per use.
constexpr int kMaxDepth = 4;

/// The integer at `position` of a vector or number that is computed from `iota`s and numbers;
/// nullopt if it is unknown or could overflow.
std::optional<std::int64_t> known_at(const Node& node, std::int64_t position, int max_depth) {
  if (node.dtype != i64 || node.rank() > 1 || max_depth < 0) return std::nullopt;
  std::optional<std::int64_t> result;
  if (const std::optional<Literal> number = uniform_value(node)) {
    if (number->kind != Literal::Kind::integer) return std::nullopt;
    result = number->integer;
  } else if (node.op == Op::iota) {
    const Wide value =
        attribute(node, "start").integer + Wide{position} * attribute(node, "step").integer;
    if (value > -kMaxValue && value < kMaxValue) result = static_cast<std::int64_t>(value);
  } else if (node.op == Op::add || node.op == Op::sub || node.op == Op::fmod ||
             node.op == Op::remainder) {
    const auto at = [&](const Node& operand) {
      const bool repeats = operand.rank() == 1 && operand.shape[0].is(1);
      return known_at(operand, repeats ? 0 : position, max_depth - 1);
    };
    const std::optional<std::int64_t> a = at(*node.operand(0)), b = at(*node.operand(1));
    if (!a || !b) return std::nullopt;
    if (node.op == Op::add) result = *a + *b;
    if (node.op == Op::sub) result = *a - *b;
    if ((node.op == Op::fmod || node.op == Op::remainder) && *a >= 0 && *b > 0) result = *a % *b;
  }
  if (!result || *result <= -kMaxValue || *result >= kMaxValue) return std::nullopt;
  return result;
}

}  // namespace

std::optional<std::int64_t> rotated_by(const Node& node) {
  if (node.op != Op::take || node.operand(1)->op == Op::input || node.operand(1)->rank() != 1)
    return std::nullopt;
  const auto axis = static_cast<std::size_t>(attribute(node, "axis").integer);
  const Extent extent = node.operand(0)->shape[axis];
  if (!extent.is_number() || node.operand(1)->shape[0] != extent || extent.number() > kMaxExtent)
    return std::nullopt;
  std::optional<std::int64_t> shift;
  for (std::int64_t i = 0; i < extent.number(); ++i) {
    const std::optional<std::int64_t> from = known_at(*node.operand(1), i, kMaxDepth);
    if (!from || *from < 0 || *from >= extent.number()) return std::nullopt;
    if (!shift) shift = *from == 0 ? extent.number() : *from;
    if (*from != (i + *shift) % extent.number()) return std::nullopt;
  }
  return shift;
}

}  // namespace sinter
