// Which panels pay: how many channels, blocks and rounds, predicted.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "compiler/column_pieces.h"
#include "compiler/cost.h"
#include "compiler/panels.h"
#include "compiler/tiles.h"
#include "compiler/tree.h"

namespace sinter {

namespace {

std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

/// What a panel's copy is waited for, each round, before there is work again.
constexpr double kFillSeconds = 1e-6;
/// Threads of an SM for which there are registers enough, as kernels of several members have them.
constexpr int kThreadsPerSm = 512;
constexpr std::int64_t kSector = 32;
/// What a thread has on its way of a panel: up to 8 vectors of 16 bytes, and none while it
/// computes.
constexpr double kBytesAhead = 96;
/// Panels are worked on so many times as fast as they are copied from memory, roughly.
constexpr double kTimesFaster = 4;
/// What predictions are not told apart by, of the time that the kernel takes: barriers and waiting
/// are assumptions, bytes are counted.
constexpr double kAlike = 0.03;
/// Shared memory: 32 banks of 4 bytes per clock of an SM, 6.5 times what an H200 reads.
constexpr std::int64_t kBanks = 32;
constexpr std::int64_t kBankBytes = 4;
constexpr double kBanksFaster = 6.5;

class PanelChooser {
 public:
  PanelChooser(const Program& program, std::span<const Kernel> members,
               std::span<const Body> bodies, const Schedule& joined, const Target& target)
      : program_(program), members_(members), bodies_(bodies), joined_(joined), target_(target) {}

  std::optional<PanelChoice> choose() {
    const std::optional<Panels> panels = find_panels(program_, members_, bodies_, joined_.members);
    if (!panels) return std::nullopt;
    const std::optional<std::int64_t> own = own_shared_bytes();
    if (!own) return std::nullopt;
    const std::int64_t reserved = *own;
    // Whatever stays in memory is worked on by as few threads.
    moved_ = static_cast<double>(panels->bytes());
    Panels some = *panels;
    for (; !some.arrays.empty() && !reads_again(some); some.arrays.pop_back())
      for (std::int64_t channels = some.channels; channels > 0; --channels) {
        if (some.channels % channels != 0 || !suits(some, channels)) continue;
        for (int blocks = std::max(1, kThreadsPerSm / joined_.threads); blocks > 0; blocks /= 2)
          consider(some, channels, blocks, reserved);
      }
    if (choices_.empty()) return std::nullopt;
    const double seconds = seconds_without_panels(bodies_, target_, program_.facts);
    return std::move(choices_[best_of(choices_, seconds)]);
  }

 private:
  /// Shared memory that members use for other things; nullopt where that is not known here.
  std::optional<std::int64_t> own_shared_bytes() const {
    std::int64_t most = 0;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const Body& body = bodies_[i];
      const Schedule& schedule = joined_.members[i];
      std::int64_t state = 0;
      for (const std::vector<BodyReduction>* reductions : {&body.reductions, &body.finals})
        for (const BodyReduction& reduction : *reductions)
          state = std::max<std::int64_t>(state, state_bytes(*reduction.node));
      if (schedule.in_shared) return std::nullopt;
      std::int64_t bytes = 0;
      switch (members_[i].kind) {
        case KernelKind::column_reduce:
          bytes = 2 * round_up(exchange_places(schedule) * state, 16);
          break;
        case KernelKind::row_reduce: {
          const bool across =
              schedule.threads_per_row > 32 * schedule.groups || schedule.groups > 1;
          const std::int64_t chunks = std::max<std::int64_t>(schedule.vector / kChunk, 1);
          const std::int64_t places = across ? chunks : body.finals.empty() ? 0 : 1;
          bytes = 2 * round_up(schedule.threads * places * state, 16);
          break;
        }
        case KernelKind::pointwise:
          if (schedule.tile == 0) break;
          for (const TiledAccess& access : all_of(body, tiled_accesses(body, program_.facts)))
            bytes += tile_bytes(schedule.tile, access.dtype, schedule.vector);
          break;
        default: return std::nullopt;
      }
      most = std::max(most, bytes);
    }
    return round_up(most, 16);
  }

