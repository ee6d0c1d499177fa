#include "runtime/kernel_proof.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/ptx_info.h"

namespace sinter {

namespace {

const Buffer& buffer_of(const Program& program, const Argument& argument) {
  return program.buffers[static_cast<std::size_t>(argument.index)];
}

std::string_view line_at(std::string_view text, int number) {
  for (; number > 1; --number) text.remove_prefix(std::min(text.find('\n') + 1, text.size()));
  text = text.substr(0, text.find('\n'));
  return text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
}

/// Which accesses of a parameter are widest, and what is wrong with them.
class Widths {
 public:
  Widths(std::span<const PtxAccess> accesses, std::string_view ptx, int parameter, bool is_store)
      : ptx_(ptx), what_(is_store ? "store" : "load") {
    for (const PtxAccess& access : accesses)
      if (access.parameter == parameter && access.is_store == is_store &&
          (!widest_ || access.bytes > widest_->bytes))
        widest_ = &access;
  }

  int bytes() const { return widest_ ? widest_->bytes : 0; }
  std::string problem(int predicted) const {
    if (bytes() >= predicted) return {};
    if (!widest_)
      return fmt::format("no {}, where {} bytes at once were predicted", what_, predicted);
    return fmt::format(
        "no {} of more than {} bytes, where {} at once were predicted; line {} of the PTX: {}",
        what_, bytes(), predicted, widest_->line, line_at(ptx_, widest_->line));
  }

 private:
  std::string_view ptx_;
  std::string_view what_;
  const PtxAccess* widest_ = nullptr;
};

AccessReport access_of(std::span<const PtxAccess> accesses, std::string_view ptx,
                       const Argument& argument, int parameter, std::string_view name) {
  const Widths loads(accesses, ptx, parameter, false);
  const Widths stores(accesses, ptx, parameter, true);
  AccessReport report{.array = std::string(name),
                      .predicted_load_bytes = argument.load_bytes,
                      .load_bytes = loads.bytes(),
                      .predicted_store_bytes = argument.store_bytes,
                      .store_bytes = stores.bytes(),
                      .problem = loads.problem(argument.load_bytes)};
  if (report.problem.empty()) report.problem = stores.problem(argument.store_bytes);
  return report;
}

}  // namespace

void add_proof(KernelExplanation& explanation, const Program& program, const Source& source,
               std::string_view ptx, const Target& target) {
  const KernelReport& report = explanation.report;
  const std::vector<PtxAccess> accesses = read_accesses(ptx, source.entry);
  for (std::size_t i = 0; i < source.arguments.size(); ++i)
    if (const Argument& argument = source.arguments[i]; argument.kind == Argument::Kind::buffer)
      explanation.arrays.push_back(access_of(accesses, ptx, argument, static_cast<int>(i),
                                             program.name_of(buffer_of(program, argument))));
  explanation.is_compiled = true;
  explanation.independent_loads = report.cubin.loads_in_flight;
  explanation.may_start_early = source.may_start_early;
  const int fit = blocks_per_sm(target, report.threads, report.registers, report.shared_bytes);
  // Blocks that wait for one another are no more than fit, whatever the grid says.
  const std::int64_t most = std::int64_t{fit} * target.sm_count;
  const std::int64_t grid = source.is_cooperative ? std::min(report.grid, most) : report.grid;
  const std::int64_t there = (grid + target.sm_count - 1) / target.sm_count;
  explanation.blocks_per_sm = static_cast<int>(std::min<std::int64_t>(fit, there));
  explanation.occupancy =
      static_cast<double>(explanation.blocks_per_sm) * report.threads / target.max_threads_per_sm;
  if (grid == 0) return;
  // No more than a block reads at all: short rows leave threads without work, and what all blocks
  // read alike stays in the caches.
  const std::int64_t per_block =
      std::min(report.cubin.bytes_in_flight * report.threads, report.bytes_read / grid);
  explanation.bytes_in_flight = explanation.blocks_per_sm * per_block;
}

}  // namespace sinter
