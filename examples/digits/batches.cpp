#include "batches.h"

#include "model.h"

#include <algorithm>

namespace digits {

using namespace sinter;  // NOLINT

Batches::Batches(Device device, const Set& set, int ahead)
    : device_(device), set_(set), stream_(device.stream()) {
  for (int i = 0; i < ahead; ++i)
    staged_.push_back(
        {.pixels = device.pinned(f32, {kBatch, kPixels}), .labels = device.pinned(i32, {kBatch})});
  for (int i = 0; i < 2; ++i)
    slots_.push_back({.pixels = device.empty(f32, {kBatch, kPixels}),
                      .labels = device.empty(i32, {kBatch}),
                      .is_full = device.event(),
                      .is_free = device.event()});
}

Slot& Batches::send(int step) {
  const Staged& staged = staged_[static_cast<std::size_t>(step) % staged_.size()];
  Slot& slot = slots_[static_cast<std::size_t>(step) % slots_.size()];
  draw(step, staged);
  stream_.wait(slot.is_free);
  device_.upload(slot.pixels, staged.pixels, stream_);
  device_.upload(slot.labels, staged.labels, stream_);
  slot.is_full.record(stream_);
  return slot;
}

void Batches::draw(int step, const Staged& staged) {
  const int batches_per_epoch = set_.size() / kBatch;
  const int batch = step % batches_per_epoch;
  if (batch == 0) order_ = shuffled(set_.size(), static_cast<unsigned>(step / batches_per_epoch));
  auto pixels = staged.pixels.elements_as<float>().begin();
  for (int i = 0; i < kBatch; ++i) {
    const int image = order_[static_cast<std::size_t>(batch * kBatch + i)];
    pixels = std::copy_n(set_.pixels.begin() + image * kPixels, kPixels, pixels);
    staged.labels.elements_as<int>()[static_cast<std::size_t>(i)] =
        set_.labels[static_cast<std::size_t>(image)];
  }
}

}  // namespace digits
