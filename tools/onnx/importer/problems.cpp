#include "tools/onnx/importer/problems.h"

#include "sinter/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sinter::onnx {

void Problems::add(std::string_view where, std::string_view reason) {
  // Recording adds the place in the importer's source, which says nothing to the user.
  if (const std::size_t place = reason.rfind(" (recorded at "); place != reason.npos)
    reason = reason.substr(0, place);
  lines_.push_back(fmt::format("{}: {}", where, reason));
}

void Problems::throw_if_any() const {
  if (lines_.empty()) return;
  throw UserError(
      fmt::format("the model cannot be imported, because of {}:\n  {}",
                  lines_.size() == 1 ? "one problem" : fmt::format("{} problems", lines_.size()),
                  fmt::join(lines_, "\n  ")));
}

}  // namespace sinter::onnx
