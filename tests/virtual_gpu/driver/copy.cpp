#include "tests/virtual_gpu/driver/copy.h"

#include <algorithm>
#include <cstring>

namespace sinter::virtual_gpu::driver {

namespace {

/// One thread that does the work of a copy, for the checks.
class DriverThread {
 public:
  DriverThread(Machine& machine, Task& task, std::string name)
      : machine_(machine), name_(std::move(name)) {
    HappensBefore& order = *machine.happens_before;
    const auto is_ordered = [&book = machine.orders, record = task.order](std::uint32_t earlier) {
      const OrderRecord* const other = book.find(earlier);
      return other && book.is_before(*other, record);
    };
    task.serial = order.begin_launch(is_ordered, {}, name_);
    machine.orders.add(task.serial, task.order);
    block_ = order.begin_block(task.serial, /*block=*/0, /*threads=*/1);
  }

  void access(AccessKind kind, Allocation& allocation, std::uint64_t offset, std::size_t bytes) {
    HappensBefore& order = *machine_.happens_before;
    const std::optional<Conflict> conflict = allocation.shadow.access(
        {.kind = kind, .offset = offset, .bytes = bytes}, order.thread(*block_, 0), order);
    if (conflict) report(allocation, *conflict);
  }

  /// The live memory of a range. Throws Violation if it was freed since the call.
  Allocation& memory(std::uint64_t address, std::size_t bytes) const {
    Allocation* const found = find_range(*machine_.memory, address, bytes);
    if (!found)
      throw Violation(CheckKind::memory,
                      fmt::format("{}: {} bytes at {:#x} are not accessible any more: {}", name_,
                                  bytes, address, machine_.memory->describe(address)));
    return *found;
  }

 private:
  [[noreturn]] void report(const Allocation& allocation, const Conflict& conflict) const {
    HappensBefore& order = *machine_.happens_before;
    const ThreadPosition other = order.position_of(conflict.earlier);
    throw Violation(
        CheckKind::race,
        fmt::format("{}: a race at byte {} of {} bytes at {:#x}: {} by {}, block {}, thread {}, "
                    "line {}, is not ordered before",
                    name_, conflict.offset, allocation.size, allocation.address,
                    conflict.earlier_is_write ? "a write" : "a read", order.name_of(other.launch),
                    other.block, other.thread, conflict.earlier.line));
  }

  Machine& machine_;
  std::string name_;
  std::unique_ptr<BlockClock> block_;
};

}  // namespace

Allocation* find_range(GlobalMemory& memory, std::uint64_t address, std::size_t bytes) {
  Allocation* const found = memory.find(address);
  if (!found || found->is_freed) return nullptr;
  const std::uint64_t offset = address - found->address;
  return offset <= found->size && bytes <= found->size - offset ? found : nullptr;
}

void run_copy(Machine& machine, Task& task, const Copy& copy) {
  if (copy.bytes == 0) return;
  using Kind = Copy::Kind;
  const char* const names[] = {"cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuMemcpyDtoDAsync"};
  DriverThread thread(
      machine, task, fmt::format("{} of {} bytes", names[static_cast<int>(copy.kind)], copy.bytes));
  // Memory of the host has checks only if it is pinned.
  Allocation* const from = copy.kind != Kind::host_to_device ? &thread.memory(copy.from, copy.bytes)
                           : copy.staged                     ? nullptr
                                         : find_range(*machine.memory, copy.from, copy.bytes);
  Allocation* const to = copy.kind != Kind::device_to_host
                             ? &thread.memory(copy.to, copy.bytes)
                             : find_range(*machine.memory, copy.to, copy.bytes);
  const std::byte* source =
      copy.staged ? copy.staged->data() : reinterpret_cast<const std::byte*>(copy.from);
  auto* target = reinterpret_cast<std::byte*>(copy.to);
  if (from) {
    thread.access(AccessKind::read, *from, copy.from - from->address, copy.bytes);
    source = from->data + (copy.from - from->address);
  }
  if (to) {
    const std::uint64_t offset = copy.to - to->address;
    thread.access(AccessKind::write, *to, offset, copy.bytes);
    // Bytes that the host writes to pinned memory are not seen, so pinned memory is initialised.
    if (from && from->kind != MemoryKind::pinned && to->kind != MemoryKind::pinned)
      to->shadow.copy_initialization(offset, from->shadow, copy.from - from->address, copy.bytes);
    target = to->data + offset;
  }
  std::memmove(target, source, copy.bytes);
}

void run_fill(Machine& machine, Task& task, const Fill& fill) {
  if (fill.count == 0) return;
  DriverThread thread(
      machine, task,
      fmt::format("cuMemsetD{}Async of {} bytes", fill.element_bytes * 8, fill.bytes()));
  Allocation& to = thread.memory(fill.to, fill.bytes());
  const std::uint64_t offset = fill.to - to.address;
  thread.access(AccessKind::write, to, offset, fill.bytes());
  std::byte* const target = to.data + offset;
  if (fill.element_bytes == 1) {
    std::memset(target, static_cast<int>(fill.value & 0xff), fill.count);
    return;
  }
  for (std::size_t i = 0; i < fill.count; ++i)
    std::memcpy(target + i * sizeof fill.value, &fill.value, sizeof fill.value);
}

void run_pool_allocation(Machine& machine, Task& task, const PoolAllocation& work) {
  DriverThread thread(machine, task, fmt::format("cuMemAllocAsync of {} bytes", work.bytes));
  Allocation& memory = thread.memory(work.address, work.bytes);
  thread.access(AccessKind::write, memory, 0, work.bytes);
  memory.shadow.mark_uninitialized(0, work.bytes);
}

void run_pool_release(Machine& machine, Task& task, const PoolRelease& work) {
  DriverThread thread(machine, task, "cuMemFreeAsync");
  Allocation& memory = thread.memory(work.address, 1);
  thread.access(AccessKind::write, memory, 0, memory.size);
  machine.memory->free(memory);
}

}  // namespace sinter::virtual_gpu::driver
