// InstructionDecoder: appends the drafts of single PTX instructions.
#pragma once

#include <string>
#include <string_view>

#include "tests/virtual_gpu/program/draft.h"
#include "tests/virtual_gpu/program/kernel_names.h"

namespace sinter::virtual_gpu {

/// Decodes the instructions of one function in one frame.
class InstructionDecoder {
 public:
  InstructionDecoder(DraftKernel& draft, const ptx::Module& module, const ptx::Function& function,
                     int frame, KernelNames& names)
      : draft_(draft), module_(module), function_(function), frame_(frame), names_(names) {}

  /// Throws PtxError if the instruction is not known.
  void append(const ptx::Instruction& instruction);
  /// A branch under the guard of the instruction.
  void append_branch(const ptx::Instruction& instruction, std::int32_t label);
  /// A branch if the guard of the instruction does not hold.
  void append_branch_unless(const ptx::Instruction& instruction, std::int32_t label);
  void append_move(Slot to, Slot from, int bytes, int line);
  /// Appends an instruction of the table. Returns the register of its result.
  Slot append_row(std::string_view opcode, Slot a, Slot b, int line);
  void append_exit(int line);

 private:
  using Decoder = void (InstructionDecoder::*)(const ptx::Instruction&);
  struct Special {
    std::string_view base;
    Decoder decode;
  };
  static const Special kSpecial[];

  // ---- Operands (decode_operand.cpp) ----
  Draft begin(const ptx::Instruction& instruction, Execute execute, InstructionClass kind);
  /// A register, immediate, special register, or address of a variable.
  Slot source(const ptx::Operand& operand, Width width, int line);
  Slot result(std::string_view name, Width width, int line);
  /// True if the operand, or the first element of a vector, is a register of 64 bits.
  bool is_wide(const ptx::Operand& operand);
  Slot constant(Width width, std::uint64_t bits) { return draft_.constant(width, bits); }
  void set_source(Draft& draft, std::size_t index, const ptx::Operand& operand, Width width);
  /// Sets the address of a memory access, and its space if that is not known yet.
  void set_address(Draft& draft, const ptx::Operand& operand);
  AddressOperand address_of(const ptx::Operand& operand, Space space, int line);
  /// True if the operand is a predicate register.
  bool is_predicate(const ptx::Operand& operand);
  void expect_operands(const ptx::Instruction& instruction, std::size_t least, std::size_t most);
  [[noreturn]] static void fail(const ptx::Instruction& instruction, const std::string& problem);

  // ---- Arithmetic and moves (decode_instruction.cpp) ----
  void append_arithmetic(const ptx::Instruction& instruction);
  void append_mov(const ptx::Instruction& instruction);
  void append_pack(const ptx::Instruction& instruction, bool is_pack);
  void append_cvta(const ptx::Instruction& instruction);
  void append_mapa(const ptx::Instruction& instruction);
  void append_space_test(const ptx::Instruction& instruction);
  void append_lop3(const ptx::Instruction& instruction);
  void append_hint(const ptx::Instruction& instruction);

  // ---- Memory (decode_memory.cpp) ----
  void append_load(const ptx::Instruction& instruction);
  void append_store(const ptx::Instruction& instruction);
  void append_parameter_access(const ptx::Instruction& instruction, const Details& details,
                               std::string_view type);

  Slot load_piece(std::string_view name, std::int64_t offset, std::string_view type, int line);
  void set_data(Draft& draft, const ptx::Operand& operand, bool is_result);

  // ---- Atomics (decode_atomic.cpp) ----
  void append_atomic(const ptx::Instruction& instruction);
  void set_old_values(Draft& draft, const ptx::Operand& operand);

  // ---- Asynchronous copies and mbarriers (decode_async.cpp) ----
  Draft begin_asynchronous(const ptx::Instruction& instruction, Execute execute);
  void append_copy(const ptx::Instruction& instruction);
  void append_element_copy(const ptx::Instruction& instruction);
  void append_copy_group(const ptx::Instruction& instruction, bool is_bulk);
  void append_copy_arrival(const ptx::Instruction& instruction);
  void append_bulk_copy(const ptx::Instruction& instruction);
  void append_mbarrier(const ptx::Instruction& instruction);
  void append_mbarrier_arrival(const ptx::Instruction& instruction);
  void append_mbarrier_wait(const ptx::Instruction& instruction);
  Space read_mbarrier_modifiers(const ptx::Instruction& instruction, Draft& draft,
                                std::initializer_list<std::pair<std::string_view, int>> flags);

  // ---- Control and synchronisation (decode_control.cpp) ----
  void append_bra(const ptx::Instruction& instruction);
  void append_brx(const ptx::Instruction& instruction);
  void append_end(const ptx::Instruction& instruction);
  void append_barrier(const ptx::Instruction& instruction);
  void append_cluster_barrier(const ptx::Instruction& instruction);
  void append_warp_barrier(const ptx::Instruction& instruction);
  void append_fence(const ptx::Instruction& instruction);
  void append_proxy_fence(const ptx::Instruction& instruction);
  void append_grid_control(const ptx::Instruction& instruction);
  void append_shuffle(const ptx::Instruction& instruction);
  void append_vote(const ptx::Instruction& instruction);
  void append_active_mask(const ptx::Instruction& instruction);
  void append_election(const ptx::Instruction& instruction);
  void append_match(const ptx::Instruction& instruction);
  void append_lane_reduction(const ptx::Instruction& instruction);

  DraftKernel& draft_;
  const ptx::Module& module_;
  const ptx::Function& function_;
  int frame_;
  KernelNames& names_;
};

}  // namespace sinter::virtual_gpu
