// ContextState: its scratch memory and tables, and the registration of bound arrays as in use.
#include <fmt/format.h>

#include "runtime/driver/deferred_release.h"
#include "runtime/execution/context_state.h"

namespace sinter {

void ContextState::register_array_uses_slow_path(const std::shared_ptr<StreamState>& stream,
                                                 const auto& arrays) {
  registered_version_ = 0;
  marks_end_ = false;
  for (const auto& array : arrays) {
    const DeviceMemory* const memory = array ? array->data().memory.get() : nullptr;
    if (!memory || !memory->is_pooled()) continue;
    memory->begin_use(stream);
    if (stream->is_owned) continue;
    memory->end_use_at(*stream, end_event());
    marks_end_ = true;
  }
}

template void ContextState::register_array_uses_slow_path(
    const std::shared_ptr<StreamState>& stream, const std::vector<const Array*>& arrays);
template void ContextState::register_array_uses_slow_path(
    const std::shared_ptr<StreamState>& stream, const std::vector<std::unique_ptr<Array>>& arrays);

void ContextState::register_scratch_use(VariantState& state) {
  for (const DeviceMemory* memory : {arena_.get(), tickets_.get(), state.tables.get()}) {
    if (!memory || !memory->is_pooled()) continue;
    memory->begin_use(stream_);
    if (!stream_->is_owned) memory->end_use_at(*stream_, end_event());
  }
  state.scratch_stream = stream_->id;
}

const std::shared_ptr<EventState>& ContextState::end_event() {
  if (!end_)
    end_ = std::make_shared<EventState>(executable->device, CU_EVENT_DISABLE_TIMING,
                                        last_run_context());
  return end_;
}

void ContextState::reserve_scratch(const ScratchLayout& layout, CUstream stream) {
  DeviceState& device = executable->device;
  const CaptureModeGuard relaxed(device.driver);
  run_deferred_releases();
  const auto needs_more = [](const std::unique_ptr<DeviceMemory>& memory, std::int64_t bytes) {
    return bytes > (memory ? memory->bytes : 0);
  };
  const auto what = [&](std::string_view part) {
    return fmt::format("{} of a context of {}", part, executable->interface.name);
  };
  if (needs_more(arena_, layout.arena_bytes)) {
    arena_.reset();  // the pool may reuse it in stream order
    ++scratch_version_;
    arena_ = std::make_unique<DeviceMemory>(device, layout.arena_bytes, what("the arena"),
                                            Pooled{.stream = stream_->id});
  }
  const auto ticket_bytes = layout.tickets * static_cast<std::int64_t>(sizeof(unsigned));
  if (needs_more(tickets_, ticket_bytes)) {
    tickets_.reset();
    ++scratch_version_;
    auto tickets = std::make_unique<DeviceMemory>(device, ticket_bytes, what("the tickets"),
                                                  Pooled{.stream = stream_->id});
    tickets->begin_use(stream_);
    check(device.driver,
          device.driver.cuMemsetD32Async(tickets->pointer, 0,
                                         static_cast<std::size_t>(layout.tickets), stream),
          "cuMemsetD32Async", [&] { return what("the tickets"); });
    // Assigned only after the clear is submitted: tickets that do not start at 0 find no last
    // block.
    tickets_ = std::move(tickets);
  }
}

void ContextState::reserve_tables(VariantState& state) {
  const std::int64_t bytes = state.launches.layout().table_bytes;
  if (bytes <= (state.tables ? state.tables->bytes : 0)) return;
  state.tables.reset();  // the pool may reuse it in stream order
  state.tables = std::make_unique<DeviceMemory>(
      executable->device, bytes,
      fmt::format("the tables of a context of {}", executable->interface.name),
      Pooled{.stream = stream_->id});
}

}  // namespace sinter
