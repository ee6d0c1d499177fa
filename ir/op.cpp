#include "ir/op.h"

#include <fmt/format.h>

#include <cmath>
#include <unordered_map>

#include "ir/host_functions.h"
#include "ir/node.h"
#include "ir/record.h"
#include "ir/reduced_axes.h"
#include "ir/scan_vjp.h"
#include "sinter/error.h"
#include "sinter/ops.h"

namespace sinter {

namespace {

// Parts of vjps that record two values which only then meet: a compiler may evaluate the operands
// of one expression in any order, and the order of recording must not depend on it.
Tensor sum_of_squares(Tensor a, Tensor b) {
  const Tensor first = a * a;
  const Tensor second = b * b;
  return first + second;
}
/// 1 where a and b have the same sign, else -1; 0 where a is 0.
Tensor signs_product(Tensor a, Tensor b) {
  const Tensor sign_of_b = copysign(1, b);
  return sign(a) * sign_of_b;
}
/// Where fmax gives a and not b: of equal ones it is b, of a number and a NaN the number.
Tensor is_larger(Tensor a, Tensor b) {
  const Tensor is_above = gt(a, b);
  const Tensor is_alone = isnan(b);
  return logical_or(is_above, is_alone);
}
/// The same for fmin.
Tensor is_smaller(Tensor a, Tensor b) {
  const Tensor is_below = lt(a, b);
  const Tensor is_alone = isnan(b);
  return logical_or(is_below, is_alone);
}

AttributeKind kind_of(std::string_view text) {
  constexpr std::pair<std::string_view, AttributeKind> kKinds[] = {
      {"integer", AttributeKind::integer},   {"boolean", AttributeKind::boolean},
      {"string", AttributeKind::string},     {"dtype", AttributeKind::dtype},
      {"literal", AttributeKind::literal},   {"extent", AttributeKind::extent},
      {"integers", AttributeKind::integers}, {"extents", AttributeKind::extents},
  };
  for (const auto& [name, kind] : kKinds)
    if (name == text) return kind;
  throw InternalError(fmt::format("op table: no attribute kind {}", text));
}

/// "name:kind name:kind=default …"
std::vector<AttributeInfo> parse_attributes(std::string_view text) {
  std::vector<AttributeInfo> result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view item = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t colon = item.find(':');
    const std::size_t equals = std::min(item.find('='), item.size());
    result.push_back(
        {.name = item.substr(0, colon),
         .kind = kind_of(item.substr(colon + 1, equals - colon - 1)),
         .default_text = equals < item.size() ? item.substr(equals + 1) : std::string_view{}});
  }
  return result;
}

/// All reductions share these; argmax and argmin name their one axis `axis`.
std::string_view reduction_attributes(Op op) {
  switch (op) {
    case Op::argmax:
    case Op::argmin: return "axis:integer keep:boolean=false";
    case Op::var:
      return "axes:integers=[] correction:integer=0 keep:boolean=false order:integers=[]";
    default: return "axes:integers=[] keep:boolean=false order:integers=[]";
  }
}

// clang-format off
// The vjp column of reductions speaks the words of ReducedAxes, so each formula stands in a class of its own.
#define REDUCTION(NAME, TYPES, STATE, VJP, DOC)                                                             \
  struct WayBackOf_##NAME : ReducedAxes {                                                                   \
    using ReducedAxes::ReducedAxes;                                                                         \
    Tensor apply([[maybe_unused]] Tensor x, [[maybe_unused]] Tensor g) const { return VJP; }                \
    static std::vector<Tensor> vjp(std::span<const Tensor> operands, Tensor y, Tensor g) {                  \
      return {WayBackOf_##NAME(operands[0], y).apply(operands[0], g)};                                      \
    }                                                                                                       \
  };
#include "sinter/ops.def"

#define SCAN(NAME, TYPES, STATE, VJP, DOC)                                                                  \
  std::vector<Tensor> vjp_of_##NAME(std::span<const Tensor> operands, Tensor y, Tensor g) {                 \
    const Tensor x = operands[0];                                                                           \
    return {VJP};                                                                                           \
  }
