#include "compiler/horizontal/fuse_launches.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <set>

#include "compiler/horizontal/foreach.h"
#include "compiler/horizontal/launch_boundaries.h"
#include "compiler/horizontal/section_schedules.h"
#include "compiler/program/op_cost.h"
#include "ir/support/sort_unique.h"

namespace sinter {

namespace {

constexpr std::size_t kMaxSections = 24;
constexpr int kMaxPhases = 16;
/// Beyond this many ops, compiling a horizontally fused kernel takes longer than its launches save.
constexpr std::size_t kMaxOps = 400;
/// Maximum number of pointers in the 4 KiB of kernel parameters. A table holds those of lists.
constexpr std::size_t kMaxArrays = 64;
/// Blocks that keep rows or columns in shared memory leave little room for other blocks, which then
/// lose this fraction of their time. A guess: the kept bytes are unknown here.
constexpr double kSharedMemoryLoss = 0.25;
/// Maximum bytes that the last block moves alone in a tail, and its bandwidth.
constexpr double kMaxTailBytes = 64 << 10;
constexpr double kTailBandwidth = 40e9;
/// Maximum number of launches that merge for resident tiles, and the minimum size of an array that
/// makes this worthwhile, in bytes.
constexpr int kMaxMergedLaunches = 5;
constexpr std::int64_t kLargeArray = 128 << 10;

/// The work of kernels: predicted times without launch overhead.
struct LaunchWork {
  double seconds = 0;
  double memory_seconds = 0;          ///< the part of `seconds` that keeps the memory busy
  double seconds_without_shared = 0;  ///< the part of kernels that keep nothing in shared memory
  double bytes = 0;

  friend LaunchWork operator+(const LaunchWork& a, const LaunchWork& b) {
    return {.seconds = a.seconds + b.seconds,
            .memory_seconds = a.memory_seconds + b.memory_seconds,
            .seconds_without_shared = a.seconds_without_shared + b.seconds_without_shared,
            .bytes = a.bytes + b.bytes};
  }
};

/// Kernels that form one launch, and their totals.
struct Launch {
  std::vector<int> kernels;
  int phases = 1;
  std::size_t distinct_kernels = 0;  ///< a list counts as one
  std::size_t ops = 0;               ///< of the distinct kernels
  std::size_t arrays = 0;            ///< without those of lists
  unsigned block_sizes = 0;          ///< that suit all kernels, as bits (supported_block_sizes)
  LaunchWork work;
  bool has_shared = false;  ///< some kernel keeps so much there that few blocks fit on an SM
  double tail_bytes = 0;    ///< moved by the phases after the first
  bool has_tail() const { return phases > 1 && tail_bytes <= kMaxTailBytes; }
  bool is_cooperative() const { return phases > 1 && !has_tail(); }
};

class LaunchFuser {
 public:
  LaunchFuser(Program& program, const Target& target) : program_(program), target_(target) {}

  void run() {
    const std::size_t count = program_.kernels.size();
    launch_of_.resize(count, -1);
    phase_of_.resize(count, 0);
    section_of_.resize(count, 0);
    latest_access_.resize(program_.buffers.size(), -1);
    launch_of_list_.resize(static_cast<std::size_t>(find_foreach_lists(program_)), -1);
    const std::vector<int> order = order_by_lists(program_, kMaxSections);
    find_followers(order);
    find_readers();
    for (const int number : order) add_to_launch(number);
    if (read_large_array_again(program_.kernels))
      for (int first = 0; first < latest(); ++first) merge_for_resident_tiles(first);
    for (Launch& launch : launches_) number_sections(launch);
    std::vector<std::string> names;
    names.reserve(launches_.size());
    for (int launch = 0; launch <= latest(); ++launch) names.push_back(name_of(launch));
    explain_boundaries(program_, {.launch_of = launch_of_,
                                  .section_of = section_of_,
                                  .names = names,
                                  .refusals = refusals_});
    replace_kernels();
  }

 private:
  const Kernel& kernel(int number) const {
    return program_.kernels[static_cast<std::size_t>(number)];
  }
  bool is_call(int number) const { return kernel(number).kind == KernelKind::opaque; }
  int launch_of(int number) const { return launch_of_[static_cast<std::size_t>(number)]; }
  int phase_of(int number) const { return phase_of_[static_cast<std::size_t>(number)]; }
  int latest() const { return static_cast<int>(launches_.size()) - 1; }

