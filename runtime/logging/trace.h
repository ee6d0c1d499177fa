// Trace: what was done when, in a file that Perfetto and chrome://tracing show. Host lanes are
// threads; each device has a lane of its own, for what was timed there.
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace sinter {

using TraceClock = std::chrono::steady_clock;

/// What is said of an event, as the inside of a JSON object.
class TraceArguments {
 public:
  TraceArguments& add(std::string_view name, std::int64_t value);
  TraceArguments& add(std::string_view name, double value);
  TraceArguments& add(std::string_view name, std::string_view value);
  const std::string& json() const { return json_; }

 private:
  std::string& key(std::string_view name);
  std::string json_;
};

/// The device of a lane.
struct TraceDevice {
  std::string_view name;
  int ordinal = 0;
};

/// The trace of the process.
class Trace {
 public:
  /// True if spans go anywhere: into a file, or to a tool that reads NVTX.
  static bool is_on() { return listeners_.load(std::memory_order_relaxed) != 0; }
  /// Tells spans to a tool from now on, if the process runs under one.
  static void find_tool();
  /// From now on everything is written to this file; the one before, if any, is complete. Nothing
  /// happens if it is that already. Throws UserError where it cannot be written.
  static void begin(const std::string& path);
  /// Writes out what is pending: the file is whole JSON then. Done once a second of events too,
  /// when an error passes through a span, and when the process ends.
  static void flush();
  /// Completes the file.
  static void end();

  /// Something that this thread did. `category` is one of the words in runtime/README.md.
  static void add_host(std::string_view category, std::string_view name,
                       TraceClock::time_point begin, std::chrono::nanoseconds duration,
                       const TraceArguments& arguments = {});
  static void add_device(const TraceDevice& device, std::string_view name,
                         TraceClock::time_point begin, std::chrono::nanoseconds duration,
                         const TraceArguments& arguments = {});

 private:
  friend class TraceSpan;
  enum Listener : unsigned { kFile = 1, kTool = 2 };
  static bool has(Listener listener) {
    return (listeners_.load(std::memory_order_relaxed) & listener) != 0;
  }
  inline static std::atomic<unsigned> listeners_ = 0;
};

/// The time from here to the end of the block, in the lane of this thread. Where nothing is traced
/// it costs one load.
class TraceSpan {
 public:
  TraceSpan(std::string_view category, std::string_view name) {
    if (Trace::is_on()) [[unlikely]]
      open(category, std::string(name));
  }
  /// With a name that costs nothing unless it is wanted.
  TraceSpan(std::string_view category, std::invocable auto name) {
    if (Trace::is_on()) [[unlikely]]
      open(category, name());
  }
  ~TraceSpan() {
    if (open_) [[unlikely]]
      close();
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

  template <class Value>
  void add(std::string_view name, const Value& value) {
    if (TraceArguments* arguments = this->arguments()) [[unlikely]]
      arguments->add(name, value);
  }

 private:
  struct Open;

  void open(std::string_view category, std::string name);
  void close() noexcept;
  TraceArguments* arguments() const;

  Open* open_ = nullptr;
};

}  // namespace sinter
