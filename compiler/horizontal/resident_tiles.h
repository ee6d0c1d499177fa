// Panels: what the blocks of a joined kernel keep of its operands in shared memory while the grid
// finds what later phases need. Batch norm over more data than a block or a cluster holds reduces
// it in one phase and comes back to it in another: with panels it is read once.
//
// The arrays concerned have the shape outer × channels × rows (N × C × HW). A panel is one place of
// outer with neighbouring channels; or all of outer where some member reduces outer × rows at once,
// in one level of the reduction tree, and another one rows only. Where all panels do not fit on the
// device at once, the phases are gone through in rounds, each for some of the channels.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compiler/body/body.h"
#include "compiler/horizontal/tile_walk.h"
#include "compiler/program/kernel.h"
#include "compiler/target/target.h"

namespace sinter {

/// An array that blocks keep panels of.
struct PanelArray {
  PanelAccess access;            ///< where its elements are
  int loads = 0;                 ///< members that load it
  std::int64_t loaded = 0;       ///< elements, by all of them
  std::int64_t per_channel = 1;  ///< elements that a panel has of each channel
  int written = -1;              ///< the last phase that writes it before it is copied; -1: none
  /// Local panels: a member makes it, in the panel instead of in memory, or in both.
  bool is_written = false;
  bool is_in_memory = true;
  /// True if channels are neighbours in memory, false if rows are.
  bool has_neighbouring_channels() const { return access.channel_stride == 1; }
};

/// What a member does in a round.
struct PanelMember {
  enum class Part : std::uint8_t {
    panels,    ///< its blocks that have the round's panels
    channels,  ///< its blocks that have the round's channels
    first,     ///< all of its work, in the first round
    last,      ///< all of its work, in the last round
  };
  Part part = Part::first;
  PanelWalk walk;
};

struct Panels {
  std::int64_t outer = 1;
  std::int64_t channels = 1;
  std::int64_t segments = 1;       ///< places of outer that each panel has: 1 or all of them
  std::int64_t rows = 1;           ///< of each segment
  std::vector<PanelArray> arrays;  ///< those that are loaded most often first
  std::vector<PanelMember> members;
  int first_phase = 0;           ///< that loads them: where they are copied
  int first_of_rounds = 0;       ///< the first phase that has work in every round
  bool may_have_rounds = false;  ///< else all panels are worked on at once
  bool is_local = false;         ///< local_panels.h
  bool has_units = false;        ///< channels are units of memory (unit_walk.h)
  /// Of each member: how often the whole grid meets before it. Local panels are worked on first.
  std::vector<int> steps;

  /// Of all panels of `array`.
  std::int64_t elements(const PanelArray& array) const {
    return outer * channels * array.per_channel;
  }
  /// Of a panel with so many channels, per array a multiple of 16.
  std::int64_t bytes_of_panel(std::int64_t panel_channels) const;
  /// Of all panels of all arrays.
  std::int64_t bytes() const;
  /// What is not read again, and what is not written at all.
  std::int64_t bytes_saved() const;
};

/// The panels that `members` with `schedules` can keep; nullopt if there are none.
std::optional<Panels> find_panels(const Program& program, std::span<const Kernel> members,
                                  std::span<const Body> bodies,
                                  std::span<const Schedule> schedules);

/// A shape that panels may have, and how each member goes through it, if it does.
struct PanelShape {
  PanelWalk shape;
  std::vector<std::optional<PanelWalk>> walks;
};
/// All shapes that `members` with `schedules` go through.
std::vector<PanelShape> panel_shapes(const Program& program, std::span<const Kernel> members,
                                     std::span<const Body> bodies,
                                     std::span<const Schedule> schedules);
/// True for arrays that differ at each place of `panels`, and have neighbours in memory along one
/// axis.
bool is_panel(const Panels& panels, const PanelAccess& access);

/// How an array comes into a panel: `lines` of `length` elements, one behind the other.
struct PanelCopy {
  std::int64_t lines = 1;
  std::int64_t length = 1;
  std::int64_t stride = 0;  ///< in memory, from each line to the next
  int vector = 1;           ///< elements copied at once
};
/// For panels of so many channels of arrays that begin at multiples of `alignment` bytes.
PanelCopy copy_of(const Panels& panels, const PanelArray& array, std::int64_t channels,
                  std::int64_t alignment);

/// How to keep panels, and what that is predicted to save.
struct PanelChoice {
  Schedule schedule;
  double bytes_saved = 0;
  double seconds_saved = 0;
};

/// The choice, of those that are predicted to be about as fast as the fastest, that saves most
/// bytes; 0 of none. `seconds` is what the kernel takes without panels.
std::size_t best_of(std::span<const PanelChoice> choices, double seconds);
/// What the members take without panels, one after the other.
double seconds_without_panels(std::span<const Body> bodies, const Target& target,
                              const Facts& facts);

/// `joined`, a schedule of a cooperative kernel, with panels, and with local ones; none where they
/// would not pay. `inner`: what they write and nothing else reads.
std::vector<PanelChoice> choose_panels(const Program& program, std::span<const Kernel> members,
                                       std::span<const Body> bodies, std::span<const int> inner,
                                       const Schedule& joined, const Target& target);

}  // namespace sinter
