// Reads the elements of tensors from files beside the model.
#pragma once

#include "tools/onnx/model/schema.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace sinter::onnx {

/// The `bytes` bytes that the entries `location`, `offset` and `length` describe. The file must be
/// in `folder` or below it. Throws UserError with the problem.
std::string read_external_data(std::span<const StringStringEntryProto> entries,
                               const std::filesystem::path& folder, std::int64_t bytes);

}  // namespace sinter::onnx
