// Assigns temporaries to offsets in the arena. Two temporaries may share bytes only if every kernel
// that touches the one finishes before the other is first written. Kernels without a dependency
// between them may run concurrently.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "compiler/body/sub_buffer.h"
#include "compiler/memory/plan_memory.h"
#include "compiler/program/op_cost.h"
#include "ir/support/checked_arithmetic.h"
#include "sinter/error.h"

namespace sinter {

namespace {

constexpr std::int64_t kAlignment = 256;

std::int64_t aligned(std::int64_t bytes) { return checked_round_up(bytes, kAlignment); }

/// The kernels that touch a temporary or its sub-buffers.
struct Tenancy {
  llvm::SmallVector<int, 2> writers;  ///< ascending; several if each writes a sub-buffer
  llvm::SmallVector<int, 4> touches;

  int first_writer() const { return writers.empty() ? -1 : writers.front(); }
};

void add_once(llvm::SmallVectorImpl<int>& kernels, int number) {
  if (kernels.empty() || kernels.back() != number) kernels.push_back(number);
}

/// Returns tenancies by buffer. Uses the reads and stores of kernels, because a plan loaded from a
/// file has no nodes.
std::vector<Tenancy> tenancies_of(const Program& program) {
  std::vector<Tenancy> result(program.buffers.size());
  const auto tenancy_of = [&](int buffer) -> Tenancy& {
    return result[static_cast<std::size_t>(parent_or_self(program, buffer))];
  };
  for (std::size_t i = 0; i < program.kernels.size(); ++i) {
    const auto number = static_cast<int>(i);
    for (const int buffer : program.kernels[i].reads) add_once(tenancy_of(buffer).touches, number);
    for (const Store& store : program.kernels[i].stores) {
      add_once(tenancy_of(store.buffer).writers, number);
      add_once(tenancy_of(store.buffer).touches, number);
    }
  }
  return result;
}

/// Which kernels finish before which others. Exact for programs of up to 64 * kBlocks kernels.
/// Longer programs may report distant kernels as unordered, which costs memory but is never wrong.
class Order {
 public:
  explicit Order(const std::vector<Kernel>& kernels)
      : bits_(kernels.size() * kBlocks), all_before_(kernels.size()), done_(kernels.size()) {
    for (std::size_t i = 0; i < kernels.size(); ++i)
      add(static_cast<int>(i), kernels[i].depends_on);
    int done = static_cast<int>(kernels.size());
    for (std::size_t i = kernels.size(); i-- > 0;) done_[i] = done = std::min(done, all_before_[i]);
  }

  bool is_before(int earlier, int later) const {
    if (earlier < all_before_[static_cast<std::size_t>(later)]) return true;
    return earlier < later && earlier / 64 >= first_block(later) && has_bit(later, earlier);
  }

  /// All kernels below this number finish before `kernel` and before every later kernel.
  int done_from(int kernel) const { return done_[static_cast<std::size_t>(kernel)]; }

 private:
  static constexpr int kBlocks = 16;  ///< blocks of 64 kernels

  /// The row of a kernel has bits for the kernel's own block and for the blocks before it.
  static int first_block(int kernel) { return std::max(0, kernel / 64 - kBlocks + 1); }
  std::uint64_t& block(int kernel, int number) {
    return bits_[static_cast<std::size_t>(kernel * std::int64_t{kBlocks} + number -
                                          first_block(kernel))];
  }
  bool has_bit(int kernel, int number) const {
    const auto index = kernel * std::int64_t{kBlocks} + number / 64 - first_block(kernel);
    return bits_[static_cast<std::size_t>(index)] >> (number % 64) & 1;
  }

  void add(int kernel, std::span<const int> depends_on) {
    int& all = all_before_[static_cast<std::size_t>(kernel)];
    for (const int before : depends_on) {
      all = std::max(all, all_before_[static_cast<std::size_t>(before)]);
      const int first = std::max(first_block(kernel), first_block(before));
      for (int number = first; number <= before / 64; ++number)
        block(kernel, number) |= block(before, number);
      if (before / 64 >= first) block(kernel, before / 64) |= std::uint64_t{1} << (before % 64);
    }
    while (all < kernel && all / 64 >= first_block(kernel) && has_bit(kernel, all)) ++all;
  }

  std::vector<std::uint64_t> bits_;
  std::vector<int> all_before_;  ///< by kernel: all kernels below this number finish before it
  std::vector<int> done_;        ///< by kernel: the minimum of all_before_ over this and later
                                 ///< kernels
};

/// Places temporaries in the order of their first writes, each in the smallest gap that fits.
class Arena {
 public:
  Arena(const Order& order, std::span<const Tenancy> tenancies)
      : order_(order), tenancies_(tenancies) {}

