// Gathers the operands of convolutions: the elements that one filter tap reads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/libraries/problem/conv_problem.h"

namespace sinter {

/// The element at position p of the domain is source[p * step + base] along each axis, and 0
/// outside of the source.
struct Gather {
  ConvProblem::Sizes domain, source, step, base;
};

/// One row of a domain: positions [first, first + count) along the last axis.
template <class Element, class T>
void gather_row(const typename Element::Storage* source, const Gather& gather, std::int64_t first,
                std::int64_t count, T* result, std::int64_t result_step) {
  const std::int64_t step = gather.step[2], base = gather.base[2];
  const auto first_from = [&](std::int64_t place) {  // the first position at or behind a place
    return place <= base ? 0 : (place - base + step - 1) / step;
  };
  const std::int64_t last = first + count;
  const std::int64_t begin = std::clamp(first_from(0), first, last);
  const std::int64_t end = std::clamp(first_from(gather.source[2]), begin, last);
  std::int64_t i = first;
  for (; i < begin; ++i, result += result_step) *result = T(0);
  const auto* from = source + (begin * step + base);
  if (step == 1 && result_step == 1) {
    for (std::int64_t j = 0; j < end - begin; ++j) result[j] = Element::value(from[j]);
    i = end;
    result += end - begin;
  }
  for (; i < end; ++i, from += step, result += result_step) *result = Element::value(*from);
  for (; i < last; ++i, result += result_step) *result = T(0);
}

/// Writes `count` elements from position `first` of the flattened domain on.
template <class Element, class T>
void gather(const typename Element::Storage* source, const Gather& gather, std::int64_t first,
            std::int64_t count, T* result, std::int64_t result_step) {
  const auto is_inside = [&](std::size_t axis, std::int64_t place) {
    return place >= 0 && place < gather.source[axis];
  };
  while (count > 0) {
    const std::int64_t column = first % gather.domain[2];
    const std::int64_t row = first / gather.domain[2];
    const std::int64_t run = std::min(count, gather.domain[2] - column);
    const std::int64_t i0 = row / gather.domain[1] * gather.step[0] + gather.base[0];
    const std::int64_t i1 = row % gather.domain[1] * gather.step[1] + gather.base[1];
    if (is_inside(0, i0) && is_inside(1, i1))
      gather_row<Element>(source + (i0 * gather.source[1] + i1) * gather.source[2], gather, column,
                          run, result, result_step);
    else
      for (std::int64_t i = 0; i < run; ++i) result[i * result_step] = T(0);
    first += run;
    count -= run;
    result += run * result_step;
  }
}

}  // namespace sinter
