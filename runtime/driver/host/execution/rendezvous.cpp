// Built without the thread sanitizer, like fiber.cpp: these functions are left on one stack and
// entered again on another.
#include "runtime/driver/host/execution/rendezvous.h"

#include "runtime/driver/host/execution/byte_count.h"
#include "runtime/driver/host/execution/grid_barrier.h"
#include "runtime/driver/host/execution/memory.h"
#include "runtime/driver/host/execution/prior_launches.h"

#include <algorithm>
#include <bit>
#include <csignal>
#include <new>
#include <utility>

#include <fmt/format.h>

namespace sinter::host {
namespace {

using namespace cuda;
using device_abi::kWarpSize;

thread_local BlockRunner* runner_at_work = nullptr;

device_abi::Index3 index_in(const device_abi::Index3& grid, std::uint64_t linear) {
  const std::uint64_t row = linear / grid.x;
  return {static_cast<unsigned>(linear % grid.x), static_cast<unsigned>(row % grid.y),
          static_cast<unsigned>(row / grid.y)};
}

std::string text_of(const device_abi::Index3& index) {
  return fmt::format("({}, {}, {})", index.x, index.y, index.z);
}

}  // namespace

BlockRunner::BlockRunner() : fibers_(kMaxThreads) { warps = warp_storage_; }

BlockRunner* BlockRunner::running() { return runner_at_work; }

const device_abi::Services& BlockRunner::services() {
  static constexpr device_abi::Services kServices = {block_barrier,  warp_barrier,  grid_barrier,
                                                     cluster_arrive, cluster_wait,  cluster_map,
                                                     record_access,  wait_for_prior};
  return kServices;
}

Failure BlockRunner::run(const BlockWork& work, std::uint64_t first, std::uint64_t last) {
  failure_ = {};
  if (!stacks_.reserve(work.kernel->has_barrier ? work.block.x * work.block.y * work.block.z : 1))
    return {CUDA_ERROR_OUT_OF_MEMORY, "there is no memory for the stacks of a block's threads"};
  begin(work);
  runner_at_work = this;
  if (work.kernel->has_barrier) {
    for (; first < last && failure_.code == CUDA_SUCCESS; ++first) {
      set_index(first);
      start_threads();
      main_.switch_to(fibers_[current_]);
    }
  } else {
    first_ = first;
    last_ = last;
    main_.switch_to(fibers_[current_ = 0]);
  }
  runner_at_work = nullptr;
  return take_failure();
}

Failure BlockRunner::take_failure() {
  if (failure_.code == CUDA_SUCCESS && work_.may_start_early && !has_waited_for_prior)
    return {CUDA_ERROR_LAUNCH_FAILED,
            fmt::format("kernel {}: its launch may start before the one in front of it has ended, "
                        "but the kernel does not wait for that; begin it with "
                        "wait_for_prior_launches()",
                        work_.kernel->entry)};
  return std::move(failure_);
}

bool BlockRunner::start(const BlockWork& work, std::uint64_t block,
                        std::span<BlockRunner* const> members) {
  failure_ = {};
  if (!stacks_.reserve(work.block.x * work.block.y * work.block.z)) return false;
  begin(work);
  members_ = members;
  set_index(block);
  start_threads();
  return true;
}

BlockRunner::Pause BlockRunner::resume() {
  runner_at_work = this;
  main_.switch_to(fibers_[current_]);
  runner_at_work = nullptr;
  if (failure_.code != CUDA_SUCCESS) return Pause::failed;
  return has_returned() ? Pause::returned : Pause::waits;
}

void BlockRunner::begin(const BlockWork& work) {
  work_ = work;
  size = work.block;
  grid = work.grid;
  shared = work.shared;
  has_waited_for_prior = false;
  members_ = {};
  threads_ = work.kernel->has_barrier ? size.x * size.y * size.z : 1;
  all_warps_ = 0;
  for (unsigned warp = 0; warp * kWarpSize < threads_; ++warp) {
    const unsigned lanes = std::min(threads_ - warp * kWarpSize, kWarpSize);
    lanes_[warp] = ~0u >> (kWarpSize - lanes);
    all_warps_ |= 1u << warp;
    warps[warp].phase = warps[warp].arrived = 0;
    warps[warp].lanes = lanes;
  }
  for (; prepared_ < threads_; ++prepared_) {
    const StackPool::Stack& stack = stacks_[prepared_];
    fibers_[prepared_].prepare(stack.bottom, stack.top, run_fiber, this);
  }
}

void BlockRunner::set_index(std::uint64_t linear) {
  index = index_in(grid, linear);
  cluster_size = work_.cluster;
  cluster_rank = index.x % work_.cluster;
  // The only thread of a block reads what it wrote. Kernels that count are checked all the same.
  const bool may_read_early = work_.kernel->threads > 1 || work_.kernel->counts;
  if (work_.shared_bytes && may_read_early) poison(shared, work_.shared_bytes);
}

/// Makes all threads of the block runnable. `current_` runs first.
void BlockRunner::start_threads() {
  arrived_ = arrived_at_grid_ = returned_ = at_cluster_ = 0;
  has_met_cluster_ = false;
  std::fill_n(has_arrived_, threads_, false);
  release_all();
  current_ = take_ready();
}

// A fiber outlives the thread that it ran: it then runs the thread of the same index of the next
// block.
void BlockRunner::run_fiber(void* runner) {
  auto& self = *static_cast<BlockRunner*>(runner);
  for (;;) {
    if (self.work_.kernel->has_barrier) {
      self.work_.kernel->run_thread(self.work_.parameters, &self, self.current_);
    } else {
      for (; self.first_ < self.last_; ++self.first_) {
        self.set_index(self.first_);
        self.work_.kernel->run_block(self.work_.parameters, &self);
      }
    }
    self.thread_returned();
  }
}

void BlockRunner::release_all() {
  ready_warps_ = all_warps_;
  for (unsigned warp = 0; warp * kWarpSize < threads_; ++warp) ready_[warp] = lanes_[warp];
}

/// Makes all threads except the running one runnable.
void BlockRunner::release_others() {
  release_all();
  const unsigned warp = current_ / kWarpSize;
  ready_[warp] &= ~(1u << current_ % kWarpSize);
  if (!ready_[warp]) ready_warps_ &= ~(1u << warp);
}

/// The next thread to run: one of the running warp if possible, because its stacks are in cache.
[[gnu::always_inline]] inline unsigned BlockRunner::take_ready() {
  const auto pick = [this](unsigned bits) {
    return static_cast<unsigned>(work_.reversed ? 31 - std::countl_zero(bits)
                                                : std::countr_zero(bits));
  };
  unsigned warp = current_ / kWarpSize;
  if (!(ready_warps_ >> warp & 1)) warp = pick(ready_warps_);
  const unsigned lane = pick(ready_[warp]);
  ready_[warp] &= ~(1u << lane);
  if (!ready_[warp]) ready_warps_ &= ~(1u << warp);
  return warp * kWarpSize + lane;
}

[[gnu::always_inline]] inline void BlockRunner::wait(State state) {
  const unsigned self = current_;
  states_[self] = state;
  if (!ready_warps_) diverged();
  current_ = take_ready();
  fibers_[self].switch_to(fibers_[current_]);
}

void BlockRunner::thread_returned() {
  const unsigned self = current_;
  states_[self] = State::returned;
  if (++returned_ == threads_ || !work_.kernel->has_barrier) {
    fibers_[self].switch_to(main_);
    return;
  }
  if (!ready_warps_) diverged();
  current_ = take_ready();
  fibers_[self].switch_to(fibers_[current_]);
}

// The last thread to arrive continues without a switch.
void BlockRunner::block_barrier(device_abi::Block* block) {
  auto& self = static_cast<BlockRunner&>(*block);
  if (!self.work_.kernel->has_barrier) self.meets_without_fibers("block_barrier()");
  if (++self.arrived_ < self.threads_) return self.wait(State::at_barrier);
  self.arrived_ = 0;
  self.release_others();
}

void BlockRunner::grid_barrier(device_abi::Block* block, const unsigned* arrivals) {
  auto& self = static_cast<BlockRunner&>(*block);
  if (!self.work_.kernel->has_barrier) self.meets_without_fibers("grid_barrier()");
  if (!self.work_.grid_barrier)
    self.fail(CUDA_ERROR_LAUNCH_FAILED,
              self.location() + ": meets at grid_barrier(), but the launch is not cooperative");
  if (++self.arrived_at_grid_ < self.threads_) return self.wait(State::at_grid_barrier);
  self.arrived_at_grid_ = 0;
  self.wait_for_other_blocks(arrivals);
  self.release_others();
}

/// Called by the last thread of the block to arrive. The OS thread waits for the other blocks.
void BlockRunner::wait_for_other_blocks(const unsigned* arrivals) {
  const GridBarrier::Outcome outcome = work_.grid_barrier->arrive_and_wait(arrivals);
  if (outcome == GridBarrier::Outcome::complete) return;
  std::string text = fmt::format("kernel {}, block {}: waits at grid_barrier(), ",
                                 work_.kernel->entry, text_of(index));
  switch (outcome) {
    case GridBarrier::Outcome::counter_mismatch:
      text += "whose counter was not 0 before the launch, or is not the same for all blocks";
      break;
    case GridBarrier::Outcome::block_returned:
      text += "but block " + text_of(index_in(grid, work_.grid_barrier->returned_block())) +
              " has returned";
      break;
    default: text += "but another block has failed";
  }
  fail(CUDA_ERROR_LAUNCH_FAILED, std::move(text));
}

void BlockRunner::cluster_arrive(device_abi::Block* block) {
  auto& self = static_cast<BlockRunner&>(*block);
  if (!self.work_.kernel->has_barrier) self.meets_without_fibers("cluster_arrive()");
  if (self.has_arrived_[self.current_])
    self.fail(
        CUDA_ERROR_LAUNCH_FAILED,
        self.location() + ": arrives at the cluster's barrier again without a cluster_wait()");
  self.has_arrived_[self.current_] = true;
}

// The threads of the block meet first. The last one then switches to the other blocks.
void BlockRunner::cluster_wait(device_abi::Block* block) {
  auto& self = static_cast<BlockRunner&>(*block);
  if (!self.work_.kernel->has_barrier) self.meets_without_fibers("cluster_wait()");
  if (!self.has_arrived_[self.current_])
    self.fail(CUDA_ERROR_LAUNCH_FAILED,
              self.location() + ": waits at the cluster's barrier without a cluster_arrive()");
  self.has_arrived_[self.current_] = false;
  if (++self.at_cluster_ < self.threads_) return self.wait(State::at_cluster_barrier);
  self.at_cluster_ = 0;
  if (!self.members_.empty()) self.fibers_[self.current_].switch_to(self.main_);
  self.has_met_cluster_ = true;
  self.release_others();
}

void* BlockRunner::cluster_map(device_abi::Block* block, const void* shared, unsigned rank) {
  auto& self = static_cast<BlockRunner&>(*block);
  const auto offset = static_cast<const unsigned char*>(shared) - self.shared;
  if (offset < 0 || offset >= static_cast<std::ptrdiff_t>(self.work_.shared_bytes)) {
    std::string text = fmt::format("{}: maps {}, which is not shared memory of its block",
                                   self.location(), shared);
    self.fail(CUDA_ERROR_ILLEGAL_ADDRESS, std::move(text));
  }
  if (rank >= self.cluster_size) {
    std::string text = fmt::format("{}: maps shared memory of block {} of a cluster of {}",
                                   self.location(), rank, self.cluster_size);
    self.fail(CUDA_ERROR_ILLEGAL_ADDRESS, std::move(text));
  }
  if (rank == self.cluster_rank || self.members_.empty()) return const_cast<void*>(shared);
  const BlockRunner& other = *self.members_[rank];
  if (!self.has_met_cluster_) {
    std::string text = fmt::format(
        "{}: maps shared memory of block {}, which may not have started: meet at "
        "a barrier of the cluster first",
        self.location(), other.block_text());
    self.fail(CUDA_ERROR_ILLEGAL_ADDRESS, std::move(text));
  }
  if (other.has_returned()) {
    std::string text = fmt::format("{}: maps shared memory of block {}, which has returned",
                                   self.location(), other.block_text());
    self.fail(CUDA_ERROR_ILLEGAL_ADDRESS, std::move(text));
  }
  return other.shared + offset;
}

void BlockRunner::warp_barrier(device_abi::Block* block) {
  auto& self = static_cast<BlockRunner&>(*block);
  if (!self.work_.kernel->has_barrier) self.meets_without_fibers("a shuffle");
  const unsigned index = self.current_ / kWarpSize;
  device_abi::Warp& warp = self.warps[index];
  if (++warp.arrived < warp.lanes) return self.wait(State::at_shuffle);
  warp.arrived = 0;
  ++warp.phase;
  self.ready_[index] = self.lanes_[index] & ~(1u << self.current_ % kWarpSize);
  if (self.ready_[index]) self.ready_warps_ |= 1u << index;
}

void BlockRunner::record_access(device_abi::Block* block, const void* address, unsigned bytes,
                                int site, bool is_store) {
  auto& self = static_cast<BlockRunner&>(*block);
  // Shared memory is not counted.
  const auto offset = static_cast<const unsigned char*>(address) - self.shared;
  if (offset >= 0 && offset + bytes <= static_cast<std::ptrdiff_t>(self.work_.shared_bytes)) return;
  const bool is_for_cpu = self.work_.kernel->threads == 1;  // so its vectors need no alignment
  const Access access{reinterpret_cast<std::uintptr_t>(address), bytes, site, is_store, is_for_cpu};
  AccessFault fault = AccessFault::none;
  bool has_memory = true;
  try {
    fault = count_access(*self.work_.counter, *self.work_.sites, access);
  } catch (const std::bad_alloc&) {
    has_memory = false;  // kernels cannot be unwound, so the block fails outside the handler
  }
  if (!has_memory) self.fail(CUDA_ERROR_OUT_OF_MEMORY, "out of memory");
  if (fault == AccessFault::none) return;
  const bool is_outside = fault == AccessFault::outside;
  std::string text = fmt::format("{}, line {}: {} {} bytes at {}, which is {}", self.location(),
                                 site, is_store ? "stores" : "loads", bytes, address,
                                 is_outside ? describe_address(address) : "not a multiple of that");
  self.fail(is_outside ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_ERROR_MISALIGNED_ADDRESS,
            std::move(text));
}

void BlockRunner::wait_for_prior(device_abi::Block* block) {
  auto& self = static_cast<BlockRunner&>(*block);
  if (!self.work_.prior || self.work_.prior->wait()) return;
  std::string text = fmt::format("{}: a launch that it waits for has failed", self.location());
  self.fail(CUDA_ERROR_LAUNCH_FAILED, std::move(text));
}

void BlockRunner::meets_without_fibers(const char* what) {
  std::string text = fmt::format("{}: meets at {}, but was compiled as a kernel without barriers",
                                 location(), what);
  fail(CUDA_ERROR_LAUNCH_FAILED, std::move(text));
}

std::string BlockRunner::block_text() const { return text_of(index); }

std::string BlockRunner::location() const {
  return fmt::format("kernel {}, block {}, thread {}", work_.kernel->entry, text_of(index),
                     text_of(work_.kernel->position()->thread));
}

/// No thread can run: fails the block with a list of where its threads wait.
void BlockRunner::diverged() {
  static constexpr const char* kWords[] = {"run",
                                           "wait at block_barrier()",
                                           "wait at grid_barrier()",
                                           "wait at cluster_wait()",
                                           "wait at a shuffle",
                                           "have returned"};
  std::string text =
      fmt::format("kernel {}, block {}: barriers diverge:", work_.kernel->entry, text_of(index));
  for (unsigned first = 0; first < threads_;) {
    unsigned last = first;
    while (last + 1 < threads_ && states_[last + 1] == states_[first]) ++last;
    text += fmt::format("{} threads {} to {} {}", first ? "," : "", first, last,
                        kWords[static_cast<int>(states_[first])]);
    first = last + 1;
  }
  fail(CUDA_ERROR_LAUNCH_FAILED, std::move(text));
}

// Abandons the stack, so callers must hold nothing that needs a destructor.
[[gnu::no_sanitize_address]] void BlockRunner::fail(CUresult code, std::string&& text) {
  failure_.code = code;
  failure_.text = std::move(text);
  prepared_ = 0;  // other fibers may be in the middle of the kernel
  Fiber::abandon_to(main_);
}

[[gnu::no_sanitize_address]] void BlockRunner::fail_at_signal(int signal, const void* address) {
  std::string text = location();
  if (signal == SIGFPE)
    text += ": divides an integer by zero";
  else if (stacks_.is_guard(address))
    text +=
        fmt::format(": needs more than {} KiB of stack",
                    (current_ == 0 ? StackPool::kFirstStackBytes : StackPool::kStackBytes) >> 10);
  else
    text += fmt::format(": touches {}, which is {}", address, describe_address(address));
  const bool is_address = signal != SIGFPE && !stacks_.is_guard(address);
  fail(is_address ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_ERROR_LAUNCH_FAILED, std::move(text));
}

}  // namespace sinter::host