  void find_readers() {
    readers_.resize(program_.buffers.size());
    for (std::size_t i = 0; i < program_.kernels.size(); ++i)
      for (const int buffer : program_.kernels[i].reads)
        readers_[static_cast<std::size_t>(buffer)].push_back(static_cast<int>(i));
  }

  /// The temporaries that only `kernels` write and read.
  std::vector<int> internal_buffers_of(std::span<const int> kernels) const {
    const auto is_inside = [&](int reader) {
      return std::ranges::find(kernels, reader) != kernels.end();
    };
    std::vector<int> result;
    for (const int number : kernels)
      for (const Store& store : kernel(number).stores) {
        const Buffer& buffer = program_.buffers[static_cast<std::size_t>(store.buffer)];
        const auto& readers = readers_[static_cast<std::size_t>(store.buffer)];
        if (buffer.kind == Buffer::Kind::temporary && buffer.parent < 0 && !readers.empty() &&
            std::ranges::all_of(readers, is_inside))
          result.push_back(store.buffer);
      }
    return result;
  }

  LaunchWork work_of(const Kernel& kernel) const {
    const double seconds = kernel.seconds - target_.launch_seconds;
    return {.seconds = seconds,
            .memory_seconds = std::min(seconds, kernel.bytes / target_.bandwidth),
            .seconds_without_shared = kernel.schedule.in_shared ? 0 : seconds,
            .bytes = kernel.bytes};
  }

  /// Sums the kernels that directly follow each kernel in its list. `add_to_launch` judges them
  /// together, because moving only a part of a list saves no launch.
  void find_followers(std::span<const int> order) {
    followers_.resize(order.size());
    for (std::size_t i = order.size(); i-- > 1;) {
      const Kernel& next = kernel(order[i]);
      if (next.foreach_list < 0 || next.foreach_list != kernel(order[i - 1]).foreach_list) continue;
      followers_[static_cast<std::size_t>(order[i - 1])] =
          followers_[static_cast<std::size_t>(order[i])] + work_of(next);
    }
  }

  /// `launch` plus the kernels that directly follow `added` in its list.
  Launch with_followers(Launch launch, int added, int phase) const {
    const LaunchWork& followers = followers_[static_cast<std::size_t>(added)];
    launch.work = launch.work + followers;
    if (phase > 0) launch.tail_bytes += followers.bytes;
    return launch;
  }

  /// Adds a kernel to the latest launch, or else starts a new one. Kernels join only the latest
  /// launch, so no launch can wait for a later one.
  void add_to_launch(int number) {
    const std::vector<int> accessed = accessed_by(kernel(number));
    if (!launches_.empty()) {
      const int phase = phase_in_latest(number);
      const Launch& before = launches_.back();
      Launch both = totals_with(before, kernel(number), phase, accessed);
      std::string refusal = refusal_of(before, with_followers(both, number, phase), number);
      if (refusal.empty()) {
        both.kernels = std::move(launches_.back().kernels);
        launches_.back() = std::move(both);
        record(number, phase, accessed);
        return;
      }
      refusals_.push_back(std::move(refusal));
    } else {
      refusals_.emplace_back();
    }
    launches_.emplace_back();
    launches_.back() = totals_with({.block_sizes = ~0U}, kernel(number), 0, accessed);
    record(number, 0, accessed);
  }

  /// The buffers that `kernel` reads or writes; none for kernels of lists, which use a table.
  static std::vector<int> accessed_by(const Kernel& kernel) {
    if (kernel.foreach_list >= 0) return {};
    std::vector<int> result = kernel.reads;
    for (const Store& store : kernel.stores) result.push_back(store.buffer);
    sort_unique(result);
    return result;
  }

  /// The phase after all dependencies of the kernel in the latest launch.
  int phase_in_latest(int number) const {
    int phase = 0;
    for (const int before : kernel(number).depends_on)
      if (launch_of(before) == latest()) phase = std::max(phase, phase_of(before) + 1);
    return phase;
  }

  /// The totals of `launch`, which is the latest one or empty, and `added`. Sets no `kernels`.
  Launch totals_with(const Launch& launch, const Kernel& added, int phase,
                     std::span<const int> accessed) const {
    const int own = launch.kernels.empty() ? -2 : latest();
    const bool is_new_code = added.foreach_list < 0 ||
                             launch_of_list_[static_cast<std::size_t>(added.foreach_list)] != own;
    Launch both{.kernels = {},
                .phases = std::max(launch.phases, phase + 1),
                .distinct_kernels = launch.distinct_kernels + (is_new_code ? 1 : 0),
                .ops = launch.ops + (is_new_code ? added.nodes.size() : 0),
                .arrays = launch.arrays,
                .block_sizes = launch.block_sizes & supported_block_sizes(added, target_),
                .work = launch.work + work_of(added),
                .has_shared = launch.has_shared || added.schedule.in_shared,
                .tail_bytes = launch.tail_bytes + (phase > 0 ? added.bytes : 0)};
    for (const int buffer : accessed)
      both.arrays += latest_access_[static_cast<std::size_t>(buffer)] != own ? 1 : 0;
    return both;
  }

