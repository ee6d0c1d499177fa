// The op table as data: `info(op)` has all properties of an op.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ir/types/wide_integer.h"
#include "sinter/graph.h"

namespace sinter {

// clang-format off
#define UNARY(NAME, ...) NAME,
#define BINARY(NAME, ...) NAME,
#define TERNARY(NAME, ...) NAME,
#define REDUCTION(NAME, ...) NAME,
#define SCAN(NAME, ...) NAME,
#define STRUCTURAL(NAME, ...) NAME,
#define CUSTOM(NAME, ...) NAME,
#define SOURCE(NAME, ...) NAME,
#define OPAQUE(NAME, ...) NAME,
#define LIBRARY(NAME, ...) NAME,
enum class Op : std::uint8_t {
#include "sinter/ops.def"
};
// clang-format on

enum class OpKind : std::uint8_t {
  elementwise,
  reduction,
  scan,
  structural,
  custom,
  source,
  opaque,
  library
};

/// The dtypes that an op takes, and the dtype of its result. Operands of different dtypes are first
/// cast to their common dtype (`common_dtype`).
enum class TypeRule : std::uint8_t {
  Float,      ///< floating, same result; integers and bool are taken as f32
  Wide,       ///< f32 or f64, same result
  Number,     ///< floating or integer, same result
  Integer,    ///< integer, same result
  Bits,       ///< integer, same result; for bool, the logical op is recorded
  Predicate,  ///< floating or integer, bool result
  Compare,    ///< any, bool result
  Logical,    ///< bool, same result; other dtypes are cast, and are true if not 0
  Where,      ///< bool, then two operands of any common dtype, which is the result's
  Random,     ///< u64, u32 result; other integers are cast
};

/// `floating or integer`, for messages and lists.
std::string_view dtypes_text(TypeRule rule);
/// True if an op with this rule supports operands of `dtype`, after casts.
bool supports_dtype(TypeRule rule, DType dtype);
/// The dtype of the result for operands of `dtype`.
DType result_dtype(TypeRule rule, DType dtype);

/// A bit set of properties that hold for all values, special values included. The oracle uses those
/// that describe the shape of a function.
enum Traits : std::uint8_t {
  None = 0,
  Commutative = 1,
  HasJumps = 2,    ///< has discontinuities
  RatioJumps = 4,  ///< has discontinuities at whole quotients of the operands
  Sinusoid = 8,    ///< results in [-1, 1], slope of at most 1, not monotonic
  UlpOfOne = 16,   ///< its ulp is that of max(|result|, 1)
  Exact = 32       ///< representable in the dtype of the operands, so no result is rounded
};

/// The operand values that property tests may use for an op.
enum class Inputs : std::uint8_t {
  Any,       ///< any number
  Small,     ///< |x| <= 4
  Unit,      ///< |x| <= 0.9
  Positive,  ///< x > 0, away from 0
  AboveOne,  ///< x > 1, away from 1
  NonZero,   ///< away from 0
  Fraction,  ///< away from whole numbers
  Distinct,  ///< operands that are not close to one another
};

enum class AttributeKind : std::uint8_t {
  integer,
  boolean,
  string,
  dtype,
  literal,
  extent,
  integers,
  extents
};

/// The default of an attribute that may be absent and has no value then.
inline constexpr std::string_view kAbsent = "none";

struct AttributeInfo {
  std::string_view name;
  AttributeKind kind;
  std::string_view default_text;  ///< in the text form; empty: the attribute is required
  bool required() const { return default_text.empty(); }
};

/// A row of the op table. ir/include/sinter/ops.def describes the columns.
struct OpInfo {
  Op op;
  OpKind kind;
  std::string_view name;
  int arity;  ///< operands of an elementwise op; -1: see the recording function
  TypeRule types;
  std::uint8_t traits;
  Inputs inputs;
  std::string_view cuda;          ///< elementwise on floats; a format string
  std::string_view cuda_integer;  ///< elementwise on integers and bool
  std::string_view fast;          ///< on f32 under Math::fast; empty: same as `cuda`
  long double (*host)(std::span<const long double> operands, DType dtype);
  Wide (*host_integer)(std::span<const Wide> operands, int bits);  ///< the caller wraps the result
  int ulp;
  std::string_view
      state;  ///< reductions and scans: the prelude's accumulator; empty: simplified away
  std::vector<AttributeInfo> attributes;
  std::string_view doc;
};

/// Every row, in the order of the table.
std::span<const OpInfo> op_table();
/// The rows; null before the first access.
extern std::atomic<const OpInfo*> op_table_rows;
/// The row of `op`. Inline, because passes call it for every node.
inline const OpInfo& info(Op op) {
  const OpInfo* rows = op_table_rows.load(std::memory_order_acquire);
  if (!rows) rows = op_table().data();
  return rows[static_cast<std::size_t>(op)];
}
/// The row called `name`; nullptr if there is none.
const OpInfo* find_op(std::string_view name);

inline bool is_elementwise(Op op) { return info(op).kind == OpKind::elementwise; }
inline bool is_reduction(Op op) { return info(op).kind == OpKind::reduction; }
inline bool is_scan(Op op) { return info(op).kind == OpKind::scan; }
inline bool is_structural(Op op) { return info(op).kind == OpKind::structural; }
inline bool is_source(Op op) { return info(op).kind == OpKind::source; }
inline bool is_library(Op op) { return info(op).kind == OpKind::library; }
/// True for the library ops of sinter/collectives.h.
inline bool is_collective(Op op) { return op >= Op::all_reduce && op <= Op::send_receive; }

/// True for the reductions along one axis that return an index.
inline bool gives_index(Op op) { return op == Op::argmax || op == Op::argmin; }
/// The dtype of the result of a reduction or scan of `dtype`.
DType reduction_result(Op op, DType dtype);

}  // namespace sinter
