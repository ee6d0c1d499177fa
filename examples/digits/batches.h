// Draws mini-batches into pinned memory and copies them to the device on a separate stream, while
// the device computes on the previous batch.
#pragma once

#include "data.h"

#include <sinter/sinter.h>

#include <vector>

namespace digits {

/// One of two buffers on the device that hold batches alternately.
struct Slot {
  sinter::Array pixels;   // [kBatch, kPixels]
  sinter::Array labels;   // [kBatch]
  sinter::Event is_full;  ///< the reader waits for it
  sinter::Event is_free;  ///< the reader records it when it has finished
};

class Batches {
 public:
  /// The host may be up to `ahead` steps ahead of the device.
  Batches(sinter::Device device, const Set& set, int ahead);

  /// Draws the batch of `step` and starts its copy. Steps count up from 0. Every epoch has a new
  /// order; an incomplete batch at its end is dropped.
  Slot& send(int step);

 private:
  struct Staged {
    sinter::PinnedArray pixels;
    sinter::PinnedArray labels;
  };
  void draw(int step, const Staged& staged);

  sinter::Device device_;
  const Set& set_;
  sinter::Stream stream_;
  std::vector<Staged> staged_;
  std::vector<Slot> slots_;
  std::vector<int> order_;
};

}  // namespace digits
