// examine: runs one launch with each mutation of its kernel, under several schedules, and says
// which check catches the mutation.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/virtual_gpu/execution/gpu.h"
#include "tests/virtual_gpu/mutation/mutation.h"

namespace sinter::virtual_gpu {

struct ScheduleChoice {
  Schedule schedule = Schedule::fair;
  std::uint64_t seed = 0;
};
/// `fair`, `random 1`, …
std::string name_of(const ScheduleChoice& choice);

/// The schedules of an examination, in their order.
std::vector<ScheduleChoice> examined_schedules();

enum class Verdict : std::uint8_t {
  same,       ///< the run ends with the memory of the unchanged kernel
  differs,    ///< it ends with other bytes in memory
  violation,  ///< a check stops it
  endless,    ///< it executes many times the instructions of the unchanged kernel
};

/// The first run that shows the mutation, or the last of the runs that do not.
struct Outcome {
  Verdict verdict = Verdict::same;
  CheckKind check = CheckKind::race;  ///< of a violation
  std::string message = {};
  ScheduleChoice schedule = {};
  /// `race`, `deadlock`, `result`, `endless`, …; `nothing` for Verdict::same.
  std::string_view name() const;
};

struct ExaminedLaunch {
  const GpuLimits& limits;
  const GpuOptions& options;  ///< the schedule and seed do not matter
  GlobalMemory& memory;
  HappensBefore& order;
  LaunchRequest request;
};

/// Examines the launch before it runs. Each run is in a child process, a copy of this one, so
/// nothing changes here. First the unchanged kernel runs under every schedule. The runs must end
/// with the same bytes; else the outcome of these runs, without a mutation, is the only one.
///
/// `griddepcontrol.wait` is examined behind a launch that has written all memory with the bytes
/// that it has, as the last kernel of another program may. First the unchanged kernel runs so.
///
/// `wants` selects mutations; `report` gets their outcomes, in the order of the text. The caller
/// has no other launch running.
void examine(const ExaminedLaunch& launch, const std::function<bool(const Mutation&)>& wants,
             const std::function<void(const Mutation*, const Outcome&)>& report);

}  // namespace sinter::virtual_gpu
