// Divisions of a row that a thread keeps. Each one branches to what numbers out of range need, and
// with dozens of these branches in one function the assembler takes longer for them than for all
// the rest: the vectors of a row are divided by one function, which is called.
#include <fmt/format.h>

#include <algorithm>

#include "codegen/statements/kernel_writer.h"

namespace sinter {

namespace {

/// Bytes of quotients of a thread that are written out, at most: so few compile fast. Those of f64
/// have fewer elements, each of which is more work.
constexpr std::int64_t kMostWrittenOut = 128;

}  // namespace

bool KernelWriter::is_called_division(int value, const Sinks& sinks) const {
  const Value& v = body.values[static_cast<std::size_t>(value)];
  if (v.kind != Value::Kind::op || v.node->op != Op::div || is_kept(value)) return false;
  if (tile_copies * schedule.vector * size_of(v.dtype) <= kMostWrittenOut) return false;
  const bool is_fast = v.dtype == DType::f32 && program.numerics.math == Math::fast;
  if (is_fast || (v.dtype != DType::f32 && v.dtype != DType::f64)) return false;
  const int dividend = v.operands[0];
  const int divisor = v.operands[1];
  if (moves(divisor) || body.values[static_cast<std::size_t>(divisor)].kind == Value::Kind::literal)
    return false;
  // An earlier pass has left the whole vector, in the type that is computed with.
  return is_kept(dividend) && body.values[static_cast<std::size_t>(dividend)].dtype == v.dtype &&
         std::ranges::find(sinks.kept, dividend) == sinks.kept.end();
}

void KernelWriter::write_quotients(int value) {
  const Value& v = body.values[static_cast<std::size_t>(value)];
  const std::string name = name_for(v.node);
  out.line(fmt::format("const Vector<{}, {}> {} = quotients({}, {});", compute_c_type(v.dtype),
                       schedule.vector, name, kept_place(v.operands[0]),
                       operand_text(v.operands[1])));
  texts_[static_cast<std::size_t>(value)] = name + "[k]";
}

std::string KernelWriter::quotients_name(int value) const {
  const std::string& element = texts_[static_cast<std::size_t>(value)];
  return element.substr(0, element.rfind('['));
}

bool KernelWriter::is_stored_whole(const BodyStore& store, const Sinks& sinks) const {
  return is_called_division(store.value, sinks) &&
         store.node->dtype == body.values[static_cast<std::size_t>(store.value)].dtype;
}

}  // namespace sinter
