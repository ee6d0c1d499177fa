#include "tools/onnx/ops/images/sampling.h"

#include "sinter/views.h"

namespace sinter::onnx {

Tensor elements_at(const Tensor& x, const Tensor& images, const std::vector<Tensor>& indices) {
  std::vector<Extent> shape(static_cast<std::size_t>(indices[0].rank()), Extent(1));
  shape[0] = images.shape()[0];
  std::vector<Tensor> all = {reshape(images, shape)};
  std::vector<std::int64_t> axes = {0};
  for (std::size_t i = 0; i < indices.size(); ++i) {
    all.push_back(indices[i]);
    axes.push_back(static_cast<std::int64_t>(i) + 2);
  }
  // The indexed axes are not adjacent, so theirs come first in the result.
  return index(x, all, axes);
}

Tensor with_channels_second(const Tensor& samples) {
  std::vector<std::int64_t> axes = {0, samples.rank() - 1};
  for (int axis = 1; axis < samples.rank() - 1; ++axis) axes.push_back(axis);
  return permute(samples, axes);
}

}  // namespace sinter::onnx
