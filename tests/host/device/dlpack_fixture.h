// Fixture of the DLPack tests: foreign tensors over `values`, and a program that doubles its input.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "sinter/sinter.h"
#include "tests/support/doubles/dlpack.h"
#include "tests/support/files/errors.h"

namespace sinter::test {

class DlpackTest : public ::testing::Test {
 protected:
  template <class Managed = DLManagedTensorVersioned>
  Array take(ForeignTensor what, std::optional<Device> on = {}) {
    if (!what.data) what.data = values.data();
    return from_dlpack(make_foreign<Managed>(what, deleted), on);
  }
  std::string refusal(const ForeignTensor& what, std::optional<Device> on = {}) {
    return error_of([&] { (void)take(what, on); });
  }
  std::vector<float> read(const Array& array) { return device.download<float>(array, stream); }

  Device device = host_device();
  Stream stream = device.stream();
  std::vector<float> values = {1, 2, 3, 4, 5, 6, 7, 8};
  std::atomic<int> deleted = 0;
};

/// y = 2 x. If `updates`, x is overwritten by y.
inline Executable doubling(const Device& device, bool updates = false, bool count = false) {
  Graph graph("doubling");
  const Tensor x = graph.input("x", f32, {graph.extent("n")});
  const Tensor y = x + x;
  graph.output("y", y);
  if (updates) graph.update(x, y);
  return compile(graph, device, {.tune = Tune::off, .count = count}, "model.cpp", 5);
}

}  // namespace sinter::test
