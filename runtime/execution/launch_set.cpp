#include "runtime/execution/launch_set.h"

#include <fmt/format.h>
#include <llvm/ADT/ScopeExit.h>

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

/// The slot of the interface that provides the value of `argument`; -1 for none.
int slot_of(const Argument& argument, const Program& program, const Interface& interface) {
  if (argument.kind == Argument::Kind::scalar) return argument.index;
  if (argument.kind != Argument::Kind::buffer) return -1;
  const Buffer& buffer = program.buffers[static_cast<std::size_t>(argument.index)];
  if (buffer.kind == Buffer::Kind::input) return buffer.index;
  return buffer.kind == Buffer::Kind::output ? interface.input_count + buffer.index : -1;
}

/// Throws UserError for a request that only a saved plan can make.
[[noreturn]] void fail_kernel(const Variant& variant, std::size_t kernel,
                              const std::string& message) {
  throw UserError(fmt::format(
      "kernel {} {}; its plan does not support these sizes: compile the program here, or save it "
      "again",
      variant.program.kernels[kernel].name, message));
}

/// Throws UserError if a sub-buffer exceeds its parent. Only a saved plan can have such
/// sub-buffers.
void check_sub_buffers(const Program& program, std::span<const std::int64_t> symbols) {
  for (const Buffer& sub_buffer : program.buffers) {
    if (sub_buffer.parent < 0) [[likely]]
      continue;
    const Buffer& parent = program.buffers[static_cast<std::size_t>(sub_buffer.parent)];
    const std::int64_t begin = offset_bytes(sub_buffer, symbols);
    const std::int64_t end = checked_sum(begin, bytes_of(sub_buffer, symbols));
    const std::int64_t all = bytes_of(parent, symbols);
    if (begin < 0 || (end > begin && end > all)) [[unlikely]]
      throw UserError(
          fmt::format("buffer {} takes bytes {} to {} of the {} bytes of {}, which contains it; "
                      "its plan does not support these sizes: compile the program here, or save "
                      "it again",
                      sub_buffer.name, begin, end, all, parent.name));
  }
}

}  // namespace

ScratchLayout lay_out(const Variant& variant, const MemoryPlanner& planner,
                      std::span<const std::int64_t> symbols) {
  MemoryPlan plan = planner.plan(symbols);
  check_sub_buffers(variant.program, symbols);
  ScratchLayout layout{.buffer_offsets = std::move(plan.offsets),
                       .arena_bytes = aligned(plan.arena_bytes)};
  // Kernels without an edge between them may run concurrently, so each has its own workspace.
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
                  fmt::format("needs {} bytes of workspace and {} tickets", bytes, tickets));
    layout.workspace_offsets.push_back(bytes > 0 ? layout.arena_bytes : -1);
    layout.ticket_offsets.push_back(tickets > 0 ? layout.tickets : -1);
    layout.arena_bytes = checked_sum(layout.arena_bytes, aligned(bytes));
    layout.tickets = checked_sum(layout.tickets, tickets);
    const auto table_bytes = static_cast<std::int64_t>(table_values_in_memory(kernel.source) * 8);
    layout.table_offsets.push_back(table_bytes > 0 ? layout.table_bytes : -1);
    layout.table_bytes += aligned(table_bytes);
  }
  checked_product(layout.tickets, kTicketBytes);
  return layout;
}

void make_call(const DeviceState& device, const PreparedLaunch& launch, CUstream stream,
               HostFunctions& host_functions) {
  std::list<HostFunctions::List> lists(1);
  // Also if the function throws, since the work on the stream refers to its host functions.
  const auto keep =
      llvm::make_scope_exit([&] { host_functions.keep_alive_until_run(std::move(lists)); });
  launch.call->enqueue(launch.parameters, device, stream, host_functions, lists.front());
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

namespace {

/// The engine of a collective; null for other calls.
CommunicatorEngine* engine_of(const OpaqueBinding& call, const GroupCommunicators& communicators) {
  CommunicatorEngine* const engine = communicators.engine_of(call.group());
  // A damaged file may name a group that the graph does not have.
  if (call.is_collective() && !engine)
    call.fail(fmt::format("the program has no group \"{}\"; save it again", call.group()));
  return engine;
}

}  // namespace

LaunchSet::LaunchSet(std::shared_ptr<const Variant> variant, const Interface& interface,
                     const GroupCommunicators& communicators)
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
      patch.sub_buffer = argument.index;
    by_slot[static_cast<std::size_t>(slot)].push_back(patch);
  });
  for (const std::vector<Patch>& patches : by_slot) {
    first_patch_.push_back(static_cast<std::uint32_t>(patches_.size()));
    patches_.insert(patches_.end(), patches.begin(), patches.end());
  }
  first_patch_.push_back(static_cast<std::uint32_t>(patches_.size()));
  // No array has the address 0. set_values skips a scalar with bits 0, whose argument is 0 already.
  values_.assign(interface.slots.size(), 0);
  arguments_.assign(count, 0);
  for (std::uint64_t& argument : arguments_) parameters_.push_back(&argument);

  std::size_t first = 0;
  for (std::size_t i = 0; i < launches_.size(); ++i) {
    const VariantKernel& kernel = variant_->kernels[i];
    PreparedLaunch& launch = launches_[i];
    if (kernel.opaque) {
      launch.call = calls_.emplace_back(std::make_unique<OpaqueLaunch>(
          *kernel.opaque, engine_of(*kernel.opaque, communicators))).get();
      launch.is_kernel = false;
      has_collectives_ |= kernel.opaque->is_collective();
    }
    launch.function = kernel.function;
    launch.parameters = parameters_.data() + first;
    launch.attributes = stream_attributes(kernel.source, kernel.starts_early);
    launch.config = launch_config(kernel.source, /*grid=*/0, launch.attributes);
    if (const Argument* const table = table_argument(kernel.source))
      if (table->kind == Argument::Kind::table_values)
        launch.parameters[table - kernel.source.arguments.data()] =
            &arguments_[first + kernel.source.arguments.size()];
    first += kernel.source.arguments.size() + kernel.source.table.size();
    const std::size_t in_memory = table_values_in_memory(kernel.source);
    launch.table = std::span(arguments_).subspan(first - in_memory, in_memory);
  }
}

