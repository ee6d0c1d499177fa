// How calls are timed: many in one CUDA Graph, many in a stream, and one by one.
#pragma once

#include <functional>
#include <vector>

#include "runtime/driver/driver.h"
#include "runtime/support/quartiles.h"
#include "sinter/sinter.h"

namespace sinter::suite {

/// Calls captured into one CUDA Graph.
class CapturedCalls {
 public:
  CapturedCalls(const Stream& stream, int calls, const std::function<void(int)>& call);
  ~CapturedCalls();
  CapturedCalls(const CapturedCalls&) = delete;
  CapturedCalls& operator=(const CapturedCalls&) = delete;

  void launch() const;

 private:
  Stream stream_;
  CUgraph graph_ = nullptr;
  CUgraphExec exec_ = nullptr;
};

/// One of several things that are measured in turn, so that a drift of clocks meets all of them.
struct Measured {
  std::function<void()> work;
  int calls = 1;  ///< that `work` makes
  std::vector<double> call_us = {};
};

/// Microseconds of `work` by `timer`. The same work in front of it keeps the device busy while the
/// host submits what is timed: an idle device would start the clock before there is anything to do.
double busy_us(auto& timer, const std::function<void()>& work) {
  work();
  timer.start();
  work();
  return timer.stop_us();
}

/// Mode K and mode L: each `work` so many times between two events, in turns; once before, unseen.
void measure_in_turns(std::vector<Measured>& all, int repeats, const Stream& stream);

/// Mode E: `call(i)` and a wait for the stream, by the clock of the host.
std::vector<double> synchronised_us(const std::function<void(int)>& call, int calls,
                                    const Stream& stream);
/// Microseconds per call of so many with one wait at their end.
double asynchronous_us(const std::function<void(int)>& call, int calls, const Stream& stream);

}  // namespace sinter::suite
