// The arrays that a training step updates on the device, and their transfer to the host.
#pragma once

#include <sinter/sinter.h>

#include <string>
#include <vector>

namespace digits {

struct State {
  /// All arrays are zero.
  State(sinter::Device device, const sinter::Stream& stream);

  /// Copies the accumulators to pinned memory with one wait. Returns a line about the steps since
  /// the last call. Throws std::runtime_error if a loss was NaN.
  std::string read(const sinter::Stream& stream);
  /// Weight, then bias. Waits for the stream.
  std::vector<float> parameters(const sinter::Stream& stream) const;

  sinter::Array weight;    // [kClasses, kPixels]
  sinter::Array bias;      // [kClasses]
  sinter::Array loss_sum;  // []
  sinter::Array steps;     // []
  sinter::Array has_nan;   // []

 private:
  sinter::PinnedArray host_loss_sum_;
  sinter::PinnedArray host_steps_;
  sinter::PinnedArray host_has_nan_;
  float last_sum_ = 0;
  int last_steps_ = 0;
};

}  // namespace digits
