#include "runtime/libraries/onednn/conv_parts.h"

#include <algorithm>

namespace sinter {

namespace {

/// Enough parts for the threads of most machines, as in host_product.cpp.
constexpr std::int64_t kEnoughParts = 16;
/// Channels that oneDNN stores side by side, on processors with AVX-512.
constexpr std::int64_t kBlock = 16;
/// Images of which one primitive adds up the weight gradient.
constexpr std::int64_t kMostImages = 16;
/// oneDNN computes offsets in 32 bits.
constexpr std::int64_t kMostElements = std::int64_t{1} << 29;

/// The least number of equal parts of `extent` that gives `wanted` or more, or the largest below
/// it. Each part is a multiple of `step`.
std::int64_t parts_of(std::int64_t extent, std::int64_t step, std::int64_t wanted) {
  if (extent % step != 0) return 1;
  const std::int64_t steps = extent / step;
  std::int64_t best = 1;
  for (std::int64_t count = 1; count <= std::min(steps, 4 * wanted); ++count) {
    if (steps % count != 0) continue;
    best = count;
    if (count >= wanted) break;
  }
  return best;
}

std::int64_t largest_divisor(std::int64_t number, std::int64_t most) {
  for (std::int64_t divisor = std::min(number, most); divisor > 1; --divisor)
    if (number % divisor == 0) return divisor;
  return 1;
}

/// Groups of one channel and filter each fill blocks only together.
void divide_groups(ConvParts& parts, std::int64_t wanted) {
  const ConvProblem& whole = parts.whole;
  const std::int64_t smaller = std::min(whole.channels_per_group(), whole.filters_per_group());
  parts.groups = smaller >= kBlock
                     ? whole.groups
                     : parts_of(whole.groups, (kBlock + smaller - 1) / smaller, wanted);
  parts.part.groups /= parts.groups;
  parts.part.channels /= parts.groups;
  parts.part.filters /= parts.groups;
}

std::int64_t divide_up_by(std::int64_t wanted, std::int64_t count) {
  return std::max<std::int64_t>(1, (wanted + count - 1) / count);
}

/// The axis of rows: the first spatial axis of the call.
std::size_t row_axis(const ConvProblem& problem) {
  return static_cast<std::size_t>(3 - problem.axes);
}

std::int64_t elements_of_row(const ConvProblem& problem, const ConvProblem::Sizes& sizes) {
  return product_of(sizes) / sizes[row_axis(problem)];
}

/// The band of the rows [first, first + rows) of the result.
ConvParts::Band band_of(const ConvProblem& part, std::int64_t first, std::int64_t rows) {
  const std::size_t axis = row_axis(part);
  const std::int64_t begin = first * part.strides[axis] - part.padding_begin[axis];
  const std::int64_t end = begin + (rows - 1) * part.strides[axis] +
                           (part.filter_size[axis] - 1) * part.dilations[axis] + 1;
  ConvParts::Band band{.part = part, .x_row = std::max<std::int64_t>(begin, 0), .y_row = first};
  band.part.size[axis] = std::min(end, part.size[axis]) - band.x_row;
  band.part.result_size[axis] = rows;
  band.part.padding_begin[axis] = band.x_row - begin;
  band.part.padding_end[axis] = std::max<std::int64_t>(end - part.size[axis], 0);
  return band;
}

/// Divides the rows of a forward convolution into up to `wanted` bands. Neighbours read the same
/// rows of x, so that a band must have several times as many.
void divide_rows(ConvParts& parts, std::int64_t wanted) {
  constexpr std::int64_t kLeastProducts = std::int64_t{1} << 18;
  constexpr std::int64_t kOwnPerShared = 6;
  parts.unite_bands();
  const ConvProblem& part = parts.part;
  const std::size_t axis = row_axis(part);
  const std::int64_t rows = part.result_size[axis];
  const std::int64_t products_of_row = part.filters * elements_of_row(part, part.result_size) *
                                       part.channels_per_group() * product_of(part.filter_size);
  const std::int64_t shared = (part.filter_size[axis] - 1) * part.dilations[axis];
  const std::int64_t least = std::max(divide_up_by(kLeastProducts, products_of_row),
                                      divide_up_by(kOwnPerShared * shared, part.strides[axis]));
  const std::int64_t count = std::min(wanted, rows / least);
  std::vector<ConvParts::Band> bands;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t first = rows * i / count;
    bands.push_back(band_of(part, first, rows * (i + 1) / count - first));
    if (bands.back().part.size[axis] < 1) return;  // it reads padding only
  }
  if (count > 1) parts.bands = std::move(bands);
}

}  // namespace

std::int64_t ConvParts::x_offset(const Index& index) const {
  const std::int64_t channel =
      index.group * part.groups * whole.channels_per_group() + index.channel * part.channels;
  return (index.image * part.images * whole.channels + channel) * product_of(whole.size) +
         band(index).x_row * elements_of_row(whole, whole.size);
}

std::int64_t ConvParts::w_offset(const Index& index) const {
  const std::int64_t filter =
      index.group * part.groups * whole.filters_per_group() + index.filter * part.filters;
  return (filter * whole.channels_per_group() + index.channel * part.channels) *
         product_of(whole.filter_size);
}

std::int64_t ConvParts::y_offset(const Index& index) const {
  const std::int64_t filter =
      index.group * part.groups * whole.filters_per_group() + index.filter * part.filters;
  return (index.image * part.images * whole.filters + filter) * product_of(whole.result_size) +
         band(index).y_row * elements_of_row(whole, whole.result_size);
}

std::optional<ConvParts> conv_parts(const ConvProblem& problem) {
  const std::int64_t taps = product_of(problem.filter_size);
  if (problem.images == 0 || problem.channels == 0 || problem.filters == 0 || taps == 0 ||
      product_of(problem.size) == 0 || product_of(problem.result_size) == 0)
    return std::nullopt;
  ConvParts parts{.whole = problem, .part = problem};
  const bool adds_images = problem.kind == ConvKind::weight_gradient;
  parts.part.images = adds_images ? largest_divisor(problem.images, kMostImages) : 1;
  parts.images = problem.images / parts.part.images;
  std::int64_t wanted = divide_up_by(kEnoughParts, adds_images ? 1 : parts.images);
  divide_groups(parts, wanted);
  wanted = divide_up_by(wanted, parts.groups);
  if (parts.part.groups == 1) {
    // The filters or channels that a sum does not add.
    if (problem.kind != ConvKind::data_gradient) {
      parts.filters = parts_of(parts.part.filters, kBlock, wanted);
      wanted = divide_up_by(wanted, parts.filters);
    }
    if (problem.kind != ConvKind::forward)
      parts.channels = parts_of(parts.part.channels, kBlock, wanted);
    parts.part.filters /= parts.filters;
    parts.part.channels /= parts.channels;
  }
  const ConvProblem& part = parts.part;
  const std::int64_t largest = std::max({part.images * part.channels * product_of(part.size),
                                         part.images * part.filters * product_of(part.result_size),
                                         part.filters * part.channels_per_group() * taps});
  if (largest > kMostElements) return std::nullopt;
  // Bands take a tenth more work, such as copies of the rows that two of them read. That is worth
  // it only for the second thread.
  const bool is_one_part = parts.images * parts.groups * parts.filters == 1;
  divide_rows(parts, problem.kind == ConvKind::forward && is_one_part ? kEnoughParts : 1);
  return parts;
}

}  // namespace sinter
