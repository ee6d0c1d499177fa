// Neural networks: activations, norms, losses and quantisation. Functions written in ops, with the
// formulas and defaults of the functions of the same names in PyTorch where nothing else is said.
//
// They compute in f32, in f64 where an operand is f64, and round once, to the dtype that their
// operands have in common (norms: to x's dtype). Integers and bool are taken as f32. Exceptions say
// so: clamp, hardtanh, leaky_relu, count_nonzero and dequantize.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "sinter/ops.h"

namespace sinter {

// --- Activations. relu, sigmoid, gelu, softmax and log_softmax are in sinter/ops.h. --------------

/// x, or x · slope where x <= 0. In x's own dtype.
Tensor leaky_relu(Operand x, double slope = 0.01);
/// x, or alpha · (eˣ − 1) where x <= 0.
Tensor elu(Operand x, double alpha = 1);
/// 1.0507… · elu(x, 1.6732…): keeps mean 0 and variance 1 (Klambauer et al. 2017).
Tensor selu(Operand x);
/// x · sigmoid(x)
Tensor silu(Operand x);
/// x · sigmoid(beta · x)
Tensor swish(Operand x, double beta = 1);
/// x · tanh(log(1 + eˣ))
Tensor mish(Operand x);
/// log(1 + e^(beta · x)) / beta; x itself where beta · x > threshold.
Tensor softplus(Operand x, double beta = 1, double threshold = 20);
/// gelu with tanh in place of erf: x · sigmoid(2u), u = √(2/π) (x + 0.044715 x³), which is
/// x (1 + tanh u) / 2 without its cancellation below 0.
Tensor gelu_tanh(Operand x);
/// x · clamp(x + 3, 0, 6) / 6
Tensor hardswish(Operand x);
/// clamp(x + 3, 0, 6) / 6
Tensor hardsigmoid(Operand x);
/// clamp(x, low, high), whose slope at both ends is 0
Tensor hardtanh(Operand x, double low = -1, double high = 1);
/// x / (1 + |x|)
Tensor softsign(Operand x);
/// silu(gate) · up (Shazeer 2020)
Tensor swiglu(Operand gate, Operand up);
/// gelu(gate) · up, by erf
Tensor geglu(Operand gate, Operand up);
/// x · cosines + rotate_half(x) · sines, where rotate_half([a, b]) = [−b, a] for the two halves of
/// the last axis: element i turns with element i + D/2. `cosines` and `sines` [T, D] (both halves
/// alike), or whatever broadcasts to x. Gives x's dtype.
Tensor rotary_embedding(Operand x, Operand cosines, Operand sines);  // x: [..., T, D], D even

// --- Arithmetic ----------------------------------------------------------------------------------

/// minimum(maximum(x, low), high): NaN stays NaN, and high wins where low > high. Rounds nothing.
/// Its slope in x is 1 at both ends.
Tensor clamp(Operand x, Operand low, Operand high);
/// a + weight · (b − a), written from b where |weight| >= 1/2, so that weights 0 and 1 are exact.
Tensor lerp(Operand a, Operand b, Operand weight);
/// x + value · a · b
Tensor addcmul(Operand x, Operand a, Operand b, Operand value = 1);
/// x + value · a / b
Tensor addcdiv(Operand x, Operand a, Operand b, Operand value = 1);
/// log(eᵃ + eᵇ) without overflow; −inf of two −inf.
Tensor logaddexp(Operand a, Operand b);

// --- Over axes: negative ones count from the end; none: all axes. --------------------------------

/// Σ|x| (p = 1), √Σx² (p = 2) or max |x| (p = infinity). Squares may overflow. 0 of nothing. Where
/// the norm is 0, so is its slope.
Tensor norm(Operand x, double p = 2, Axes axes = {}, Keep keep = Keep::no);
/// Square root of var, with slope 0 where it is 0. The correction has no default: numpy's is 0,
/// PyTorch's 1.
Tensor std_dev(Operand x, Axes axes, int correction, Keep keep = Keep::no);
/// How many elements are not 0; NaN counts. i64.
Tensor count_nonzero(Operand x, Axes axes = {}, Keep keep = Keep::no);
/// x / max(√Σx², eps) along `axis`. An eps below 2^−63 (f64: 2^−511) is taken as that, here and
/// below.
Tensor l2_normalize(Operand x, int axis = 1, double eps = 1e-12);
/// Σab / (max(√Σa², eps) · max(√Σb², eps)) along `axis` of what a and b broadcast to.
Tensor cosine_similarity(Operand a, Operand b, int axis = 1, double eps = 1e-8);

// --- Norms: of x's dtype. `weight` and `bias` may be numbers; 1 and 0 record nothing. ------------

/// (x − mean) / √(var + eps) · weight + bias, mean and variance over `axes`; weight and bias have
/// the extents of x along the axes, in ascending order.
Tensor layer_norm(Operand x, Axes axes = {-1}, Operand weight = 1, Operand bias = 0,
                  double eps = 1e-5);
/// x / √(mean(x²) + eps) · weight. Without `eps` it is the epsilon of the dtype computed in: 2^−23,
/// for f64 2^−52.
Tensor rms_norm(Operand x, Axes axes = {-1}, Operand weight = 1, std::optional<double> eps = {});
/// As layer_norm, over each of `groups` runs of C / groups channels and all places.
Tensor group_norm(Operand x, std::int64_t groups, Operand weight = 1, Operand bias = 0,
                  double eps = 1e-5);  // x: [N, C, ...], weight and bias: [C]
/// As layer_norm, over the places of each channel of each sample.
Tensor instance_norm(Operand x, Operand weight = 1, Operand bias = 0,
                     double eps = 1e-5);  // x: [N, C, ...] of rank 3 or more, weight and bias: [C]

/// What a step of training makes of a batch. `mean` and `var` are in the dtype computed in.
struct BatchNorm {
  Tensor y;
  Tensor mean;          ///< of the batch: [C]
  Tensor var;           ///< of the batch, divided by the number of elements: [C]
  Tensor running_mean;  ///< (1 − momentum) · old + momentum · mean, in the old one's dtype
  Tensor running_var;   ///< likewise, of the variance divided by the number less 1
};
/// As layer_norm, over all axes but 1. `Graph::update` writes the running statistics back. One
/// element per channel has no variance divided by the number less 1: running_var becomes NaN.
BatchNorm batch_norm(Operand x, Operand running_mean, Operand running_var, Operand weight = 1,
                     Operand bias = 0, double momentum = 0.1,
                     double eps = 1e-5);  // x: [N, C, ...], all others: [C]
/// The same with given statistics.
Tensor batch_norm_inference(Operand x, Operand mean, Operand var, Operand weight = 1,
                            Operand bias = 0, double eps = 1e-5);

// --- Losses --------------------------------------------------------------------------------------

/// What becomes of the losses of all elements. In the text form a number: 0, 1 or 2.
enum class Reduction : std::uint8_t { none, sum, mean };

/// `targets` beyond the classes count as indices of take do: negative ones from the end, all others
/// are clamped.
struct CrossEntropyOptions {
  Tensor weight = {};                ///< of each class: [C]; none: 1
  std::int64_t ignore_index = -100;  ///< targets of this value have loss 0 and weight 0
  double label_smoothing = 0;        ///< what all classes share: (1 − s) · loss + s · mean loss
  Reduction reduction = Reduction::mean;  ///< the mean is the sum over the sum of the weights
};
/// weight[t] · −log(softmax(logits)[t]), t the target: log Σ eˣ − x[t], with the largest logit
/// taken off.
Tensor cross_entropy(Operand logits, Operand targets,
                     const CrossEntropyOptions& options = {});  // [N, C, ...], integers [N, ...]

struct NllOptions {
  Tensor weight = {};
  std::int64_t ignore_index = -100;
  Reduction reduction = Reduction::mean;
};
/// weight[t] · −x[t], x the logarithms of probabilities; options as of cross_entropy.
Tensor nll_loss(Operand x, Operand targets,
                const NllOptions& options = {});  // [N, C, ...], integers [N, ...]

// Of one shape with x, or numbers, are the targets of these.

/// (x − target)²
Tensor mse_loss(Operand x, Operand target, Reduction reduction = Reduction::mean);
/// |x − target|
Tensor l1_loss(Operand x, Operand target, Reduction reduction = Reduction::mean);
/// d²/2 where d = |x − target| <= delta, else delta · (d − delta/2).
Tensor huber_loss(Operand x, Operand target, double delta = 1,
                  Reduction reduction = Reduction::mean);
/// −t·log(sigmoid(x)) − (1 − t)·log(1 − sigmoid(x)), written max(x, 0) − x·t + log(1 + e^−|x|).
Tensor bce_with_logits(Operand x, Operand target, Reduction reduction = Reduction::mean);
/// target · (log(target) − x), 0 where the target is 0; x is the logarithm of a probability, and so
/// is the target where `log_target` says so. The mean is over all elements: a divergence per sample
/// is the sum over the number of samples.
Tensor kl_div(Operand x, Operand target, bool log_target = false,
              Reduction reduction = Reduction::mean);

// --- Quantisation: one scale, or one per place of some axes by broadcasting.
// ----------------------

/// round(x / scale) + zero_point as i8 or u8, the nearest end where it is out of range; halves
/// round to the even number, NaN gives 0 … or x / scale + zero_point as f8e4m3 or f8e5m2, which
/// saturate.
Tensor quantize(Operand x, Operand scale, Operand zero_point = 0, DType dtype = i8);
/// (q − zero_point) · scale in f32; in f64 where the scale is.
Tensor dequantize(Operand q, Operand scale, Operand zero_point = 0);

}  // namespace sinter