  /// Records that kernel `number` is in the latest launch.
  void record(int number, int phase, std::span<const int> accessed) {
    launches_.back().kernels.push_back(number);
    launch_of_[static_cast<std::size_t>(number)] = latest();
    phase_of_[static_cast<std::size_t>(number)] = phase;
    for (const int buffer : accessed) latest_access_[static_cast<std::size_t>(buffer)] = latest();
    if (const int list = kernel(number).foreach_list; list >= 0)
      launch_of_list_[static_cast<std::size_t>(list)] = latest();
  }

  /// Clusters are adjacent blocks of one kernel. In the first phase they may only be next to
  /// clusters of the same size, and only the last block may run later phases.
  std::string cluster_refusal(const Launch& before, const Launch& both, int added) const {
    const Kernel& first = kernel(before.kernels.front());
    const int cluster = kernel(added).schedule.blocks_per_row();
    const int of_first = first.schedule.blocks_per_row();
    const bool is_later = phase_in_latest(added) > 0;
    if (of_first > 1 && is_later && both.has_tail() && cluster == 1) return {};
    const auto has_own_launch = [](const Kernel& one) {
      return one.foreach_list >= 0 || one.kind == KernelKind::row_column_reduce;
    };
    if (cluster > 1 && cluster == of_first && !is_later && !both.is_cooperative() &&
        !has_own_launch(first) && !has_own_launch(kernel(added)))
      return {};
    for (const Kernel* one : {&first, &kernel(added)})
      if (const int size = one->schedule.blocks_per_row(); size > 1)
        return fmt::format(
            "the rows of {} stay in clusters of {} blocks, and only a last block can follow these "
            "in one launch",
            one->name, size);
    return {};
  }

  std::string refusal_of(const Launch& before, const Launch& both, int added) const {
    if (is_call(added) || is_call(before.kernels.front()))
      return "nothing shares a launch with an opaque call";
    if (std::string refusal = cluster_refusal(before, both, added); !refusal.empty())
      return refusal;
    if (both.distinct_kernels > kMaxSections)
      return fmt::format("a launch has no more than {} different kernels", kMaxSections);
    if (both.phases > kMaxPhases)
      return fmt::format("a launch has no more than {} phases", kMaxPhases);
    if (both.ops > kMaxOps)
      return fmt::format("one launch would have {} ops, more than {}", both.ops, kMaxOps);
    if (both.arrays > kMaxArrays)
      return fmt::format("one launch would access {} arrays, more than {}", both.arrays,
                         kMaxArrays);
    const double waits = both.has_tail() ? (both.tail_bytes - before.tail_bytes) / kTailBandwidth
                                         : target_.barrier_seconds * (both.phases - before.phases);
    const double saved = target_.stream_launch_seconds - waits;
    const double lost_to_shared =
        both.has_shared ? kSharedMemoryLoss * both.work.seconds_without_shared : 0;
    const double lost =
        (both.is_cooperative() ? target_.cooperative_loss * both.work.memory_seconds : 0) +
        lost_to_shared;
    if (lost > saved)
      return fmt::format(
          "one launch would save {:.1f} us and lose {:.1f} of {:.0f} us to blocks "
          "that {}",
          saved * 1e6, lost * 1e6, both.work.seconds * 1e6,
          lost_to_shared > 0 ? "leave an SM little room for others" : "wait for one another");
    if (both.block_sizes == 0 && !has_size_of_heaviest(before, added))
      return "no block size suits both";
    return {};
  }

  // --- resident tiles ---------------------------------------------------------------------------

