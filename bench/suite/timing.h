// Times calls: many in one CUDA Graph, many in a stream, and one by one.
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

/// One of several workloads that are measured in turns, so that clock drift affects all of them.
struct Measured {
  std::function<void()> work;
  int calls = 1;  ///< per execution of `work`
  std::vector<double> call_us = {};
};

/// The microseconds of `work` by `timer`. The work first runs once untimed. The device is still
/// busy with it while the host submits the timed work, so submission time is not measured.
double busy_us(auto& timer, const std::function<void()>& work) {
  work();
  timer.start();
  work();
  return timer.stop_us();
}

/// Modes K and L: times each `work` `repeats` times, in turns, after one repeat that is not
/// counted.
void measure_interleaved(std::vector<Measured>& all, int repeats, const Stream& stream);

/// Mode E: the host time of each `call(i)` with a wait for the stream.
std::vector<double> synchronised_us(const std::function<void(int)>& call, int calls,
                                    const Stream& stream);
/// The host microseconds per call of `calls` calls with one wait at the end.
double asynchronous_us(const std::function<void(int)>& call, int calls, const Stream& stream);

}  // namespace sinter::suite
