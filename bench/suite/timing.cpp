// Times work with CUDA events and with the host clock.
#include "bench/suite/timing.h"

#include <algorithm>
#include <chrono>

#include "runtime/device/device_state.h"

namespace sinter::suite {

namespace {

constexpr const char* kWhat = "a benchmark";

double microseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

/// Measures device time between two events in a stream.
class EventTimer {
 public:
  explicit EventTimer(const Stream& stream)
      : stream_(stream), start_(stream.device().event()), end_(stream.device().event()) {}

  void start() { start_.record(stream_); }
  double stop_us() {
    end_.record(stream_);
    end_.synchronize();
    return 1e3 * static_cast<double>(end_.elapsed_since(start_));
  }

 private:
  Stream stream_;
  Event start_;
  Event end_;
};

}  // namespace

CapturedCalls::CapturedCalls(const Stream& stream, int calls, const std::function<void(int)>& call)
    : stream_(stream) {
  const DeviceState& device = *stream.device().state();
  const CurrentContext current(device);
  const Driver& driver = device.driver;
  const CUstream handle = stream.state()->handle;
  check(driver, driver.cuStreamBeginCapture(handle, CU_STREAM_CAPTURE_MODE_RELAXED),
        "cuStreamBeginCapture", kWhat);
  try {
    for (int i = 0; i < calls; ++i) call(i);
  } catch (...) {
    driver.cuStreamEndCapture(handle, &graph_);
    if (graph_) driver.cuGraphDestroy(graph_);
    throw;
  }
  check(driver, driver.cuStreamEndCapture(handle, &graph_), "cuStreamEndCapture", kWhat);
  check(driver, driver.cuGraphInstantiateWithFlags(&exec_, graph_, 0),
        "cuGraphInstantiateWithFlags", kWhat);
}

CapturedCalls::~CapturedCalls() {
  const DeviceState& device = *stream_.device().state();
  const CurrentContext current(device);
  device.driver.cuGraphExecDestroy(exec_);
  device.driver.cuGraphDestroy(graph_);
}

void CapturedCalls::launch() const {
  const DeviceState& device = *stream_.device().state();
  const CurrentContext current(device);
  check(device.driver, device.driver.cuGraphLaunch(exec_, stream_.state()->handle), "cuGraphLaunch",
        kWhat);
}

void measure_interleaved(std::vector<Measured>& all, int repeats, const Stream& stream) {
  EventTimer timer(stream);
  for (int repeat = 0; repeat <= repeats; ++repeat)
    for (Measured& measured : all) {
      const double call_us = busy_us(timer, measured.work) / measured.calls;
      if (repeat > 0) measured.call_us.push_back(call_us);
    }
}

std::vector<double> synchronised_us(const std::function<void(int)>& call, int calls,
                                    const Stream& stream) {
  std::vector<double> times;
  for (int i = -1; i < calls; ++i) {
    const auto start = std::chrono::steady_clock::now();
    call(std::max(i, 0));
    stream.synchronize();
    if (i >= 0) times.push_back(microseconds_since(start));
  }
  return times;
}

double asynchronous_us(const std::function<void(int)>& call, int calls, const Stream& stream) {
  stream.synchronize();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) call(i);
  stream.synchronize();
  return microseconds_since(start) / calls;
}

}  // namespace sinter::suite