#include "sinter/ops.def"

#define OPERANDS1(T) [[maybe_unused]] const T a = operands[0];
#define OPERANDS2(T) OPERANDS1(T) [[maybe_unused]] const T b = operands[1];
#define OPERANDS3(T) OPERANDS2(T) [[maybe_unused]] const T c = operands[2];
#define LIST(...) {__VA_ARGS__}
#define ROW(ARITY, NAME, TYPES, TRAITS, INPUTS, CUDA, CUDA_INTEGER, FAST, HOST, HOST_INTEGER, VJP, ULP, DOC)      \
  OpInfo{.op = Op::NAME, .kind = OpKind::elementwise, .name = #NAME, .arity = ARITY,                        \
         .types = TypeRule::TYPES, .traits = TRAITS, .inputs = Inputs::INPUTS,                              \
         .cuda = CUDA, .cuda_integer = CUDA_INTEGER, .fast = FAST,                                                       \
         .host = [](std::span<const long double> operands, [[maybe_unused]] DType dtype) -> long double {   \
           using namespace host_functions;                                                                  \
           OPERANDS##ARITY(long double) return static_cast<long double>(HOST); },                           \
         .host_integer = [](std::span<const Wide> operands, [[maybe_unused]] int bits) -> Wide {            \
           using namespace host_functions;                                                                  \
           OPERANDS##ARITY(Wide) return static_cast<Wide>(HOST_INTEGER); },                                 \
         .vjp = [](std::span<const Tensor> operands, [[maybe_unused]] Tensor y, Tensor g) {                 \
           OPERANDS##ARITY(Tensor)                                                                          \
           [[maybe_unused]] const Tensor zero = zeros_like(g);                                                   \
           const Tensor cotangents[] = LIST VJP;                                                            \
           static_assert(std::size(cotangents) == ARITY, #NAME ": one cotangent per operand");              \
           return std::vector<Tensor>(std::begin(cotangents), std::end(cotangents)); },                     \
         .ulp = ULP, .state = {}, .attributes = {}, .doc = DOC},
#define UNARY(...) ROW(1, __VA_ARGS__)
#define BINARY(...) ROW(2, __VA_ARGS__)
#define TERNARY(...) ROW(3, __VA_ARGS__)
#define PLAIN(KIND, NAME, ARITY, TYPES, STATE, ATTRIBUTES, VJP, DOC)                                        \
  OpInfo{.op = Op::NAME, .kind = OpKind::KIND, .name = #NAME, .arity = ARITY, .types = TypeRule::TYPES,     \
         .traits = None, .inputs = Inputs::Any, .cuda = {}, .cuda_integer = {}, .fast = {}, .host = nullptr,            \
         .host_integer = nullptr, .vjp = VJP, .ulp = 0, .state = STATE,                                     \
         .attributes = parse_attributes(ATTRIBUTES), .doc = DOC},
#define REDUCTION(NAME, TYPES, STATE, VJP, DOC)                                                             \
  PLAIN(reduction, NAME, 1, TYPES, STATE, reduction_attributes(Op::NAME), &WayBackOf_##NAME::vjp, DOC)
#define SCAN(NAME, TYPES, STATE, VJP, DOC)                                                                  \
  PLAIN(scan, NAME, 1, TYPES, STATE, "axis:integer", &vjp_of_##NAME, DOC)
#define STRUCTURAL(NAME, ATTRIBUTES, DOC) PLAIN(structural, NAME, -1, Number, {}, ATTRIBUTES, nullptr, DOC)
#define CUSTOM(NAME, ATTRIBUTES, DOC) PLAIN(custom, NAME, -1, Compare, {}, ATTRIBUTES, nullptr, DOC)
#define SOURCE(NAME, ATTRIBUTES, DOC) PLAIN(source, NAME, 0, Number, {}, ATTRIBUTES, nullptr, DOC)
#define OPAQUE(NAME, ATTRIBUTES, DOC) PLAIN(opaque, NAME, -1, Compare, {}, ATTRIBUTES, nullptr, DOC)

const std::vector<OpInfo>& table() {
  // Never destroyed: a thread may still plan while the process ends.
  static const auto& rows = *new std::vector<OpInfo>{
#include "sinter/ops.def"
  };
  return rows;
}
#undef ROW
#undef PLAIN
#undef LIST
#undef OPERANDS1
#undef OPERANDS2
#undef OPERANDS3
// clang-format on

}  // namespace

std::string_view describe(TypeRule rule) {
  switch (rule) {
    case TypeRule::Float: return "floating";
    case TypeRule::Wide: return "f32 or f64";
    case TypeRule::Number:
    case TypeRule::Predicate: return "floating or integer";
    case TypeRule::Integer:
    case TypeRule::Bits: return "integer";
    case TypeRule::Compare: return "any one";
    case TypeRule::Logical: return "bool";
    case TypeRule::Where: return "bool, then any one";
    case TypeRule::Random: return "u64";
  }
  return {};
}

bool takes(TypeRule rule, DType dtype) {
  const bool computes = dtype != c64;
  switch (rule) {
    case TypeRule::Float: return is_floating(dtype) && computes;
    case TypeRule::Wide: return dtype == f32 || dtype == f64;
    case TypeRule::Number:
    case TypeRule::Predicate: return dtype != boolean && computes;
    case TypeRule::Integer:
    case TypeRule::Bits: return is_integer(dtype);
    case TypeRule::Logical: return dtype == boolean;
    case TypeRule::Compare: return computes;
    case TypeRule::Where: return true;
    case TypeRule::Random: return dtype == u64;
  }
  return false;
}

DType result_dtype(TypeRule rule, DType dtype) {
  switch (rule) {
    case TypeRule::Predicate:
    case TypeRule::Compare:
    case TypeRule::Logical: return boolean;
    case TypeRule::Random: return u32;
    default: return dtype;
  }
}

DType reduction_result(Op op, DType dtype) {
  if (gives_index(op)) return i64;
  if (info(op).types == TypeRule::Logical) return boolean;
  const bool adds_up = op == Op::sum || op == Op::prod || op == Op::cumsum || op == Op::cumprod;
  return adds_up && !is_floating(dtype) ? info(dtype).accumulator : dtype;
}

bool AttributeInfo::required() const { return default_text.empty(); }

constinit std::atomic<const OpInfo*> op_rows = nullptr;

std::span<const OpInfo> op_table() {
  const std::span<const OpInfo> rows = table();
  op_rows.store(rows.data(), std::memory_order_release);
  return rows;
}

const OpInfo* find_op(std::string_view name) {
  static const auto& by_name = *[] {
    auto* const map = new std::unordered_map<std::string_view, const OpInfo*>;
    for (const OpInfo& row : table()) map->emplace(row.name, &row);
    return map;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

const Attribute& attribute(const Node& node, std::string_view name) {
  const std::vector<AttributeInfo>& schema = info(node.op).attributes;
  for (std::size_t i = 0; i < schema.size(); ++i)
    if (schema[i].name == name) return node.attributes[i];
  throw InternalError(fmt::format("op {} has no attribute {}", info(node.op).name, name));
}

std::span<const std::int64_t> reduced_axes(const Node& node) {
  if (gives_index(node.op) || is_scan(node.op)) return {&node.attributes[0].integer, 1};
  return attribute(node, "axes").integers;
}

std::vector<std::int64_t> reduction_order(const Node& node) {
  const std::span<const std::int64_t> axes = reduced_axes(node);
  if (!gives_index(node.op) && !is_scan(node.op)) {
    const std::span<const std::int64_t> order = attribute(node, "order").integers;
    if (!order.empty()) return {order.begin(), order.end()};
  }
  return {axes.begin(), axes.end()};
}

bool keeps_axes(const Node& node) { return attribute(node, "keep").integer != 0; }

}  // namespace sinter
