#include "compiler/horizontal/fuse_launches.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <set>
#include <string_view>

#include "compiler/horizontal/foreach.h"
#include "compiler/horizontal/launch_boundaries.h"
#include "compiler/horizontal/section_schedules.h"
#include "compiler/program/buffer_readers.h"
#include "compiler/program/op_cost.h"
#include "sinter/error.h"

namespace sinter {

namespace {

constexpr std::size_t kMaxSections = 24;
constexpr int kMostPhases = 16;
/// Beyond this many ops the compiler of a horizontally fused kernel takes longer than its launches
/// save.
constexpr std::size_t kMostOps = 400;
/// Pointers among the 4 KiB of parameters that a kernel may have. Those of lists are in a table.
constexpr std::size_t kMostArrays = 64;
/// Blocks that stay and take up one piece of work after another keep the memory a little less busy
/// than blocks that come and go: an assumption, to be measured.
constexpr double kLossOfStaying = 0.01;
/// Blocks that keep rows or columns in shared memory leave SMs no place for many others, and these
/// have less in flight: a guess, since how much they keep is not known here.
constexpr double kLossBesideShared = 0.25;
/// What one block alone may read and write while the others have gone: some 40 GB/s are left.
constexpr double kMostTailBytes = 64 << 10;
constexpr double kTailBandwidth = 40e9;
/// Launches that are looked at together for resident tiles, and what makes an array worth it, in
/// bytes.
constexpr int kMostUnited = 5;
constexpr std::int64_t kLargeArray = 128 << 10;

/// Kernels on their way into one launch, and what they have together.
struct Launch {
  std::vector<int> kernels;
  int phases = 1;
  std::size_t codes = 0;    ///< kernels, those of a list being one
  std::size_t ops = 0;      ///< of these
  std::size_t arrays = 0;   ///< but those of lists
  unsigned sizes = 0;       ///< of blocks that suit all (suited_sizes)
  double seconds = 0;       ///< of all, without what it takes to launch them
  double moving = 0;        ///< of these, what keeps the memory busy
  double beside = 0;        ///< of these, what keeps nothing in shared memory
  bool has_shared = false;  ///< some keep so much there that SMs have place for a block or two
  double tail_bytes = 0;    ///< of the phases behind the first
  bool has_tail() const { return phases > 1 && tail_bytes <= kMostTailBytes; }
  bool is_cooperative() const { return phases > 1 && !has_tail(); }
};

class Joiner {
 public:
  Joiner(Program& program, const Target& target) : program_(program), target_(target) {}

