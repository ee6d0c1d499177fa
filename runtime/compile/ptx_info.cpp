#include "runtime/compile/ptx_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>
#include <unordered_map>

#include "sinter/error.h"

namespace sinter {
namespace {

using Words = std::vector<std::string_view>;

/// Registers, names and the opcode: what stands between spaces, commas and brackets.
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

/// True for what is neither a register nor a number: the name of a variable of the program.
bool is_name(std::string_view operand) {
  return std::isalpha(static_cast<unsigned char>(operand[0])) != 0 || operand[0] == '_' ||
         operand[0] == '$';
}

/// `ld.global.v4.b32` is of `ld`.
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

/// What an address is made of: a parameter, or what was loaded from where that points to.
struct Origin {
  int parameter = -1;   ///< -1: unknown
  int loaded_at = -1;   ///< as in PtxAccess
  bool is_own = false;  ///< not given to the kernel: of a block, of a thread, a table of constants

  bool is_known() const { return parameter >= 0 || is_own; }
};

constexpr Origin kOwn = {.is_own = true};

/// An access, or a call of a function that has more of them.
struct Step {
  PtxAccess access;
  std::vector<Origin> arguments = {};  ///< of the call, in terms of the caller's parameters
};

/// Goes through the lines of one function, a kernel or what it calls.
class PtxReader {
 public:
  /// False behind the function.
  bool take(std::string_view line, int number) {
    line_ = number;
    if (line.starts_with("}") || (line.starts_with(";") && !is_inside_)) return false;
    is_inside_ |= line.starts_with("{");
    Words words = words_of(line);
    // Parameters stand one to a line between the name and the body.
    if (!is_inside_ && !words.empty() && words.front() == ".param")
      parameters_.push_back(words.back());
    if (!is_inside_) return true;
    if (!words.empty() && words.front().starts_with('@')) words.erase(words.begin());
    if (is_in_call_ || (!words.empty() && is_opcode(words.front(), "call"))) {
      take_call(words, line);
      return true;
    }
    if (words.size() > 1) follow(words, line);
    return true;
  }

  /// Behind the function: whether it has a body, and its steps then.
  bool has_body() const { return is_inside_; }
  std::vector<Step> steps() { return std::move(steps_); }

 private:
  /// `call.uni NAME, (ARGUMENT, …);`, on one line or on several.
  void take_call(const Words& words, std::string_view line) {
    for (const std::string_view word : words)
      if (!is_opcode(word, "call") && !word.starts_with("retval")) call_.push_back(word);
    is_in_call_ = line.find(';') == line.npos;
    if (is_in_call_ || call_.empty()) return;
    Step step{.access = {.line = line_, .callee = std::string(call_[0])}};
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
      const auto at = std::ranges::find(parameters_, words[2]);
      if (at != parameters_.end())
        values_[words[1]] = {.parameter = static_cast<int>(at - parameters_.begin())};
    } else if (is_opcode(opcode, "mapa") || (is_opcode(opcode, "cvta") && !is_global(opcode))) {
      pointers_[words[1]] = kOwn;  // of another block of the cluster, of this one or a thread
    } else if (is_opcode(opcode, "mov") && is_wide(opcode) && words.size() > 2 &&
               is_name(words[2])) {
      pointers_[words[1]] = kOwn;
    } else if (is_opcode(opcode, "cvta")) {
      if (const Origin origin = origin_among(words, 2); origin.is_known())
        pointers_[words[1]] = origin;
    } else if (is_store && opcode.find(".param") != opcode.npos) {
      arguments_[words[1]] = origin_among(words, 1);  // of the next call
    } else if ((is_load || is_store) && is_global(opcode)) {
      const Words address = words_of(address_in(line));
      const Origin origin = origin_among(address, 0);
      if (origin.is_own || (!address.empty() && is_name(address[0]))) return;
      steps_.push_back({.access = {.line = line_,
                                   .bytes = access_bytes(opcode),
                                   .parameter = origin.parameter,
                                   .loaded_at = origin.loaded_at,
                                   .is_store = is_store}});
      // Maybe an address; one that was loaded through another one is not followed.
      if (is_load && opcode.ends_with("64") && origin.parameter >= 0 && origin.loaded_at < 0)
        values_[words[1]] = {.parameter = origin.parameter, .loaded_at = offset_in(words)};
    } else if (!is_load && !is_store && !pointers_.contains(words[1])) {
      // Addresses are made of pointers by whatever arithmetic; what a loop carries was copied
      // first.
      if (const Origin pointer = among(pointers_, words, 2); pointer.is_known())
        pointers_[words[1]] = pointer;
      // Loads with a cache operator take addresses as they are, without a conversion.
      else if (const Origin wide = among(values_, words, 2); wide.parameter >= 0 && is_wide(opcode))
        values_.try_emplace(words[1], wide);
    }
  }

