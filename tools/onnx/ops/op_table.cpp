#include "tools/onnx/ops/op_table.h"

#include "sinter/error.h"

#include <unordered_map>

namespace sinter::onnx {

namespace {

using OpIndex = std::unordered_map<std::string_view, const OpRow*>;

OpIndex make_index() {
  OpIndex index;
  for (const auto family :
       {activation_ops(),   attention_ops(),   cache_ops(),         cast_ops(),
        column_ops(),       convolution_ops(), deformable_ops(),    determinant_ops(),
        einsum_ops(),       elementwise_ops(), fourier_ops(),       generator_ops(),
        grid_ops(),         indexing_ops(),    loss_ops(),          matrix_ops(),
        max_roi_pool_ops(), ngram_ops(),       normalization_ops(), ordering_ops(),
        padding_ops(),      pooling_ops(),     random_ops(),        recurrent_ops(),
        reduction_ops(),    resize_ops(),      roi_ops(),           scatter_ops(),
        signal_ops(),       state_space_ops(), view_ops()})
    for (const OpRow& row : family)
      ensure(index.emplace(row.type, &row).second, "an operator is in one family");
  return index;
}

}  // namespace

const OpRow* find_op(std::string_view type) {
  static const OpIndex index = make_index();
  const auto found = index.find(type);
  return found == index.end() ? nullptr : found->second;
}

}  // namespace sinter::onnx
