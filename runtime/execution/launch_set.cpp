#include "runtime/execution/launch_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "compiler/body/sub_buffer.h"
#include "ir/shape/extent.h"
#include "ir/support/checked_arithmetic.h"
#include "sinter/error.h"

namespace sinter {

namespace {

constexpr std::int64_t kArenaAlignment = 256;
constexpr std::int64_t kTicketBytes = sizeof(unsigned);

std::int64_t aligned(std::int64_t bytes) { return checked_round_up(bytes, kArenaAlignment); }

/// The slot that `argument` takes its value from; -1 for none.
int slot_of(const Argument& argument, const Program& program, const Interface& interface) {
  if (argument.kind == Argument::Kind::scalar) return argument.index;
  if (argument.kind != Argument::Kind::buffer) return -1;
  const Buffer& buffer = program.buffers[static_cast<std::size_t>(argument.index)];
  if (buffer.kind == Buffer::Kind::input) return buffer.index;
  return buffer.kind == Buffer::Kind::output ? interface.input_count + buffer.index : -1;
}

/// What no plan of ours asks for, but a saved one may.
[[noreturn]] void fail_kernel(const Variant& variant, std::size_t kernel,
                              const std::string& message) {
  throw UserError(fmt::format(
      "kernel {} {}; its plan is not for such sizes: compile the program here, or save it anew",
      variant.program.kernels[kernel].name, message));
}

/// Parts end where what they are parts of does, or before: no plan of ours has others.
void check_parts(const Program& program, std::span<const std::int64_t> symbols) {
  for (const Buffer& part : program.buffers) {
    if (part.parent < 0) [[likely]]
      continue;
    const Buffer& whole = program.buffers[static_cast<std::size_t>(part.parent)];
    const std::int64_t begin = offset_bytes(part, symbols);
    const std::int64_t end = checked_sum(begin, bytes_of(part, symbols));
    const std::int64_t all = bytes_of(whole, symbols);
    if (begin < 0 || (end > begin && end > all)) [[unlikely]]
      throw UserError(
          fmt::format("buffer {} takes bytes {} to {} of the {} of {}, which it is a part of; its "
                      "plan is not for such sizes: compile the program here, or save it anew",
                      part.name, begin, end, all, whole.name));
  }
}

}  // namespace

ScratchLayout lay_out(const Variant& variant, const MemoryPlanner& planner,
                      std::span<const std::int64_t> symbols) {
  MemoryPlan plan = planner.plan(symbols);
  check_parts(variant.program, symbols);
  ScratchLayout layout{.buffer_offsets = std::move(plan.offsets),
                       .arena_bytes = aligned(plan.arena_bytes)};
  // Kernels without an edge between them may run at once: no two share a workspace.
  for (std::size_t i = 0; i < variant.kernels.size(); ++i) {
    const VariantKernel& kernel = variant.kernels[i];
    std::int64_t bytes = evaluate(kernel.source.workspace_bytes, symbols);
    if (kernel.opaque) [[unlikely]] {
      kernel.opaque->check_memory(kernel.source, variant.program, symbols);
      layout.call_bytes.push_back(kernel.opaque->workspace_bytes(symbols));
      bytes = checked_sum(bytes, layout.call_bytes.back());
    }
    const std::int64_t tickets = evaluate(kernel.source.tickets, symbols);
    if (bytes < 0 || tickets < 0) [[unlikely]]
      fail_kernel(variant, i,
                  fmt::format("wants {} bytes to work in and {} tickets", bytes, tickets));
    layout.workspace_offsets.push_back(bytes > 0 ? layout.arena_bytes : -1);
    layout.ticket_offsets.push_back(tickets > 0 ? layout.tickets : -1);
    layout.arena_bytes = checked_sum(layout.arena_bytes, aligned(bytes));
    layout.tickets = checked_sum(layout.tickets, tickets);
    const auto table_bytes = static_cast<std::int64_t>(kernel.source.table.size() * 8);
    layout.table_offsets.push_back(table_bytes > 0 ? layout.table_bytes : -1);
    layout.table_bytes += aligned(table_bytes);
  }
  checked_product(layout.tickets, kTicketBytes);
  return layout;
}

void make_call(const DeviceState& device, const PreparedLaunch& launch, HostWorks& works) {
  std::list<HostWorks::Pieces> pieces(1);
  // Even where the function then fails: what is on the stream by then refers to its pieces.
  struct Keep {
    HostWorks& works;
    std::list<HostWorks::Pieces>& pieces;
    ~Keep() { works.keep_until_run(std::move(pieces)); }
  };
  const Keep keep{works, pieces};
  launch.call->enqueue(launch.parameters, device, launch.config.hStream, works, pieces.front());
}

template <class Visit>
void LaunchSet::for_each_argument(Visit visit) const {
  std::uint32_t number = 0;
  for (std::size_t kernel = 0; kernel < variant_->kernels.size(); ++kernel) {
    const Source& source = variant_->kernels[kernel].source;
    for (const std::vector<Argument>* list : {&source.arguments, &source.table})
      for (const Argument& argument : *list)
        visit(argument, kernel,
              Patch{.argument = number++, .launch = static_cast<std::uint32_t>(kernel)});
  }
}

LaunchSet::LaunchSet(std::shared_ptr<const Variant> variant, const Interface& interface)
    : variant_(std::move(variant)),
      planner_(variant_->program),
      launches_(variant_->kernels.size()) {
  std::vector<std::vector<Patch>> by_slot(interface.slots.size());
  std::size_t count = 0;
  for_each_argument([&](const Argument& argument, std::size_t, Patch patch) {
    ++count;
    const int slot = slot_of(argument, variant_->program, interface);
    if (slot < 0) return;
    if (argument.kind == Argument::Kind::buffer &&
        variant_->program.buffers[static_cast<std::size_t>(argument.index)].parent >= 0)
      patch.part = argument.index;
    by_slot[static_cast<std::size_t>(slot)].push_back(patch);
  });
  for (const std::vector<Patch>& patches : by_slot) {
    first_patch_.push_back(static_cast<std::uint32_t>(patches_.size()));
    patches_.insert(patches_.end(), patches.begin(), patches.end());
  }
  first_patch_.push_back(static_cast<std::uint32_t>(patches_.size()));
  // No array lies there, and a scalar of these bits only misses the shortcut of set_values.
  values_.assign(interface.slots.size(), 0);
  arguments_.assign(count, 0);
  for (std::uint64_t& argument : arguments_) parameters_.push_back(&argument);

  std::size_t first = 0;
  for (std::size_t i = 0; i < launches_.size(); ++i) {
    const VariantKernel& kernel = variant_->kernels[i];
    PreparedLaunch& launch = launches_[i];
    if (kernel.opaque) {
      launch.call = calls_.emplace_back(std::make_unique<OpaqueLaunch>(*kernel.opaque)).get();
      launch.is_kernel = false;
    }
    launch.function = kernel.function;
    launch.parameters = parameters_.data() + first;
    launch.config.gridDimY = launch.config.gridDimZ = 1;
    launch.config.blockDimX = static_cast<unsigned>(kernel.source.threads);
    launch.config.blockDimY = launch.config.blockDimZ = 1;
    launch.config.sharedMemBytes = static_cast<unsigned>(kernel.source.shared_bytes);
    launch.attributes = stream_attributes(kernel.source);
    launch.config.attrs = launch.attributes.list.data();
    launch.config.numAttrs = launch.attributes.count;
    first += kernel.source.arguments.size();
    launch.table = std::span(arguments_).subspan(first, kernel.source.table.size());
    first += kernel.source.table.size();
  }
}

void LaunchSet::set_symbols(std::span<const std::int64_t> symbols) {
  // A function of the user's may fail in there: then nothing has changed.
  layout_ = lay_out(*variant_, planner_, symbols);
  symbols_.assign(symbols.begin(), symbols.end());
  set_part_offsets();
  std::size_t call = 0;
  for (std::size_t i = 0; i < launches_.size(); ++i) {
    PreparedLaunch& launch = launches_[i];
    const VariantKernel& kernel = variant_->kernels[i];
    if (launch.call) [[unlikely]] {
      launch.changed |= launch.call->set_symbols(symbols_, layout_.call_bytes[call++]);
      launch.is_empty = launch.call->is_empty();
      continue;
    }
    const std::int64_t grid = launched_blocks(kernel.source, kernel.resident_blocks, symbols_);
    if (grid < 0 || grid > std::numeric_limits<int>::max()) [[unlikely]]
      fail_kernel(*variant_, i,
                  fmt::format("wants {} blocks, and a launch has none to {} of them", grid,
                              std::numeric_limits<int>::max()));
    launch.changed = launch.changed || launch.config.gridDimX != static_cast<unsigned>(grid);
    launch.config.gridDimX = static_cast<unsigned>(grid);
    launch.is_empty = grid == 0;
    launch.is_kernel = grid != 0;
  }
  for_each_argument([&](const Argument& argument, std::size_t kernel, Patch patch) {
    if (argument.kind != Argument::Kind::extent) return;
    const std::int64_t value = evaluate(argument.extent, symbols_);
    const bool fits_int =
        value >= std::numeric_limits<int>::min() && value <= std::numeric_limits<int>::max();
    if (!fits_int && !argument.c_type.empty() && argument.c_type.find("long") == std::string::npos)
        [[unlikely]]
      fail_kernel(
          *variant_, kernel,
          fmt::format("takes {} = {} as {}", to_string(argument.extent), value, argument.c_type));
    put(patch, static_cast<std::uint64_t>(value));
  });
}

/// Parts of bound arrays begin elsewhere, so their pointers are filled in again.
void LaunchSet::set_part_offsets() {
  bool has_moved = false;
  for (Patch& patch : patches_) {
    if (patch.part < 0) continue;
    const auto offset = static_cast<std::uint64_t>(
        offset_bytes(variant_->program.buffers[static_cast<std::size_t>(patch.part)], symbols_));
    has_moved = std::exchange(patch.offset, offset) != offset || has_moved;
  }
  if (has_moved) std::ranges::fill(values_, 0);
}

void LaunchSet::set_scratch(CUdeviceptr arena, CUdeviceptr tickets, CUdeviceptr tables) {
  const auto at = [](CUdeviceptr base, std::int64_t offset) {
    return offset < 0 ? 0 : base + static_cast<CUdeviceptr>(offset);
  };
  for_each_argument([&](const Argument& argument, std::size_t kernel, Patch patch) {
    if (argument.kind == Argument::Kind::workspace)
      put(patch, at(arena, layout_.workspace_offsets[kernel]) +
                     static_cast<CUdeviceptr>(evaluate(argument.extent, symbols_)));
    if (argument.kind == Argument::Kind::tickets)
      put(patch, at(tickets, layout_.ticket_offsets[kernel] * kTicketBytes) +
                     static_cast<CUdeviceptr>(evaluate(argument.extent, symbols_)) * kTicketBytes);
    if (argument.kind == Argument::Kind::table) {
      launches_[kernel].table_at = at(tables, layout_.table_offsets[kernel]);
      launches_[kernel].table_changed = true;
      put(patch, launches_[kernel].table_at);
    }
    if (argument.kind != Argument::Kind::buffer) return;
    const auto buffer = static_cast<std::size_t>(argument.index);
    if (variant_->program.buffers[buffer].kind == Buffer::Kind::temporary)
      put(patch, at(arena, layout_.buffer_offsets[buffer]));
  });
}

void LaunchSet::set_values(std::span<const std::uint64_t> values) {
  for (std::size_t slot = 0; slot < values.size(); ++slot) {
    if (values_[slot] == values[slot]) continue;
    values_[slot] = values[slot];
    for (std::uint32_t i = first_patch_[slot]; i < first_patch_[slot + 1]; ++i)
      put(patches_[i], values[slot] + patches_[i].offset);
  }
}

void LaunchSet::set_stream(CUstream stream) {
  for (PreparedLaunch& launch : launches_) launch.config.hStream = stream;
}

}  // namespace sinter
