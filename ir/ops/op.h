// The op table as a plain struct: everything that code asks about an op is asked of `info(op)`.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
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
  opaque
};

/// Which dtypes an op takes and what it gives. Operands of different dtypes are cast to the one
/// that they have in common (`common_dtype`) before the op sees them.
enum class TypeRule : std::uint8_t {
  Float,      ///< floating, same result; integers and bool are taken as f32
  Wide,       ///< f32 or f64, same result
  Number,     ///< floating or integer, same result
  Integer,    ///< integer, same result
  Bits,       ///< integer, same result; the ops of bool are the logical ones
  Predicate,  ///< floating or integer, bool result
  Compare,    ///< any, bool result
  Logical,    ///< bool, same result; of other dtypes what is not 0 is true
  Where,      ///< bool, then two operands of any one dtype, which is the result's
  Random,     ///< u64, u32 result; other integers are cast
};

/// `floating or integer`, for messages and lists.
std::string_view describe(TypeRule rule);
/// True if an op of this rule computes with operands of `dtype`, once they are cast.
bool takes(TypeRule rule, DType dtype);
/// The result's dtype, of operands of `dtype`.
DType result_dtype(TypeRule rule, DType dtype);

/// Algebra that holds for every value, the special ones included, and the shape of the function
/// where the oracle must know it. A bit set.
enum Traits : std::uint8_t {
  None = 0,
  Commutative = 1,
  Jumps = 2,      ///< constant or continuous between jumps, whose two sides differ
  Divides = 4,    ///< jumps where the quotient of the operands is a whole number
  Waves = 8,      ///< never steeper than 1, but neither rising nor falling throughout
  NearRoots = 16  ///< its ulp is that of max(|result|, 1)
};

/// What property tests may feed an op.
enum class Inputs : std::uint8_t {
  Any,       ///< any number
  Small,     ///< |x| <= 4
  Unit,      ///< |x| <= 0.9
  Positive,  ///< x > 0, away from 0
  AboveOne,  ///< x > 1, away from 1
  NonZero,   ///< away from 0
  Fraction,  ///< away from whole numbers
  Distinct,  ///< operands away from one another
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

struct AttributeInfo {
  std::string_view name;
  AttributeKind kind;
  std::string_view default_text;  ///< as in the text form; empty: must be given (lists: empty)
  bool required() const;
};

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
  std::string_view fast;          ///< on f32 under Math::fast; empty: as always
  long double (*host)(std::span<const long double> operands, DType dtype);
  Wide (*host_integer)(std::span<const Wide> operands, int bits);  ///< to be wrapped; of `bits`
  int ulp;
  std::string_view
      state;  ///< reductions and scans: the prelude's accumulator; empty: simplified away
  std::vector<AttributeInfo> attributes;
  std::string_view doc;
};

/// Every row, in the order of the table.
std::span<const OpInfo> op_table();
/// Where the rows are, once somebody has asked for one.
extern std::atomic<const OpInfo*> op_rows;
/// The row of `op`. Asked for each node, again and again.
inline const OpInfo& info(Op op) {
  const OpInfo* rows = op_rows.load(std::memory_order_acquire);
  if (!rows) rows = op_table().data();
  return rows[static_cast<std::size_t>(op)];
}
/// The row called `name`.
const OpInfo* find_op(std::string_view name);

inline bool is_elementwise(Op op) { return info(op).kind == OpKind::elementwise; }
inline bool is_reduction(Op op) { return info(op).kind == OpKind::reduction; }
inline bool is_scan(Op op) { return info(op).kind == OpKind::scan; }
inline bool is_structural(Op op) { return info(op).kind == OpKind::structural; }
inline bool is_source(Op op) { return info(op).kind == OpKind::source; }

/// True for the reductions along one axis that give a place on it.
inline bool gives_index(Op op) { return op == Op::argmax || op == Op::argmin; }
/// The dtype that a reduction or scan of `dtype` gives.
DType reduction_result(Op op, DType dtype);

}  // namespace sinter
