#include "compiler/join.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "compiler/cost.h"
#include "compiler/kernel_body.h"
#include "sinter/error.h"

namespace sinter {

namespace {

constexpr std::size_t kMostMembers = 24;
constexpr int kMostPhases = 16;
/// Beyond this many ops the compiler of a joined kernel takes longer than its launches save.
constexpr std::size_t kMostOps = 400;
/// Pointers among the 4 KiB of parameters that a kernel may have.
constexpr std::size_t kMostArrays = 64;
/// Blocks that stay and take up one piece of work after another keep the memory a little less busy
/// than blocks that come and go: an assumption, to be measured.
constexpr double kLossOfStaying = 0.01;
/// What one block alone may read and write while the others have gone: some 40 GB/s are left.
constexpr double kMostTailBytes = 64 << 10;
constexpr double kTailBandwidth = 40e9;
/// A joined kernel is compiled once per candidate, with all of its members.
constexpr std::size_t kMostCandidates = 6;

/// `schedule` of `kernel` with blocks of `threads`; none if they do not suit it.
std::optional<Schedule> with_threads(const Kernel& kernel, Schedule schedule, int threads,
                                     const Target& target) {
  if (schedule.threads == threads) return schedule;
  switch (kernel.kind) {
    case KernelKind::pointwise:
    case KernelKind::scatter: schedule.threads = threads; return schedule;
    case KernelKind::row_reduce:
    case KernelKind::column_reduce:
    case KernelKind::scan: {
      // More or fewer rows per block: what each thread does stays the same.
      const int rows = threads / schedule.threads_per_row;
      if (rows == 0 || rows * schedule.threads_per_row != threads) return std::nullopt;
      // What more rows keep might not fit in shared memory.
      if (schedule.in_shared && rows > schedule.rows_per_block) return std::nullopt;
      // Shared memory grows with the threads: 24 bytes per state, two halves.
      const std::int64_t shared = std::int64_t{threads} * schedule.vector * 48;
      if (shared > target.shared_per_block_opt_in) return std::nullopt;
      schedule.rows_per_block = rows;
      schedule.threads = threads;
      return schedule;
    }
    case KernelKind::row_column_reduce: {
      // Fewer pieces per block; more might not fit in shared memory.
      const int pieces = threads / schedule.threads_per_row;
      if (pieces == 0 || pieces * schedule.threads_per_row != threads ||
          pieces > schedule.rows_per_block)
        return std::nullopt;
      schedule.rows_per_block = pieces;
      schedule.threads = threads;
      return schedule;
    }
    case KernelKind::full_reduce:
    case KernelKind::joined: break;
  }
  return std::nullopt;
}

/// The candidates of `kernel` with blocks of `threads`, in its own order.
std::vector<Schedule> schedules_with(const Kernel& kernel, int threads, const Target& target) {
  std::vector<Schedule> result;
  for (const bool as_they_are : {true, false})
    for (const Schedule& candidate : kernel.candidates) {
      if ((candidate.threads == threads) != as_they_are) continue;
      const std::optional<Schedule> fit = with_threads(kernel, candidate, threads, target);
      if (fit && std::ranges::find(result, *fit) == result.end()) result.push_back(*fit);
    }
  return result;
}

/// Schedules of all `members` with the same threads, those of the heaviest member first.
std::vector<Schedule> joined_candidates(std::span<const Kernel> members, std::size_t heaviest,
                                        const Target& target) {
  std::vector<Schedule> result;
  std::vector<int> sizes = {members[heaviest].schedule.threads};
  for (const int threads : {256, 128, 512, 64})
    if (threads != sizes[0]) sizes.push_back(threads);
  for (const int threads : sizes) {
    std::vector<std::vector<Schedule>> each;
    for (const Kernel& member : members) each.push_back(schedules_with(member, threads, target));
    if (std::ranges::any_of(each, [](const auto& list) { return list.empty(); })) continue;
    const std::size_t choices = threads == sizes[0] ? 3 : 1;
    for (std::size_t i = 0; i < choices && result.size() < kMostCandidates; ++i) {
      Schedule joined{.threads = threads};
      for (const std::vector<Schedule>& list : each) {
        joined.members.push_back(list[std::min(i, list.size() - 1)]);
        joined.members.back().blocks_per_sm = 0;  // members share their registers' bound
      }
      if (std::ranges::find(result, joined) == result.end()) result.push_back(std::move(joined));
    }
  }
  return result;
}

/// Kernels on their way into one launch.
struct Launch {
  std::vector<int> kernels;
  std::vector<int> phase;  ///< of each
  int phases = 1;
  std::size_t ops = 0;
  llvm::DenseSet<int> buffers;
  double seconds = 0;     ///< of all, without what it takes to launch them
  double tail_bytes = 0;  ///< of the phases behind the first
  bool has_tail() const { return phases > 1 && tail_bytes <= kMostTailBytes; }
  bool is_cooperative() const { return phases > 1 && !has_tail(); }
};

class Joiner {
 public:
  Joiner(Program& program, const Target& target) : program_(program), target_(target) {}

