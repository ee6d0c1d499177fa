// Fixture of the opaque call tests: a function that adds a term and counts its calls.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/driver/host/host_driver.h"
#include "sinter/sinter.h"
#include "tests/support/doubles/opaque.h"
#include "tests/support/run/run.h"

namespace sinter::test {

/// The function y = x + term, which increments `calls`.
class Adder : public testing::Test {
 protected:
  OpaqueFunction function() {
    return {.enqueue = [this](const OpaqueCall& call) {
      ++calls;
      const HostElements x(call.inputs[0]);
      const HostElements y(call.outputs[0]);
      const std::int64_t count = call.outputs[0].elements();
      const double term = call.inputs.size() > 1 ? call.inputs[1].number.real : 1;
      call.on_host([=] {
        for (std::int64_t i = 0; i < count; ++i) y.set(i, x.get(i) + term);
      });
      return 0;
    }};
  }
  Array upload(const std::vector<float>& values) {
    const Array array = device.empty(f32, {static_cast<std::int64_t>(values.size())});
    device.upload(array, values, stream);
    return array;
  }
  std::vector<float> download(const Array& array) { return device.download<float>(array, stream); }

  int calls = 0;
  Device device = host_device();
  Stream stream = device.stream();
  const Options options = {.tune = Tune::off, .optimize_host = false};
};

inline constexpr const char* kAdd = R"(
graph add(x: f32[n], term: f32) {
  d = mul x, 2.0
  y = opaque plus d, term : f32[n]
  z = neg y
  return z
})";

}  // namespace sinter::test
