#include "tests/virtual_gpu/driver/order.h"

#include <algorithm>

namespace sinter::virtual_gpu::driver {

void OrderBook::join(Clock& clock, const OrderRecord& record) const {
  const auto add = [&](std::uint32_t chain, std::uint64_t position) {
    // Places that the host has seen are ordered before every new task anyway.
    if (is_observed({.chain = chain, .position = position})) return;
    std::uint64_t& last = clock[chain];
    last = std::max(last, position);
  };
  if (record.known)
    for (const auto& [chain, position] : *record.known) add(chain, position);
  add(record.point.chain, record.point.position);
}

void OrderBook::observe_before(const OrderRecord& record) {
  if (record.known)
    for (const auto& [chain, position] : *record.known) observe(chain, position);
}

void OrderBook::observe(const OrderRecord& record) {
  observe_before(record);
  observe(record.point.chain, record.point.position);
}

void OrderBook::observe(std::uint32_t chain, std::uint64_t position) {
  std::vector<Observation>& observed = observed_[chain];
  if (observed.empty() || observed.back().position < position)
    observed.push_back({.position = position, .time = time_});
}

bool OrderBook::is_observed(const Point& point) const {
  const std::vector<Observation>& observed = observed_[point.chain];
  return !observed.empty() && observed.back().position >= point.position;
}

std::uint32_t OrderBook::observed_prefix() {
  while (observed_prefix_ + 1 < records_.size()) {
    const OrderRecord& next = records_[observed_prefix_ + 1];
    if (next.enqueued_at == 0 || !is_observed(next.point)) break;
    ++observed_prefix_;
  }
  return observed_prefix_;
}

bool OrderBook::is_before(const OrderRecord& earlier, const OrderRecord& later) const {
  const Point& point = earlier.point;
  const bool is_same_place =
      point.chain == later.point.chain && point.position == later.point.position;
  if (is_same_place) {
    if (!later.ancestors) return false;
    const std::vector<bool>& before =
        (*later.ancestors)[static_cast<std::size_t>(later.point.member)];
    return before[static_cast<std::size_t>(point.member)];
  }
  if (later.known) {
    const auto known = later.known->find(point.chain);
    if (known != later.known->end() && known->second >= point.position) return true;
  }
  const std::vector<Observation>& observed = observed_[point.chain];
  const auto seen = std::ranges::lower_bound(observed, point.position, {}, &Observation::position);
  return seen != observed.end() && seen->time < later.enqueued_at;
}

void OrderBook::add(std::uint32_t serial, OrderRecord record) {
  if (records_.size() <= serial) records_.resize(std::size_t{serial} + 1);
  records_[serial] = std::move(record);
}

const OrderRecord* OrderBook::find(std::uint32_t serial) const {
  if (serial >= records_.size() || records_[serial].enqueued_at == 0) return nullptr;
  return &records_[serial];
}

}  // namespace sinter::virtual_gpu::driver
