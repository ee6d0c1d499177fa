// Why the importer does not record some operators of the default domain.
#pragma once

#include <string_view>

namespace sinter::onnx {

/// The reason for an operator that the importer does not know.
std::string_view reason_for_refusing(std::string_view type);

}  // namespace sinter::onnx
