#include "runtime/observe/static_analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "runtime/compile/early_start.h"
#include "runtime/compile/ptx_info.h"

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

std::string line_of(const PtxAccess& access, std::string_view ptx) {
  return fmt::format("line {} of the PTX: {}", access.line, line_at(ptx, access.line));
}

/// The loads, or the stores, of an array, compared with the prediction.
class ArrayAccesses {
 public:
  /// The address of the array is the kernel parameter `parameter`. If `loaded_at` is not -1, the
  /// address is the table entry at that byte offset; the parameter is the table.
  ArrayAccesses(std::span<const PtxAccess> accesses, std::string_view ptx, bool is_store,
                int parameter, int loaded_at)
      : ptx_(ptx), what_(is_store ? "store" : "load") {
    for (const PtxAccess& access : accesses) {
      if (access.parameter != parameter || access.loaded_at != loaded_at ||
          access.is_store != is_store)
        continue;
      if (!widest_ || access.bytes > widest_->bytes) widest_ = &access;
      if (!narrowest_ || access.bytes < narrowest_->bytes) narrowest_ = &access;
    }
  }

  int widest() const { return widest_ ? widest_->bytes : 0; }
  int narrowest() const { return narrowest_ ? narrowest_->bytes : 0; }

  std::string problem(const Widths& predicted) const {
    if (!widest_ && predicted.widest > 0)
      return fmt::format("no {}, although one of {} bytes was predicted", what_, predicted.widest);
    if (widest() < predicted.widest)
      return fmt::format("no {} of more than {} bytes, although {} were predicted; {}", what_,
                         widest(), predicted.widest, line_of(*widest_, ptx_));
    if (narrowest() < predicted.narrowest)
      return fmt::format("a {} of {} bytes, although at least {} were predicted; {}", what_,
                         narrowest(), predicted.narrowest, line_of(*narrowest_, ptx_));
    return {};
  }

 private:
  std::string_view ptx_;
  std::string_view what_;
  const PtxAccess* widest_ = nullptr;
  const PtxAccess* narrowest_ = nullptr;
};

/// Attributes the memory accesses in the PTX of one kernel to its arrays.
class AccessAnalysis {
 public:
  AccessAnalysis(const Program& program, const Source& source, std::string_view ptx)
      : program_(program),
        source_(source),
        ptx_(ptx),
        accesses_(read_accesses(ptx, source.entry)) {}

  std::vector<AccessReport> arrays() {
    std::vector<AccessReport> result;
    for (std::size_t i = 0; i < source_.arguments.size(); ++i) {
      const auto parameter = static_cast<int>(i);
      switch (source_.arguments[i].kind) {
        case Argument::Kind::buffer:
          result.push_back(array(source_.arguments[i], parameter, -1, 1));
          break;
        case Argument::Kind::workspace:
        case Argument::Kind::tickets:
        case Argument::Kind::table: known_addresses_.insert({parameter, -1}); break;
        case Argument::Kind::scalar:
        case Argument::Kind::extent:
        case Argument::Kind::table_values: break;  // no addresses
      }
    }
    const Argument* const table = table_argument(source_);
    const int parameter = table ? static_cast<int>(table - source_.arguments.data()) : -1;
    // An instruction shows the offset in the first row; the row is only known at run time.
    for (const TableList& list : source_.lists)
      for (std::size_t at = list.begin; at < list.begin + list.columns; ++at) {
        const Argument& argument = source_.table[at];
        const auto offset = static_cast<int>(8 * at);
        if (argument.kind == Argument::Kind::buffer)
          result.push_back(array(argument, parameter, offset, list.rows));
        else if (argument.kind == Argument::Kind::workspace ||
                 argument.kind == Argument::Kind::tickets)
          known_addresses_.insert({parameter, offset});
      }
    if (const auto unknown = unknown_accesses()) result.push_back(*unknown);
    return result;
  }

