// Streams of the host device: queues whose work runs as late, and in as unusual an order, as the
// API allows.
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

/// A position in a stream, reached when `serial` operations of the stream are done.
struct Point {
  std::shared_ptr<StreamState> stream;
  std::uint64_t serial = 0;
};

/// One piece of work. It runs when everything before it in its stream and all of `waits` is done.
/// `run` throws std::bad_alloc if there is no memory to begin, and nothing after it has begun.
struct Operation {
  std::function<Failure()> run;
  std::vector<Point> waits;
  /// It may call functions of the user, which may wait for work of other devices. Only a thread that
  /// waits for its device runs it.
  bool calls_user = false;
};

struct StreamState {
  bool is_blocking = true;  // ordered with the legacy stream
  bool is_legacy = false;
  int device = 0;
  std::uint64_t id = 0;  // unique
  std::uint64_t submitted = 0, completed = 0;
  std::uint64_t drain_until = 0;          // the serial at which drain() stops
  std::deque<Operation> queue;            // unfinished operations, oldest first
  bool is_running = false;                // the oldest of them is running
  std::shared_ptr<CaptureState> capture;  // that it records into; null: its work runs (capture.h)
  std::vector<std::size_t> capture_tail;  // the nodes on which its next node depends
  // The handles of `capture_tail`, as cuStreamGetCaptureInfo returned them.
  std::vector<cuda::CUgraphNode> reported_dependencies;
};

/// All streams of the device. Work runs only while a thread waits. That thread runs the work that
/// it waits for, and other work that may run by then, as the seed decides.
class StreamScheduler {
 public:
  /// Restarts the random sequence with another seed.
  void set_seed(std::uint64_t seed);
  std::uint64_t random();

  std::shared_ptr<StreamState> create_stream(int device, bool is_blocking);
  std::shared_ptr<StreamState> legacy_stream(int device);

  /// Queues work. Returns the point at which it is done.
  Point submit(const std::shared_ptr<StreamState>& stream, Operation operation);
  /// The point at which all work that was submitted to the stream so far is done.
  Point end_of(const std::shared_ptr<StreamState>& stream);
  /// The ends of all streams of the device with unfinished work.
  std::vector<Point> ends(int device);

  /// Runs work until all points are reached. Throws std::bad_alloc if there is no memory to begin
  /// some of it; that work stays queued.
  void run_until(const std::vector<Point>& points);
  /// Runs all work of the device that is queued now, before one of its resources is released. Only
  /// the work itself allocates. Work that finds no memory fails.
  void drain(int device) noexcept;
  /// True if the point is reached. Otherwise runs one piece of work, so that polling ends.
  bool poll(const Point& point);
  /// The first failure of any work since the last clear_failure(). Later work is skipped.
  Failure failure();
  void clear_failure();
  /// Records a failure that was found outside of queued work.
  void set_failure(Failure failure);

  /// The time that the device has worked.
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
  std::vector<std::shared_ptr<StreamState>> streams_;  // streams that exist or have work
  std::uint64_t next_stream_ = 1;
  Failure failure_;
  std::chrono::nanoseconds clock_{};
};

StreamScheduler& scheduler();

}  // namespace sinter::host
