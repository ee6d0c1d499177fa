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
  const bool is_first_early = may_start_early && examined_waits_.insert(key).second;
  if (!is_first && !is_first_early) return;
  const std::set<std::string_view> functions = functions_of(request.program->module, kernel);
  const auto wants = [&](const Mutation& mutation) {
    if (!functions.contains(mutation.kernel)) return false;
    return mutation.kind == MutationKind::grid_wait ? is_first_early : is_first;
  };
  virtual_gpu::examine(launch, wants, [&](const Mutation* mutation, const Outcome& outcome) {
    write(mutation ? std::string(mutation->kernel) : kernel, mutation, outcome);
  });
}

void Examinations::write(const std::string& function, const Mutation* mutation,
                         const Outcome& outcome) {
  std::string message = outcome.message;
  std::ranges::replace(message, '\n', ' ');
  std::ranges::replace(message, '\t', ' ');
  file_ << fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}", function, mutation ? mutation->number : 0,
                       mutation ? name_of(mutation->kind) : "", mutation ? mutation->line : 0,
                       outcome.name(), name_of(outcome.schedule), message)
        << std::endl;
}

}  // namespace sinter::virtual_gpu::driver
