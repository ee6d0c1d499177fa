// Streams of the host device: queues whose work runs as late, and in as odd an order, as the API
// allows.
#pragma once

#include "runtime/driver/host/execution/rendezvous.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

namespace sinter::host {

struct StreamState;
struct CaptureState;

/// A place in a stream, reached once that much of the stream's work is done.
struct Point {
  std::shared_ptr<StreamState> stream;
  std::uint64_t serial = 0;
};

/// One piece of work. It runs once everything before it in its stream and all of `waits` is done.
/// It throws std::bad_alloc if there is no memory to begin, and nothing once it has begun.
struct Operation {
  std::function<Failure()> run;
  std::vector<Point> waits;
};

struct StreamState {
  bool is_blocking = true;  // ordered with the legacy stream
  bool is_legacy = false;
  int device = 0;
  int priority = 0;
  std::uint64_t id = 0;  // no two share it
  std::uint64_t submitted = 0, completed = 0;
  std::uint64_t wanted = 0;               // by who drains
  std::deque<Operation> queue;            // those not done, oldest first
  bool is_running = false;                // the oldest of them is at work
  std::shared_ptr<CaptureState> capture;  // that it records into; none: it runs (capture.h)
  std::vector<std::size_t> captured;      // nodes of it that the next one comes behind
  std::vector<cuda::CUgraphNode> told;    // the same, as the last who asked was told
};

/// All streams of the device. Nothing runs by itself: whoever waits runs what it waits for, and,
/// as the seed says, other work that is allowed to run by then.
class Schedule {
 public:
  Schedule();

  /// Starts over with another seed.
  void set_seed(std::uint64_t seed);
  std::uint64_t random();

  std::shared_ptr<StreamState> create_stream(int device, bool is_blocking, int priority);
  std::shared_ptr<StreamState> legacy_stream(int device);

  /// Queues work; returns the point at which it is done.
  Point submit(const std::shared_ptr<StreamState>& stream, Operation operation);
  /// The point at which all that was submitted to the stream so far is done.
  Point end_of(const std::shared_ptr<StreamState>& stream);
  /// The ends of all streams that have work, or of those of one device.
  std::vector<Point> ends();
  std::vector<Point> ends(int device);

  /// Runs work until all the points are reached. Throws std::bad_alloc where there is no memory for
  /// some of it, which then is still to be done.
  void run_until(const std::vector<Point>& points);
  /// Runs all that is queued now, for who gives something back: takes no memory but what the work
  /// takes, and work that finds none has failed.
  void drain() noexcept;
  /// Whether the point is reached; if not, runs one piece of work, so that polling comes to an end.
  bool poll(const Point& point);
  /// The first failure of any work since the last clear_failure(). Work after it does not run.
  Failure failure();
  void clear_failure();
  /// Notes a failure found outside of queued work.
  void set_failure(Failure failure);

  /// Time that the device spent at work.
  std::chrono::nanoseconds clock();

 private:
  using Lock = std::unique_lock<std::mutex>;
  using Needed = std::vector<Point>;  // at most one per stream

  static bool is_reached(const Point& point);
  static bool can_run(const StreamState& stream);
  static Needed closure(const std::vector<Point>& points);
  std::shared_ptr<StreamState> choose(const Needed& needed);
  enum class WithoutMemory { throws, fails };
  void run_one(Lock& lock, StreamState& stream, WithoutMemory how);
  bool step(Lock& lock, const Needed& needed);

  std::mutex mutex_;
  std::condition_variable progress_;
  std::mt19937_64 random_;
  std::vector<std::shared_ptr<StreamState>> legacy_;   // by device
  std::vector<std::shared_ptr<StreamState>> streams_;  // those that live or have work
  std::uint64_t next_stream_ = 1;
  Failure failure_;
  std::chrono::nanoseconds clock_{};
};

Schedule& schedule();

}  // namespace sinter::host
