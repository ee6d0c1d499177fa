// Trace: a timeline file for Perfetto and chrome://tracing. Each host thread has a lane, and each
// device has a lane for its timed work.
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace sinter {

using TraceClock = std::chrono::steady_clock;

/// The arguments of an event, as the inside of a JSON object.
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
  /// True if spans are recorded: in a file, or by a tool that reads NVTX.
  static bool is_on() { return listeners_.load(std::memory_order_relaxed) != 0; }
  /// Sends spans to a tool from now on, if the process runs under one.
  static void find_tool();
  /// Writes all later events to this file, and completes the previous file. Does nothing if this is
  /// already the file. Throws UserError if it cannot be written.
  static void begin(const std::string& path);
  /// Writes pending events, so that the file is valid JSON. This also happens at least once a
  /// second while events arrive, when an error passes through a span, and when the process ends.
  static void flush();
  /// Completes the file.
  static void end();

  /// Adds work of this thread. `category` is one of those in nvtx.cpp.
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

/// Traces the time from here to the end of the block, in the lane of this thread. Costs one load if
/// the trace is off.
class TraceSpan {
 public:
  TraceSpan(std::string_view category, std::string_view name) {
    if (Trace::is_on()) [[unlikely]]
      open(category, std::string(name));
  }
  /// The same with a name that is built only if the trace is on.
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
