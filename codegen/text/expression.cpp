#include "codegen/text/expression.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/shape/extent.h"
#include "ir/support/name_characters.h"
#include "ir/types/casts.h"
#include "sinter/error.h"

namespace sinter {

std::string_view compute_c_type(DType dtype) { return info(info(dtype).compute).c_name; }

std::string computed(DType dtype, const std::string& element) {
  return is_narrow(dtype) ? "to_float(" + element + ")" : element;
}

std::string in_memory_of(DType dtype, const std::string& computed) {
  constexpr std::string_view kHead = "to_float(";
  return is_narrow(dtype) && computed.starts_with(kHead)
             ? computed.substr(kHead.size(), computed.size() - kHead.size() - 1)
             : computed;
}

namespace {

/// The conversion of a computed value of `from` to one of `to`.
std::string cast_text(DType from, DType to, const std::string& value) {
  if (from == to) return value;
  const std::string_view type = compute_c_type(to);
  if (to == DType::boolean) return fmt::format("{} != 0", value);
  if (is_integer(to))
    return is_floating(from) ? fmt::format("to_integer<{}>({})", type, value)
                             : fmt::format("static_cast<{}>({})", type, value);
  if (is_narrow(to)) {
    if (from == DType::boolean) return fmt::format("static_cast<float>({})", value);
    // Convert through a type that holds every value of `from` exactly, so that one step rounds.
    std::string exact = value;
    if (is_integer(from) && size_of(from) == 8)
      exact = fmt::format("to_odd({})", value);
    else if (!is_floating(from))
      exact = fmt::format("static_cast<{}>({})", size_of(from) < 4 ? "float" : "double", value);
    return fmt::format("{}<{}>({})", is_floating(from) ? "rounded_cast" : "rounded", name(to),
                       exact);
  }
  if (compute_c_type(from) == type) return value;
  return fmt::format("static_cast<{}>({})", type, value);
}

/// Reinterprets the bits that memory holds as another dtype.
std::string bitcast_text(DType from, DType to, const std::string& value) {
  const std::string bits =
      is_narrow(from) ? fmt::format("to_memory<{}>({})", name(from), value) : value;
  const std::string read = fmt::format("bits_as<{}>({})", info(to).c_name, bits);
  return is_narrow(to) ? fmt::format("to_float({})", read) : read;
}

bool is_literal_text(const Node& node) { return node.op == Op::constant || node.op == Op::full; }

/// `base` to the power 1, 2 or 3 as a product. It is more accurate than the library's pow and saves
/// its hundred instructions. Empty for other exponents.
std::string power_text(const Node& exponent, const std::string& base) {
  if (!is_literal_text(exponent)) return {};
  const Literal literal = attribute(exponent, "value").literal;
  if (literal.kind == Literal::Kind::large_integer) return {};
  const double value =
      literal.kind == Literal::Kind::real ? literal.real : static_cast<double>(literal.integer);
  if (value == 1) return base;
  if (value == 2) return fmt::format("{0} * {0}", base);
  if (value == 3) return fmt::format("{0} * {0} * {0}", base);
  return {};
}

/// True if the result of `node` needs no rounding to its narrow dtype. Constants keep the precision
/// of f32, so the result may be a constant that is not representable.
bool is_exact(const Node& node) {
  if (!(info(node.op).traits & Exact)) return false;
  return std::ranges::none_of(node.operands, [&](const Node* operand) {
    if (operand->op != Op::constant) return false;
    const double value = as_real(attribute(*operand, "value").literal);
    return round_to(node.dtype, value) != value;
  });
}

}  // namespace

std::string op_text(const Node& node, std::span<const std::string> operands,
                    const Numerics& numerics) {
  if (node.op == Op::cast) return cast_text(node.operand(0)->dtype, node.dtype, operands[0]);
  if (node.op == Op::bitcast) return bitcast_text(node.operand(0)->dtype, node.dtype, operands[0]);
  const OpInfo& row = info(node.op);
  // The last operand has the type that the op works on; the first operand of `where` is a boolean.
  const DType dtype = node.operands.back()->dtype;
  std::string_view pattern = is_floating(dtype) ? row.cuda : row.cuda_integer;
  const bool is_single = info(dtype).compute == DType::f32;
  if (numerics.math == Math::fast && is_single && !row.fast.empty()) pattern = row.fast;
  ensure(!pattern.empty(), fmt::format("{} has no text for {}", row.name, name(dtype)));
  std::string texts[3];
  for (std::size_t i = 0; i < operands.size(); ++i) {
    // Compilers fold a function of a literal to other bits than the library computes at run time.
    // Integer functions have only one correct result.
    const bool may_fold = row.ulp > 0 && is_floating(dtype) && is_literal_text(*node.operand(i));
    texts[i] = may_fold ? fmt::format("opaque_value({})", operands[i]) : operands[i];
  }
  const std::string_view suffix = info(dtype).compute == DType::f64 ? "" : "f";
  std::string text;
  if (node.op == Op::pow) text = power_text(*node.operand(1), operands[0]);
  if (text.empty())
    text = fmt::format(fmt::runtime(pattern), fmt::arg("a", texts[0]), fmt::arg("b", texts[1]),
                       fmt::arg("c", texts[2]), fmt::arg("f", suffix));
  if (is_narrow(node.dtype) && numerics.rounding == Rounding::as_recorded && !is_exact(node))
    text = fmt::format("rounded<{}>({})", name(node.dtype), text);
  return text;
}

std::string in_memory(DType dtype, const std::string& value) {
  if (!is_narrow(dtype)) return value;
  std::string_view inner = value;
  for (const std::string_view function : {"rounded", "rounded_cast"}) {
    const std::string call = fmt::format("{}<{}>(", function, name(dtype));
    if (!value.starts_with(call)) continue;
    inner.remove_prefix(call.size());
    std::size_t end = 0;
    for (int depth = 1; end < inner.size(); ++end) {
      depth += inner[end] == '(' ? 1 : inner[end] == ')' ? -1 : 0;
      if (depth == 0) break;
    }
    inner = end + 1 == inner.size() ? inner.substr(0, end) : value;
  }
  return fmt::format("to_memory<{}>({})", name(dtype), inner);
}

std::string exact_in_memory(DType dtype, const std::string& value) {
  if (!is_narrow(dtype) || value.starts_with("rounded_cast<")) return in_memory(dtype, value);
  return fmt::format("exact_to_memory<{}>({})", name(dtype), value);
}

std::string atomic(const std::string& text) {
  const bool is_word =
      std::ranges::all_of(text, [](char c) { return is_name_character(c) || c == '.'; });
  return is_word ? text : "(" + text + ")";
}

std::string IndexWriter::text(Extent extent) const {
  const std::string_view suffix = c_type == "int" ? "" : "ll";
  if (extent.is_number()) return fmt::format("{}{}", extent.number(), suffix);
  std::string sum;
  std::string constant;
  for (const ExtentTerm& term : terms_of(extent)) {
    std::string product;
    for (const ExtentAtom* atom : term.atoms) {
      const bool is_quotient = atom->name.empty();
      // The divisor comes first, because texts name symbols when they are made.
      const std::string divisor = is_quotient ? atomic(text(atom->divisor)) : "";
      const std::string factor =
          is_quotient ? fmt::format("({} / {})", atomic(text(atom->numerator)), divisor)
                      : symbol(*atom);
      product += (product.empty() ? "" : " * ") + factor;
    }
    if (term.atoms.empty()) {
      constant = fmt::format(" {} {}{}", term.coefficient < 0 ? "-" : "+",
                             std::abs(term.coefficient), suffix);
      continue;
    }
    if (term.coefficient != 1) product += fmt::format(" * {}{}", term.coefficient, suffix);
    sum += (sum.empty() ? "" : " + ") + product;
  }
  return sum + constant;
}

std::string IndexWriter::text(const IndexAtom& atom) const {
  if (atom.kind == IndexAtom::Kind::axis) return axis(atom.axis);
  if (atom.kind == IndexAtom::Kind::bounded) throw InternalError("a bounded index is written");
  // The divisor comes first, because texts name symbols when they are made.
  const std::string divisor = text(atom.divisor);
  if (atom.kind == IndexAtom::Kind::indirect)
    return fmt::format("wrapped_index<{}>({}, {})", c_type, indirect(atom), divisor);
  return fmt::format("{} {} {}", atomic(text(atom.numerator)),
                     atom.kind == IndexAtom::Kind::quotient ? "/" : "%", atomic(divisor));
}

std::string IndexWriter::text(const Index& index) const {
  std::string result;
  for (const IndexTerm& term : index.terms) {
    std::string part = text(*term.atom);
    const bool is_division = term.atom->kind == IndexAtom::Kind::quotient ||
                             term.atom->kind == IndexAtom::Kind::remainder;
    if (!term.coefficient.is(1)) {
      const bool is_plain = term.atom->kind == IndexAtom::Kind::indirect;
      part = fmt::format("{} * {}", is_plain ? part : atomic(part), atomic(text(term.coefficient)));
    } else if (is_division && index.terms.size() > 1) {
      part = "(" + part + ")";
    }
    result += (result.empty() ? "" : " + ") + part;
  }
  if (result.empty()) return text(index.constant);
  if (index.constant.is(0)) return result;
  if (index.constant.is_number() && index.constant.number() < 0)
    return fmt::format("{} - {}", result, text(Extent(-index.constant.number())));
  return fmt::format("{} + {}", result, atomic(text(index.constant)));
}

}  // namespace sinter