  /// `ld.global.nc.u64 %rd2, [%rd1+8]` → 8.
  static int offset_in(const Words& words) {
    int offset = 0;
    if (words.size() > 3)
      std::from_chars(words[3].data(), words[3].data() + words[3].size(), offset);
    return offset;
  }

  /// Arithmetic of 64 bits, in which addresses are made.
  static bool is_wide(std::string_view opcode) {
    return opcode.ends_with("64") && !is_opcode(opcode, "cvt");
  }

  Origin origin_among(const Words& words, std::size_t first) const {
    const Origin pointer = among(pointers_, words, first);
    return pointer.is_known() ? pointer : among(values_, words, first);
  }

  static Origin among(const std::unordered_map<std::string_view, Origin>& known, const Words& words,
                      std::size_t first) {
    Origin loaded;  // may be no address but a number, which one may be made with
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
  Words parameters_;
  Words call_;
  std::unordered_map<std::string_view, Origin> values_;     ///< register → the address it holds
  std::unordered_map<std::string_view, Origin> pointers_;   ///< register → whose memory that is
  std::unordered_map<std::string_view, Origin> arguments_;  ///< of a call → the same
  std::vector<Step> steps_;
};

using Functions = std::unordered_map<std::string_view, std::vector<Step>>;

Functions read_functions(std::string_view ptx) {
  Functions functions;
  std::string_view name;
  PtxReader reader;
  for (int number = 1; !ptx.empty(); ++number) {
    const std::size_t end = std::min(ptx.find('\n'), ptx.size());
    const std::string_view line = ptx.substr(0, end);
    ptx.remove_prefix(std::min(end + 1, ptx.size()));
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

/// Adds the accesses of `function`, whose parameters are made of those of the kernel that
/// `parameters` says; without any, it is the kernel.
void append(std::vector<PtxAccess>& accesses, const Functions& functions,
            const std::vector<Step>& function, const std::vector<Origin>* parameters) {
  const auto of_kernel = [&](Origin origin) -> Origin {
    if (!parameters || origin.parameter < 0) return origin;
    const auto at = static_cast<std::size_t>(origin.parameter);
    if (at >= parameters->size()) return {};
    const Origin outer = (*parameters)[at];
    if (origin.loaded_at < 0) return outer;
    return {.parameter = outer.loaded_at < 0 ? outer.parameter : -1, .loaded_at = origin.loaded_at};
  };
  for (const Step& step : function) {
    if (step.access.callee.empty()) {
      const Origin origin =
          of_kernel({.parameter = step.access.parameter, .loaded_at = step.access.loaded_at});
      if (origin.is_own) continue;
      accesses.push_back(step.access);
      accesses.back().parameter = origin.parameter;
      accesses.back().loaded_at = origin.parameter < 0 ? -1 : origin.loaded_at;
      continue;
    }
    const auto callee = functions.find(step.access.callee);
    if (callee == functions.end()) {
      accesses.push_back(step.access);
      continue;
    }
    std::vector<Origin> arguments;
    for (const Origin& argument : step.arguments) arguments.push_back(of_kernel(argument));
    append(accesses, functions, callee->second, &arguments);
  }
}

}  // namespace

std::vector<PtxAccess> read_accesses(std::string_view ptx, std::string_view entry) {
  const Functions functions = read_functions(ptx);
  const auto kernel = functions.find(entry);
  if (kernel == functions.end())
    throw InternalError(fmt::format("the PTX has no kernel {}", entry));
  std::vector<PtxAccess> accesses;
  append(accesses, functions, kernel->second, nullptr);
  return accesses;
}

}  // namespace sinter
