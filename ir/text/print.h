// The printer of the text form: names of values, statements, and whole graphs.
#pragma once

#include "ir/graph/node.h"

#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace sinter {

/// The names of a graph's values in its text: labels, or `op_number`. They are deterministic.
class ValueNames {
 public:
  explicit ValueNames(const GraphData& graph);

  /// The name of a live node. Empty for dead nodes, and for numbers that are only written inline.
  std::string of(const Node* node) const;
  /// True if an output or update needs `node`.
  bool is_live(const Node* node) const { return live_[node->id]; }

 private:
  std::vector<bool> live_;
  /// By id: an index into `names_`, or 0 for no name. Most names are `op_number`: for them, it is
  /// minus the number, and `of` creates the text.
  std::vector<std::int32_t> by_id_;
  std::vector<std::string> names_;
};

/// The names of one graph, computed at the first use. Thread-safe.
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

/// True if an operand is a number that the statement of `user` shows as a literal. Recording the
/// literal again must give a constant of the same dtype.
bool is_inline_literal(const Node& user, std::size_t operand);

/// The shortest text that reads back as the same number: `2`, `2.0`, `1e-06`, `-inf`, `true`.
std::string literal_text(const Literal& literal, DType dtype);

/// The statement of a node: `s = mul n, 2.0`, `ms = mean sq {axes = [1], keep = true}`.
std::string statement_text(const Node& node, const ValueNames& names);

/// The statement of an opaque call, of which `results` are used:
/// `v, _ = opaque topk x {k = 8} : f32[rows, 8], i64[rows, 8]`.
std::string opaque_text(std::span<const Node* const> results, const ValueNames& names);

/// The declaration of an input: `x: bf16[rows, 4096] {strides = [4112, 1]}`, `lr: f32`.
std::string input_text(const InputInfo& input, const ValueNames& names);

/// `text` as a legal name: other characters become _. A digit at the start gets a _ before it, and
/// a reserved word gets a _ after it.
std::string legal_name(std::string_view text);

/// The text of a graph (sinter/text.h).
std::string print(const GraphData& graph);

}  // namespace sinter