  void run() {
    const std::size_t count = program_.kernels.size();
    launch_of_.resize(count, -1);
    phase_of_.resize(count, 0);
    section_of_.resize(count, 0);
    touched_by_.resize(program_.buffers.size(), -1);
    launch_of_list_.resize(static_cast<std::size_t>(find_lists(program_)), -1);
    const std::vector<int> order = order_by_lists(program_, kMaxSections);
    find_followers(order);
    readers_ = BufferReaders(program_);
    for (const int number : order) place(number);
    if (read_large_array_again(program_.kernels))
      for (int first = 0; first < latest(); ++first) unite_for_resident_tiles(first);
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

  /// Of what a kernel takes, what keeps the memory busy.
  double moving_seconds(const Kernel& kernel) const {
    return std::min(kernel.seconds - target_.launch_seconds, kernel.bytes / target_.bandwidth);
  }

  /// What comes right behind a kernel in its list: one of them alone is no reason for a launch, and
  /// half of them save none.
  void find_followers(std::span<const int> order) {
    followers_.resize(order.size());
    for (std::size_t i = order.size(); i-- > 1;) {
      const Kernel& next = kernel(order[i]);
      if (next.foreach_list < 0 || next.foreach_list != kernel(order[i - 1]).foreach_list) continue;
      const double seconds = next.seconds - target_.launch_seconds;
      const Followers& behind = followers_[static_cast<std::size_t>(order[i])];
      followers_[static_cast<std::size_t>(order[i - 1])] = {
          .seconds = behind.seconds + seconds,
          .moving = behind.moving + moving_seconds(next),
          .beside = behind.beside + (next.schedule.in_shared ? 0 : seconds),
          .bytes = behind.bytes + next.bytes};
    }
  }

  /// `launch` with all that follows `added` in its list.
  Launch with_followers(Launch launch, int added, int phase) const {
    const Followers& followers = followers_[static_cast<std::size_t>(added)];
    launch.seconds += followers.seconds;
    launch.moving += followers.moving;
    launch.beside += followers.beside;
    if (phase > 0) launch.tail_bytes += followers.bytes;
    return launch;
  }

  /// Into the launch before, else into one of its own. Kernels only ever join the latest launch, so
  /// no launch can come to wait for a later one.
  void place(int number) {
    const std::vector<int> touched = touched_by(kernel(number));
    if (!launches_.empty()) {
      const int phase = phase_in_latest(number);
      const Launch& before = launches_.back();
      Launch both = united(before, kernel(number), phase, touched);
      std::string refusal = refusal_of(before, with_followers(both, number, phase), number);
      if (refusal.empty()) {
        both.kernels = std::move(launches_.back().kernels);
        launches_.back() = std::move(both);
        enter(number, phase, touched);
        return;
      }
      refusals_.push_back(std::move(refusal));
    } else {
      refusals_.emplace_back();
    }
    launches_.emplace_back();
    launches_.back() = united({.sizes = ~0U}, kernel(number), 0, touched);
    enter(number, 0, touched);
  }

  /// The buffers that `kernel` reads or writes; of a list they are in a table.
  static std::vector<int> touched_by(const Kernel& kernel) {
    if (kernel.foreach_list >= 0) return {};
    std::vector<int> result = kernel.reads;
    for (const Store& store : kernel.stores) result.push_back(store.buffer);
    std::ranges::sort(result);
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
  }

  /// Behind what it needs of the latest launch.
  int phase_in_latest(int number) const {
    int phase = 0;
    for (const int before : kernel(number).depends_on)
      if (launch_of(before) == latest()) phase = std::max(phase, phase_of(before) + 1);
    return phase;
  }

  /// What `launch`, the latest one or none, and `added` have together; the kernels are left out.
  Launch united(const Launch& launch, const Kernel& added, int phase,
                std::span<const int> touched) const {
    const int own = launch.kernels.empty() ? -2 : latest();
    const double seconds = added.seconds - target_.launch_seconds;
    const bool is_new_code =
        added.foreach_list < 0 || launch_of_list_[static_cast<std::size_t>(added.foreach_list)] != own;
    Launch both{.kernels = {},
                .phases = std::max(launch.phases, phase + 1),
                .codes = launch.codes + (is_new_code ? 1 : 0),
                .ops = launch.ops + (is_new_code ? added.nodes.size() : 0),
                .arrays = launch.arrays,
                .sizes = launch.sizes & suited_sizes(added, target_),
                .seconds = launch.seconds + seconds,
                .moving = launch.moving + moving_seconds(added),
                .beside = launch.beside + (added.schedule.in_shared ? 0 : seconds),
                .has_shared = launch.has_shared || added.schedule.in_shared,
                .tail_bytes = launch.tail_bytes + (phase > 0 ? added.bytes : 0)};
    for (const int buffer : touched)
      both.arrays += touched_by_[static_cast<std::size_t>(buffer)] != own ? 1 : 0;
    return both;
  }

  /// `number` is now in the latest launch.
  void enter(int number, int phase, std::span<const int> touched) {
    launches_.back().kernels.push_back(number);
    launch_of_[static_cast<std::size_t>(number)] = latest();
    phase_of_[static_cast<std::size_t>(number)] = phase;
    for (const int buffer : touched) touched_by_[static_cast<std::size_t>(buffer)] = latest();
    if (const int list = kernel(number).foreach_list; list >= 0)
      launch_of_list_[static_cast<std::size_t>(list)] = latest();
  }

  /// Clusters are neighbouring blocks of one kernel: in the first phase they stand beside such of
  /// the same size alone, and others follow in the last block alone.
  std::string cluster_refusal(const Launch& before, const Launch& both, int added) const {
    const Kernel& first = kernel(before.kernels.front());
    const int cluster = kernel(added).schedule.blocks_per_row();
    const int of_first = first.schedule.blocks_per_row();
    const bool is_behind = phase_in_latest(added) > 0;
    if (of_first > 1 && is_behind && both.has_tail() && cluster == 1) return {};
    const auto has_own_launch = [](const Kernel& one) {
      return one.foreach_list >= 0 || one.kind == KernelKind::row_column_reduce;
    };
    if (cluster > 1 && cluster == of_first && !is_behind && !both.is_cooperative() &&
        !has_own_launch(first) && !has_own_launch(kernel(added)))
      return {};
    for (const Kernel* one : {&first, &kernel(added)})
      if (const int size = one->schedule.blocks_per_row(); size > 1)
        return fmt::format(
            "rows of {} are kept by clusters of {} blocks, which only a last block can follow in "
            "one launch",
            one->name, size);
    return {};
  }

  std::string refusal_of(const Launch& before, const Launch& both, int added) const {
    if (is_call(added) || is_call(before.kernels.front()))
      return "nothing shares a launch with an opaque call";
    if (std::string refusal = cluster_refusal(before, both, added); !refusal.empty())
      return refusal;
    if (both.codes > kMaxSections)
      return fmt::format("a launch has no more than {} different kernels", kMaxSections);
    if (both.phases > kMostPhases)
      return fmt::format("a launch has no more than {} phases", kMostPhases);
    if (both.ops > kMostOps)
      return fmt::format("in one launch they are {} ops, more than {}", both.ops, kMostOps);
    if (both.arrays > kMostArrays)
      return fmt::format("in one launch they touch {} arrays, more than {}", both.arrays,
                         kMostArrays);
    const double waits = both.has_tail() ? (both.tail_bytes - before.tail_bytes) / kTailBandwidth
                                         : target_.barrier_seconds * (both.phases - before.phases);
    const double saved = target_.stream_launch_seconds - waits;
    const double beside = both.has_shared ? kLossBesideShared * both.beside : 0;
    const double lost = (both.is_cooperative() ? kLossOfStaying * both.moving : 0) + beside;
    if (lost > saved)
      return fmt::format(
          "one launch would save {:.1f} us and lose {:.1f} of {:.0f} us to blocks "
          "that {}",
          saved * 1e6, lost * 1e6, both.seconds * 1e6,
          beside > 0 ? "have an SM almost for themselves" : "wait for one another");
    if (both.sizes == 0 && !suits_heaviest(before, added)) return "no size of a block suits both";
    return {};
  }

  // --- resident tiles
  // -----------------------------------------------------------------------------------

  /// Launch `first` and those behind it become one where its blocks then keep resident tiles of
  /// what several of them read.
  void unite_for_resident_tiles(int first) {
    for (int last = std::min(first + kMostUnited - 1, latest()); last > first; --last) {
      std::vector<int> kernels;
      for (int launch = first; launch <= last; ++launch)
        append(kernels, launches_[static_cast<std::size_t>(launch)].kernels);
      std::ranges::sort(kernels);
      const auto each = std::views::transform(
          kernels, [&](int number) -> const Kernel& { return kernel(number); });
      const auto is_of_user = [&](int number) { return is_call(number); };
      if (kernels.size() > kMaxSections || std::ranges::any_of(kernels, is_of_user)) continue;
      if (!read_large_array_again(each)) return;
      if (unite(first, last, kernels)) return;
    }
  }

  /// True if several kernels of a launch read an array that is worth to be kept.
  template <class Kernels>
  bool read_large_array_again(const Kernels& kernels) const {
    DenseSet<int> read;
    for (const Kernel& kernel : kernels)
      for (const int buffer : kernel.reads)
        if (!read.insert(buffer).second &&
            bytes_of(program_.buffers[static_cast<std::size_t>(buffer)], program_.facts.symbols) >=
                kLargeArray)
          return true;
    return false;
  }

  bool unite(int first, int last, std::vector<int> kernels) {
    Launch all{.sizes = ~0U};
    std::vector<int> phases(kernels.size(), 0);
    std::set<int> arrays;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      for (const int before : kernel(kernels[i]).depends_on)
        if (const auto found = std::ranges::find(kernels, before); found != kernels.end())
          phases[i] =
              std::max(phases[i], phases[static_cast<std::size_t>(found - kernels.begin())] + 1);
      const std::vector<int> touched = touched_by(kernel(kernels[i]));
      arrays.insert(touched.begin(), touched.end());
      all.phases = std::max(all.phases, phases[i] + 1);
      all.ops += kernel(kernels[i]).nodes.size();
      all.sizes &= suited_sizes(kernel(kernels[i]), target_);
      all.seconds += kernel(kernels[i]).seconds - target_.launch_seconds;
      all.moving += moving_seconds(kernel(kernels[i]));
    }
    all.tail_bytes = kMostTailBytes + 1;  // all blocks stay
    if (all.ops > kMostOps || arrays.size() > kMostArrays || all.phases > kMostPhases ||
        all.phases == 1 || all.sizes == 0)
      return false;
    int barriers = all.phases - 1;
    for (int launch = first; launch <= last; ++launch)
      if (launches_[static_cast<std::size_t>(launch)].is_cooperative())
        barriers -= launches_[static_cast<std::size_t>(launch)].phases - 1;
    const double lost =
        std::max(barriers, 0) * target_.barrier_seconds + kLossOfStaying * all.moving;
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

  /// What resident tiles save where `kernels` are one launch; nothing is as bad as it gets.
  double seconds_saved_by_resident_tiles(std::span<const int> kernels,
                                         std::span<const int> phases) const {
    std::vector<Kernel> sections;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      sections.push_back(kernel(kernels[i]));
      sections.back().phase = phases[i];
    }
    std::ranges::stable_sort(sections, {}, &Kernel::phase);
    std::vector<std::int64_t> elements;
    for (const Kernel& section : sections) elements.push_back(elements_of(section));
    const double saved =
        with_resident_tiles(program_, sections, readers_.inner_of(kernels),
                            section_candidates(sections, elements, target_), target_)
            .seconds_saved;
    return saved > 0 ? saved : -1;
  }

