// The division of convolutions into parts.
#include "runtime/libraries/onednn/conv_parts.h"

#include <functional>
#include <vector>

#include <gtest/gtest.h>

namespace sinter::conv_parts_test {
namespace {

/// A convolution of 3 x 3 taps without padding.
ConvProblem problem_of(ConvKind kind, std::int64_t images, std::int64_t channels,
                       std::int64_t filters, std::int64_t groups = 1) {
  return {.kind = kind,
          .images = images,
          .channels = channels,
          .filters = filters,
          .groups = groups,
          .size = {1, 9, 8},
          .filter_size = {1, 3, 3},
          .result_size = {1, 7, 6}};
}

std::vector<std::int64_t> counts_of(const ConvProblem& problem) {
  const ConvParts parts = conv_parts(problem).value();
  return {parts.images, parts.groups, parts.filters, parts.channels};
}

using Counts = std::vector<std::int64_t>;

TEST(ConvParts, DivideImagesThenGroupsThenFiltersOrChannels) {
  EXPECT_EQ(counts_of(problem_of(ConvKind::forward, 32, 64, 64)), Counts({32, 1, 1, 1}));
  EXPECT_EQ(counts_of(problem_of(ConvKind::forward, 1, 64, 128)), Counts({1, 1, 8, 1}));
  EXPECT_EQ(counts_of(problem_of(ConvKind::forward, 8, 64, 128)), Counts({8, 1, 2, 1}));
  EXPECT_EQ(counts_of(problem_of(ConvKind::data_gradient, 8, 64, 128)), Counts({8, 1, 1, 2}));
  EXPECT_EQ(counts_of(problem_of(ConvKind::forward, 2, 64, 64, 2)), Counts({2, 2, 2, 1}));
}

TEST(ConvParts, AWeightGradientAddsImagesInOnePart) {
  EXPECT_EQ(counts_of(problem_of(ConvKind::weight_gradient, 16, 64, 64)), Counts({1, 1, 4, 4}));
  EXPECT_EQ(counts_of(problem_of(ConvKind::weight_gradient, 48, 64, 512)), Counts({3, 1, 16, 1}));
}

TEST(ConvParts, SmallGroupsShareAPart) {
  const ConvParts depthwise = conv_parts(problem_of(ConvKind::forward, 1, 96, 96, 96)).value();
  EXPECT_EQ(depthwise.groups, 6);
  EXPECT_EQ(depthwise.part.groups, 16);
  EXPECT_EQ(depthwise.part.channels, 16);
  EXPECT_EQ(depthwise.part.filters, 16);
}

TEST(ConvParts, NothingIsDividedUnevenly) {
  EXPECT_EQ(counts_of(problem_of(ConvKind::forward, 1, 3, 100)), Counts({1, 1, 1, 1}));
  EXPECT_EQ(counts_of(problem_of(ConvKind::forward, 1, 7, 7, 7)), Counts({1, 1, 1, 1}));
  EXPECT_EQ(counts_of(problem_of(ConvKind::weight_gradient, 17, 3, 20)), Counts({17, 1, 1, 1}));
}

/// A convolution of enough products for several bands.
ConvProblem large_problem(ConvKind kind, std::int64_t images, std::int64_t filters) {
  ConvProblem problem = problem_of(kind, images, 64, filters);
  problem.size = {1, 101, 100};
  problem.padding_begin = problem.padding_end = {0, 1, 1};
  problem.strides = {1, 2, 1};
  problem.result_size = {1, 51, 100};
  return problem;
}

std::size_t bands_of(const ConvProblem& problem) { return conv_parts(problem)->bands.size(); }

TEST(ConvParts, BandsDivideTheRowsOfASinglePart) {
  EXPECT_EQ(bands_of(large_problem(ConvKind::forward, 1, 20)), 8);
  EXPECT_EQ(bands_of(large_problem(ConvKind::forward, 1, 16)), 8);
  EXPECT_EQ(bands_of(large_problem(ConvKind::forward, 1, 32)), 1);   // two parts of filters
  EXPECT_EQ(bands_of(large_problem(ConvKind::forward, 16, 20)), 1);  // 16 images
  EXPECT_EQ(bands_of(large_problem(ConvKind::data_gradient, 1, 20)), 1);
  EXPECT_EQ(bands_of(large_problem(ConvKind::weight_gradient, 1, 20)), 1);
  EXPECT_EQ(bands_of(problem_of(ConvKind::forward, 1, 3, 20)), 1);  // few products
}

/// Bands have all rows of the result, one after the other, and the rows of x that those read.
TEST(ConvParts, BandsHaveTheRowsThatTheyRead) {
  const ConvProblem problem = large_problem(ConvKind::forward, 1, 20);
  const ConvParts parts = conv_parts(problem).value();
  std::int64_t next = 0;
  for (std::size_t i = 0; i < parts.bands.size(); ++i) {
    const auto& [part, x_row, y_row] = parts.bands[i];
    EXPECT_EQ(y_row, next);
    next += part.result_size[1];
    const std::int64_t first = 2 * y_row - 1, last = 2 * (next - 1) + 1;
    EXPECT_EQ(x_row - part.padding_begin[1], first);
    EXPECT_EQ(x_row + part.size[1] + part.padding_end[1], last + 1);
    EXPECT_GE(x_row, 0);
    EXPECT_LE(x_row + part.size[1], 101);
    EXPECT_EQ(part.padding_begin[1] > 0, i == 0);
    const ConvParts::Index index{.band = static_cast<std::int64_t>(i)};
    EXPECT_EQ(parts.x_offset(index), x_row * 100);
    EXPECT_EQ(parts.y_offset(index), y_row * 100);
    EXPECT_EQ(parts.w_offset(index), 0);
  }
  EXPECT_EQ(next, 51);
}

TEST(ConvParts, EmptyArraysHaveNone) {
  EXPECT_FALSE(conv_parts(problem_of(ConvKind::forward, 0, 16, 16)));
  EXPECT_FALSE(conv_parts(problem_of(ConvKind::forward, 1, 0, 16)));
  EXPECT_FALSE(conv_parts(problem_of(ConvKind::weight_gradient, 1, 16, 0)));
}

TEST(ConvParts, OfTooManyElementsHaveNone) {
  ConvProblem large = problem_of(ConvKind::forward, 1, 64, 64);
  large.size = {1, 1 << 13, 1 << 13};
  large.result_size = {1, (1 << 13) - 2, (1 << 13) - 2};
  EXPECT_FALSE(conv_parts(large));
}

/// Marks the rows of `length` adjacent elements that parts cover, and expects each once.
void expect_each_once(std::int64_t elements, std::int64_t length, const ConvParts& parts,
                      const std::function<void(const ConvParts::Index&,
                                               const std::function<void(std::int64_t)>&)>& rows) {
  std::vector<int> marks(static_cast<std::size_t>(elements / length), 0);
  ConvParts::Index index;
  for (index.image = 0; index.image < parts.images; ++index.image)
    for (index.group = 0; index.group < parts.groups; ++index.group)
      for (index.filter = 0; index.filter < parts.filters; ++index.filter)
        for (index.channel = 0; index.channel < parts.channels; ++index.channel)
          rows(index, [&](std::int64_t offset) {
            ASSERT_EQ(offset % length, 0);
            ++marks.at(static_cast<std::size_t>(offset / length));
          });
  for (const int mark : marks) ASSERT_EQ(mark, 1);
}

TEST(ConvParts, CoverEachResultOnce) {
  for (const std::int64_t groups : {1, 4, 96}) {
    const std::int64_t images = 3, channels = 96, filters = 192;
    const ConvParts forward =
        conv_parts(problem_of(ConvKind::forward, images, channels, filters, groups)).value();
    expect_each_once(images * filters * 42, 42, forward, [&](const auto& index, const auto& mark) {
      for (std::int64_t i = 0; i < forward.part.filters; ++i)
        mark(forward.y_offset(index) + i * 42);
    });
    const ConvParts data =
        conv_parts(problem_of(ConvKind::data_gradient, images, channels, filters, groups)).value();
    expect_each_once(images * channels * 72, 72, data, [&](const auto& index, const auto& mark) {
      for (std::int64_t i = 0; i < data.part.channels; ++i) mark(data.x_offset(index) + i * 72);
    });
    const ConvParts weights =
        conv_parts(problem_of(ConvKind::weight_gradient, images, channels, filters, groups))
            .value();
    expect_each_once(filters * channels / groups * 9, 9, weights,
                     [&](const auto& index, const auto& mark) {
                       if (index.image > 0) return;  // adds to the same results
                       for (std::int64_t i = 0; i < weights.part.filters; ++i)
                         for (std::int64_t j = 0; j < weights.part.channels_per_group(); ++j)
                           mark(weights.w_offset(index) + (i * channels / groups + j) * 9);
                     });
  }
}

}  // namespace
}  // namespace sinter::conv_parts_test
