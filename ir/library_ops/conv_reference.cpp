// The references of convolutions and of their gradients. All three sum over pairs of one element of
// x and one of w that belong together: `for_each_pair` lists them.
#include <array>
#include <vector>

#include "ir/library_ops/reference.h"
#include "ir/shape/host_array.h"

namespace sinter {

namespace {

constexpr std::size_t kSpatial = 3;
using Place = std::array<std::int64_t, kSpatial>;

/// A convolution with three spatial axes; those that it lacks come first, with extent 1.
struct Conv3 {
  std::int64_t batch, channels, filters, groups;
  Place x, w, y;
  Place strides = {1, 1, 1};
  Place dilations = {1, 1, 1};
  Place padding = {0, 0, 0};
};

Place spatial_of(std::span<const std::int64_t> shape) {
  Place place = {1, 1, 1};
  for (std::size_t axis = 2; axis < shape.size(); ++axis)
    place[kSpatial + axis - shape.size()] = shape[axis];
  return place;
}

void set_last(Place& place, std::span<const std::int64_t> list) {
  for (std::size_t i = 0; i < list.size(); ++i) place[kSpatial - list.size() + i] = list[i];
}

Conv3 conv_of(const OpaqueSizes& sizes, std::span<const std::int64_t> x,
              std::span<const std::int64_t> w, std::span<const std::int64_t> y) {
  Conv3 conv{.batch = x[0],
             .channels = x[1],
             .filters = w[0],
             .groups = static_cast<std::int64_t>(sizes.number("groups")),
             .x = spatial_of(x),
             .w = spatial_of(w),
             .y = spatial_of(y)};
  set_last(conv.strides, sizes.integers("strides"));
  set_last(conv.dilations, sizes.integers("dilations"));
  set_last(conv.padding, sizes.integers("padding_begin"));
  return conv;
}

/// Calls `body(index)` for each index below `extents`.
template <class Body>
void for_each_index(const Place& extents, const Body& body) {
  Place index;
  for (index[0] = 0; index[0] < extents[0]; ++index[0])
    for (index[1] = 0; index[1] < extents[1]; ++index[1])
      for (index[2] = 0; index[2] < extents[2]; ++index[2]) body(index);
}

std::int64_t offset_of(const Place& index, const Place& extents) {
  return (index[0] * extents[1] + index[1]) * extents[2] + index[2];
}

std::int64_t product(const Place& extents) { return extents[0] * extents[1] * extents[2]; }

/// Calls `body(x, w, y)` with the offsets of all elements of which y's sum has the product x w.
template <class Body>
void for_each_product(const Conv3& conv, const Body& body) {
  const std::int64_t channels = conv.channels / conv.groups;
  const std::int64_t filters = conv.filters / conv.groups;
  for (std::int64_t n = 0; n < conv.batch; ++n)
    for (std::int64_t k = 0; k < conv.filters; ++k)
      for_each_index(conv.y, [&](const Place& out) {
        const std::int64_t y =
            (n * conv.filters + k) * product(conv.y) + offset_of(out, conv.y);
        for (std::int64_t c = 0; c < channels; ++c)
          for_each_index(conv.w, [&](const Place& tap) {
            Place in;
            for (std::size_t axis = 0; axis < kSpatial; ++axis) {
              in[axis] = out[axis] * conv.strides[axis] + tap[axis] * conv.dilations[axis] -
                         conv.padding[axis];
              if (in[axis] < 0 || in[axis] >= conv.x[axis]) return;
            }
            const std::int64_t channel = k / filters * channels + c;
            body((n * conv.channels + channel) * product(conv.x) + offset_of(in, conv.x),
                 (k * channels + c) * product(conv.w) + offset_of(tap, conv.w), y);
          });
      });
}

/// One sum for each element of the result.
class Sums {
 public:
  explicit Sums(const OpaqueReference& call)
      : a_(call.inputs[0]),
        b_(call.inputs[1]),
        result_(call.outputs[0]),
        sums_(static_cast<std::size_t>(element_count(call.outputs[0].shape)),
              SumOfProducts(call.inputs[0].dtype, call.sizes.number("allow_tf32") != 0)) {}

  void add(std::int64_t result, std::int64_t a, std::int64_t b) {
    const auto left = static_cast<std::size_t>(a);
    const auto right = static_cast<std::size_t>(b);
    sums_[static_cast<std::size_t>(result)].add(a_.reals[left], a_.bounds[left], b_.reals[right],
                                                b_.bounds[right]);
  }
  void finish() {
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      result_.reals[i] = sums_[i].value();
      result_.bounds[i] = sums_[i].bound();
    }
  }

 private:
  const OpaqueValue& a_;
  const OpaqueValue& b_;
  const OpaqueExpected& result_;
  std::vector<SumOfProducts> sums_;
};

}  // namespace

void conv_reference(const OpaqueReference& call) {
  Sums sums(call);
  for_each_product(
      conv_of(call.sizes, call.inputs[0].shape, call.inputs[1].shape, call.outputs[0].shape),
      [&](std::int64_t x, std::int64_t w, std::int64_t y) { sums.add(y, x, w); });
  sums.finish();
}

void conv_data_gradient_reference(const OpaqueReference& call) {
  Sums sums(call);
  for_each_product(
      conv_of(call.sizes, call.outputs[0].shape, call.inputs[1].shape, call.inputs[0].shape),
      [&](std::int64_t x, std::int64_t w, std::int64_t y) { sums.add(x, y, w); });
  sums.finish();
}

void conv_weight_gradient_reference(const OpaqueReference& call) {
  Sums sums(call);
  for_each_product(
      conv_of(call.sizes, call.inputs[0].shape, call.outputs[0].shape, call.inputs[1].shape),
      [&](std::int64_t x, std::int64_t w, std::int64_t y) { sums.add(w, x, y); });
  sums.finish();
}

}  // namespace sinter
