#include "runtime/compile/ptx_info.h"

#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>
#include <unordered_map>

#include "sinter/error.h"

namespace sinter {
namespace {

using Words = std::vector<std::string_view>;

/// The opcode, registers, names and numbers of a line: the words between separators.
Words words_of(std::string_view line) {
  constexpr std::string_view kBreaks = " \t\r,;{}[]()+|";
  Words words;
  line = line.substr(0, line.find("//"));
  while (true) {
    const std::size_t begin = line.find_first_not_of(kBreaks);
    if (begin == line.npos) return words;
    const std::size_t end = std::min(line.find_first_of(kBreaks, begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    line.remove_prefix(end);
  }
}

/// `st.global.b32 [%rd1+8], %r1;` → `%rd1+8`.
std::string_view address_in(std::string_view line) {
  const std::size_t begin = std::min(line.find('[') + 1, line.size());
  return line.substr(begin, line.find(']', begin) - begin);
}

/// True if an operand is the name of a program variable, not a register or a number.
bool is_name(std::string_view operand) {
  return std::isalpha(static_cast<unsigned char>(operand[0])) != 0 || operand[0] == '_' ||
         operand[0] == '$';
}

/// True if `word` is the opcode `name` with any suffixes: `ld.global.v4.b32` for `ld`.
bool is_opcode(std::string_view word, std::string_view name) {
  return word.starts_with(name) && (word.size() == name.size() || word[name.size()] == '.');
}

bool is_global(std::string_view opcode) {
  for (const char* const other : {".param", ".shared", ".local", ".const"})
    if (opcode.find(other) != opcode.npos) return false;
  return true;
}

/// `ld.global.v4.b32` → 16.
int access_bytes(std::string_view opcode) {
  int count = 1;
  int bits = 0;
  for (std::size_t at; (at = opcode.find('.')) != opcode.npos;) {
    opcode.remove_prefix(at + 1);
    const std::string_view part = opcode.substr(0, opcode.find('.'));
    int number = 0;
    const auto read = std::from_chars(part.data() + 1, part.data() + part.size(), number);
    if (part.size() < 2 || read.ec != std::errc() || read.ptr != part.data() + part.size())
      continue;
    if (part[0] == 'v') count = number;
    if (std::string_view("bsuf").find(part[0]) != part.npos) bits = number;
  }
  return count * bits / 8;
}

/// The origin of an address: a kernel parameter, or a value that was loaded through one.
struct Origin {
  int parameter = -1;       ///< -1: unknown
  int loaded_at = -1;       ///< as in PtxAccess
  bool is_private = false;  ///< memory that is no parameter: shared, local, or a table of constants

  bool is_known() const { return parameter >= 0 || is_private; }
};

constexpr Origin kPrivate = {.is_private = true};

/// An access, or a call of a function with further accesses.
struct PtxStep {
  PtxAccess access;
  std::vector<Origin> arguments = {};  ///< of a call, in terms of the calling function's parameters
};

/// Reads one function, a kernel or a function that it calls, line by line.
class PtxReader {
 public:
  /// Reads a line. False if it is the end of the function.
  bool take(std::string_view line, int number) {
    line_ = number;
    if (line.starts_with("}") || (line.starts_with(";") && !is_inside_)) return false;
    is_inside_ |= line.starts_with("{");
    Words words = words_of(line);
    // Parameters are between the name and the body, one per line.
    if (!is_inside_ && !words.empty() && words.front() == ".param") take_parameter(words, line);
    if (!is_inside_) return true;
    if (!words.empty() && words.front().starts_with('@')) words.erase(words.begin());
    if (is_in_call_ || (!words.empty() && is_opcode(words.front(), "call"))) {
      take_call(words, line);
      return true;
    }
    if (words.size() > 1) follow(words, line);
    return true;
  }

  /// After the end of the function: true if it has a body. `steps` returns the steps of the body.
  bool has_body() const { return is_inside_; }
  std::vector<PtxStep> steps() { return std::move(steps_); }

 private:
  /// `.param .u64 NAME` or `.param .align 8 .b8 NAME[BYTES]`, which is a table.
  void take_parameter(const Words& words, std::string_view line) {
    const bool is_array = words.size() > 1 && line.find('[') != line.npos;
    parameters_.push_back(
        {.name = is_array ? words[words.size() - 2] : words.back(), .is_array = is_array});
  }

  /// The number of the parameter; -1 if `name` is none.
  int parameter_of(std::string_view name) const {
    const auto at = std::ranges::find(parameters_, name, &Parameter::name);
    return at == parameters_.end() ? -1 : static_cast<int>(at - parameters_.begin());
  }

  /// `ld.param.u64 %rd1, [NAME+8];`, or with a register that has an address in a table.
  void take_parameter_load(const Words& words) {
    const int parameter = parameter_of(words[2]);
    if (parameter >= 0 && !parameters_[static_cast<std::size_t>(parameter)].is_array) {
      values_[words[1]] = {.parameter = parameter};
      return;
    }
    const bool may_be_address = words[0].ends_with(".u64") || words[0].ends_with(".b64");
    const auto pointer = pointers_.find(words[2]);
    const int table = parameter >= 0               ? parameter
                      : pointer == pointers_.end() ? -1
                                                   : pointer->second.parameter;
    if (table >= 0 && may_be_address && access_bytes(words[0]) == 8)
      values_[words[1]] = {.parameter = table, .loaded_at = offset_in(words)};
  }

  /// `call.uni NAME, (ARGUMENT, …);`, on one line or on several.
  void take_call(const Words& words, std::string_view line) {
    for (const std::string_view word : words)
      if (!is_opcode(word, "call") && !word.starts_with("retval")) call_.push_back(word);
    is_in_call_ = line.find(';') == line.npos;
    if (is_in_call_ || call_.empty()) return;
    PtxStep step{.access = {.line = line_, .callee = std::string(call_[0])}};
    for (std::size_t i = 1; i < call_.size(); ++i) {
      const auto at = arguments_.find(call_[i]);
      step.arguments.push_back(at == arguments_.end() ? Origin{} : at->second);
    }
    steps_.push_back(std::move(step));
    call_.clear();
  }

  void follow(const Words& words, std::string_view line) {
    const std::string_view opcode = words[0];
    const bool is_load = is_opcode(opcode, "ld");
    const bool is_store = is_opcode(opcode, "st");
    if (is_load && opcode.find(".param") != opcode.npos) {
      if (words.size() > 2) take_parameter_load(words);
    } else if (is_opcode(opcode, "mapa") || (is_opcode(opcode, "cvta") && !is_global(opcode))) {
      pointers_[words[1]] = kPrivate;  // shared memory of the cluster or block, or local
    } else if (is_opcode(opcode, "mov") && is_wide(opcode) && words.size() > 2 &&
               is_name(words[2])) {
      const int parameter = parameter_of(words[2]);
      pointers_[words[1]] = parameter < 0 ? kPrivate : Origin{.parameter = parameter};
    } else if (is_opcode(opcode, "cvta")) {
      if (const Origin origin = find_origin(words, 2); origin.is_known())
        pointers_[words[1]] = origin;
    } else if (is_store && opcode.find(".param") != opcode.npos) {
      arguments_[words[1]] = find_origin(words, 1);  // of the next call
    } else if (is_opcode(opcode, "cp.async") && words.size() > 3) {
      take_copy(words);
    } else if ((is_load || is_store) && is_global(opcode)) {
      const Words address = words_of(address_in(line));
      const Origin origin = find_origin(address, 0);
      if (origin.is_private || (!address.empty() && is_name(address[0]))) return;
      steps_.push_back({.access = {.line = line_,
                                   .bytes = access_bytes(opcode),
                                   .parameter = origin.parameter,
                                   .loaded_at = origin.loaded_at,
                                   .is_store = is_store}});
      // The value may be an address. Addresses behind a second load are not followed.
      if (is_load && opcode.ends_with("64") && origin.parameter >= 0 && origin.loaded_at < 0)
        values_[words[1]] = {.parameter = origin.parameter, .loaded_at = offset_in(words)};
    } else if (!is_load && !is_store && !pointers_.contains(words[1])) {
      // Any arithmetic with a pointer gives an address in the same memory. The first assignment
      // counts: loop-carried registers are initialised by a copy.
      if (const Origin pointer = find_origin(pointers_, words, 2); pointer.is_known())
        pointers_[words[1]] = pointer;
      // Loads with a cache operator use addresses without a conversion (cvta).
      else if (const Origin wide = find_origin(values_, words, 2);
               wide.parameter >= 0 && is_wide(opcode))
        values_.try_emplace(words[1], wide);
    }
  }

  /// `cp.async.ca.shared.global [%r1], [%rd1], 8;` loads 8 bytes. A bulk copy loads units of 16.
  void take_copy(const Words& words) {
    constexpr int kBulkBytes = 16;
    int bytes = kBulkBytes;
    if (!is_opcode(words[0], "cp.async.bulk"))
      std::from_chars(words[3].data(), words[3].data() + words[3].size(), bytes);
    const Origin origin = find_origin({words[2]}, 0);
    steps_.push_back({.access = {.line = line_,
                                 .bytes = bytes,
                                 .parameter = origin.parameter,
                                 .loaded_at = origin.loaded_at}});
  }

  struct Parameter {
    std::string_view name;
    bool is_array = false;
  };

  /// `ld.global.nc.u64 %rd2, [%rd1+8]` → 8.
  static int offset_in(const Words& words) {
    int offset = 0;
    if (words.size() > 3)
      std::from_chars(words[3].data(), words[3].data() + words[3].size(), offset);
    return offset;
  }

  /// True for arithmetic of 64 bits, which computes addresses.
  static bool is_wide(std::string_view opcode) {
    return opcode.ends_with("64") && !is_opcode(opcode, "cvt");
  }

  Origin find_origin(const Words& words, std::size_t first) const {
    const Origin pointer = find_origin(pointers_, words, first);
    return pointer.is_known() ? pointer : find_origin(values_, words, first);
  }

  static Origin find_origin(const std::unordered_map<std::string_view, Origin>& known,
                            const Words& words, std::size_t first) {
    Origin loaded;  // may be an index instead of an address, so a parameter takes precedence
    for (std::size_t i = first; i < words.size(); ++i) {
      const auto at = known.find(words[i]);
      if (at == known.end()) continue;
      if (at->second.loaded_at < 0) return at->second;
      if (loaded.parameter < 0) loaded = at->second;
    }
    return loaded;
  }

  bool is_inside_ = false;
  bool is_in_call_ = false;
  int line_ = 0;
  std::vector<Parameter> parameters_;
  Words call_;
  std::unordered_map<std::string_view, Origin> values_;     ///< register → a possible address
  std::unordered_map<std::string_view, Origin> pointers_;   ///< register → a certain address
  std::unordered_map<std::string_view, Origin> arguments_;  ///< argument of the next call → origin
  std::vector<PtxStep> steps_;
};

using Functions = std::unordered_map<std::string_view, std::vector<PtxStep>>;

Functions read_functions(std::string_view ptx) {
  Functions functions;
  std::string_view name;
  PtxReader reader;
  int number = 0;
  for (const std::string_view line : llvm::split(ptx, '\n')) {
    ++number;
    if (name.empty()) {
      const Words words = words_of(line);
      if (std::ranges::find(words, ".entry") == words.end() &&
          std::ranges::find(words, ".func") == words.end())
        continue;
      name = words.back();
      reader = {};
    } else if (!reader.take(line, number)) {
      if (reader.has_body()) functions[name] = reader.steps();
      name = {};
    }
  }
  return functions;
}

/// Appends the accesses of the last function in `calls`, the chain of calls from the kernel on.
/// `parameters` are the origins of its parameters in terms of the kernel's; null for the kernel.
void append(std::vector<PtxAccess>& accesses, const Functions& functions,
            std::vector<const std::vector<PtxStep>*>& calls,
            const std::vector<Origin>* parameters) {
  const auto of_kernel = [&](Origin origin) -> Origin {
    if (!parameters || origin.parameter < 0) return origin;
    const auto at = static_cast<std::size_t>(origin.parameter);
    if (at >= parameters->size()) return {};
    const Origin outer = (*parameters)[at];
    if (origin.loaded_at < 0) return outer;
    return {.parameter = outer.loaded_at < 0 ? outer.parameter : -1, .loaded_at = origin.loaded_at};
  };
  for (const PtxStep& step : *calls.back()) {
    if (step.access.callee.empty()) {
      const Origin origin =
          of_kernel({.parameter = step.access.parameter, .loaded_at = step.access.loaded_at});
      if (origin.is_private) continue;
      accesses.push_back(step.access);
      accesses.back().parameter = origin.parameter;
      accesses.back().loaded_at = origin.parameter < 0 ? -1 : origin.loaded_at;
      continue;
    }
    const auto callee = functions.find(step.access.callee);
    // Calls of functions that call themselves are unknown accesses, too.
    if (callee == functions.end() || std::ranges::count(calls, &callee->second) > 0) {
      accesses.push_back(step.access);
      continue;
    }
    std::vector<Origin> arguments;
    for (const Origin& argument : step.arguments) arguments.push_back(of_kernel(argument));
    calls.push_back(&callee->second);
    append(accesses, functions, calls, &arguments);
    calls.pop_back();
  }
}

}  // namespace

std::vector<PtxAccess> read_accesses(std::string_view ptx, std::string_view entry) {
  const Functions functions = read_functions(ptx);
  const auto kernel = functions.find(entry);
  if (kernel == functions.end())
    throw InternalError(fmt::format("the PTX has no kernel {}", entry));
  std::vector<PtxAccess> accesses;
  std::vector<const std::vector<PtxStep>*> calls = {&kernel->second};
  append(accesses, functions, calls, nullptr);
  return accesses;
}

}  // namespace sinter
