// Writing nodes as text: the names of values, their statements, and whole graphs.
#pragma once

#include "ir/graph/node.h"

#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace sinter {

/// What the values of a graph are called in its text. Deterministic: from labels, else `op_number`.
class ValueNames {
 public:
  explicit ValueNames(const GraphData& graph);

  /// The name of a live node; "" of a dead one and of a number that is only written inline.
  std::string of(const Node* node) const;
  /// True if an output or update needs `node`.
  bool is_live(const Node* node) const { return live_[node->id]; }

 private:
  std::vector<bool> live_;
  /// By id: the place of a name in `names_`; or minus the number of a name that is `op_number`,
  /// which most are: it is written when it is asked for. 0: none.
  std::vector<std::int32_t> by_id_;
  std::vector<std::string> names_;
};

/// The names of one graph, found when they are first asked for, by whichever thread.
class LazyValueNames {
 public:
  const ValueNames& of(const GraphData& graph) {
    std::call_once(once_, [&] { names_.emplace(graph); });
    return *names_;
  }

 private:
  std::once_flag once_;
  std::optional<ValueNames> names_;
};

/// True for a number that its user's statement shows as a literal, because recording the literal
/// again gives a number of the same dtype.
bool is_inline_literal(const Node& user, std::size_t operand);

/// The shortest text that reads back as the same number: `2`, `2.0`, `1e-06`, `-inf`, `true`.
std::string literal_text(const Literal& literal, DType dtype);

/// `s = mul n, 2.0`, `ms = mean sq {axes = [1], keep = true}`
std::string statement_text(const Node& node, const ValueNames& names);

/// `v, _ = opaque topk x {k = 8} : f32[rows, 8], i64[rows, 8]`, where `results` are some of one
/// call.
std::string opaque_text(std::span<const Node* const> results, const ValueNames& names);

/// `x: bf16[rows, 4096] {strides = [4112, 1]}`, `lr: f32`
std::string input_text(const InputInfo& input, const ValueNames& names);

/// `text` made a legal name: other characters become _.
std::string legal_name(std::string_view text);

std::string print(const GraphData& graph);

}  // namespace sinter
