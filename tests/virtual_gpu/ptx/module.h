// The parsed form of a PTX module. It keeps the names and the opcodes of the text; decode()
// (program/decode.h) gives them meaning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::virtual_gpu::ptx {

/// The state space of a variable.
enum class Space : std::uint8_t { param, global, constant, shared, local };

/// A variable, parameter, or table. `.b8 name[16]` has 16 elements of 1 byte.
struct Variable {
  Space space = Space::global;
  std::string_view name;
  std::string_view type;  ///< `u64`, `b8`, without the dot
  int element_bytes = 0;
  std::int64_t elements = 1;  ///< 0: `name[]`, the dynamic shared memory of the launch
  int alignment = 1;          ///< of `.align`, else that of the element
  bool is_extern = false;
  std::vector<std::byte> bytes = {};  ///< of the initialiser; empty if there is none
  int line = 0;
  std::int64_t size() const { return element_bytes * elements; }
};

struct Register {
  std::string_view name;  ///< with the percent sign
  std::string_view type;  ///< `pred`, `b16`, `f32`, …
};

enum class OperandKind : std::uint8_t {
  name,       ///< a register, special register, variable, function, or label: `%r1`, `%tid.x`
  immediate,  ///< an integer, or the bits of a float (0f3F800000, 0d…)
  address,    ///< `[%rd1+16]`, `[variable+4]`, `[64]`
  vector,     ///< `{%r1, %r2}`; the elements are names, immediates, or `_`
  list,       ///< `(param0, param1)` of a call
};

struct Operand {
  OperandKind kind = OperandKind::name;
  std::string_view name = {};  ///< the name, or the base of an address; empty: none
  /// Of an immediate, or the offset of an address or name (`variable+4`), in two's complement.
  /// A float of an instruction with the type f32 or f64 has that size here. Else it has the size of
  /// its text: `0f` 32 bits, others 64. The fraction of `createpolicy` is an f32.
  std::uint64_t bits = 0;
  bool is_negated = false;  ///< `!%p1`
  std::vector<Operand> elements = {};
  std::string_view second = {};  ///< the second destination of `%p1|%p2`; empty: none
};

struct Instruction {
  std::string_view opcode;                   ///< with all modifiers: `ld.global.nc.v4.u32`
  std::vector<std::string_view> parts = {};  ///< the same, split at the dots: `ld`, `global`, …
  std::string_view guard = {};               ///< the predicate of `@%p1`; empty: none
  bool guard_is_negated = false;
  std::vector<Operand> operands = {};  ///< in the order of the text
  int line = 0;
};

/// Names are unique in a function. A register, variable, label or branch table of a nested block
/// `{ … }` has the number of the block appended: `%p1#2`. Blocks are numbered in the order of the
/// text, from 1 on.
/// Uses have the name of the declaration that they mean. `#` occurs in no name of a PTX text.
struct Function {
  std::string_view name = {};
  bool is_entry = false;
  std::vector<Variable> parameters = {};  ///< Space::param
  std::vector<Variable> results = {};     ///< of a `.func`
  std::vector<Register> registers = {};   ///< ranges like `%r<5>` are expanded
  std::vector<Variable> variables = {};   ///< declared in the body: shared, local, call parameters
  std::vector<Instruction> instructions = {};
  std::map<std::string_view, std::size_t> labels = {};  ///< label -> index of the next instruction
  /// The values of performance directives: `maxntid` -> {128, 1, 1}, `minnctapersm` -> {2},
  /// `reqntid`, `reqnctapercluster`, `explicitcluster` -> {}. Those of three dimensions have three.
  std::map<std::string_view, std::vector<int>> directives = {};
  /// The targets of `name: .branchtargets L1, L2;` for `brx.idx`.
  std::map<std::string_view, std::vector<std::string_view>> branch_tables = {};
  int line = 0;
};

struct Module {
  std::unique_ptr<const std::string> text;  ///< names point into it, or into `made_names`
  /// Names that do not occur in the text: `%r3` of `%r<5>`, `%p1#2` of a nested block.
  std::vector<std::unique_ptr<const std::string>> made_names = {};
  int version = 0;                       ///< 90 of `.version 9.0`
  int target = 0;                        ///< 90 of `.target sm_90`
  std::string_view target_name = {};     ///< `sm_90a`
  std::vector<Variable> variables = {};  ///< global, constant and shared, of the module
  std::vector<Function> functions = {};  ///< with a body, in the order of the text
};

/// Throws PtxError on everything that is not understood, unknown directives included.
Module parse(std::string text);

}  // namespace sinter::virtual_gpu::ptx
