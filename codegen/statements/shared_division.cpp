// Divisions of a row that stays in a thread's registers. Each division branches to a slow path for
// operands out of range. With dozens of these branches in one function, they dominate the
// assembler's time. One function that is not inlined therefore divides each vector of the row.
#include <fmt/format.h>

#include <algorithm>

#include "codegen/statements/kernel_writer.h"

namespace sinter {

namespace {

/// The most bytes of quotients per thread that are computed inline, because so few compile fast.
/// For f64 these are fewer elements, and each one takes more code.
constexpr std::int64_t kMaxInlineBytes = 128;

}  // namespace

bool KernelWriter::uses_division_call(int value, const Sinks& sinks) const {
  const Value& v = value_at(value);
  if (v.kind != Value::Kind::op || v.node->op != Op::div || is_kept(value)) return false;
  if (schedule.is_for_cpu()) return false;
  if (tile_copies * schedule.vector * size_of(v.dtype) <= kMaxInlineBytes) return false;
  const bool is_fast = v.dtype == DType::f32 && program.numerics.math == Math::fast;
  if (is_fast || (v.dtype != DType::f32 && v.dtype != DType::f64)) return false;
  const int dividend = v.operands[0];
  const int divisor = v.operands[1];
  if (varies_along_vector(divisor) || value_at(divisor).kind == Value::Kind::literal) return false;
  // An earlier pass has kept the whole vector, in its compute type.
  return is_kept(dividend) && value_at(dividend).dtype == v.dtype &&
         std::ranges::find(sinks.kept, dividend) == sinks.kept.end();
}

void KernelWriter::write_quotients(int value) {
  const Value& v = value_at(value);
  const std::string name = name_for(v.node);
  out.line(fmt::format("const Vector<{}, {}> {} = quotients({}, {});", compute_c_type(v.dtype),
                       schedule.vector, name, kept_vector(v.operands[0]),
                       operand_text(v.operands[1])));
  set_text(value, name + "[k]");
}

std::string KernelWriter::quotients_name(int value) const {
  const std::string& element = texts_[static_cast<std::size_t>(value)];
  return element.substr(0, element.rfind('['));
}

bool KernelWriter::is_stored_whole(const BodyStore& store, const Sinks& sinks) const {
  return uses_division_call(store.value, sinks) && store.node->dtype == value_at(store.value).dtype;
}

}  // namespace sinter