void LaunchSet::set_symbols(std::span<const std::int64_t> symbols) {
  // May throw, since it calls the user's workspace functions. Nothing has changed before it
  // returns.
  layout_ = lay_out(*variant_, planner_, symbols);
  symbols_.assign(symbols.begin(), symbols.end());
  set_sub_buffer_offsets();
  std::size_t call = 0;
  for (std::size_t i = 0; i < launches_.size(); ++i) {
    PreparedLaunch& launch = launches_[i];
    const VariantKernel& kernel = variant_->kernels[i];
    if (launch.call) [[unlikely]] {
      launch.changed |= launch.call->set_symbols(symbols_, layout_.call_bytes[call++]);
      launch.is_empty = launch.call->is_empty();
      continue;
    }
    const std::int64_t grid = grid_size(kernel.source, kernel.grid_limit, symbols_);
    if (grid < 0 || grid > std::numeric_limits<int>::max()) [[unlikely]]
      fail_kernel(*variant_, i,
                  fmt::format("needs {} blocks, but a launch has 0 to {}", grid,
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
    set_argument(patch, static_cast<std::uint64_t>(value));
  });
}

/// Updates the offsets of sub-buffers of bound arrays. Arrays with a changed offset get value 0,
/// the address of no array, so that set_values fills in their pointers again.
void LaunchSet::set_sub_buffer_offsets() {
  for (std::size_t slot = 0; slot < values_.size(); ++slot)
    for (std::uint32_t i = first_patch_[slot]; i < first_patch_[slot + 1]; ++i) {
      Patch& patch = patches_[i];
      if (patch.sub_buffer < 0) continue;
      const auto offset = static_cast<std::uint64_t>(offset_bytes(
          variant_->program.buffers[static_cast<std::size_t>(patch.sub_buffer)], symbols_));
      if (std::exchange(patch.offset, offset) != offset) values_[slot] = 0;
    }
}

void LaunchSet::set_scratch(CUdeviceptr arena, CUdeviceptr tickets, CUdeviceptr tables) {
  const auto at = [](CUdeviceptr base, std::int64_t offset) {
    return offset < 0 ? 0 : base + static_cast<CUdeviceptr>(offset);
  };
  for_each_argument([&](const Argument& argument, std::size_t kernel, Patch patch) {
    if (argument.kind == Argument::Kind::workspace)
      set_argument(patch, at(arena, layout_.workspace_offsets[kernel]) +
                              static_cast<CUdeviceptr>(evaluate(argument.extent, symbols_)));
    if (argument.kind == Argument::Kind::tickets)
      set_argument(
          patch, at(tickets, layout_.ticket_offsets[kernel] * kTicketBytes) +
                     static_cast<CUdeviceptr>(evaluate(argument.extent, symbols_)) * kTicketBytes);
    if (argument.kind == Argument::Kind::table) {
      launches_[kernel].table_at = at(tables, layout_.table_offsets[kernel]);
      launches_[kernel].table_changed = true;
      set_argument(patch, launches_[kernel].table_at);
    }
    if (argument.kind != Argument::Kind::buffer) return;
    const auto buffer = static_cast<std::size_t>(argument.index);
    if (variant_->program.buffers[buffer].kind == Buffer::Kind::temporary)
      set_argument(patch, at(arena, layout_.buffer_offsets[buffer]));
  });
}

void LaunchSet::set_values(std::span<const std::uint64_t> values) {
  for (std::size_t slot = 0; slot < values.size(); ++slot) {
    if (values_[slot] == values[slot]) continue;
    values_[slot] = values[slot];
    for (std::uint32_t i = first_patch_[slot]; i < first_patch_[slot + 1]; ++i)
      set_argument(patches_[i], values[slot] + patches_[i].offset);
  }
}

void LaunchSet::set_stream(CUstream stream) {
  for (PreparedLaunch& launch : launches_) launch.config.hStream = stream;
}

}  // namespace sinter