  /// True if a member goes through something again that is in memory: it would keep it by itself.
  bool reads_again(const Panels& panels) const {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (bodies_[i].passes() == 1 || joined_.members[i].resident) continue;
      if (std::ranges::any_of(bodies_[i].values, [&](const Value& value) {
            return value.kind == Value::Kind::load && value.varies &&
                   std::ranges::find(panels.arrays, program_.buffer_of.lookup(value.node),
                                     [](const PanelArray& array) { return array.access.buffer; }) ==
                       panels.arrays.end();
          }))
        return true;
    }
    return false;
  }

  /// True if blocks can keep to panels of so many channels, and these have whole sectors.
  bool suits(const Panels& panels, std::int64_t channels) const {
    for (std::size_t i = 0; i < members_.size(); ++i)
      if (panels.members[i].part == PanelMember::Part::panels &&
          !stop_at_panels(members_[i], panels.members[i].walk, joined_.members[i], channels))
        return false;
    return channels == panels.channels ||
           std::ranges::all_of(panels.arrays, [&](const PanelArray& array) {
             return !array.has_neighbouring_channels() ||
                    channels * size_of(array.access.dtype) % kSector == 0;
           });
  }

  /// True if blocks of those that have channels can keep to those of a round.
  bool suits_rounds(const Panels& panels, std::int64_t channels_per_round) const {
    for (std::size_t i = 0; i < members_.size(); ++i)
      if (panels.members[i].part == PanelMember::Part::channels &&
          !stop_at_panels(members_[i], panels.members[i].walk, joined_.members[i],
                          channels_per_round))
        return false;
    return true;
  }

  /// What a thread copies at once, over what members would load at once.
  double width_of_copies(const Panels& panels, std::int64_t channels) const {
    int vector = 1;
    for (std::size_t i = 0; i < members_.size(); ++i)
      if (panels.members[i].part == PanelMember::Part::panels)
        vector = std::max(vector, joined_.members[i].vector);
    double copies = 0;
    double loads = 0;
    for (const PanelArray& array : panels.arrays) {
      const int widest = 16 / size_of(array.access.dtype);
      copies += 1.0 / copy_of(panels, array, channels, program_.facts.alignment).vector;
      loads += 1.0 / std::min(vector, widest);
    }
    return std::min(loads / copies, 1.0);
  }

