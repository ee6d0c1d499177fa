// Expands the op table into rows, and applies typing rules.
#include "ir/ops/op.h"

#include <fmt/format.h>

#include <cmath>
#include <unordered_map>

#include "ir/ops/op_formulas.h"
#include "sinter/error.h"

namespace sinter {

namespace {

AttributeKind kind_of(std::string_view text) {
  constexpr std::pair<std::string_view, AttributeKind> kKinds[] = {
      {"integer", AttributeKind::integer},   {"boolean", AttributeKind::boolean},
      {"string", AttributeKind::string},     {"dtype", AttributeKind::dtype},
      {"literal", AttributeKind::literal},   {"extent", AttributeKind::extent},
      {"integers", AttributeKind::integers}, {"extents", AttributeKind::extents},
  };
  for (const auto& [name, kind] : kKinds)
    if (name == text) return kind;
  throw InternalError(fmt::format("op table: unknown attribute kind {}", text));
}

/// Parses an attribute column: `name:kind name:kind=default …`
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

/// The attributes of reductions. argmax and argmin reduce one axis, `axis`; none: all axes.
std::string_view reduction_attributes(Op op) {
  switch (op) {
    case Op::argmax:
    case Op::argmin: return "axis:integer=none keep:boolean=false";
    case Op::var:
      return "axes:integers=[] correction:integer=0 keep:boolean=false order:integers=[]";
    default: return "axes:integers=[] keep:boolean=false order:integers=[]";
  }
}

// clang-format off
#define OPERANDS1(T) [[maybe_unused]] const T a = operands[0];
#define OPERANDS2(T) OPERANDS1(T) [[maybe_unused]] const T b = operands[1];
#define OPERANDS3(T) OPERANDS2(T) [[maybe_unused]] const T c = operands[2];
#define ROW(ARITY, NAME, TYPES, TRAITS, INPUTS, CUDA, CUDA_INTEGER, FAST, HOST, HOST_INTEGER, VJP, ULP, DOC)      \
  OpInfo{.op = Op::NAME, .kind = OpKind::elementwise, .name = #NAME, .arity = ARITY,                        \
         .types = TypeRule::TYPES, .traits = TRAITS, .inputs = Inputs::INPUTS,                              \
         .cuda = CUDA, .cuda_integer = CUDA_INTEGER, .fast = FAST,                                                       \
         .host = [](std::span<const long double> operands, [[maybe_unused]] DType dtype) -> long double {   \
           using namespace op_formulas;                                                                     \
           OPERANDS##ARITY(long double) return static_cast<long double>(HOST); },                           \
         .host_integer = [](std::span<const Wide> operands, [[maybe_unused]] int bits) -> Wide {            \
           using namespace op_formulas;                                                                     \
           OPERANDS##ARITY(Wide) return static_cast<Wide>(HOST_INTEGER); },                                 \
         .ulp = ULP, .state = {}, .attributes = {}, .doc = DOC},
#define UNARY(...) ROW(1, __VA_ARGS__)
#define BINARY(...) ROW(2, __VA_ARGS__)
#define TERNARY(...) ROW(3, __VA_ARGS__)
#define PLAIN(KIND, NAME, ARITY, TYPES, STATE, ATTRIBUTES, DOC)                                        \
  OpInfo{.op = Op::NAME, .kind = OpKind::KIND, .name = #NAME, .arity = ARITY, .types = TypeRule::TYPES,     \
         .traits = None, .inputs = Inputs::Any, .cuda = {}, .cuda_integer = {}, .fast = {}, .host = nullptr,            \
         .host_integer = nullptr, .ulp = 0, .state = STATE,                                     \
         .attributes = parse_attributes(ATTRIBUTES), .doc = DOC},
#define REDUCTION(NAME, TYPES, STATE, VJP, DOC)                                                             \
  PLAIN(reduction, NAME, 1, TYPES, STATE, reduction_attributes(Op::NAME), DOC)
#define SCAN(NAME, TYPES, STATE, VJP, DOC)                                                                  \
  PLAIN(scan, NAME, 1, TYPES, STATE, "axis:integer", DOC)
#define STRUCTURAL(NAME, ATTRIBUTES, DOC) PLAIN(structural, NAME, -1, Number, {}, ATTRIBUTES, DOC)
#define CUSTOM(NAME, ATTRIBUTES, DOC) PLAIN(custom, NAME, -1, Compare, {}, ATTRIBUTES, DOC)
#define SOURCE(NAME, ATTRIBUTES, DOC) PLAIN(source, NAME, 0, Number, {}, ATTRIBUTES, DOC)
#define OPAQUE(NAME, ATTRIBUTES, DOC) PLAIN(opaque, NAME, -1, Compare, {}, ATTRIBUTES, DOC)
#define LIBRARY(NAME, OPERANDS, ATTRIBUTES, DOC) PLAIN(library, NAME, OPERANDS, Number, {}, ATTRIBUTES, DOC)

const std::vector<OpInfo>& table() {
  // Never destroyed: a thread may still plan while the process exits.
  static const auto& rows = *new std::vector<OpInfo>{
#include "sinter/ops.def"
  };
  return rows;
}
#undef ROW
#undef PLAIN
#undef OPERANDS1
#undef OPERANDS2
#undef OPERANDS3
// clang-format on

}  // namespace

std::string_view dtypes_text(TypeRule rule) {
  switch (rule) {
    case TypeRule::Float: return "floating";
    case TypeRule::Wide: return "f32 or f64";
    case TypeRule::Number:
    case TypeRule::Predicate: return "floating or integer";
    case TypeRule::Integer:
    case TypeRule::Bits: return "integer";
    case TypeRule::Compare: return "non-complex";
    case TypeRule::Logical: return "bool";
    case TypeRule::Where: return "bool, then any dtype";
    case TypeRule::Random: return "u64";
  }
  return {};
}

bool supports_dtype(TypeRule rule, DType dtype) {
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

constinit std::atomic<const OpInfo*> op_table_rows = nullptr;

std::span<const OpInfo> op_table() {
  const std::span<const OpInfo> rows = table();
  op_table_rows.store(rows.data(), std::memory_order_release);
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

}  // namespace sinter