 private:
  AccessReport array(const Argument& argument, int parameter, int loaded_at, std::size_t count) {
    known_addresses_.insert({parameter, loaded_at});
    const ArrayAccesses loads(accesses_, ptx_, false, parameter, loaded_at);
    const ArrayAccesses stores(accesses_, ptx_, true, parameter, loaded_at);
    std::string name(program_.name_of(buffer_of(program_, argument)));
    if (count > 1) name += fmt::format(" and {} more", count - 1);
    AccessReport report{.array = std::move(name),
                        .predicted_load_bytes = argument.loads.widest,
                        .predicted_narrowest_load_bytes = argument.loads.narrowest,
                        .load_bytes = loads.widest(),
                        .narrowest_load_bytes = loads.narrowest(),
                        .predicted_store_bytes = argument.stores.widest,
                        .predicted_narrowest_store_bytes = argument.stores.narrowest,
                        .store_bytes = stores.widest(),
                        .narrowest_store_bytes = stores.narrowest(),
                        .problem = loads.problem(argument.loads)};
    if (report.problem.empty()) report.problem = stores.problem(argument.stores);
    return report;
  }

  /// The accesses of unknown memory. Any of them means that the arrays' widths are not proved.
  std::optional<AccessReport> unknown_accesses() const {
    AccessReport report{.array = "an unknown array"};
    for (const PtxAccess& access : accesses_) {
      if (known_addresses_.contains({access.parameter, access.loaded_at})) continue;
      int& widest = access.is_store ? report.store_bytes : report.load_bytes;
      int& narrowest = access.is_store ? report.narrowest_store_bytes : report.narrowest_load_bytes;
      narrowest = widest == 0 ? access.bytes : std::min(narrowest, access.bytes);
      widest = std::max(widest, access.bytes);
      if (report.problem.empty()) report.problem = unknown_access_problem(access);
    }
    return report.problem.empty() ? std::nullopt : std::optional(std::move(report));
  }

  std::string unknown_access_problem(const PtxAccess& access) const {
    const std::string line = line_of(access, ptx_);
    if (!access.callee.empty())
      return fmt::format("a call of {}, whose accesses are not in the PTX; {}", access.callee,
                         line);
    return fmt::format("a {} of {} bytes whose array was not found; {}",
                       access.is_store ? "store" : "load", access.bytes, line);
  }

  const Program& program_;
  const Source& source_;
  std::string_view ptx_;
  std::vector<PtxAccess> accesses_;
  /// Known addresses: a parameter and the byte offset of an address in its table, or -1.
  std::set<std::pair<int, int>> known_addresses_;
};

}  // namespace

void add_static_analysis(KernelExplanation& explanation, const Program& program,
                         const Source& source, std::string_view ptx, const Target& target) {
  const KernelReport& report = explanation.report;
  explanation.arrays = AccessAnalysis(program, source, ptx).arrays();
  explanation.is_compiled = true;
  explanation.independent_loads = report.cubin.loads_in_flight;
  explanation.may_start_early = may_start_early(source, report.cubin);
  const int fit = blocks_per_sm(target, report.threads, report.registers, report.shared_bytes);
  // The launch limits the grid of a cooperative kernel to the resident blocks.
  const std::int64_t most = std::int64_t{fit} * target.sm_count;
  const std::int64_t grid = source.is_cooperative ? std::min(report.grid, most) : report.grid;
  const std::int64_t there = (grid + target.sm_count - 1) / target.sm_count;
  explanation.blocks_per_sm = static_cast<int>(std::min<std::int64_t>(fit, there));
  explanation.occupancy =
      static_cast<double>(explanation.blocks_per_sm) * report.threads / target.max_threads_per_sm;
  if (grid == 0) return;
  // At most the bytes that a block reads on average: short rows leave threads idle, and data that
  // all blocks read stays in the caches.
  const std::int64_t per_block =
      std::min(std::max(report.cubin.bytes_in_flight * report.threads, source.copied_ahead),
               report.bytes_read / grid);
  explanation.bytes_in_flight = explanation.blocks_per_sm * per_block;
}

}  // namespace sinter
