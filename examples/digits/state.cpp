#include "state.h"

#include "data.h"

#include <cstdio>
#include <stdexcept>

namespace digits {

using namespace sinter;  // NOLINT

namespace {

template <class Element>
Array zeros(Device device, DType dtype, Sizes shape, const Stream& stream) {
  const Array array = device.empty(dtype, shape);
  device.upload(array, std::vector<Element>(static_cast<std::size_t>(array.elements())), stream);
  return array;
}

}  // namespace

State::State(Device device, const Stream& stream)
    : weight(zeros<float>(device, f32, {kClasses, kPixels}, stream)),
      bias(zeros<float>(device, f32, {kClasses}, stream)),
      loss_sum(zeros<float>(device, f32, {}, stream)),
      steps(zeros<int>(device, i32, {}, stream)),
      has_nan(zeros<char>(device, boolean, {}, stream)),
      host_loss_sum_(device.pinned(f32, {})),
      host_steps_(device.pinned(i32, {})),
      host_has_nan_(device.pinned(boolean, {})) {}

std::string State::read(const Stream& stream) {
  const Device device = stream.device();
  device.download(loss_sum, host_loss_sum_, stream);
  device.download(steps, host_steps_, stream);
  device.download(has_nan, host_has_nan_, stream);
  stream.synchronize();
  const float sum = host_loss_sum_.elements_as<float>()[0];
  const int count = host_steps_.elements_as<int>()[0];
  const bool is_nan = host_has_nan_.elements_as<bool>()[0];
  const float loss = (sum - last_sum_) / static_cast<float>(count - last_steps_);
  last_sum_ = sum;
  last_steps_ = count;
  char line[80];
  std::snprintf(line, sizeof line, "step %4d  loss %.4f  NaN: %s", count, static_cast<double>(loss),
                is_nan ? "yes" : "no");
  if (is_nan) throw std::runtime_error(line);
  return line;
}

std::vector<float> State::parameters(const Stream& stream) const {
  const Device device = stream.device();
  std::vector<float> parameters = device.download<float>(weight, stream);
  const std::vector<float> biases = device.download<float>(bias, stream);
  parameters.insert(parameters.end(), biases.begin(), biases.end());
  return parameters;
}

}  // namespace digits
