// Runs of a program over many arrays, whose addresses are in a table, and a stream that waits.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "runtime/device/device_state.h"
#include "sinter/sinter.h"

namespace sinter::test {

/// Blocks a stream until it is released. After 20 s the stream continues, so that a test of a host
/// that waits for it fails instead of hanging.
class BlockedStream {
 public:
  explicit BlockedStream(const Stream& stream) : stream_(stream) {
    const DeviceState& device = stream.state()->device;
    const CurrentContext current(device);
    check(device.driver, device.driver.cuLaunchHostFunc(stream.state()->handle, &wait, this),
          "cuLaunchHostFunc", "a test");
  }
  ~BlockedStream() {
    release();
    stream_.synchronize();
  }
  BlockedStream(const BlockedStream&) = delete;
  BlockedStream& operator=(const BlockedStream&) = delete;

  /// Lets the stream continue. False if it has continued by itself.
  bool release() {
    const std::lock_guard lock(mutex_);
    is_released_ = true;
    changed_.notify_all();
    return !is_late_;
  }

 private:
  static void wait(void* self) {
    auto& blocked = *static_cast<BlockedStream*>(self);
    std::unique_lock lock(blocked.mutex_);
    blocked.is_late_ = !blocked.changed_.wait_for(lock, std::chrono::seconds(20),
                                                  [&] { return blocked.is_released_; });
  }

  const Stream stream_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_released_ = false;
  bool is_late_ = false;
};

/// Arrays whose table is a parameter of the kernel.
inline constexpr int kFewArrays = 12;
/// Arrays whose table, with four values per array, does not fit in parameters of 4 KiB.
inline constexpr int kManyArrays = 129;

/// A program that multiplies arrays of different sizes by 2.5, in one kernel with a table.
class ListRuns {
 public:
  explicit ListRuns(const Device& device, int arrays = kFewArrays)
      : arrays_(arrays),
        device_(device),
        stream_(device.stream()),
        executable_(
            compile(parse(text(arrays)), device, {.tune = Tune::off, .optimize_host = false})) {
    for (int i = 0; i < 2 * arrays; ++i)
      names_.push_back(fmt::format("{}{}", i < arrays ? 'x' : 'y', i % arrays));
  }

  const Executable& executable() const { return executable_; }
  /// Makes new arrays for a run, with all inputs equal to `value`. Waits for their upload.
  void add(float value) {
    std::vector<Array>& arrays = runs_.emplace_back();
    for (int i = 0; i < 2 * arrays_; ++i) {
      const std::int64_t size = size_of(i % arrays_);
      arrays.push_back(device_.empty(f32, {size}));
      if (i < arrays_)
        device_.upload(arrays.back(), std::vector<float>(static_cast<std::size_t>(size), value),
                       stream_);
    }
    stream_.synchronize();
  }
  void run(std::size_t number, Context& context, const Stream& stream, bool as_graph) const {
    std::vector<Binding> inputs, outputs;
    const std::size_t count = names_.size() / 2;
    for (std::size_t i = 0; i < count; ++i) {
      inputs.emplace_back(names_[i], runs_[number][i]);
      outputs.emplace_back(names_[i + count], runs_[number][i + count]);
    }
    as_graph ? context.replay(stream, inputs, outputs) : context.run(stream, inputs, outputs);
  }
  /// The first elements of the outputs of a run, followed by the last ones.
  std::vector<float> ends(std::size_t number) const {
    std::vector<float> firsts, lasts;
    for (std::size_t i = names_.size() / 2; i < names_.size(); ++i) {
      const std::vector<float> all = device_.download<float>(runs_[number][i], stream_);
      firsts.push_back(all.front());
      lasts.push_back(all.back());
    }
    firsts.insert(firsts.end(), lasts.begin(), lasts.end());
    return firsts;
  }
  std::vector<float> expected(float value) const {
    return std::vector<float>(names_.size(), 2.5F * value);
  }

 private:
  static std::int64_t size_of(int array) { return 100 + array; }
  static std::string text(int arrays) {
    std::string inputs, body, outputs;
    for (int i = 0; i < arrays; ++i) {
      inputs += fmt::format("{}x{}: f32[{}]", i ? ", " : "", i, size_of(i));
      body += fmt::format("  y{0} = mul x{0}, 2.5\n", i);
      outputs += fmt::format("{}y{}", i ? ", " : "", i);
    }
    return fmt::format("graph lists({}) {{\n{}  return {}\n}}\n", inputs, body, outputs);
  }

  const int arrays_;
  const Device device_;
  const Stream stream_;
  const Executable executable_;
  std::vector<std::string> names_;
  std::vector<std::vector<Array>> runs_;  ///< the inputs, then the outputs
};

}  // namespace sinter::test
