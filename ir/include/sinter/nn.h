// Neural networks: activations, norms, losses and quantisation, written in ops. Formulas and
// defaults are those of the PyTorch functions with the same names, unless a comment says otherwise.
//
// The functions compute in f32, or in f64 if an operand is f64. They round once, to the common
// dtype of their operands (norms: to x's dtype). Integers and bool are taken as f32. The exceptions
// are clamp, hardtanh, leaky_relu, count_nonzero and dequantize.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "sinter/ops.h"

namespace sinter {

// --- Activations. relu, sigmoid, gelu, softmax and log_softmax are in sinter/ops.h. --------------

/// x, or x · slope if x <= 0. Computes in x's dtype.
Tensor leaky_relu(Operand x, double slope = 0.01);
/// x, or alpha · (eˣ − 1) if x <= 0.
Tensor elu(Operand x, double alpha = 1);
/// 1.0507… · elu(x, 1.6732…): keeps mean 0 and variance 1 (Klambauer et al. 2017).
Tensor selu(Operand x);
/// x · sigmoid(x)
Tensor silu(Operand x);
/// x · sigmoid(beta · x)
Tensor swish(Operand x, double beta = 1);
/// x · tanh(log(1 + eˣ))
Tensor mish(Operand x);
/// log(1 + e^(beta · x)) / beta, or x if beta · x > threshold.
Tensor softplus(Operand x, double beta = 1, double threshold = 20);
/// gelu with tanh instead of erf: x · sigmoid(2u) with u = √(2/π) (x + 0.044715 x³). This equals
/// x (1 + tanh u) / 2, without its cancellation below 0.
Tensor gelu_tanh(Operand x);
/// x · clamp(x + 3, 0, 6) / 6
Tensor hardswish(Operand x);
/// clamp(x + 3, 0, 6) / 6
Tensor hardsigmoid(Operand x);
/// clamp(x, low, high) with slope 0 at both ends.
Tensor hardtanh(Operand x, double low = -1, double high = 1);
/// x / (1 + |x|)
Tensor softsign(Operand x);
/// silu(gate) · up (Shazeer 2020)
Tensor swiglu(Operand gate, Operand up);
/// gelu(gate) · up, with the gelu that uses erf.
Tensor geglu(Operand gate, Operand up);
/// x · cosines + rotate_half(x) · sines, in x's dtype. For the halves a and b of the last axis,
/// rotate_half([a, b]) = [−b, a]. Element i is therefore rotated with element i + D/2. `cosines`
/// and `sines` are [T, D] with equal halves, or any Tensors that broadcast to x.
Tensor rotary_embedding(Operand x, Operand cosines, Operand sines);  // x: [..., T, D], D even

// --- Arithmetic ----------------------------------------------------------------------------------

/// minimum(maximum(x, low), high), without rounding. NaN stays NaN, and high wins if low > high.
/// The slope in x is 1 at both ends.
Tensor clamp(Operand x, Operand low, Operand high);
/// a + weight · (b − a), or b − (1 − weight) · (b − a) if |weight| >= 1/2. Weights 0 and 1 are
/// therefore exact.
Tensor lerp(Operand a, Operand b, Operand weight);
/// x + value · a · b
Tensor addcmul(Operand x, Operand a, Operand b, Operand value = 1);
/// x + value · a / b
Tensor addcdiv(Operand x, Operand a, Operand b, Operand value = 1);
/// log(eᵃ + eᵇ) without overflow; −inf if both operands are −inf.
Tensor logaddexp(Operand a, Operand b);

// --- Over axes. Negative axes count from the end; no axes means all axes. ------------------------

/// Σ|x| (p = 1), √Σx² (p = 2) or max |x| (p = infinity). Squares may overflow. The norm of no
/// elements is 0. If the norm is 0, its slope is 0. Throws UserError for other values of p.
Tensor norm(Operand x, double p = 2, Axes axes = {}, Keep keep = Keep::no);
/// Square root of var, with slope 0 if var is 0. The correction has no default, because NumPy uses
/// 0 and PyTorch 1.
Tensor std_dev(Operand x, Axes axes, int correction, Keep keep = Keep::no);
/// The number of elements that are not 0, in i64. NaN counts.
Tensor count_nonzero(Operand x, Axes axes = {}, Keep keep = Keep::no);
/// x / max(√Σx², eps) along `axis`. A smaller eps than 2^−63 (f64: 2^−511) counts as that number,
/// here and in cosine_similarity.
Tensor l2_normalize(Operand x, int axis = 1, double eps = 1e-12);
/// Σab / (max(√Σa², eps) · max(√Σb², eps)) along `axis`, after a and b are broadcast.
Tensor cosine_similarity(Operand a, Operand b, int axis = 1, double eps = 1e-8);

// --- Norms, in x's dtype. `weight` and `bias` may be numbers; 1 and 0 record nothing. ------------

/// (x − mean) / √(var + eps) · weight + bias, with mean and variance over `axes`. The shape of
/// weight and bias is x's extents along the axes, in ascending order.
Tensor layer_norm(Operand x, Axes axes = {-1}, Operand weight = 1, Operand bias = 0,
                  double eps = 1e-5);
/// x / √(mean(x²) + eps) · weight. The default of eps is the epsilon of the compute dtype: 2^−23,
/// or 2^−52 for f64.
Tensor rms_norm(Operand x, Axes axes = {-1}, Operand weight = 1, std::optional<double> eps = {});
/// Like layer_norm, over C / groups adjacent channels and all axes after axis 1. Throws UserError
/// unless `groups` divides C.
Tensor group_norm(Operand x, std::int64_t groups, Operand weight = 1, Operand bias = 0,
                  double eps = 1e-5);  // x: [N, C, ...], weight and bias: [C]
/// Like layer_norm, over all axes after axis 1, for each channel of each sample.
Tensor instance_norm(Operand x, Operand weight = 1, Operand bias = 0,
                     double eps = 1e-5);  // x: [N, C, ...] of rank 3 or more, weight and bias: [C]

/// The results of batch_norm for a training step. `mean` and `var` have the compute dtype.
struct BatchNorm {
  Tensor y;
  Tensor mean;          ///< of the batch: [C]
  Tensor var;           ///< of the batch, with divisor n, the elements per channel: [C]
  Tensor running_mean;  ///< (1 − momentum) · old + momentum · mean, in the dtype of the old mean
  Tensor running_var;   ///< likewise, from the variance with divisor n − 1
};
/// Like layer_norm, over all axes except 1. Use `Graph::update` to write the running statistics
/// back. With one element per channel, running_var becomes NaN, because the divisor n − 1 is 0.
BatchNorm batch_norm(Operand x, Operand running_mean, Operand running_var, Operand weight = 1,
                     Operand bias = 0, double momentum = 0.1,
                     double eps = 1e-5);  // x: [N, C, ...], all others: [C]
/// batch_norm with given statistics.
Tensor batch_norm_inference(Operand x, Operand mean, Operand var, Operand weight = 1,
                            Operand bias = 0, double eps = 1e-5);

// --- Losses --------------------------------------------------------------------------------------

/// The combination of the losses of all elements. In the text form, it is the number 0, 1 or 2.
enum class Reduction : std::uint8_t { none, sum, mean };

/// Options of cross_entropy. Targets outside [0, C) are treated like indices of take: negative
/// targets count from the end, and others are clamped.
struct CrossEntropyOptions {
  Tensor weight = {};                ///< per class: [C]; empty: 1
  std::int64_t ignore_index = -100;  ///< targets of this value have loss 0 and weight 0
  double label_smoothing = 0;        ///< s in (1 − s) · loss + s · mean loss of all classes
  Reduction reduction = Reduction::mean;  ///< the mean divides by the sum of the weights
};
/// weight[t] · −log(softmax(logits)[t]) for the target t. The loss is computed as log Σ eˣ − x[t],
/// after the largest logit is subtracted.
Tensor cross_entropy(Operand logits, Operand targets,
                     const CrossEntropyOptions& options = {});  // [N, C, ...], integers [N, ...]

/// Options of nll_loss, with the meaning of CrossEntropyOptions.
struct NllOptions {
  Tensor weight = {};
  std::int64_t ignore_index = -100;
  Reduction reduction = Reduction::mean;
};
/// weight[t] · −x[t] for log-probabilities x and the target t.
Tensor nll_loss(Operand x, Operand targets,
                const NllOptions& options = {});  // [N, C, ...], integers [N, ...]

// The targets of the following losses have the shape of x, or are numbers.

/// (x − target)²
Tensor mse_loss(Operand x, Operand target, Reduction reduction = Reduction::mean);
/// |x − target|
Tensor l1_loss(Operand x, Operand target, Reduction reduction = Reduction::mean);
/// d²/2 if d = |x − target| <= delta, else delta · (d − delta/2). Throws UserError unless delta >
/// 0.
Tensor huber_loss(Operand x, Operand target, double delta = 1,
                  Reduction reduction = Reduction::mean);
/// −t·log(sigmoid(x)) − (1 − t)·log(1 − sigmoid(x)), computed as
/// max(x, 0) − x·t + log(1 + e^−|x|).
Tensor bce_with_logits(Operand x, Operand target, Reduction reduction = Reduction::mean);
/// target · (log(target) − x) for log-probabilities x; 0 if the target is 0. If `log_target`, the
/// target is a log-probability too. The target must be a Tensor. The mean is over all elements; for
/// the divergence per sample, divide the sum by the number of samples.
Tensor kl_div(Operand x, Operand target, bool log_target = false,
              Reduction reduction = Reduction::mean);

// --- Quantisation. The scale and the zero point broadcast to x. ----------------------------------

/// For i8 and u8: round(x / scale) + zero_point, clamped to the range of the dtype. Halves round to
/// even, and NaN gives 0. For f8e4m3 and f8e5m2: x / scale + zero_point, with saturation. Throws
/// UserError for other dtypes.
Tensor quantize(Operand x, Operand scale, Operand zero_point = 0, DType dtype = i8);
/// (q − zero_point) · scale in f32, or in f64 if an operand is f64.
Tensor dequantize(Operand q, Operand scale, Operand zero_point = 0);

}  // namespace sinter
