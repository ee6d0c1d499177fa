// Random words of a vector's elements. Four consecutive words come from one Philox block, which is
// computed once.
#include <fmt/format.h>

#include <algorithm>

#include "codegen/statements/kernel_writer.h"
#include "codegen/text/expression.h"

namespace sinter {

namespace {

bool is_random(const Value& value) {
  return value.kind == Value::Kind::op && value.node->op == Op::philox;
}

}  // namespace

/// The value that numbers the elements for philox `value`, below 64-bit integer casts that keep its
/// bits; -1 if it is not of Kind::number.
int KernelWriter::philox_index_of(const Value& value) const {
  int number = value.operands[2];
  const auto is_wide = [&](int i) {
    return is_integer(value_at(i).dtype) && size_of(value_at(i).dtype) == 8;
  };
  while (value_at(number).kind == Value::Kind::op && value_at(number).node->op == Op::cast &&
         is_wide(number))
    number = value_at(number).operands[0];
  return value_at(number).kind == Value::Kind::number && is_wide(number) ? number : -1;
}

bool KernelWriter::has_consecutive_words(int value) const {
  constexpr int kWords = 4;  // per Philox block
  const Value& v = value_at(value);
  if (!is_random(v) || is_kept(value) || vector_axis < 0 || schedule.vector % kWords != 0)
    return false;
  const int number = philox_index_of(v);
  if (number < 0 || is_kept(number) || varies_along_vector(v.operands[0]) ||
      varies_along_vector(v.operands[1]))
    return false;
  const Index& at = value_at(number).at;
  const std::optional<Extent> step = step_along(at, vector_axis, schedule.vector, program.facts);
  return step && step->is(1) && aligned_vector(at, vector_axis, kWords, program.facts) == kWords;
}

void KernelWriter::write_random_words(int value) {
  const Value& v = value_at(value);
  const Value& number = body.values[static_cast<std::size_t>(philox_index_of(v))];
  const std::string name = name_for(v.node);
  // In this order, because texts name scalars when they are made.
  const std::string index = number_text(number, false);
  const std::string stream = operand_text(v.operands[1]);
  const std::string key = operand_text(v.operands[0]);
  out.line(fmt::format("const Vector<unsigned, {0}> {1} = philox_words<{0}>({2}, {3}, {4});",
                       schedule.vector, name, key, stream, index));
  set_text(value, name + "[k]");
}

void KernelWriter::drop_unused_philox_indices(std::vector<int>& in_loop,
                                              const std::vector<bool>& values,
                                              const Sinks& sinks) const {
  std::vector<bool> written(body.values.size(), false);
  for (const int value : in_loop) written[static_cast<std::size_t>(value)] = true;
  std::vector<bool> is_number(body.values.size(), false);
  for (std::size_t i = body.values.size(); i-- > 0;) {
    const Value& value = body.values[i];
    const bool has_words = values[i] && is_random(value) && !written[i];
    const bool leads_on = is_number[i] && value.kind == Value::Kind::op;
    if (has_words || leads_on) is_number[static_cast<std::size_t>(value.operands.back())] = true;
    if (is_number[i] && written[i] && !is_kept(static_cast<int>(i)) &&
        !has_use(static_cast<int>(i), written, sinks) && stores_of(static_cast<int>(i), sinks) == 0)
      written[i] = false;
  }
  std::erase_if(in_loop, [&](int value) { return !written[static_cast<std::size_t>(value)]; });
}

}  // namespace sinter
