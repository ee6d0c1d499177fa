// Reads arrays at positions that are computed at run time.
#pragma once

#include "tools/onnx/node/call.h"

#include <vector>

namespace sinter::onnx {

/// x [n, c, d...] at indices, one integer Tensor per axis d. The indices broadcast to one shape
/// [m, p...]; `images` [m] says which of the n arrays each of the m reads. Indices are inside of x.
/// The result is [m, p..., c].
Tensor elements_at(const Tensor& x, const Tensor& images, const std::vector<Tensor>& indices);

/// [m, p..., c] as [m, c, p...].
Tensor with_channels_second(const Tensor& samples);

}  // namespace sinter::onnx
