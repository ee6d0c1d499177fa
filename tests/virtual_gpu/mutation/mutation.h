// Mutation: one synchronising instruction of a PTX text that is removed or weakened. A check must
// catch it, or the instruction is redundant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/virtual_gpu/ptx/module.h"

namespace sinter::virtual_gpu {

enum class MutationKind : std::uint8_t {
  barrier,    ///< `bar.sync`, removed
  reduction,  ///< `bar.red`: each thread gets the value of its own predicate, without a barrier
  cluster_barrier,  ///< `barrier.cluster.arrive` and the `.wait` behind it, both removed
  cluster_release,  ///< `barrier.cluster.arrive.release` becomes `.relaxed`
  fence,            ///< `fence` or `membar`, removed
  volatile_load,    ///< `ld.volatile` becomes a weak load
  volatile_store,   ///< `st.volatile` becomes a weak store
  grid_wait,        ///< `griddepcontrol.wait`, removed
};
inline constexpr int kMutationKinds = 8;
/// `barrier`, `cluster release`, …
std::string_view name_of(MutationKind kind);

/// Text of the module that another one replaces.
struct Replacement {
  std::size_t begin = 0, bytes = 0;
  std::string by;
};

struct Mutation {
  std::string_view kernel;  ///< the function with the instruction
  MutationKind kind = MutationKind::barrier;
  int number = 0;  ///< among the mutations of the function, from 1, in the order of the text
  int line = 0;
  std::vector<Replacement> replacements =
      {};  ///< in the order of the text; lines keep their numbers
};

/// All mutations of the module, which must outlive them.
std::vector<Mutation> find_mutations(const ptx::Module& module);

/// The text of the module with the mutation.
std::string mutated_text(const ptx::Module& module, const Mutation& mutation);

/// A mutation by the name of its kernel and its number.
struct MutationName {
  std::string kernel;
  int number = 0;
  bool operator==(const MutationName&) const = default;
};

/// `ptx` with the mutation; unchanged if the module has no such kernel. Throws PtxError if the
/// kernel has fewer mutations.
std::string mutated_text(std::string ptx, const MutationName& name);

/// The name of the kernel, and those of the functions that it calls, directly or not.
std::set<std::string_view> functions_of(const ptx::Module& module, std::string_view kernel);

/// True if the function has `griddepcontrol.wait`.
bool waits_for_prior_launches(const ptx::Function& function);

}  // namespace sinter::virtual_gpu