  /// True if blocks of the heaviest kernel's own size suit `launch` and `added`.
  bool suits_heaviest(const Launch& launch, int added) const {
    std::vector<int> kernels = launch.kernels;
    kernels.push_back(added);
    std::ranges::stable_sort(kernels, {}, [&](int number) {
      return number == added ? phase_in_latest(added) : phase_of(number);
    });
    const int threads = kernel(heaviest(kernels)).schedule.threads;
    return std::ranges::all_of(kernels,
                               [&](int number) { return suits(kernel(number), threads, target_); });
  }

  /// The one with the most elements: blocks should suit it first.
  int heaviest(std::span<const int> kernels) const {
    return *std::ranges::max_element(kernels, {},
                                     [&](int number) { return elements_of(kernel(number)); });
  }
  std::int64_t elements_of(const Kernel& kernel) const {
    return evaluate(product(kernel.parallel) * kernel.reduced, program_.facts.symbols);
  }

  /// Sections are numbered by phase.
  void number_sections(Launch& launch) {
    std::ranges::stable_sort(launch.kernels, {}, [&](int number) { return phase_of(number); });
    for (std::size_t i = 0; i < launch.kernels.size(); ++i)
      section_of_[static_cast<std::size_t>(launch.kernels[i])] = static_cast<int>(i);
  }

