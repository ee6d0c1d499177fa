#include "codegen/text/names.h"

#include <fmt/format.h>

#include <unordered_set>

#include "ir/ops/op.h"
#include "ir/text/print.h"

namespace sinter {

namespace {

/// True for `row_0` if `word` is `row`.
bool is_numbered(std::string_view name, std::string_view word) {
  return name.starts_with(word) && name.substr(word.size()).starts_with('_') &&
         name.find_first_not_of("0123456789", word.size() + 1) == name.npos;
}

}  // namespace

bool is_reserved_word(std::string_view name) {
  // The sets are never destroyed, because a thread may still emit while the process exits.
  static const auto& words = *new std::unordered_set<std::string_view>{
      // C++
      "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break",
      "case", "catch", "char", "class", "compl", "concept", "const", "consteval", "constexpr",
      "constinit", "continue", "decltype", "default", "delete", "do", "double", "dynamic_cast",
      "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto",
      "if", "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq",
      "nullptr", "operator", "or", "or_eq", "private", "protected", "public", "register",
      "reinterpret_cast", "requires", "return", "short", "signed", "sizeof", "static",
      "static_assert", "static_cast", "struct", "switch", "template", "this", "thread_local",
      "throw", "true", "try", "typedef", "typeid", "typename", "union", "unsigned", "using",
      "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq",
      // CUDA and the C library's macros
      "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "NULL", "INFINITY", "NAN", "EOF",
      "linux", "unix", "i386",
      // Names of the prelude and names that emitted kernels declare themselves
      "f16", "bf16", "f8e4m3", "f8e5m2", "c64", "Vector", "Word", "Words", "Exchange", "RowShape",
      "RowReduction", "RolledRowReduction", "ColumnShape", "ColumnReduction", "Shape", "Sum",
      "Prod", "Max", "Min", "ArgMax", "ArgMin", "Welford", "LogSumExp", "Ends", "Unsigned",
      "Convert", "Rounding", "load", "load_some", "load_apart", "load_across", "load_by",
      "load_streaming", "load_retained", "store", "store_some", "store_apart", "store_across",
      "store_by", "put", "put_same", "to_float", "to_f16", "to_bf16", "to_memory", "from_memory",
      "rounded", "rounded_cast", "exact_to_memory", "ExactConvert", "to_integer", "to_odd",
      "truncated", "wrapped_index", "opaque_value", "maximum", "minimum", "wrapping_add",
      "wrapping_sub", "wrapping_mul", "wrapping_neg", "wrapping_abs", "as_float", "as_double",
      "bits_of", "bits_as", "is_negative", "sign", "is_infinite", "is_finite", "larger_number",
      "smaller_number", "floor_div", "floor_remainder", "truncated_remainder", "bitwise_not",
      "bitwise_and", "bitwise_or", "bitwise_xor", "population_count", "leading_zeros", "shift_left",
      "shift_right", "philox", "philox_words", "Philox", "shared_memory", "block_barrier",
      "warp_xor", "last_block", "wait_for_prior_launches", "table_row", "table_value", "join_parts",
      "join_lanes", "join_far_first", "load_workspace", "store_workspace", "exchange", "site", "k",
      "u", "part", "tile", "i", "step", "count", "first", "row", "column", "along", "size",
      "inside", "workspace", "tickets", "within", "at", "chunk", "live", "Prefix", "State",
      "scan_lanes", "lane", "states", "carry", "total", "prefix", "before", "first_row",
      "owned_rows", "thread", "threads", "element", "marks", "mark", "bit", "marker", "left",
      "begin", "place", "lowest_one_of", "start", "outer", "wanted_row", "wanted_column", "Rows",
      "FarFirst", "TreeLevels", "far_first", "number", "block", "grid_arrival", "grid_barrier",
      "grid_depart", "Scratch", "ColumnStates", "Neighbours", "neighbours", "join_column",
      "reversed", "accumulator", "ahead", "first_chunk", "group", "next", "split", "row_chunks",
      "turn", "Tile", "TilePlace", "top", "TileStates", "handed_on", "look_back", "end_tiles",
      "tile_flags", "take_number", "publish", "await_flag", "row_of_block", "all", "totals",
      "prefixes", "chunks", "column_tile", "residue", "store_split", "join_splits", "place_in_tile",
      "share_states", "join_shared_states", "cluster", "cluster_rank", "cluster_arrive",
      "cluster_arrive_relaxed", "gpu_fence", "cluster_wait", "cluster_map", "blocks", "own",
      "owned", "ResidentTileCopy", "copy_rounds", "load_rest", "keep_rest", "resident_tiles",
      "resident_tile", "has_place", "kept", "rest", "item", "round", "end", "down", "slot", "team",
      "join_slots", "join_ranks", "named", "word", "own_bit", "is_begun", "results", "added",
      "first_column", "quotients", "wave", "in_wave", "ThreadCopies", "BulkCopies", "copies",
      "whole", "shared_address", "turns", "rows_copied", "TableContents", "TableValues",
      "load_view", "prefetch", "prefetch_for_store", "tile_ahead", "along_ahead"};
  // `row_0` names an axis; `s_tree_part` names one part of a reduction's tree.
  const bool is_axis = is_numbered(name, "row") || is_numbered(name, "column") ||
                       is_numbered(name, "outer") || is_numbered(name, "along") ||
                       is_numbered(name, "from") || is_numbered(name, "copy") ||
                       is_numbered(name, "owned") || is_numbered(name, "place");
  if (words.contains(name) || is_axis || name.find("_tree_") != name.npos) return true;
  // Functions of the C library: `exp` and `expf`.
  if (name.ends_with('f') && is_reserved_word(name.substr(0, name.size() - 1))) return true;
  static const auto& functions = *new std::unordered_set<std::string_view>{
      "exp",    "exp2",    "expm1",     "log",   "log2",      "log10", "log1p", "sqrt",
      "rsqrt",  "cbrt",    "fabs",      "abs",   "floor",     "ceil",  "trunc", "rint",
      "round",  "sin",     "cos",       "tan",   "asin",      "acos",  "atan",  "sinh",
      "cosh",   "tanh",    "asinh",     "acosh", "atanh",     "erf",   "erfc",  "lgamma",
      "erfinv", "digamma", "pow",       "fmod",  "remainder", "atan2", "hypot", "copysign",
      "fmin",   "fmax",    "nextafter", "fma",   "min",       "max"};
  return functions.contains(name) || name.starts_with("sinter_") || name.starts_with("fast_") ||
         name.starts_with("custom_of_") || name.starts_with("__");
}

std::string NameSet::take(std::string_view wanted) {
  std::string name = legal_name(wanted);
  if (is_reserved_word(name)) name += '_';
  if (taken_.insert(name).second) return name;
  for (int number = 2;; ++number)
    if (std::string numbered = fmt::format("{}_{}", name, number); taken_.insert(numbered).second)
      return numbered;
}

}  // namespace sinter
