#include "tools/onnx/importer/problems.h"

#include "sinter/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sinter::onnx {

namespace {

constexpr std::size_t kMostListed = 1000;

}  // namespace

void Problems::add(std::string_view where, std::string_view reason) {
  if (++count_ > kMostListed) return;
  // Recording adds the place in the importer's source, which says nothing to the user.
  if (const std::size_t place = reason.rfind(" (recorded at "); place != reason.npos)
    reason = reason.substr(0, place);
  lines_.push_back(fmt::format("{}: {}", where, reason));
}

void Problems::throw_if_any() const {
  if (lines_.empty()) return;
  throw UserError(fmt::format(
      "the model cannot be imported, because of {}:\n  {}{}",
      count_ == 1 ? "one problem" : fmt::format("{} problems", count_), fmt::join(lines_, "\n  "),
      count_ > kMostListed ? fmt::format("\n  and {} more", count_ - kMostListed) : ""));
}

}  // namespace sinter::onnx
