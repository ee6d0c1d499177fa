// NaiveOrder: the happens-before relation and the race check by full vector clocks and lists of all
// accesses per byte. It judges HappensBefore and Shadow in tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "tests/virtual_gpu/checks/shadow.h"

namespace sinter::virtual_gpu {

class NaiveOrder {
 public:
  /// The number of events of each thread that are ordered before a point.
  using Vector = std::map<int, std::uint64_t>;
  static constexpr std::uint64_t kAll = UINT64_MAX;

  struct Thread {
    std::uint32_t launch = 0, block = 0, thread = 0;
    std::uint64_t events = 0;  ///< so far
    Vector clock = {}, pending = {}, fenced = {};
    bool has_fence = false;
  };
  /// An access to one byte.
  struct Past {
    int thread = 0;
    std::uint64_t event = 0;
    std::int32_t line = 0;
    bool is_write = false, is_strong = false, is_read_only = false;
  };
  struct Found {
    Past past;
    bool breaks_read_only = false;
  };

  int add_thread(std::uint32_t launch, std::uint32_t block, std::uint32_t thread) {
    threads.push_back({.launch = launch, .block = block, .thread = thread});
    return static_cast<int>(threads.size()) - 1;
  }
  static void join(Vector& into, const Vector& other) {
    for (const auto& [thread, events] : other) into[thread] = std::max(into[thread], events);
  }
  /// The events that a release by the thread covers.
  Vector now(int thread) const {
    Vector result = threads[thread].clock;
    result[thread] = threads[thread].events;
    return result;
  }
  void know_launch(int thread, std::uint32_t launch) {
    for (std::size_t i = 0; i < threads.size(); ++i)
      if (threads[i].launch == launch) threads[thread].clock[static_cast<int>(i)] = kAll;
  }

  void barrier(const std::vector<int>& members) {
    Vector all;
    for (const int thread : members) join(all, now(thread));
    for (const int thread : members) join(threads[thread].clock, all);
  }
  void fence(int thread) {
    join(threads[thread].clock, threads[thread].pending);
    threads[thread].fenced = now(thread);
    threads[thread].has_fence = true;
  }
  void strong_read(int thread, std::uint64_t address, bool is_acquire) {
    Thread& reader = threads[thread];
    join(is_acquire ? reader.clock : reader.pending, released[address]);
  }
  void strong_write(int thread, std::uint64_t address, bool is_atomic, bool is_release,
                    bool is_acquire) {
    if (is_atomic) strong_read(thread, address, is_acquire);
    if (!is_atomic) released[address].clear();
    if (is_release) join(released[address], now(thread));
    if (!is_release && threads[thread].has_fence) join(released[address], threads[thread].fenced);
  }

  /// True if access() would find a conflict.
  bool would_conflict(const Access& access, int thread) const {
    const Past now = past_of(access, thread);
    for (std::uint64_t i = access.offset; i < access.offset + access.bytes; ++i) {
      const auto byte = bytes.find(i);
      if (byte != bytes.end() && !conflicts_of(byte->second, now).empty()) return true;
    }
    return false;
  }
  /// The first byte in conflict with all accesses that conflict there; nullopt: none, and the
  /// access is recorded.
  std::optional<std::pair<std::uint64_t, std::vector<Found>>> access(const Access& access,
                                                                     int thread) {
    ++threads[thread].events;
    const Past now = past_of(access, thread);
    for (std::uint64_t i = access.offset; i < access.offset + access.bytes; ++i) {
      std::vector<Found> conflicts = conflicts_of(bytes[i], now);
      if (!conflicts.empty()) return std::pair(i, std::move(conflicts));
    }
    for (std::uint64_t i = access.offset; i < access.offset + access.bytes; ++i)
      record(bytes[i], now, access.kind == AccessKind::atomic);
    return std::nullopt;
  }

  std::vector<Thread> threads;

 private:
  using Event = std::pair<int, std::uint64_t>;
  struct Byte {
    std::vector<Past> past = {};
    std::optional<Past> last_write = {};
    std::map<Event, std::vector<Past>> observers = {};  ///< of a strong write
  };

  Past past_of(const Access& access, int thread) const {
    return {.thread = thread,
            .event = threads[thread].events,
            .line = access.line,
            .is_write = access.kind >= AccessKind::write,
            .is_strong = access.is_strong || access.kind == AccessKind::atomic,
            .is_read_only = access.kind == AccessKind::read_only};
  }
  bool knows(int thread, const Past& past) const {
    if (past.thread == thread) return true;
    const auto found = threads[thread].clock.find(past.thread);
    return found != threads[thread].clock.end() && found->second >= past.event;
  }
  bool is_before(const Byte& byte, const Past& past, int thread) const {
    if (knows(thread, past)) return true;
    const auto found = byte.observers.find({past.thread, past.event});
    return past.is_write && past.is_strong && found != byte.observers.end() &&
           std::any_of(found->second.begin(), found->second.end(),
                       [&](const Past& read) { return knows(thread, read); });
  }
  std::vector<Found> conflicts_of(const Byte& byte, const Past& now) const {
    std::vector<Found> result;
    for (const Past& past : byte.past) {
      if (!past.is_write && !now.is_write) continue;
      const bool is_same_launch = threads[past.thread].launch == threads[now.thread].launch;
      if ((past.is_read_only || now.is_read_only) && is_same_launch) {
        result.push_back({.past = past, .breaks_read_only = true});
      } else if (!(past.is_strong && now.is_strong) && !is_before(byte, past, now.thread)) {
        result.push_back({.past = past});
      }
    }
    return result;
  }
  void record(Byte& byte, const Past& now, bool is_atomic) {
    const bool observes = now.is_strong && (!now.is_write || is_atomic) && byte.last_write &&
                          byte.last_write->is_strong;
    const Event last = observes ? Event{byte.last_write->thread, byte.last_write->event} : Event{};
    if (now.is_write) {
      // A write represents all accesses that are ordered before it, the observed write included.
      std::erase_if(byte.past, [&](const Past& past) {
        return is_before(byte, past, now.thread) ||
               (observes && Event{past.thread, past.event} == last);
      });
      byte.last_write = now;
    } else if (observes) {
      byte.observers[last].push_back(now);
    }
    byte.past.push_back(now);
  }

  std::map<std::uint64_t, Byte> bytes;
  std::map<std::uint64_t, Vector> released;
};

}  // namespace sinter::virtual_gpu
