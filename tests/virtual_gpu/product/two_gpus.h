// TwoGpus: virtual GPUs opened by the product's own code, with faults and counts of the driver.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/device/device_state.h"
#include "runtime/driver/deferred_release.h"
#include "sinter/sinter.h"
#include "tests/virtual_gpu/driver/virtual_driver.h"

namespace sinter::virtual_gpu {

/// The driver of two GPUs, through runtime/driver/cuda_driver.cpp.
class TestDriver {
 public:
  using Variable = driver::VirtualDriver::Variable;

  explicit TestDriver(std::initializer_list<Variable> variables) : driver_(variables) {}

  /// Throws if the driver did not start.
  const Driver& table() const { return *driver_.operator->(); }
  const std::string& reason() const { return driver_.reason(); }

  /// The `nth` call of `call` from now on fails with `code`.
  void make_fail(const std::string& call, int nth, int code) const {
    driver_.find<void(const char*, int, int)>("virtualGpuSetFault")(call.c_str(), nth, code);
  }
  /// Ends all faults, and counts calls from 0.
  void end_faults() const {
    driver_.find<void(const char*, int, int)>("virtualGpuSetFault")(nullptr, 0, 0);
  }
  int calls(const std::string& call) const {
    return driver_.find<int(const char*)>("virtualGpuCalls")(call.c_str());
  }
  /// `2 contexts, 0 streams, …`
  std::string live_objects() const {
    return driver_.find<const char*()>("virtualGpuLiveObjects")();
  }
  /// Waits for the destructors of user objects, which a thread of the driver calls.
  void await_host_functions() const { driver_.find<void()>("virtualGpuAwaitHostFunctions")(); }

 private:
  driver::VirtualDriver driver_;
};

/// Device 0 and device 1 of a driver, open as long as this exists.
class TwoGpus {
 public:
  explicit TwoGpus(const TestDriver& driver)
      : driver_(driver),
        states_{std::make_unique<DeviceState>(driver.table(), 0),
                std::make_unique<DeviceState>(driver.table(), 1)} {}
  /// Closes the devices. A lost device stays open, as in a program, because objects that could not
  /// be released refer to it.
  ~TwoGpus() {
    for (std::unique_ptr<DeviceState>& state : states_) {
      // The first attempt may meet a fault.
      if (can_wait_for(*state) || can_wait_for(*state)) continue;
      static auto& lost = *new std::vector<std::unique_ptr<DeviceState>>;
      lost.push_back(std::move(state));
    }
    driver_.await_host_functions();
    run_deferred_releases();
  }
  TwoGpus(const TwoGpus&) = delete;
  TwoGpus& operator=(const TwoGpus&) = delete;

  Device first() const { return Device(states_[0].get()); }
  Device second() const { return Device(states_[1].get()); }

 private:
  static bool can_wait_for(DeviceState& state) {
    try {
      Device(&state).synchronize();
      return true;
    } catch (const DriverError&) {
      return false;
    }
  }

  const TestDriver& driver_;
  std::unique_ptr<DeviceState> states_[2];
};

}  // namespace sinter::virtual_gpu
