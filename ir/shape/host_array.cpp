// Host arrays: storage, element access, strides and comparison.
#include "ir/shape/host_array.h"

#include "ir/shape/strided_iterator.h"
#include "ir/types/element.h"
#include "sinter/error.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace sinter {

HostArray::HostArray(DType dtype, std::vector<std::int64_t> shape,
                     std::vector<std::int64_t> strides)
    : dtype_(dtype),
      shape_(std::move(shape)),
      strides_(strides.empty() ? row_major(shape_) : std::move(strides)),
      size_(element_count(shape_)) {
  ensure(strides_.size() == shape_.size(), "a host array has one stride per axis");
  std::int64_t last = 0;
  for (std::size_t axis = 0; axis < shape_.size(); ++axis) {
    ensure(strides_[axis] >= 0, "the strides of a host array are not negative");
    last += (shape_[axis] - 1) * strides_[axis];
  }
  const std::int64_t elements = size_ == 0 ? 0 : last + 1;
  bytes_.resize(static_cast<std::size_t>(elements * size_of(dtype_)));
}

std::int64_t HostArray::offset(std::span<const std::int64_t> index) const {
  ensure(index.size() == shape_.size(), "an index has one number per axis");
  std::int64_t result = 0;
  for (std::size_t axis = 0; axis < index.size(); ++axis) {
    ensure(index[axis] >= 0 && index[axis] < shape_[axis], "index out of range");
    result += index[axis] * strides_[axis];
  }
  return result;
}

double HostArray::real_at(std::int64_t offset) const {
  return read_real(dtype_, bytes_.data() + offset * size_of(dtype_));
}

std::int64_t HostArray::integer_at(std::int64_t offset) const {
  return read_integer(dtype_, bytes_.data() + offset * size_of(dtype_));
}

void HostArray::set_real_at(std::int64_t offset, long double value) {
  write_real(dtype_, bytes_.data() + offset * size_of(dtype_), value);
}

void HostArray::set_integer_at(std::int64_t offset, std::int64_t value) {
  write_integer(dtype_, bytes_.data() + offset * size_of(dtype_), from_storage_bits(dtype_, value));
}

std::vector<std::int64_t> row_major(std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t axis = shape.size(); axis-- > 1;)
    strides[axis - 1] = strides[axis] * shape[axis];
  return strides;
}

std::vector<std::int64_t> broadcast_strides(std::span<const std::int64_t> from,
                                            std::span<const std::int64_t> to) {
  const std::vector<std::int64_t> dense = row_major(from);
  std::vector<std::int64_t> strides(to.size());
  const std::size_t shift = to.size() - from.size();
  for (std::size_t axis = 0; axis < from.size(); ++axis)
    if (from[axis] != 1) strides[shift + axis] = dense[axis];
  return strides;
}

std::int64_t element_count(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (__builtin_mul_overflow(count, extent, &count))
      throw UserError(fmt::format("shape [{}]: more than 2^63 elements", fmt::join(shape, ", ")));
  }
  return count;
}

std::vector<std::int64_t> unravel_index(std::span<const std::int64_t> shape, std::int64_t number) {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = number % shape[axis];
    number /= shape[axis];
  }
  return index;
}

namespace {

bool equal_elements(const HostArray& a, std::int64_t at_a, const HostArray& b, std::int64_t at_b) {
  const auto size = static_cast<std::size_t>(size_of(a.dtype()));
  if (std::memcmp(a.bytes().data() + static_cast<std::size_t>(at_a) * size,
                  b.bytes().data() + static_cast<std::size_t>(at_b) * size, size) == 0)
    return true;
  return is_floating(a.dtype()) && std::isnan(a.real_at(at_a)) && std::isnan(b.real_at(at_b));
}

}  // namespace

std::optional<std::vector<std::int64_t>> first_difference(const HostArray& a, const HostArray& b) {
  ensure(a.dtype() == b.dtype() && std::ranges::equal(a.shape(), b.shape()),
         "compared arrays agree in dtype and shape");
  StridedIterator iterator(a.shape(), {{a.strides().begin(), a.strides().end()},
                                       {b.strides().begin(), b.strides().end()}});
  for (std::int64_t i = 0; i < a.size(); ++i, iterator.next())
    if (!equal_elements(a, iterator.offset(0), b, iterator.offset(1)))
      return unravel_index(a.shape(), i);
  return std::nullopt;
}

}  // namespace sinter
