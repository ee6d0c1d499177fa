#include "compiler/program/guards.h"

#include "ir/shape/extent.h"
#include "sinter/error.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace sinter {

namespace {

bool holds(const Guard& guard, std::int64_t value) {
  return guard.low <= value && value <= guard.high && value % guard.divisor == 0;
}

/// The bounds in words; "" if there are none.
std::string bounds_text(const Guard& guard) {
  if (guard.high == INT64_MAX && guard.low == INT64_MIN) return "";
  if (guard.low == INT64_MIN) return fmt::format("at most {}", guard.high);
  if (guard.high == INT64_MAX) return fmt::format("at least {}", guard.low);
  return fmt::format("in [{}, {}]", guard.low, guard.high);
}

/// `rows * 4 = 20000 is not in [0, 16384]`
std::string describe(const Guard& guard, std::int64_t value) {
  const bool is_outside = value < guard.low || value > guard.high;
  const std::string text =
      fmt::format("{} = {} is not {}", to_string(guard.value), value,
                  is_outside ? bounds_text(guard) : fmt::format("divisible by {}", guard.divisor));
  return guard.reason.empty() ? text : fmt::format("{}: {}", text, guard.reason);
}

const Guard* first_broken(const Program& program, std::span<const std::int64_t> symbols) {
  const auto broken = std::ranges::find_if(program.guards, [&](const Guard& guard) {
    return !holds(guard, evaluate(guard.value, symbols));
  });
  return broken == program.guards.end() ? nullptr : &*broken;
}

}  // namespace

void add_guard(std::vector<Guard>& guards, Guard guard) {
  ensure(guard.divisor >= 1, "a guard's divisor is below 1");
  if (guard.value.is_number()) return;
  const auto known = std::ranges::find(guards, guard.value, &Guard::value);
  if (known == guards.end()) {
    guards.push_back(std::move(guard));
    return;
  }
  const Guard before = *known;
  known->low = std::max(known->low, guard.low);
  known->high = std::min(known->high, guard.high);
  known->divisor = std::lcm(known->divisor, guard.divisor);
  const bool narrower =
      known->low != before.low || known->high != before.high || known->divisor != before.divisor;
  if (narrower && known->reason.find(guard.reason) == std::string::npos)
    known->reason += "; " + guard.reason;
}

std::string to_string(const Guard& guard) {
  const std::string bounds = bounds_text(guard);
  std::string text = to_string(guard.value);
  if (!bounds.empty()) text += " " + bounds;
  if (guard.divisor == 1) return text;
  return fmt::format("{}{} divisible by {}", text, bounds.empty() ? "" : ",", guard.divisor);
}

bool holds(const Program& program, std::span<const std::int64_t> symbols) {
  return first_broken(program, symbols) == nullptr;
}

std::string broken_guard(const Program& program, std::span<const std::int64_t> symbols) {
  const Guard* guard = first_broken(program, symbols);
  return guard ? describe(*guard, evaluate(guard->value, symbols)) : "";
}

}  // namespace sinter