  std::int64_t place(int buffer, std::int64_t bytes) {
    const Tenancy& tenancy = tenancies_[static_cast<std::size_t>(buffer)];
    std::erase_if(tenants_, [&](const Tenant& tenant) {
      return tenancies_[static_cast<std::size_t>(tenant.buffer)].touches.back() <
             order_.done_from(tenancy.first_writer());
    });
    const std::int64_t begin = find_gap(tenancy.writers, bytes);
    const Tenant tenant{.begin = begin, .end = checked_sum(begin, bytes), .buffer = buffer};
    tenants_.insert(std::ranges::upper_bound(tenants_, begin, {}, &Tenant::begin), tenant);
    size_ = std::max(size_, tenant.end);
    return begin;
  }

  std::int64_t size() const { return size_; }

 private:
  struct Tenant {
    std::int64_t begin;
    std::int64_t end;
    int buffer;
  };

  bool is_done_before(const Tenant& tenant, std::span<const int> writers) const {
    const Tenancy& old = tenancies_[static_cast<std::size_t>(tenant.buffer)];
    return std::ranges::all_of(writers, [&](int writer) {
      return std::ranges::all_of(old.touches,
                                 [&](int touch) { return order_.is_before(touch, writer); });
    });
  }

  std::int64_t find_gap(std::span<const int> writers, std::int64_t bytes) const {
    std::int64_t best = -1;
    std::int64_t best_size = std::numeric_limits<std::int64_t>::max();
    std::int64_t cursor = 0;
    const auto offer = [&](std::int64_t end) {
      if (end - cursor < bytes || end - cursor >= best_size) return;
      best = cursor;
      best_size = end - cursor;
    };
    for (const Tenant& tenant : tenants_) {
      if (is_done_before(tenant, writers)) continue;
      offer(tenant.begin);
      cursor = std::max(cursor, tenant.end);
    }
    offer(size_);
    return best < 0 ? cursor : best;
  }

  const Order& order_;
  std::span<const Tenancy> tenancies_;
  std::vector<Tenant> tenants_;  ///< those that a later buffer may still overlap in time, sorted by
                                 ///< `begin`
  std::int64_t size_ = 0;
};

}  // namespace

struct MemoryPlanner::SizeIndependent {
  explicit SizeIndependent(const Program& program)
      : program(program), tenancies(tenancies_of(program)), order(program.kernels) {
    for (std::size_t i = 0; i < program.buffers.size(); ++i) {
      const Buffer& buffer = program.buffers[i];
      if (buffer.kind == Buffer::Kind::temporary && buffer.parent < 0)
        temporaries.push_back(static_cast<int>(i));
    }
    std::ranges::stable_sort(temporaries, {}, [&](int buffer) {
      return tenancies[static_cast<std::size_t>(buffer)].first_writer();
    });
  }

  const Program& program;
  const std::vector<Tenancy> tenancies;  ///< by buffer
  const Order order;
  std::vector<int> temporaries;  ///< not sub-buffers; in the order of their first writes
};

MemoryPlanner::MemoryPlanner(const Program& program)
    : size_independent_(std::make_unique<const SizeIndependent>(program)) {}
MemoryPlanner::~MemoryPlanner() = default;

MemoryPlan MemoryPlanner::plan(std::span<const std::int64_t> symbols) const {
  const auto& [program, tenancies, order, all] = *size_independent_;
  MemoryPlan plan{.offsets = std::vector<std::int64_t>(program.buffers.size(), -1)};
  std::vector<std::int64_t> bytes(program.buffers.size());
  std::vector<int> temporaries;
  for (const int buffer : all) {
    const auto i = static_cast<std::size_t>(buffer);
    plan.offsets[i] = 0;
    bytes[i] = aligned(bytes_of(program.buffers[i], symbols));
    if (!tenancies[i].writers.empty() && bytes[i] > 0) temporaries.push_back(buffer);
  }
  // Among temporaries with the same first writer, larger ones come first.
  const auto comes_before = [&](int a, int b) {
    const auto x = static_cast<std::size_t>(a), y = static_cast<std::size_t>(b);
    if (tenancies[x].first_writer() != tenancies[y].first_writer())
      return tenancies[x].first_writer() < tenancies[y].first_writer();
    return bytes[x] > bytes[y];
  };
  if (!std::ranges::is_sorted(temporaries, comes_before))
    std::ranges::stable_sort(temporaries, comes_before);

  Arena arena(order, tenancies);
  for (const int buffer : temporaries)
    plan.offsets[static_cast<std::size_t>(buffer)] =
        arena.place(buffer, bytes[static_cast<std::size_t>(buffer)]);
  plan.arena_bytes = arena.size();
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& part = program.buffers[i];
    if (part.parent < 0 || part.kind != Buffer::Kind::temporary) continue;
    const auto parent = static_cast<std::size_t>(part.parent);
    const std::int64_t offset = offset_bytes(part, symbols);
    if (offset < 0 || (bytes[parent] > 0 && offset > bytes[parent])) [[unlikely]]
      throw UserError(fmt::format("sub-buffer {} begins {} bytes into a buffer of {} bytes",
                                  part.name, offset, bytes[parent]));
    plan.offsets[i] = checked_sum(plan.offsets[parent], offset);
  }
  return plan;
}

MemoryPlan plan_memory(const Program& program, std::span<const std::int64_t> symbols) {
  return MemoryPlanner(program).plan(symbols);
}

}  // namespace sinter
