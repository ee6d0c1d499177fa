#include "tools/sinter/files/content_hash.h"

#include "ir/shape/strided_iterator.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>
#include <llvm/Support/xxhash.h>

namespace sinter::command {

std::string content_hash(const HostArray& array) {
  HostArray plain(array.dtype(), {array.shape().begin(), array.shape().end()});
  const auto size = static_cast<std::size_t>(size_of(array.dtype()));
  StridedIterator iterator(array.shape(), {{array.strides().begin(), array.strides().end()}});
  for (std::int64_t i = 0; i < array.size(); ++i, iterator.next()) {
    const std::int64_t from = iterator.offset(0);
    if (is_floating(array.dtype()) && std::isnan(array.real_at(from)))
      plain.set_real_at(i, std::numeric_limits<long double>::quiet_NaN());
    else
      std::memcpy(plain.bytes().data() + static_cast<std::size_t>(i) * size,
                  array.bytes().data() + static_cast<std::size_t>(from) * size, size);
  }
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(plain.bytes().data());
  return fmt::format("{:016x}", llvm::xxh3_64bits({bytes, plain.bytes().size()}));
}

}  // namespace sinter::command
