// TfIdfVectorizer with weights. ONNX's cases have none.
#include "tests/onnx/models/run_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::test::ngrams_test {
namespace {

using testing::HasSubstr;

/// Counts 5, and (1, 2) and (2, 5) with up to one skip.
ModelBuilder counting(const char* mode, std::vector<float> weights,
                      std::vector<std::int64_t> begins = {0, 1}, std::int64_t skips = 1) {
  onnx::AttributeProto factors;
  factors.name = "weights";
  factors.type = static_cast<std::int32_t>(onnx::AttributeType::reals);
  factors.floats = std::move(weights);
  ModelBuilder builder;
  builder.input("x", {"n", 5}, onnx::ElementType::i32)
      .add(node("TfIdfVectorizer", {"x"}, {"y"},
                {text_attribute("mode", mode), integers_attribute("pool_int64s", {5, 1, 2, 2, 5}),
                 integers_attribute("ngram_counts", std::move(begins)),
                 integers_attribute("ngram_indexes", {3, 0, 1}),
                 integer_attribute("min_gram_length", 1), integer_attribute("max_gram_length", 2),
                 integer_attribute("max_skip_count", skips), factors}))
      .output("y");
  return builder;
}

std::vector<double> counted(const ModelBuilder& model) {
  return reals_of(
      outputs_of(model, {{"x", integer_array(i32, {2, 5}, {1, 2, 5, 5, 2, 3, 1, 4, 2, 5})}})
          .at("y"));
}

TEST(OnnxTfIdf, CountsAndWeighs) {
  EXPECT_EQ(counted(counting("TF", {2, 3, 4, 5})), (std::vector<double>{1, 2, 0, 2, 1, 1, 0, 1}));
  EXPECT_EQ(counted(counting("TFIDF", {2, 3, 4, 5})),
            (std::vector<double>{2, 6, 0, 10, 2, 3, 0, 5}));
  EXPECT_EQ(counted(counting("IDF", {2, 3, 4, 5})), (std::vector<double>{2, 3, 0, 5, 2, 3, 0, 5}));
}

TEST(OnnxTfIdf, RefusesPoolsThatDoNotFit) {
  EXPECT_THAT(counting("TF", {}, {0, 2}).error(),
              HasSubstr("its 2-grams are the elements 2 to 5 of a pool of 5"));
  EXPECT_THAT(counting("LOG", {}).error(), HasSubstr("mode is LOG; it must be TF, IDF or TFIDF"));
  EXPECT_THAT(counting("IDF", {1}).error(), HasSubstr("it has 1 weights for 4 results"));
  EXPECT_THAT(counting("TF", {}, {0, 1}, std::int64_t{1} << 40).error(),
              HasSubstr("it counts n-grams of 1 to 2 items with up to 1099511627776 skips at 4 "
                        "positions; sinter counts those of 1 to 16 items with up to 256 skips"));
}

}  // namespace
}  // namespace sinter::test::ngrams_test
