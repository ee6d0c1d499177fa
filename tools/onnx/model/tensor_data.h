// The elements of a TensorProto: in the message, or in a file beside the model.
#pragma once

#include "ir/shape/host_array.h"
#include "tools/onnx/model/schema.h"

#include <filesystem>

namespace sinter::onnx {

/// The array of `tensor`. External data is read from a file in `folder`, the folder of the model;
/// files elsewhere are refused. Throws UserError for a type without a dtype, a bad shape, missing
/// or surplus data, or an unreadable file. The message does not name the tensor.
HostArray array_of(const TensorProto& tensor, const std::filesystem::path& folder);

}  // namespace sinter::onnx
