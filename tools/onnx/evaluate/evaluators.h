// The evaluators, one per operator.
#pragma once

#include "tools/onnx/evaluate/evaluate.h"

#include <span>
#include <string_view>

namespace sinter::onnx {

using KnownOutputs = std::optional<std::vector<KnownValue>>;
using EvaluateNode = KnownOutputs (*)(const Call& call);

struct EvaluatorRow {
  std::string_view type;
  EvaluateNode evaluate;
};

/// Elementwise operators, Cast and Where.
std::span<const EvaluatorRow> arithmetic_evaluators();
/// Operators that move elements.
std::span<const EvaluatorRow> movement_evaluators();
/// Reductions, Split and NonZero.
std::span<const EvaluatorRow> reduction_evaluators();
/// Shape, Size and operators that make values from shapes.
std::span<const EvaluatorRow> shape_evaluators();

/// The number of elements of `shape`; nullopt if the importer does not evaluate so many, or so many
/// axes.
std::optional<std::int64_t> known_count(std::span<const std::int64_t> shape);
/// The shape to which known values broadcast; nullopt if they do not.
std::optional<std::vector<std::int64_t>> broadcast_shape(std::span<const KnownValue* const> values);
/// The elements of `value`, broadcast to `shape`.
std::vector<Number> broadcast_items(const KnownValue& value, std::span<const std::int64_t> shape);

}  // namespace sinter::onnx
