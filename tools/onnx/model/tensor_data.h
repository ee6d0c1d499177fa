// The elements of a TensorProto: in the message, or in a file beside the model.
#pragma once

#include "ir/shape/host_array.h"
#include "tools/onnx/model/schema.h"

#include <filesystem>

namespace sinter::onnx {

/// The array of `tensor`. External data is read from a file in `folder`, the folder of the model;
/// files elsewhere are refused. Throws UserError with the problem and what to do, without the name
/// of the tensor: a type without a dtype, a bad shape, missing or surplus data, an unreadable file.
HostArray array_of(const TensorProto& tensor, const std::filesystem::path& folder);

}  // namespace sinter::onnx
