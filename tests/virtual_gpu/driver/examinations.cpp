#include "tests/virtual_gpu/driver/examinations.h"

#include <algorithm>

#include <fmt/format.h>

#include "tests/virtual_gpu/program/program.h"

namespace sinter::virtual_gpu::driver {

void Examinations::examine(const ExaminedLaunch& launch, bool may_start_early) {
  const LaunchRequest& request = launch.request;
  const std::string& kernel =
      request.program->kernels[static_cast<std::size_t>(request.entry)].name;
  const auto key = std::pair(request.program, request.entry);
  const bool is_first = examined_.insert(key).second;
  const bool wants_wait = may_start_early && !caught_waits_.contains(key);
  if (!is_first && !wants_wait) return;
  const auto wants = [&](const Mutation& mutation) {
    if (mutation.kernel != kernel) return false;
    return mutation.kind == MutationKind::grid_wait ? wants_wait : is_first;
  };
  virtual_gpu::examine(launch, wants, [&](const Mutation* mutation, const Outcome& outcome) {
    write(kernel, mutation, outcome);
    if (mutation && mutation->kind == MutationKind::grid_wait && outcome.verdict != Verdict::same)
      caught_waits_.insert(key);
  });
}

void Examinations::write(const std::string& kernel, const Mutation* mutation,
                         const Outcome& outcome) {
  std::string message = outcome.message;
  std::ranges::replace(message, '\n', ' ');
  std::ranges::replace(message, '\t', ' ');
  file_ << fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}", kernel, mutation ? mutation->number : 0,
                       mutation ? name_of(mutation->kind) : "", mutation ? mutation->line : 0,
                       outcome.name(), name_of(outcome.schedule), message)
        << std::endl;
}

}  // namespace sinter::virtual_gpu::driver
