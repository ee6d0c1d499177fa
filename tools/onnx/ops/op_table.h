// The operators that the importer records. One file per family has a table of its operators.
#pragma once

#include "tools/onnx/node/call.h"

#include <span>
#include <string_view>
#include <vector>

namespace sinter::onnx {

/// The outputs of a node, in order. Trailing outputs that the node omits may be missing.
using Outputs = std::vector<Tensor>;

/// Records a node. Throws UserError with the reason if it cannot be recorded.
using RecordNode = Outputs (*)(const Call& call);

struct OpRow {
  std::string_view type;
  RecordNode record;
};

/// The row of an operator of the default domain; nullptr if there is none.
const OpRow* find_op(std::string_view type);

// One family per file.
std::span<const OpRow> activation_ops();
std::span<const OpRow> attention_ops();
std::span<const OpRow> cache_ops();
std::span<const OpRow> cast_ops();
std::span<const OpRow> column_ops();
std::span<const OpRow> convolution_ops();
std::span<const OpRow> deformable_ops();
std::span<const OpRow> determinant_ops();
std::span<const OpRow> einsum_ops();
std::span<const OpRow> elementwise_ops();
std::span<const OpRow> fourier_ops();
std::span<const OpRow> generator_ops();
std::span<const OpRow> grid_ops();
std::span<const OpRow> indexing_ops();
std::span<const OpRow> loss_ops();
std::span<const OpRow> matrix_ops();
std::span<const OpRow> max_roi_pool_ops();
std::span<const OpRow> ngram_ops();
std::span<const OpRow> normalization_ops();
std::span<const OpRow> ordering_ops();
std::span<const OpRow> padding_ops();
std::span<const OpRow> pooling_ops();
std::span<const OpRow> random_ops();
std::span<const OpRow> recurrent_ops();
std::span<const OpRow> reduction_ops();
std::span<const OpRow> resize_ops();
std::span<const OpRow> roi_ops();
std::span<const OpRow> scatter_ops();
std::span<const OpRow> signal_ops();
std::span<const OpRow> state_space_ops();
std::span<const OpRow> view_ops();

}  // namespace sinter::onnx