  void run() {
    launch_of_.resize(program_.kernels.size(), -1);
    for (std::size_t i = 0; i < program_.kernels.size(); ++i) place(static_cast<int>(i));
    explain_boundaries();
    replace_kernels();
  }

 private:
  const Kernel& kernel(int number) const {
    return program_.kernels[static_cast<std::size_t>(number)];
  }

  /// Into the launch before, else into one of its own. Kernels only ever join the latest launch, so
  /// no launch can come to wait for a later one.
  void place(int number) {
    Body body = body_of(program_, kernel(number));
    const Cost cost = cost_of(body, target_, program_.facts);
    Launch own{.kernels = {number},
               .phase = {0},
               .ops = kernel(number).nodes.size(),
               .seconds = cost.seconds - target_.launch_seconds,
               .tail_bytes = cost.bytes_read + cost.bytes_written};
    for (const Value& value : body.values)
      if (value.kind == Value::Kind::load)
        own.buffers.insert(program_.buffer_of.lookup(value.node));
    for (const Store& store : kernel(number).stores) own.buffers.insert(store.buffer);
    if (!launches_.empty()) {
      const int current = static_cast<int>(launches_.size()) - 1;
      std::string refusal = add(launches_.back(), own);
      if (refusal.empty()) {
        launch_of_[static_cast<std::size_t>(number)] = current;
        return;
      }
      refusals_[number] = std::move(refusal);
    }
    launch_of_[static_cast<std::size_t>(number)] = static_cast<int>(launches_.size());
    own.tail_bytes = 0;
    launches_.push_back(std::move(own));
  }

  /// Adds the one kernel of `own` to `launch`, or says why not.
  std::string add(Launch& launch, const Launch& own) const {
    const int number = own.kernels[0];
    int phase = 0;
    for (const int before : kernel(number).depends_on) {
      const auto at = std::ranges::find(launch.kernels, before);
      if (at != launch.kernels.end())
        phase = std::max(phase,
                         launch.phase[static_cast<std::size_t>(at - launch.kernels.begin())] + 1);
    }
    Launch both = launch;
    both.kernels.push_back(number);
    both.phase.push_back(phase);
    both.phases = std::max(launch.phases, phase + 1);
    both.ops += own.ops;
    both.seconds += own.seconds;
    if (phase > 0) both.tail_bytes += own.tail_bytes;
    both.buffers.insert(own.buffers.begin(), own.buffers.end());
    if (std::string refusal = refusal_of(launch, both); !refusal.empty()) return refusal;
    launch = std::move(both);
    return {};
  }

  std::string refusal_of(const Launch& before, const Launch& both) const {
    if (both.kernels.size() > kMostMembers)
      return fmt::format("a launch has no more than {} kernels", kMostMembers);
    if (both.phases > kMostPhases)
      return fmt::format("a launch has no more than {} phases", kMostPhases);
    if (both.ops > kMostOps)
      return fmt::format("in one launch they are {} ops, more than {}", both.ops, kMostOps);
    if (both.buffers.size() > kMostArrays)
      return fmt::format("in one launch they touch {} arrays, more than {}", both.buffers.size(),
                         kMostArrays);
    const double waits = both.has_tail() ? (both.tail_bytes - before.tail_bytes) / kTailBandwidth
                                         : target_.barrier_seconds * (both.phases - before.phases);
    const double saved = target_.stream_launch_seconds - waits;
    const double lost = both.is_cooperative() ? kLossOfStaying * both.seconds : 0;
    if (lost > saved)
      return fmt::format(
          "one launch would save {:.1f} us and lose {:.1f} of {:.0f} us to blocks "
          "that wait for one another",
          saved * 1e6, lost * 1e6, both.seconds * 1e6);
    if (both.kernels.size() > 1 && candidates_of(both).empty())
      return "no size of a block suits both";
    return {};
  }

  std::vector<Kernel> members_of(const Launch& launch) const {
    std::vector<Kernel> members;
    for (const int member : order_of(launch)) {
      members.push_back(kernel(launch.kernels[static_cast<std::size_t>(member)]));
      members.back().phase = launch.phase[static_cast<std::size_t>(member)];
    }
    return members;
  }

