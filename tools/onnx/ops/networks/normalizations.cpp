// Normalisations. They compute in f32, or in f64 for f64, and round to the input's dtype.
#include "sinter/views.h"
#include "tools/onnx/node/operands.h"
#include "tools/onnx/node/positions.h"
#include "tools/onnx/ops/op_table.h"

#include <numeric>
#include <tuple>

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

constexpr double kDefaultEpsilon = 1e-5F;

DType wide_dtype(DType dtype) { return dtype == f64 ? f64 : f32; }
Tensor widened(const Tensor& x) { return cast(x, wide_dtype(x.dtype())); }

std::vector<std::int64_t> axes_from(int first, int rank) {
  std::vector<std::int64_t> axes(static_cast<std::size_t>(rank - first));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

/// The axis from which a norm runs to the last axis.
int first_axis(const Call& call, const Tensor& x) {
  return checked_axis(call.attributes().integer("axis", -1), x.rank());
}

/// The intermediate dtype must be f32, as it is by default.
void check_stash_type(const Call& call) {
  if (call.attributes().integer("stash_type", 1) != 1)
    refuse("stash_type is not 1 (FLOAT), the only type in which sinter computes it");
}

/// Deviations from the mean over some axes, divided by the standard deviation.
struct Standardized {
  Tensor value;
  Tensor mean;
  Tensor inverse_deviation;
};

Standardized standardized(const Tensor& x, std::span<const std::int64_t> axes, double epsilon) {
  const VarMean moments = var_mean(x, axes, 0, keep);
  const Tensor inverse = rsqrt(moments.var + epsilon);
  return {
      .value = (x - moments.mean) * inverse, .mean = moments.mean, .inverse_deviation = inverse};
}

Outputs record_layer_normalization(const Call& call) {
  require_inputs(call, 2, 3);
  const Tensor x = call.tensor(0);
  check_stash_type(call);
  const std::vector<std::int64_t> axes = axes_from(first_axis(call, x), x.rank());
  const Standardized norm =
      standardized(widened(x), axes, call.attributes().real("epsilon", kDefaultEpsilon));
  Tensor y = cast(norm.value, x.dtype()) * call.tensor(1);
  if (call.has_input(2)) y = y + call.tensor(2);
  return {y, norm.mean, norm.inverse_deviation};
}

Outputs record_rms_normalization(const Call& call) {
  require_inputs(call, 2, 2);
  const Tensor x = call.tensor(0);
  check_stash_type(call);
  const std::vector<std::int64_t> axes = axes_from(first_axis(call, x), x.rank());
  const Tensor wide = widened(x);
  const Tensor power = mean(square(wide), axes, keep);
  const double epsilon = call.attributes().real("epsilon", kDefaultEpsilon);
  const Tensor y = wide * rsqrt(power + epsilon);
  return {cast(y, x.dtype()) * call.tensor(1)};
}

/// A vector of one element per channel, aligned with axis 1.
Tensor per_channel(const Call& call, std::size_t i, int rank) {
  const Tensor vector = call.tensor(i);
  if (vector.rank() != 1)
    refuse(
        fmt::format("input {} has rank {}; it must be a vector of the channels", i, vector.rank()));
  return aligned_to_axis(widened(vector), rank == 1 ? 0 : 1, rank);
}

Outputs record_instance_normalization(const Call& call) {
  require_inputs(call, 3, 3);
  const Tensor x = call.tensor(0);
  if (x.rank() < 3) refuse(fmt::format("its input has rank {}; it must be at least 3", x.rank()));
  const Standardized norm = standardized(widened(x), axes_from(2, x.rank()),
                                         call.attributes().real("epsilon", kDefaultEpsilon));
  const Tensor y = norm.value * per_channel(call, 1, x.rank()) + per_channel(call, 2, x.rank());
  return {cast(y, x.dtype())};
}

/// Groups of adjacent channels. Scale and bias are per group before opset 21, then per channel.
Outputs record_group_normalization(const Call& call) {
  require_inputs(call, 3, 3);
  const Tensor x = call.tensor(0);
  const std::int64_t groups = call.attributes().integer("num_groups");
  const double epsilon = call.attributes().real("epsilon", kDefaultEpsilon);
  check_stash_type(call);
  if (x.rank() < 2 || groups < 1 || !x.shape()[1].is_number() ||
      x.shape()[1].number() % groups != 0)
    refuse(fmt::format("its channels do not divide into {} groups", groups));
  std::vector<Extent> apart(x.shape().begin(), x.shape().end());
  apart[1] = x.shape()[1].number() / groups;
  apart.insert(apart.begin() + 1, Extent(groups));
  const int rank = x.rank() + 1;
  const Tensor grouped = reshape(widened(x), apart);
  const Tensor norm = standardized(grouped, axes_from(2, rank), epsilon).value;
  if (call.opset() >= 21) {
    const Tensor y = reshape(norm, x.shape()) * per_channel(call, 1, x.rank());
    return {cast(y + per_channel(call, 2, x.rank()), x.dtype())};
  }
  const Tensor y = norm * per_channel(call, 1, rank) + per_channel(call, 2, rank);
  return {cast(reshape(y, x.shape()), x.dtype())};
}

/// In training, the statistics are those of the batch, and the running ones are outputs.
Outputs record_batch_normalization(const Call& call) {
  require_inputs(call, 5, 5);
  const Tensor x = call.tensor(0);
  const double epsilon = call.attributes().real("epsilon", kDefaultEpsilon);
  const double momentum = call.attributes().real("momentum", 0.9F);
  if (call.opset() < 7) call.attributes().ignore("is_test");  // more outputs mean training
  if (call.opset() < 9 && !call.attributes().flag("spatial", true))
    refuse("spatial is 0: its statistics are not per channel, which sinter does not import");
  const bool is_training =
      call.opset() >= 14 ? call.attributes().flag("training_mode", false) : call.wants_output(1);
  if (is_training && call.opset() < 14)
    refuse("it has more than one output, which means training before opset 14");
  const Tensor wide = widened(x);
  Tensor mean = per_channel(call, 3, x.rank());
  Tensor var = per_channel(call, 4, x.rank());
  Outputs running;
  if (is_training) {
    std::vector<std::int64_t> axes = axes_from(0, x.rank());
    if (x.rank() > 1) axes.erase(axes.begin() + 1);
    const VarMean moments = var_mean(wide, axes, 0, keep);
    for (const auto& [input, old, batch] :
         {std::tuple(3U, mean, moments.mean), std::tuple(4U, var, moments.var)}) {
      const Tensor mixed = old * momentum + batch * (1 - momentum);
      running.push_back(cast(reshape(mixed, call.shape(input)), call.dtype(input)));
    }
    mean = moments.mean;
    var = moments.var;
  }
  const Tensor y = (wide - mean) * (rsqrt(var + epsilon) * per_channel(call, 1, x.rank())) +
                   per_channel(call, 2, x.rank());
  Outputs outputs{cast(y, x.dtype())};
  outputs.insert(outputs.end(), running.begin(), running.end());
  return outputs;
}

/// Divides by a power of the sum of squares over neighbouring channels.
Outputs record_lrn(const Call& call) {
  require_inputs(call, 1, 1);
  const Tensor x = call.tensor(0);
  const std::int64_t size = call.attributes().integer("size");
  if (size < 1 || x.rank() < 2)
    refuse(fmt::format("size is {} and the rank is {}; they must be at least 1 and 2", size,
                       x.rank()));
  const double alpha = call.attributes().real("alpha", 1e-4F);
  const double beta = call.attributes().real("beta", 0.75F);
  const double bias = call.attributes().real("bias", 1);
  std::vector<std::int64_t> low(static_cast<std::size_t>(x.rank()), 0);
  std::vector<std::int64_t> high = low;
  low[1] = (size - 1) / 2;
  high[1] = size - 1 - low[1];
  const Tensor wide = widened(x);
  const Tensor windows = unfold(pad(square(wide), low, high), 1, size, 1);
  const Tensor sums = sum(windows, {-1});
  return {cast(wide / pow(sums * (alpha / static_cast<double>(size)) + bias, beta), x.dtype())};
}

Outputs record_lp_normalization(const Call& call) {
  require_inputs(call, 1, 1);
  const Tensor x = call.tensor(0);
  const int axis = checked_axis(call.attributes().integer("axis", -1), x.rank());
  const std::int64_t p = call.attributes().integer("p", 2);
  if (p != 1 && p != 2) refuse(fmt::format("p is {}; it must be 1 or 2", p));
  const Tensor wide = widened(x);
  const Tensor norm = p == 1 ? sum(abs(wide), {axis}, keep) : sqrt(sum(square(wide), {axis}, keep));
  // Elements of which all are 0 stay 0.
  return {cast(where(eq(norm, 0), norm, wide / norm), x.dtype())};
}

Outputs record_mean_variance_normalization(const Call& call) {
  require_inputs(call, 1, 1);
  const Tensor x = call.tensor(0);
  const std::vector<std::int64_t> axes =
      checked_axes(call.attributes().integers("axes", {0, 2, 3}), x.rank());
  const Tensor wide = widened(x);
  const VarMean moments = var_mean(wide, axes, 0, keep);
  return {cast((wide - moments.mean) / (sqrt(moments.var) + 1e-9), x.dtype())};
}

constexpr OpRow kNormalizations[] = {
    {"BatchNormalization", record_batch_normalization},
    {"GroupNormalization", record_group_normalization},
    {"InstanceNormalization", record_instance_normalization},
    {"LRN", record_lrn},
    {"LayerNormalization", record_layer_normalization},
    {"LpNormalization", record_lp_normalization},
    {"MeanVarianceNormalization", record_mean_variance_normalization},
    {"RMSNormalization", record_rms_normalization},
};

}  // namespace

std::span<const OpRow> normalization_ops() { return kNormalizations; }

}  // namespace sinter::onnx