  std::string name_of(int launch) const {
    return fmt::format("{}_{}", program_.graph->name(), launch);
  }

  /// The kernel of `launch`, whose sections it takes.
  Kernel joined(const Launch& launch) {
    Kernel result{.kind = KernelKind::horizontal};
    result.internal_buffers = readers_.inner_of(launch.kernels);
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
    std::ranges::sort(result.reads);
    result.reads.erase(std::unique(result.reads.begin(), result.reads.end()), result.reads.end());
    result.seconds = launch.seconds + target_.launch_seconds;
    result.has_tail = launch.has_tail();
    std::vector<std::int64_t> elements;
    elements.reserve(result.sections.size());
    for (const Kernel& section : result.sections) elements.push_back(elements_of(section));
    std::vector<Schedule> schedules = section_candidates(result.sections, elements, target_);
    if (launch.is_cooperative() && rereads_large_array(program_, result.sections, kLargeArray)) {
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
          launch.kernels.size() == 1 ? std::move(program_.kernels[first]) : joined(launch);
      next.name = name_of(static_cast<int>(i));
      for (int& before : next.depends_on) before = launch_of(before);
      std::ranges::sort(next.depends_on);
      next.depends_on.erase(std::unique(next.depends_on.begin(), next.depends_on.end()),
                            next.depends_on.end());
      std::erase(next.depends_on, static_cast<int>(i));
      for (std::size_t section = 0; section < next.sections.size(); ++section)
        next.sections[section].name = fmt::format("{}_{}", next.name, section);
      kernels.push_back(std::move(next));
    }
    program_.kernels = std::move(kernels);
  }

  /// Of a kernel: those right behind it that are of its list.
  struct Followers {
    double seconds = 0;
    double moving = 0;
    double beside = 0;
    double bytes = 0;
  };

  Program& program_;
  const Target& target_;
  std::vector<Followers> followers_;  ///< by kernel
  std::vector<Launch> launches_;
  std::vector<std::string>
      refusals_;                     ///< why the first kernel of a launch is not in the one before
  std::vector<int> launch_of_;       ///< by kernel
  std::vector<int> phase_of_;        ///< likewise
  std::vector<int> section_of_;      ///< likewise, its number among those of its launch
  std::vector<int> launch_of_list_;  ///< the latest one
  std::vector<int> touched_by_;      ///< the latest launch that touches it, by buffer
  BufferReaders readers_;
};

}  // namespace

void fuse_launches(Program& program, const Target& target) { Joiner(program, target).run(); }

}  // namespace sinter