  /// Merges launch `first` with the following launches if the blocks can then keep resident tiles
  /// of arrays that several of them read.
  void merge_for_resident_tiles(int first) {
    for (int last = std::min(first + kMaxMergedLaunches - 1, latest()); last > first; --last) {
      std::vector<int> kernels;
      for (int launch = first; launch <= last; ++launch)
        append(kernels, launches_[static_cast<std::size_t>(launch)].kernels);
      std::ranges::sort(kernels);
      const auto each = std::views::transform(
          kernels, [&](int number) -> const Kernel& { return kernel(number); });
      const auto is_of_user = [&](int number) { return is_call(number); };
      if (kernels.size() > kMaxSections || std::ranges::any_of(kernels, is_of_user)) continue;
      if (!read_large_array_again(each)) return;
      if (try_merge(first, last, kernels)) return;
    }
  }

  /// True if several of `kernels` read one array of at least kLargeArray bytes. With `or_write`:
  /// also if one of them reads such an array and one of them writes it.
  bool read_large_array_again(const auto& kernels, bool or_write = false) const {
    const auto is_large = [&](int buffer) {
      return bytes_of(program_.buffers[static_cast<std::size_t>(buffer)], program_.facts.symbols) >=
             kLargeArray;
    };
    DenseSet<int> read;
    for (const Kernel& kernel : kernels)
      for (const int buffer : kernel.reads)
        if (!read.insert(buffer).second && is_large(buffer)) return true;
    return or_write && std::ranges::any_of(kernels, [&](const Kernel& kernel) {
             return std::ranges::any_of(kernel.stores, [&](const Store& store) {
               return read.contains(store.buffer) && is_large(store.buffer);
             });
           });
  }

  bool try_merge(int first, int last, std::vector<int> kernels) {
    Launch all{.block_sizes = ~0U};
    std::vector<int> phases(kernels.size(), 0);
    std::set<int> arrays;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      for (const int before : kernel(kernels[i]).depends_on)
        if (const auto found = std::ranges::find(kernels, before); found != kernels.end())
          phases[i] =
              std::max(phases[i], phases[static_cast<std::size_t>(found - kernels.begin())] + 1);
      const std::vector<int> accessed = accessed_by(kernel(kernels[i]));
      arrays.insert(accessed.begin(), accessed.end());
      all.phases = std::max(all.phases, phases[i] + 1);
      all.ops += kernel(kernels[i]).nodes.size();
      all.block_sizes &= supported_block_sizes(kernel(kernels[i]), target_);
      all.work = all.work + work_of(kernel(kernels[i]));
    }
    all.tail_bytes = kMaxTailBytes + 1;  // more than a tail may move: the launch is cooperative
    if (all.ops > kMaxOps || arrays.size() > kMaxArrays || all.phases > kMaxPhases ||
        all.phases == 1 || all.block_sizes == 0)
      return false;
    int barriers = all.phases - 1;
    for (int launch = first; launch <= last; ++launch)
      if (launches_[static_cast<std::size_t>(launch)].is_cooperative())
        barriers -= launches_[static_cast<std::size_t>(launch)].phases - 1;
    const double lost = std::max(barriers, 0) * target_.barrier_seconds +
                        target_.cooperative_loss * all.work.memory_seconds;
    const double saved = (last - first) * target_.stream_launch_seconds;
    if (seconds_saved_by_resident_tiles(kernels, phases) + saved <= lost) return false;
    for (std::size_t i = 0; i < kernels.size(); ++i)
      phase_of_[static_cast<std::size_t>(kernels[i])] = phases[i];
    for (int& launch : launch_of_)
      launch = launch <= first ? launch : std::max(first, launch - (last - first));
    all.kernels = std::move(kernels);
    launches_[static_cast<std::size_t>(first)] = std::move(all);
    launches_.erase(launches_.begin() + first + 1, launches_.begin() + last + 1);
    refusals_.erase(refusals_.begin() + first + 1, refusals_.begin() + last + 1);
    return true;
  }

  /// Seconds that resident tiles save if `kernels` form one launch; -1 if they save nothing.
  double seconds_saved_by_resident_tiles(std::span<const int> kernels,
                                         std::span<const int> phases) const {
    std::vector<Kernel> sections;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      sections.push_back(kernel(kernels[i]));
      sections.back().phase = phases[i];
    }
    std::ranges::stable_sort(sections, {}, &Kernel::phase);
    const double saved =
        with_resident_tiles(program_, sections, internal_buffers_of(kernels),
                            section_candidates(sections, program_.facts, target_), target_)
            .seconds_saved;
    return saved > 0 ? saved : -1;
  }

