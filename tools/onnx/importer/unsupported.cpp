#include "tools/onnx/importer/unsupported.h"

#include <algorithm>
#include <iterator>

namespace sinter::onnx {

namespace {

struct UnsupportedRow {
  std::string_view type;
  std::string_view reason;
};

constexpr std::string_view kSize = "the shape of its result depends on values";
constexpr std::string_view kText = "sinter has no dtype for texts";

constexpr UnsupportedRow kUnsupported[] = {
    {"ImageDecoder", "sinter does not read files of images"},
    {"NonMaxSuppression", kSize},
    {"RegexFullMatch", kText},
    {"StringConcat", kText},
    {"StringNormalizer", kText},
    {"StringSplit", kText},
    {"Unique", kSize},
};

}  // namespace

std::string_view reason_for_refusing(std::string_view type) {
  const auto* const found = std::ranges::find(kUnsupported, type, &UnsupportedRow::type);
  if (found != std::end(kUnsupported)) return found->reason;
  if (type.find("Sequence") != type.npos) return "sequences are not supported";
  if (type.starts_with("Optional")) return "optional values are not supported";
  return "sinter does not import this operator";
}

}  // namespace sinter::onnx
