// The memory that a Context works in, and who is told that what is bound is in use.
#include <fmt/format.h>

#include "runtime/driver/deferred_release.h"
#include "runtime/execution/context_state.h"

namespace sinter {

namespace {

std::shared_ptr<EventState> make_event(DeviceState& device, std::string_view context) {
  auto event = std::make_shared<EventState>(device, /*handle=*/nullptr);
  check(device.driver, device.driver.cuEventCreate(&event->handle, CU_EVENT_DISABLE_TIMING),
        "cuEventCreate", context);
  return event;
}

}  // namespace

void ContextState::use_arrays_slowly(const std::shared_ptr<StreamState>& stream,
                                     const auto& arrays) {
  used_version_ = 0;
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

template void ContextState::use_arrays_slowly(const std::shared_ptr<StreamState>& stream,
                                              const std::vector<const Array*>& arrays);
template void ContextState::use_arrays_slowly(const std::shared_ptr<StreamState>& stream,
                                              const std::vector<std::unique_ptr<Array>>& arrays);

void ContextState::use_scratch(Lane& lane) {
  for (const DeviceMemory* memory : {arena_.get(), tickets_.get(), lane.tables.get()}) {
    if (!memory || !memory->is_pooled()) continue;
    memory->begin_use(stream_);
    if (!stream_->is_owned) memory->end_use_at(*stream_, end_event());
  }
  lane.scratch_stream = stream_->id;
}

const std::shared_ptr<EventState>& ContextState::end_event() {
  if (!end_) end_ = make_event(executable->device, after_last_run());
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
    arena_.reset();  // used again behind what uses it
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
    tickets_ = std::move(tickets);  // only now: tickets that are not 0 name no last block
  }
}

void ContextState::reserve_tables(Lane& lane) {
  const std::int64_t bytes = lane.launches.layout().table_bytes;
  if (bytes <= (lane.tables ? lane.tables->bytes : 0)) return;
  lane.tables.reset();  // used again behind what uses it
  lane.tables = std::make_unique<DeviceMemory>(
      executable->device, bytes,
      fmt::format("the tables of a context of {}", executable->interface.name),
      Pooled{.stream = stream_->id});
}

/// In the order of the stream: launches before this one read the tables as they were.
void ContextState::copy_tables(Lane& lane, CUstream stream) {
  const Driver& driver = executable->device.driver;
  const auto context = [&] { return fmt::format("the tables of {}", executable->interface.name); };
  bool has_copied = false;
  for (PreparedLaunch& launch : lane.launches.launches()) {
    if (launch.table.empty() || !launch.table_changed) [[likely]]
      continue;
    const CaptureModeGuard relaxed(driver);  // what is copied is no pinned memory
    if (!lane.tables_copied) lane.tables_copied = make_event(executable->device, context());
    lane.tables_copied->is_lost = true;
    lane.is_copying = true;
    check(driver,
          driver.cuMemcpyHtoDAsync(launch.table_at, launch.table.data(), launch.table.size_bytes(),
                                   stream),
          "cuMemcpyHtoDAsync", context);
    launch.table_changed = false;
    has_copied = true;
  }
  if (!has_copied) return;
  check(driver, driver.cuEventRecord(lane.tables_copied->handle, stream), "cuEventRecord", context);
  lane.tables_copied->is_lost = false;
}

/// Some devices read the host's memory in place, so that it must not change before they have.
void ContextState::await_tables(Lane& lane) {
  if (!lane.is_copying) return;
  const Driver& driver = executable->device.driver;
  const CaptureModeGuard relaxed(driver);
  const auto context = [&] { return fmt::format("the tables of {}", executable->interface.name); };
  if (lane.tables_copied->is_lost)
    check(driver, driver.cuCtxSynchronize(), "cuCtxSynchronize", context);
  else
    check(driver, driver.cuEventSynchronize(lane.tables_copied->handle), "cuEventSynchronize",
          context);
  lane.is_copying = false;
}

}  // namespace sinter
