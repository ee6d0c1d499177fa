// KernelNames: the meaning of the names in a kernel: registers, labels, variables and the
// parameters of calls.
#pragma once

#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/virtual_gpu/program/draft.h"

namespace sinter::virtual_gpu {

/// A piece of a parameter of a `.func`, which is kept in a register.
struct ParameterPiece {
  std::int64_t offset = 0;
  int bytes = 0;
  Slot slot = kNoSlot;
};

/// The address of a variable in its space; generic for `.global` and `.const`.
struct VariableAddress {
  ptx::Space space = ptx::Space::global;
  std::uint64_t address = 0;
};

/// Every inlined call is a frame with its own registers and labels. Shared variables have one
/// address in the kernel, and dynamic shared memory follows them.
class KernelNames {
 public:
  KernelNames(Kernel& kernel, const ptx::Module& module, const ptx::Function& entry,
              const AddressOf& address_of);

  int new_frame() { return frames_++; }
  std::int32_t label(DraftKernel& draft, int frame, std::string_view name);
  /// The register of the frame; created at its first use. kNoSlot if the name is not declared.
  Slot find_register(DraftKernel& draft, const ptx::Function& function, int frame,
                     std::string_view name);
  /// Throws PtxError if there is no such variable.
  VariableAddress variable(const ptx::Function& function, int frame, std::string_view name,
                           int line);
  /// True if the name is a parameter of the function or of a call in it.
  static bool is_parameter(const ptx::Function& function, std::string_view name);

  /// The register of a piece of a parameter, created at its first use. Throws PtxError if pieces
  /// overlap.
  Slot piece(DraftKernel& draft, int frame, std::string_view name, std::int64_t offset, int bytes,
             int line);
  /// The piece that contains the bytes; null if there is none.
  const ParameterPiece* find_piece(int frame, std::string_view name, std::int64_t offset,
                                   int bytes) const;
  const std::vector<ParameterPiece>& pieces(int frame, std::string_view name) {
    return pieces_[{frame, name}];
  }

 private:
  void place_shared(const ptx::Variable& variable);
  void place_shared_of(const ptx::Module& module, const ptx::Function& function,
                       std::set<std::string_view>& seen);

  Kernel& kernel_;
  const ptx::Module& module_;
  const AddressOf& address_of_;
  int frames_ = 0;
  std::map<const ptx::Variable*, std::uint64_t> shared_;
  std::map<std::pair<int, std::string_view>, std::uint64_t> local_;  ///< by frame, name
  std::map<std::pair<int, std::string_view>, Slot> registers_;       ///< by frame, name
  std::map<std::pair<int, std::string_view>, std::int32_t> labels_;  ///< by frame, name
  std::map<std::pair<int, std::string_view>, std::vector<ParameterPiece>> pieces_;
  std::map<const ptx::Function*, std::map<std::string_view, Width>> declared_;
};

/// The width of a register of this type, as in `.reg .b32`; none if the type is not known.
Width width_of_type(std::string_view type);
/// The bytes of a type: 4 of `f32`; 0 if it is not known.
int bytes_of_type(std::string_view type);

}  // namespace sinter::virtual_gpu
