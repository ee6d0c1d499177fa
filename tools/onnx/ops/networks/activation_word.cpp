#include "tools/onnx/ops/networks/activation_word.h"

#include "sinter/nn.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

/// One activation, and which of the parameters alpha and beta it takes.
struct ActivationRow {
  std::string_view name;  ///< in lower case
  bool has_alpha;
  bool has_beta;
  double alpha;  ///< the default
  double beta;
  Tensor (*record)(Tensor x, double alpha, double beta);
};

constexpr ActivationRow kActivationRows[] = {
    {"affine", true, true, 1, 0, [](Tensor x, double a, double b) { return x * a + b; }},
    {"elu", true, false, 1, 0, [](Tensor x, double a, double) { return elu(x, a); }},
    {"hardsigmoid", true, true, 0.2, 0.5,
     [](Tensor x, double a, double b) { return clamp(x * a + b, 0, 1); }},
    {"leakyrelu", true, false, 0.01, 0,
     [](Tensor x, double a, double) { return leaky_relu(x, a); }},
    {"relu", false, false, 0, 0, [](Tensor x, double, double) { return relu(x); }},
    {"scaledtanh", true, true, 1, 1, [](Tensor x, double a, double b) { return tanh(x * b) * a; }},
    {"sigmoid", false, false, 0, 0, [](Tensor x, double, double) { return sigmoid(x); }},
    {"softplus", false, false, 0, 0, [](Tensor x, double, double) { return softplus(x); }},
    {"softsign", false, false, 0, 0, [](Tensor x, double, double) { return softsign(x); }},
    {"tanh", false, false, 0, 0, [](Tensor x, double, double) { return tanh(x); }},
    {"thresholdedrelu", true, false, 1, 0,
     [](Tensor x, double a, double) { return where(x > a, x, 0); }},
};

const ActivationRow& row_of(const std::string& word) {
  std::string lower = word;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto* const found = std::ranges::find(kActivationRows, lower, &ActivationRow::name);
  if (found == std::end(kActivationRows)) refuse(fmt::format("the activation {} is unknown", word));
  return *found;
}

/// Activations take the numbers of a list in turn, and their defaults once it is used up.
class Parameters {
 public:
  explicit Parameters(std::vector<double> numbers) : numbers_(std::move(numbers)) {}
  double next(bool is_taken, double otherwise) {
    if (!is_taken || at_ == numbers_.size()) return otherwise;
    return numbers_[at_++];
  }

 private:
  std::vector<double> numbers_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<Activation> activations_of(const Call& call, std::vector<std::string> defaults,
                                       std::size_t count) {
  std::vector<std::string> words = call.attributes().texts("activations");
  if (words.empty())
    while (words.size() < count) words.insert(words.end(), defaults.begin(), defaults.end());
  if (words.size() != count)
    refuse(fmt::format("it names {} activations; {} are needed", words.size(), count));
  Parameters alphas(call.attributes().reals("activation_alpha"));
  Parameters betas(call.attributes().reals("activation_beta"));
  std::vector<Activation> result;
  for (const std::string& word : words) {
    const ActivationRow& row = row_of(word);
    const double alpha = alphas.next(row.has_alpha, row.alpha);
    const double beta = betas.next(row.has_beta, row.beta);
    result.emplace_back([&row, alpha, beta](Tensor x) { return row.record(x, alpha, beta); });
  }
  return result;
}

}  // namespace sinter::onnx