  std::vector<Schedule> candidates_of(const Launch& launch) const {
    const std::vector<Kernel> members = members_of(launch);
    return joined_candidates(members, heaviest(members), target_);
  }

  /// The member with the most elements: blocks should suit it first.
  std::size_t heaviest(std::span<const Kernel> members) const {
    const auto size = [&](const Kernel& member) {
      return evaluate(product(member.parallel) * member.reduced, program_.facts.symbols);
    };
    const auto found = std::ranges::max_element(members, {}, size);
    return static_cast<std::size_t>(found - members.begin());
  }

  /// Boundaries between launches tell why nothing was joined as well; those inside stay, since they
  /// are why there are members.
  void explain_boundaries() {
    std::map<std::string, int> number_of;
    for (std::size_t i = 0; i < program_.kernels.size(); ++i)
      number_of[program_.kernels[i].name] = static_cast<int>(i);
    std::vector<Boundary> kept;
    std::set<std::array<std::string, 3>> known;
    for (Boundary& boundary : program_.boundaries) {
      const int producer = number_of.at(boundary.producer);
      const int consumer = number_of.at(boundary.consumer);
      const int from = launch_of_[static_cast<std::size_t>(producer)];
      const int to = launch_of_[static_cast<std::size_t>(consumer)];
      boundary.is_inside = from == to;
      if (to == from + 1)
        boundary.reason += "; " + refusals_.at(launches_[static_cast<std::size_t>(to)].kernels[0]);
      boundary.producer = boundary.is_inside ? member_name(producer) : name_of(from);
      boundary.consumer = boundary.is_inside ? member_name(consumer) : name_of(to);
      if (known.insert({boundary.producer, boundary.consumer, boundary.reason}).second)
        kept.push_back(std::move(boundary));
    }
    program_.boundaries = std::move(kept);
  }

  /// Members are numbered by phase.
  std::string member_name(int number) const {
    const int at = launch_of_[static_cast<std::size_t>(number)];
    const Launch& launch = launches_[static_cast<std::size_t>(at)];
    const std::vector<int> order = order_of(launch);
    const auto place = std::ranges::find(order, number, [&](int member) {
      return launch.kernels[static_cast<std::size_t>(member)];
    });
    return fmt::format("{}_{}", name_of(at), place - order.begin());
  }

  /// The members of a launch by ascending phase.
  static std::vector<int> order_of(const Launch& launch) {
    std::vector<int> order(launch.kernels.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(
        order, {}, [&](int member) { return launch.phase[static_cast<std::size_t>(member)]; });
    return order;
  }

  std::string name_of(int launch) const {
    return fmt::format("{}_{}", program_.graph->name(), launch);
  }

  Kernel joined(const Launch& launch) const {
    Kernel result{.kind = KernelKind::joined};
    result.members = members_of(launch);
    for (const Kernel& member : result.members) {
      result.nodes.insert(result.nodes.end(), member.nodes.begin(), member.nodes.end());
      result.stores.insert(result.stores.end(), member.stores.begin(), member.stores.end());
      result.depends_on.insert(result.depends_on.end(), member.depends_on.begin(),
                               member.depends_on.end());
      result.notes.insert(result.notes.end(), member.notes.begin(), member.notes.end());
    }
    result.has_tail = launch.has_tail();
    result.candidates = candidates_of(launch);
    result.schedule = result.candidates.front();
    return result;
  }

  void replace_kernels() {
    std::vector<Kernel> kernels;
    for (std::size_t i = 0; i < launches_.size(); ++i) {
      const Launch& launch = launches_[i];
      Kernel next = launch.kernels.size() == 1 ? kernel(launch.kernels[0]) : joined(launch);
      next.name = name_of(static_cast<int>(i));
      for (int& before : next.depends_on) before = launch_of_[static_cast<std::size_t>(before)];
      std::ranges::sort(next.depends_on);
      next.depends_on.erase(std::unique(next.depends_on.begin(), next.depends_on.end()),
                            next.depends_on.end());
      std::erase(next.depends_on, static_cast<int>(i));
      for (std::size_t member = 0; member < next.members.size(); ++member)
        next.members[member].name = fmt::format("{}_{}", next.name, member);
      kernels.push_back(std::move(next));
    }
    program_.kernels = std::move(kernels);
  }

  Program& program_;
  const Target& target_;
  std::vector<Launch> launches_;
  std::vector<int> launch_of_;  ///< by kernel
  std::map<int, std::string>
      refusals_;  ///< why the first kernel of a launch is not in the one before
};

}  // namespace

void join(Program& program, const Target& target) { Joiner(program, target).run(); }

}  // namespace sinter
