// The common dtype of operands.
#include "sinter/dtype.h"

namespace sinter {

namespace {

DType signed_of(int bytes) { return bytes <= 1 ? i8 : bytes == 2 ? i16 : bytes == 4 ? i32 : i64; }

std::optional<DType> common_integer(DType a, DType b) {
  const DType wider = size_of(a) >= size_of(b) ? a : b;
  if (is_signed(a) == is_signed(b)) return wider;
  const DType with_sign = is_signed(a) ? a : b;
  const DType without = is_signed(a) ? b : a;
  if (without == u64) return std::nullopt;
  return size_of(with_sign) > size_of(without) ? with_sign : signed_of(2 * size_of(without));
}

std::optional<DType> common_floating(DType a, DType b) {
  if (a == c64 || b == c64) return std::nullopt;
  if (is_f8(a) && is_f8(b)) return std::nullopt;
  if (size_of(a) == size_of(b)) return f32;
  return size_of(a) > size_of(b) ? a : b;
}

}  // namespace

std::optional<DType> common_dtype(DType a, DType b) {
  if (a == b) return a;
  if (a == boolean || b == boolean) {
    const DType other = a == boolean ? b : a;
    return other == c64 ? std::nullopt : std::optional<DType>(other);
  }
  if (is_floating(a) && is_floating(b)) return common_floating(a, b);
  if (is_integer(a) && is_integer(b)) return common_integer(a, b);
  const DType floating = is_floating(a) ? a : b;
  return floating == c64 ? std::nullopt : std::optional<DType>(floating);
}

}  // namespace sinter
