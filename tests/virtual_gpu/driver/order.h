// OrderBook: which launches and copies the driver orders before which others. Happens-before asks
// it, so an order that only came about by chance does not count.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace sinter::virtual_gpu::driver {

/// A place in a chain. Places of a chain are ordered. Members of one place are not, except by the
/// edges of a CUDA Graph. A stream is a chain. A launch of a CUDA Graph is one place of it.
struct Point {
  std::uint32_t chain = 0;
  std::uint64_t position = 0;
  int member = 0;
};

/// For each chain, the last place that is ordered before.
using Clock = std::map<std::uint32_t, std::uint64_t>;

/// For each member of a place, the members that are ordered before it.
using Ancestors = std::vector<std::vector<bool>>;

struct OrderRecord {
  Point point;
  std::shared_ptr<const Clock> known;
  std::uint64_t enqueued_at = 0;
  std::shared_ptr<const Ancestors> ancestors = nullptr;
};

class OrderBook {
 public:
  std::uint32_t new_chain() {
    observed_.emplace_back();
    return static_cast<std::uint32_t>(observed_.size() - 1);
  }
  /// The time of the next task that the host enqueues.
  std::uint64_t next_time() { return ++time_; }

  /// Adds the place of the record and all before it.
  void join(Clock& clock, const OrderRecord& record) const;
  /// The host has seen the end of the record's place: every task that it enqueues from now on is
  /// ordered after it. Other host threads count too, because the driver does not see how the
  /// threads of the host wait for one another.
  void observe(const OrderRecord& record);
  /// The host has seen the end of all that is ordered before the record, but not its own place.
  void observe_before(const OrderRecord& record);
  bool is_observed(const Point& point) const;
  /// The largest serial number such that the host has seen the end of all launches and copies up to
  /// it.
  std::uint32_t observed_prefix();

  bool is_before(const OrderRecord& earlier, const OrderRecord& later) const;

  /// Keeps the record of a launch or copy, by its serial number.
  void add(std::uint32_t serial, OrderRecord record);
  /// Null if the serial number is unknown.
  const OrderRecord* find(std::uint32_t serial) const;

 private:
  struct Observation {
    std::uint64_t position;
    std::uint64_t time;
  };
  void observe(std::uint32_t chain, std::uint64_t position);

  std::vector<std::vector<Observation>> observed_;  ///< by chain; both fields rise
  std::vector<OrderRecord> records_;                ///< by serial number
  std::uint32_t observed_prefix_ = 0;
  std::uint64_t time_ = 0;
};

}  // namespace sinter::virtual_gpu::driver
