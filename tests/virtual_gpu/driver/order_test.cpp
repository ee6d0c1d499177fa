#include "tests/virtual_gpu/driver/order.h"

#include <gtest/gtest.h>

namespace sinter::virtual_gpu::driver::order_test {
namespace {

/// A book, and tasks that are enqueued one after the other.
class OrderBookTest : public testing::Test {
 protected:
  OrderRecord task(std::uint32_t chain, std::uint64_t position,
                   std::initializer_list<OrderRecord> after = {}) {
    auto known = std::make_shared<Clock>();
    for (const OrderRecord& one : after) book.join(*known, one);
    return {.point = {.chain = chain, .position = position},
            .known = known,
            .enqueued_at = book.next_time()};
  }
  OrderBook book;
  std::uint32_t a = book.new_chain();
  std::uint32_t b = book.new_chain();
};

TEST_F(OrderBookTest, TasksOfTwoChainsAreUnordered) {
  const OrderRecord first = task(a, 1);
  const OrderRecord second = task(b, 1);
  EXPECT_FALSE(book.is_before(first, second));
  EXPECT_FALSE(book.is_before(second, first));
}

TEST_F(OrderBookTest, DependenciesAreTransitive) {
  const OrderRecord first = task(a, 1);
  const OrderRecord second = task(b, 1, {first});
  const OrderRecord third = task(a, 2, {second});
  EXPECT_TRUE(book.is_before(first, second));
  EXPECT_TRUE(book.is_before(first, third));
  EXPECT_FALSE(book.is_before(third, first));
}

TEST_F(OrderBookTest, WaitingByTheHostOrdersOnlyLaterTasks) {
  const OrderRecord first = task(a, 1);
  const OrderRecord early = task(b, 1);
  book.observe(first);
  const OrderRecord late = task(b, 2);
  EXPECT_FALSE(book.is_before(first, early));
  EXPECT_TRUE(book.is_before(first, late));
}

TEST_F(OrderBookTest, TheObservedPrefixEndsBeforeTheFirstTaskThatTheHostHasNotSeen) {
  const OrderRecord first = task(a, 1);
  const OrderRecord second = task(b, 1);
  const OrderRecord third = task(a, 2);
  book.add(1, first);
  book.add(2, second);
  book.add(3, third);
  EXPECT_EQ(book.observed_prefix(), 0);
  book.observe(third);
  EXPECT_EQ(book.observed_prefix(), 1);
  book.observe(second);
  EXPECT_EQ(book.observed_prefix(), 3);
}

TEST_F(OrderBookTest, WaitingCoversWhatIsOrderedBefore) {
  const OrderRecord first = task(a, 1);
  const OrderRecord second = task(b, 5, {first});
  book.observe(second);
  EXPECT_TRUE(book.is_before(first, task(b, 6)));
  EXPECT_FALSE(book.is_before(task(a, 2), task(b, 7)));
}

TEST_F(OrderBookTest, MembersOfAPlaceAreOrderedByEdgesOnly) {
  const auto ancestors = std::make_shared<Ancestors>(
      Ancestors{{false, false, false}, {true, false, false}, {false, false, false}});
  const auto member = [&](int number) {
    OrderRecord record = task(a, 1);
    record.point.member = number;
    record.ancestors = ancestors;
    return record;
  };
  EXPECT_TRUE(book.is_before(member(0), member(1)));
  EXPECT_FALSE(book.is_before(member(0), member(2)));
  EXPECT_FALSE(book.is_before(member(1), member(0)));
}

}  // namespace
}  // namespace sinter::virtual_gpu::driver::order_test
