// Decodes an ONNX file, which is a message in the wire format of protocol buffers.
#pragma once

#include "tools/onnx/model/schema.h"

#include <string_view>

namespace sinter::onnx {

/// The model in `bytes`, whose text refers to `bytes`. Unknown fields are skipped. Throws UserError
/// with the byte and the message if the bytes are no such file or end early.
ModelProto decode_model(std::string_view bytes);

}  // namespace sinter::onnx
