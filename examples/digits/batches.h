// Mini-batches on their way to the device: drawn into pinned memory, copied on a stream of their
// own while the device computes on the batch before.
#pragma once

#include "data.h"

#include <sinter/sinter.h>

#include <vector>

namespace digits {

/// One of two places on the device that hold a batch in turn.
struct Slot {
  sinter::Array pixels;   // [kBatch, kPixels]
  sinter::Array labels;   // [kBatch]
  sinter::Event is_full;  ///< to be waited for before it is read
  sinter::Event is_free;  ///< to be recorded after it was read
};

class Batches {
 public:
  /// The host may be up to `ahead` steps before the device.
  Batches(sinter::Device device, const Set& set, int ahead);

  /// Draws the batch of `step` and puts it on its way; steps count up from 0. Every epoch has an
  /// order of its own; what does not fill a batch at its end is dropped.
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
