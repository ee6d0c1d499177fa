#include "runtime/driver/host/stream_scheduler.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>

namespace sinter::host {
namespace {

// A longer queue is run down to half of this length. The API allows a launch to wait.
constexpr std::size_t kLongestQueue = 4096;

constexpr const char* kOutOfMemory = "out of memory";  // short: needs no allocation

/// A random element of `list` for which `is_able` is true; null if there is none.
template <class List>
const typename List::value_type* pick(const List& list, std::mt19937_64& random, auto is_able) {
  const auto able = static_cast<std::uint64_t>(std::ranges::count_if(list, is_able));
  std::uint64_t before = able ? random() % able : 0;
  for (const auto& one : list)
    if (is_able(one) && before-- == 0) return &one;
  return nullptr;
}

}  // namespace

void StreamScheduler::set_seed(std::uint64_t seed) {
  const std::lock_guard lock(mutex_);
  random_.seed(seed);
}

std::uint64_t StreamScheduler::random() {
  const std::lock_guard lock(mutex_);
  return random_();
}

std::shared_ptr<StreamState> StreamScheduler::legacy_stream(int device) {
  const std::lock_guard lock(mutex_);
  while (legacy_.size() <= static_cast<std::size_t>(device)) {
    auto stream = std::make_shared<StreamState>();
    stream->is_legacy = true;
    stream->device = static_cast<int>(legacy_.size());
    stream->id = next_stream_++;
    streams_.push_back(legacy_.emplace_back(std::move(stream)));
  }
  return legacy_[static_cast<std::size_t>(device)];
}

std::shared_ptr<StreamState> StreamScheduler::create_stream(int device, bool is_blocking) {
  const std::lock_guard lock(mutex_);
  // Drops streams that have no other owner and no work left.
  std::erase_if(streams_, [](const std::shared_ptr<StreamState>& stream) {
    return stream.use_count() == 1 && stream->completed == stream->submitted;
  });
  auto stream = std::make_shared<StreamState>();
  stream->device = device;
  stream->id = next_stream_++;
  stream->is_blocking = is_blocking;
  streams_.push_back(stream);
  return stream;
}

Point StreamScheduler::submit(const std::shared_ptr<StreamState>& stream, Operation operation) {
  Lock lock(mutex_);
  const auto wait_for = [&](const std::shared_ptr<StreamState>& other) {
    if (other != stream && other->completed < other->submitted)
      operation.waits.push_back({other, other->submitted});
  };
  if (stream->is_blocking)
    for (const auto& other : streams_)
      if (other->device == stream->device && other->is_blocking &&
          (stream->is_legacy || other->is_legacy))
        wait_for(other);
  stream->queue.push_back(std::move(operation));
  const Point point{stream, ++stream->submitted};
  if (stream->queue.size() > kLongestQueue) {
    try {
      const Needed needed = closure({{stream, stream->completed + kLongestQueue / 2}});
      while (step(lock, needed)) {
      }
    } catch (const std::bad_alloc&) {  // the work stays queued, and the next wait reports it
    }
  }
  return point;
}

Point StreamScheduler::end_of(const std::shared_ptr<StreamState>& stream) {
  const std::lock_guard lock(mutex_);
  return {stream, stream->submitted};
}

std::vector<Point> StreamScheduler::ends(int device) {
  const std::lock_guard lock(mutex_);
  std::vector<Point> points;
  for (const auto& stream : streams_)
    if (stream->device == device && stream->completed < stream->submitted)
      points.push_back({stream, stream->submitted});
  return points;
}

void StreamScheduler::drain(int device) noexcept {
  Lock lock(mutex_);
  for (const auto& stream : streams_)
    if (stream->device == device) stream->drain_until = stream->submitted;
  const auto is_done = [&](const auto& stream) {
    return stream->device != device || stream->completed >= stream->drain_until;
  };
  while (!std::ranges::all_of(streams_, is_done)) {
    const auto able = pick(streams_, random_, [&](const auto& stream) {
      return !is_done(stream) && can_run(*stream);
    });
    if (const std::shared_ptr<StreamState> stream = able ? *able : nullptr)
      run_one(lock, *stream, WithoutMemory::fails);
    else
      progress_.wait(lock);
  }
}

void StreamScheduler::run_until(const std::vector<Point>& points) {
  Lock lock(mutex_);
  const Needed needed = closure(points);
  while (step(lock, needed)) {
  }
}

bool StreamScheduler::poll(const Point& point) {
  Lock lock(mutex_);
  if (is_reached(point)) return true;
  step(lock, closure({point}));
  return false;
}

Failure StreamScheduler::failure() {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void StreamScheduler::clear_failure() {
  const std::lock_guard lock(mutex_);
  failure_ = {};
}

void StreamScheduler::set_failure(Failure failure) {
  const std::lock_guard lock(mutex_);
  if (failure_.code == cuda::CUDA_SUCCESS) failure_ = std::move(failure);
}

std::chrono::nanoseconds StreamScheduler::clock() {
  const std::lock_guard lock(mutex_);
  return clock_;
}

bool StreamScheduler::is_reached(const Point& point) {
  return point.stream->completed >= point.serial;
}

bool StreamScheduler::can_run(const StreamState& stream) {
  return !stream.is_running && !stream.queue.empty() &&
         std::ranges::all_of(stream.queue.front().waits, is_reached);
}

/// The serials that each stream must complete before the points are reached. They are fixed when
/// waiting begins, because queued work gets no new dependencies.
StreamScheduler::Needed StreamScheduler::closure(const std::vector<Point>& points) {
  Needed needed;
  std::vector<Point> open = points;
  while (!open.empty()) {
    const Point point = open.back();
    open.pop_back();
    if (is_reached(point)) continue;
    const StreamState& stream = *point.stream;
    auto found = std::ranges::find(needed, point.stream, &Point::stream);
    if (found == needed.end())
      found = needed.insert(needed.end(), {point.stream, stream.completed});
    // The queue has the latest serials; earlier ones are completed.
    const std::uint64_t queued_from = stream.submitted - stream.queue.size() + 1;
    for (std::uint64_t serial = std::max(found->serial + 1, queued_from); serial <= point.serial;
         ++serial) {
      const auto& waits = stream.queue[serial - queued_from].waits;
      open.insert(open.end(), waits.begin(), waits.end());
    }
    found->serial = std::max(found->serial, point.serial);
  }
  return needed;
}

/// The stream whose next work runs: any runnable one with probability 1/2, else a needed one. If
/// other threads run all needed work, it is any runnable one, because theirs may wait for it.
std::shared_ptr<StreamState> StreamScheduler::choose(const Needed& needed) {
  const int device = needed.front().stream->device;
  const auto any = [&] {
    const auto* const able = pick(streams_, random_, [&](const auto& one) {
      return can_run(*one) && (one->device == device || !one->queue.front().calls_user);
    });
    return able ? *able : nullptr;
  };
  if (random_() & 1)
    if (std::shared_ptr<StreamState> able = any()) return able;
  const Point* const able = pick(needed, random_, [](const Point& point) {
    return !is_reached(point) && can_run(*point.stream);
  });
  return able ? able->stream : any();
}

/// The work stays in its queue while it runs, and if there is no memory to begin it.
void StreamScheduler::run_one(Lock& lock, StreamState& stream, WithoutMemory how) {
  const Operation& operation = stream.queue.front();
  stream.is_running = true;
  progress_.notify_all();  // a thread that waits for this work may run other work meanwhile
  const bool is_failed = failure_.code != cuda::CUDA_SUCCESS;

  lock.unlock();
  const auto start = std::chrono::steady_clock::now();
  Failure failure;
  std::exception_ptr no_memory;
  try {
    if (!is_failed) failure = operation.run();
  } catch (...) {
    no_memory = std::current_exception();
  }
  const auto spent = std::chrono::steady_clock::now() - start;
  lock.lock();

  stream.is_running = false;
  progress_.notify_all();
  if (no_memory && how == WithoutMemory::throws) std::rethrow_exception(no_memory);
  if (no_memory) failure = {cuda::CUDA_ERROR_OUT_OF_MEMORY, kOutOfMemory};
  clock_ += spent;
  if (failure_.code == cuda::CUDA_SUCCESS) failure_ = std::move(failure);
  ++stream.completed;
  const Operation done = std::move(stream.queue.front());
  stream.queue.pop_front();
}

/// Runs one piece of work, or waits for one of another thread. False if no work is needed.
bool StreamScheduler::step(Lock& lock, const Needed& needed) {
  if (std::ranges::all_of(needed, is_reached)) return false;
  if (const std::shared_ptr<StreamState> stream = choose(needed))
    run_one(lock, *stream, WithoutMemory::throws);
  else
    progress_.wait(lock);
  return true;
}

StreamScheduler& scheduler() {
  static auto* const scheduler = new StreamScheduler;
  return *scheduler;
}

}  // namespace sinter::host