  /// What members lose to threads without work and to banks of shared memory that they all ask, as
  /// if they moved so many bytes more.
  double bytes_of_waiting(const Panels& panels, std::int64_t channels) const {
    double bytes = 0;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (panels.members[i].part != PanelMember::Part::panels) continue;
      const double over =
          threads_over_work(members_[i], panels.members[i].walk, joined_.members[i], channels);
      bytes += (over - 1) * moved_ / kTimesFaster;
      if (members_[i].kind != KernelKind::pointwise || joined_.members[i].tile > 0) continue;
      // Its threads stand along rows.
      for (const PanelArray& array : panels.arrays) {
        if (!array.has_neighbouring_channels()) continue;
        const std::int64_t size = size_of(array.access.dtype);
        const std::int64_t words = std::max<std::int64_t>(channels * size / kBankBytes, 1);
        const auto together = static_cast<double>(std::gcd(kBanks, words));
        bytes += static_cast<double>(panels.elements() * kBankBytes) * together / kBanksFaster;
      }
    }
    return bytes;
  }

  void consider(const Panels& panels, std::int64_t channels, int blocks, std::int64_t reserved) {
    const std::int64_t there =
        std::min(target_.shared_per_sm / blocks - 1024, target_.shared_per_block_opt_in) / 16 * 16;
    const std::int64_t most_slots = (there - reserved) / panels.bytes_of_panel(channels);
    if (there <= reserved || most_slots == 0) return;
    const std::int64_t resident = std::int64_t{target_.sm_count} * blocks;
    const std::int64_t groups = panels.channels / channels;
    std::int64_t per_round = std::min(groups, resident * most_slots / panels.outer);
    if (per_round == 0) return;
    std::int64_t rounds = (groups + per_round - 1) / per_round;
    per_round = (groups + rounds - 1) / rounds;
    rounds = (groups + per_round - 1) / per_round;
    if (rounds > 1 && (!panels.may_have_rounds || !suits_rounds(panels, per_round * channels)))
      return;
    const std::int64_t slots = (per_round * panels.outer + resident - 1) / resident;
    const int barriers = members_.back().phase - panels.first_of_rounds;
    const double lost =
        static_cast<double>(rounds - 1) * (barriers * target_.barrier_seconds + kFillSeconds);
    const auto bytes = static_cast<double>(panels.bytes_saved());
    const auto at_once = static_cast<double>(per_round * panels.outer);
    const double busy = std::min(at_once / target_.sm_count, 1.0);
    // A block copies one panel at a time.
    const double of_block =
        std::min(kBytesAhead * width_of_copies(panels, channels) * joined_.threads,
                 static_cast<double>(panels.bytes_of_panel(channels)));
    const double ahead = of_block * blocks * busy;
    // Half of the bytes in flight that memory needs reach three quarters of its bandwidth.
    const double slower =
        std::max(static_cast<double>(target_.bytes_in_flight) / ahead - 1, 0.0) / 3;
    const double uneven = std::ceil(at_once / target_.sm_count) * target_.sm_count / at_once;
    const double waiting =
        bytes_of_waiting(panels, channels) + (uneven - 1) * moved_ / kTimesFaster;
    const double saved = (bytes - slower * moved_ - waiting) / target_.bandwidth - lost;
    if (saved <= 0) return;
    PanelChoice& choice = choices_.emplace_back(
        PanelChoice{.schedule = joined_, .bytes_saved = bytes, .seconds_saved = saved});
    choice.schedule.panels = {.channels = static_cast<int>(channels),
                              .arrays = static_cast<int>(panels.arrays.size()),
                              .per_block = static_cast<int>(slots),
                              .rounds = static_cast<int>(rounds)};
    choice.schedule.blocks_per_sm = blocks;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const PanelMember& member = panels.members[i];
      const bool has_panels = member.part == PanelMember::Part::panels;
      if (!has_panels && (rounds == 1 || member.part != PanelMember::Part::channels)) continue;
      if (has_panels && member.walk.rows_of_channel() > 1) {
        // What stands side by side in columns are channels.
        const bool has_columns = members_[i].kind == KernelKind::column_reduce;
        choice.schedule.members[i].strips = {
            .channels = has_columns ? static_cast<int>(channels) : 1,
            .outer = static_cast<int>(member.walk.segments)};
      }
      choice.schedule.members[i].stop = stop_at_panels(members_[i], member.walk, joined_.members[i],
                                                       has_panels ? channels : per_round * channels)
                                            .value();
    }
  }

  const Program& program_;
  std::span<const Kernel> members_;
  std::span<const Body> bodies_;
  const Schedule& joined_;
  const Target& target_;
  double moved_ = 0;  ///< bytes of all arrays, once
  std::vector<PanelChoice> choices_;
};

}  // namespace

std::size_t best_of(std::span<const PanelChoice> choices, double seconds) {
  double most = 0;
  for (const PanelChoice& choice : choices) most = std::max(most, choice.seconds_saved);
  std::size_t best = 0;
  const auto is_better = [&](const PanelChoice& a, const PanelChoice& b) {
    const bool is_fast = a.seconds_saved >= most - kAlike * seconds;
    const bool other_is_fast = b.seconds_saved >= most - kAlike * seconds;
    if (is_fast != other_is_fast) return is_fast;
    if (a.bytes_saved != b.bytes_saved) return a.bytes_saved > b.bytes_saved;
    return a.seconds_saved > b.seconds_saved;
  };
  for (std::size_t i = 1; i < choices.size(); ++i)
    if (is_better(choices[i], choices[best])) best = i;
  return best;
}

double seconds_without_panels(std::span<const Body> bodies, const Target& target,
                              const Facts& facts) {
  double seconds = 0;
  for (const Body& body : bodies) seconds += cost_of(body, target, facts).seconds;
  return seconds;
}

std::optional<PanelChoice> choose_panels(const Program& program, std::span<const Kernel> members,
                                         std::span<const Body> bodies, const Schedule& joined,
                                         const Target& target) {
  return PanelChooser(program, members, bodies, joined, target).choose();
}

}  // namespace sinter
