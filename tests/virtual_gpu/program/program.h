// Program: the decoded kernels of a PTX module. Calls are inlined, blocks are in an order in which
// diverged lanes meet again, and registers have places.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/virtual_gpu/checks/shadow.h"
#include "tests/virtual_gpu/isa/lane_state.h"
#include "tests/virtual_gpu/ptx/module.h"

namespace sinter::virtual_gpu {

/// The space of a memory access. `cluster` is `.shared::cluster`.
enum class Space : std::uint8_t { generic, global, shared, cluster, local, constant, parameter };

/// Generic addresses of shared and local memory. No host or device memory has such addresses. A
/// block of a cluster has its shared memory at `kSharedWindow + (rank << kRankShift)`.
inline constexpr std::uint64_t kSharedWindow = std::uint64_t{1} << 56;
inline constexpr std::uint64_t kLocalWindow = std::uint64_t{1} << 57;
/// In the window of `.shared::cluster`, addresses below `1 << kRankShift` are those of the block
/// itself, and `(rank + 1) << kRankShift` begins the memory of any block. So they have 32 bits.
inline constexpr int kRankShift = 24;
/// The first valid address of shared and of local memory, so that address 0 is invalid.
inline constexpr std::uint64_t kFirstAddress = 1024;

/// The classes of instructions that LaunchCounts tells apart.
enum class InstructionClass : std::uint8_t { arithmetic, move, memory, control, synchronization };
inline constexpr int kInstructionClasses = 5;

/// An address operand: a register, if any, and an offset.
struct AddressOperand {
  Slot base = kNoSlot;
  bool is_word = false;  ///< the register has 32 bits: an address of shared memory
  std::int64_t offset = 0;
  Space space = Space::generic;
};

/// More data of operations that are no plain arithmetic.
struct Details {
  std::string_view opcode = {};
  // ---- Memory ----
  Space space = Space::generic;
  AccessKind access = AccessKind::read;
  bool is_strong = false;     ///< volatile, relaxed, acquire, release, or atomic
  bool acquires = false;      ///< `.acquire`, `.acq_rel`
  bool releases = false;      ///< `.release`, `.acq_rel`
  bool sign_extends = false;  ///< a load of a signed type
  int bytes = 0;              ///< of one element
  bool is_wide = false;       ///< the data registers have 64 bits, perhaps more than the elements
  int count = 1;              ///< elements of a vector
  Slot address = kNoSlot;     ///< a register; none: `offset` is the address
  bool address_is_word = false;
  std::int64_t offset = 0;
  std::array<Slot, 8> data = {kNoSlot, kNoSlot, kNoSlot, kNoSlot,
                              kNoSlot, kNoSlot, kNoSlot, kNoSlot};
  int data_count = 0;
  bool data_is_result = false;
  /// Of an atomic, on global and on shared memory.
  std::uint64_t (*combine)(std::uint64_t old, std::uint64_t operand) = nullptr;
  std::uint64_t (*combine_shared)(std::uint64_t old, std::uint64_t operand) = nullptr;
  /// The results of an atomic on a vector.
  std::array<Slot, 8> old_values = {kNoSlot, kNoSlot, kNoSlot, kNoSlot,
                                    kNoSlot, kNoSlot, kNoSlot, kNoSlot};
  /// Of asynchronous copies and mbarriers: destination, source, mbarrier, as far as they have them.
  std::vector<AddressOperand> addresses = {};
  // ---- Control ----
  std::int32_t target = -1;                ///< the operation to branch to
  std::vector<std::int32_t> targets = {};  ///< of `brx.idx`
  int mode = 0;                            ///< of a shuffle, barrier or reduction; see execution/
};

/// A parameter of a kernel.
struct Parameter {
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

/// A special register that a kernel reads, and its place.
struct SpecialRegister {
  std::string_view name;  ///< `%tid.x`
  Slot slot = kNoSlot;
  int bytes = 4;
};

struct Kernel {
  std::string name;
  std::vector<Parameter> parameters;
  std::size_t parameter_bytes = 0;
  std::int64_t static_shared_bytes = 0;        ///< without dynamic shared memory, which follows it
  std::int64_t local_bytes = 0;                ///< of one thread
  std::array<int, 3> max_threads = {0, 0, 0};  ///< `.maxntid`, 0: no limit given
  std::array<int, 3> required_threads = {0, 0, 0};  ///< `.reqntid`
  std::array<int, 3> required_cluster = {0, 0, 0};  ///< `.reqnctapercluster`
  int min_blocks_per_sm = 0;                        ///< `.minnctapersm`
  int live_registers = 0;        ///< the most registers of 32 bits that are live at once
  bool is_asynchronous = false;  ///< it has asynchronous copies or mbarriers
  bool has_bulk_copies = false;  ///< prefetches not counted

  std::vector<Operation> operations;
  std::vector<InstructionClass> classes;  ///< of each operation
  std::vector<std::byte> constants;
  std::vector<SpecialRegister> special_registers;
  std::vector<std::unique_ptr<Details>> details;  ///< of the operations, which point to them
  std::int64_t register_bytes = 0;
};

struct Program {
  ptx::Module module;
  std::vector<Kernel> kernels;
  /// The index of a kernel; -1 if there is none of this name.
  int find_kernel(std::string_view name) const {
    for (std::size_t i = 0; i < kernels.size(); ++i)
      if (kernels[i].name == name) return static_cast<int>(i);
    return -1;
  }
};

/// The text of a line of the module, for messages.
std::string_view line_of(const ptx::Module& module, int line);

}  // namespace sinter::virtual_gpu
