// Rounds of a joined kernel whose blocks keep panels of its operands in shared memory
// (compiler/horizontal/resident_tiles.h).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "codegen/statements/kernel_writer.h"
#include "compiler/horizontal/resident_tiles.h"

namespace sinter {

class PanelRounds {
 public:
  PanelRounds(const Program& program, const Kernel& kernel, const Schedule& schedule,
              std::string_view entry, Naming naming);

  /// The member's loads of what is kept are from a panel, and its stores go there.
  void read_from_panels(KernelWriter& writer, std::size_t member) const;
  /// What such a member is called with: where `buffer` would begin, counted from the panel.
  std::string pointer(int buffer, std::size_t member) const;

  /// The first phase that every round has.
  int first_phase_of_rounds() const { return panels_.first_of_rounds; }
  bool is_local() const { return chosen_.is_local; }
  /// How often the whole grid meets in the phases of local panels.
  int steps() const;
  /// How often it meets in all.
  int barriers() const;
  std::int64_t panels_per_round() const { return panels_.outer * groups_per_round_; }
  /// The arrays that are copied, as arguments of the kernel.
  std::vector<Argument> arguments() const;
  /// What copying all panels reads.
  Extent bytes_read() const;
  /// Declares where panels are, behind what members have of shared memory.
  void declare(SourceWriter& out, Source& source) const;
  /// The function that copies a panel from memory, if any array is.
  std::string function(std::string_view index_type) const;

  /// The text of a member's call for the block that is written as `block`.
  using Call = std::function<std::string(std::size_t member, const std::string& block)>;
  /// The work of `phase` on panels.
  void write_panels(SourceWriter& out, int phase, std::string_view index_type,
                    std::span<const std::string> arrays, const Call& call) const;
  /// Local panels: the work of all phases on each.
  void write_local(SourceWriter& out, std::string_view index_type,
                   std::span<const std::string> arrays, const Call& call) const;
  /// The members that take no part in it and whose turn is at `step`, as write_others.
  void write_step(SourceWriter& out, int step, std::string_view index_type, const Call& call,
                  const std::function<std::string(std::size_t member)>& all_blocks) const;
  /// The other members of `phase`, of which `all_blocks` has the number of blocks.
  void write_others(SourceWriter& out, int phase, std::string_view index_type, const Call& call,
                    const std::function<std::string(std::size_t member)>& all_blocks) const;

 private:
  /// An array within a panel.
  struct Copy : PanelCopy {
    std::int64_t begin = 0;  ///< in the panel, in bytes
  };

  /// Where a member finds an element, counted from where channel 0 would be; none: as in memory.
  std::optional<Index> place_of(const PanelArray& array, KernelWriter& writer,
                                const PanelWalk& walk) const;
  std::int64_t groups() const { return panels_.channels / chosen_.channels; }
  bool has_rounds() const { return chosen_.rounds > 1; }
  std::int64_t blocks_per_round(std::size_t member) const;
  const PanelArray& array_of(int buffer) const;
  /// True if memory has what panels begin with.
  bool copies() const;
  void write_loop(SourceWriter& out, std::string_view index_type, std::string_view block,
                  const std::string& count, const std::function<void()>& body) const;
  void write_panel(SourceWriter& out, std::span<const std::size_t> members,
                   std::string_view index_type, const Call& call) const;
  /// The number of a block of a member that has channels, of which `block` counts those of a round.
  std::string block_of_round(std::size_t member) const;

  const Program& program_;
  const Kernel& kernel_;
  const Schedule& schedule_;
  std::string entry_;
  Naming naming_;
  PanelSchedule chosen_;
  Panels panels_;
  std::vector<Copy> copies_;  ///< of each array
  std::int64_t groups_per_round_ = 1;
};

}  // namespace sinter