  /// True if the block size of the heaviest kernel suits `launch` and `added`.
  bool has_size_of_heaviest(const Launch& launch, int added) const {
    std::vector<int> kernels = launch.kernels;
    kernels.push_back(added);
    std::ranges::stable_sort(kernels, {}, [&](int number) {
      return number == added ? phase_in_latest(added) : phase_of(number);
    });
    const int threads = kernel(heaviest(kernels)).schedule.threads;
    return std::ranges::all_of(
        kernels, [&](int number) { return supports_block_size(kernel(number), threads, target_); });
  }

  /// The kernel with the most elements, which the block size should suit first.
  int heaviest(std::span<const int> kernels) const {
    return *std::ranges::max_element(kernels, {}, [&](int number) {
      return evaluate(iterations(kernel(number)), program_.facts.symbols);
    });
  }

  /// Numbers the sections of a launch by phase.
  void number_sections(Launch& launch) {
    std::ranges::stable_sort(launch.kernels, {}, [&](int number) { return phase_of(number); });
    for (std::size_t i = 0; i < launch.kernels.size(); ++i)
      section_of_[static_cast<std::size_t>(launch.kernels[i])] = static_cast<int>(i);
  }

  std::string name_of(int launch) const {
    return fmt::format("{}_{}", program_.graph->name(), launch);
  }

  /// The horizontally fused kernel of `launch`. Moves its kernels out of the program.
  Kernel fused_kernel_of(const Launch& launch) {
    Kernel result{.kind = KernelKind::horizontal};
    result.internal_buffers = internal_buffers_of(launch.kernels);
    result.sections.reserve(launch.kernels.size());
    for (const int number : launch.kernels) {
      Kernel& section = result.sections.emplace_back(
          std::move(program_.kernels[static_cast<std::size_t>(number)]));
      section.phase = phase_of(number);
      append(result.nodes, section.nodes);
      append(result.stores, section.stores);
      append(result.depends_on, section.depends_on);
      append(result.reads, section.reads);
      append(result.notes, section.notes);
      result.bytes += section.bytes;
    }
    sort_unique(result.reads);
    result.seconds = launch.work.seconds + target_.launch_seconds;
    result.has_tail = launch.has_tail();
    std::vector<Schedule> schedules = section_candidates(result.sections, program_.facts, target_);
    if (launch.is_cooperative() && read_large_array_again(result.sections, true)) {
      ResidentTileCandidates resident_tiles = with_resident_tiles(
          program_, result.sections, result.internal_buffers, std::move(schedules), target_);
      schedules = std::move(resident_tiles.schedules);
      result.bytes -= resident_tiles.bytes_saved;
      result.seconds -= std::max(resident_tiles.seconds_saved, 0.0);
    }
    result.candidates = SharedSchedules(std::move(schedules));
    result.schedule = result.candidates.front();
    return result;
  }

  template <class Item>
  static void append(std::vector<Item>& list, const std::vector<Item>& more) {
    list.insert(list.end(), more.begin(), more.end());
  }

  void replace_kernels() {
    std::vector<Kernel> kernels;
    kernels.reserve(launches_.size());
    for (std::size_t i = 0; i < launches_.size(); ++i) {
      const Launch& launch = launches_[i];
      const auto first = static_cast<std::size_t>(launch.kernels[0]);
      Kernel next =
          launch.kernels.size() == 1 ? std::move(program_.kernels[first]) : fused_kernel_of(launch);
      next.name = name_of(static_cast<int>(i));
      for (int& before : next.depends_on) before = launch_of(before);
      sort_unique(next.depends_on);
      std::erase(next.depends_on, static_cast<int>(i));
      for (std::size_t section = 0; section < next.sections.size(); ++section)
        next.sections[section].name = fmt::format("{}_{}", next.name, section);
      kernels.push_back(std::move(next));
    }
    program_.kernels = std::move(kernels);
  }

  Program& program_;
  const Target& target_;
  std::vector<LaunchWork> followers_;  ///< by kernel: of those that directly follow it in its list
  std::vector<Launch> launches_;
  std::vector<std::string> refusals_;  ///< by launch: why its first kernel is not in the one before
  std::vector<int> launch_of_;         ///< by kernel
  std::vector<int> phase_of_;          ///< by kernel
  std::vector<int> section_of_;        ///< by kernel: its index in the launch
  std::vector<int> launch_of_list_;    ///< by list: the latest launch with one of its kernels
  std::vector<int> latest_access_;     ///< by buffer: the latest launch that accesses it
  std::vector<llvm::SmallVector<int, 2>> readers_;  ///< by buffer: kernels
};

}  // namespace

void fuse_launches(Program& program, const Target& target) { LaunchFuser(program, target).run(); }

}  // namespace sinter
