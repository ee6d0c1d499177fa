// The sums of library ops, computed from their definitions.
#include <array>
#include <functional>

#include "ir/graph/node.h"
#include "tests/support/run/library_call.h"

namespace sinter::test {

namespace {

using Shape = std::vector<std::int64_t>;

void add(ExpectedSum& sum, double a, double b) {
  const long double product = static_cast<long double>(a) * b;
  sum.value += product;
  sum.magnitude += product < 0 ? -product : product;
}

/// The index of the element (row, column) in an array of `shape`. Its leading axes broadcast to
/// those of `batch`, at the flat index `at`.
std::int64_t broadcast_index(const Shape& shape, const Shape& batch, std::int64_t at,
                             std::int64_t row, std::int64_t column) {
  Shape position(batch.size());
  for (std::size_t i = batch.size(); i-- > 0; at /= batch[i]) position[i] = at % batch[i];
  std::int64_t index = 0;
  const std::size_t missing = batch.size() + 2 - shape.size();
  for (std::size_t i = 0; i + 2 < shape.size(); ++i)
    index = index * shape[i] + (shape[i] == 1 ? 0 : position[missing + i]);
  return (index * shape[shape.size() - 2] + row) * shape.back() + column;
}

std::int64_t count_of(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

/// Calls visit(position) for each position of `shape`.
void for_positions(const Shape& shape, const std::function<void(const Shape&)>& visit) {
  for (std::int64_t at = 0; at < count_of(shape); ++at) {
    Shape position(shape.size());
    std::int64_t rest = at;
    for (std::size_t i = shape.size(); i-- > 0; rest /= shape[i]) position[i] = rest % shape[i];
    visit(position);
  }
}

std::size_t index_of(const Shape& shape, std::int64_t first, std::int64_t second,
                     const Shape& spatial) {
  std::int64_t index = first * shape[1] + second;
  for (std::size_t i = 0; i < spatial.size(); ++i) index = index * shape[i + 2] + spatial[i];
  return static_cast<std::size_t>(index);
}

}  // namespace

std::vector<ExpectedSum> expected_product(const LibraryCall& call) {
  const CallArray &a = call.inputs[0], &b = call.inputs[1];
  const Shape& shape = call.result.shape;
  const Shape batch(shape.begin(), shape.end() - 2);
  const auto is_set = [&](std::size_t i) { return as_real(call.attributes[i].number) != 0; };
  const bool transpose_a = is_set(0), transpose_b = is_set(1);
  const std::int64_t m = shape[shape.size() - 2], n = shape.back();
  const std::int64_t k = a.shape[a.shape.size() - (transpose_a ? 2 : 1)];
  std::vector<ExpectedSum> sums;
  for (std::int64_t at = 0; at < count_of(batch); ++at)
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        ExpectedSum sum;
        for (std::int64_t l = 0; l < k; ++l) {
          const std::int64_t in_a = transpose_a ? broadcast_index(a.shape, batch, at, l, i)
                                                : broadcast_index(a.shape, batch, at, i, l);
          const std::int64_t in_b = transpose_b ? broadcast_index(b.shape, batch, at, j, l)
                                                : broadcast_index(b.shape, batch, at, l, j);
          add(sum, a.values[static_cast<std::size_t>(in_a)],
              b.values[static_cast<std::size_t>(in_b)]);
        }
        sums.push_back(sum);
      }
  return sums;
}

std::vector<ExpectedSum> expected_conv(ConvKind kind, const LibraryCall& call) {
  const bool is_forward = kind == ConvKind::forward, is_of_data = kind == ConvKind::data_gradient;
  const CallArray& x = is_of_data ? call.result : call.inputs[0];
  const CallArray& w = kind == ConvKind::weight_gradient ? call.result : call.inputs[1];
  const CallArray& y = is_forward ? call.result : call.inputs[is_of_data ? 0 : 1];
  const auto& strides = call.attributes[0].integers;
  const auto& dilations = call.attributes[1].integers;
  const auto& padding = call.attributes[2].integers;
  const std::int64_t groups = static_cast<std::int64_t>(as_real(call.attributes[4].number));
  const std::int64_t filters = w.shape[0] / groups, channels = w.shape[1];
  std::vector<ExpectedSum> sums(static_cast<std::size_t>(call.result.elements()));
  for_positions({y.shape.begin() + 2, y.shape.end()}, [&](const Shape& out) {
    for_positions({w.shape.begin() + 2, w.shape.end()}, [&](const Shape& tap) {
      Shape in(out.size());
      for (std::size_t i = 0; i < out.size(); ++i) {
        in[i] = out[i] * strides[i] + tap[i] * dilations[i] - padding[i];
        if (in[i] < 0 || in[i] >= x.shape[i + 2]) return;
      }
      for (std::int64_t image = 0; image < x.shape[0]; ++image)
        for (std::int64_t k = 0; k < w.shape[0]; ++k)
          for (std::int64_t c = 0; c < channels; ++c) {
            const std::size_t in_x = index_of(x.shape, image, k / filters * channels + c, in);
            const std::size_t in_w = index_of(w.shape, k, c, tap);
            const std::size_t in_y = index_of(y.shape, image, k, out);
            if (is_forward)
              add(sums[in_y], x.values[in_x], w.values[in_w]);
            else if (is_of_data)
              add(sums[in_x], y.values[in_y], w.values[in_w]);
            else
              add(sums[in_w], x.values[in_x], y.values[in_y]);
          }
    });
  });
  return sums;
}

}  // namespace sinter::test
