#include "runtime/ptx_info.h"

#include <fmt/format.h>

#include <algorithm>
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
int bytes_of(std::string_view opcode) {
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

/// Goes through the lines of one kernel.
class Reader {
 public:
  explicit Reader(std::string_view entry) : entry_(entry) {}

  /// False behind the kernel.
  bool take(std::string_view line) {
    ++line_;
    if (line.starts_with("}") && is_inside_) return false;
    Words words = words_of(line);
    if (!is_inside_) {
      is_inside_ = std::ranges::find(words, ".entry") != words.end() && words.back() == entry_;
      return true;
    }
    // Parameters stand one to a line between the name and the body.
    if (!words.empty() && words.front() == ".param") parameters_.push_back(words.back());
    if (!words.empty() && words.front().starts_with('@')) words.erase(words.begin());
    if (words.size() > 1) follow(words);
    return true;
  }

  bool found() const { return is_inside_; }
  std::vector<PtxAccess> accesses() { return std::move(accesses_); }

 private:
  void follow(const Words& words) {
    const std::string_view opcode = words[0];
    const bool is_load = is_opcode(opcode, "ld");
    const bool is_store = is_opcode(opcode, "st");
    if (is_load && opcode.find(".param") != opcode.npos) {
      const auto at = std::ranges::find(parameters_, words[2]);
      if (at != parameters_.end()) values_[words[1]] = static_cast<int>(at - parameters_.begin());
    } else if (is_opcode(opcode, "cvta")) {
      if (const auto at = values_.find(words[2]); at != values_.end())
        pointers_[words[1]] = at->second;
    } else if ((is_load || is_store) && is_global(opcode)) {
      accesses_.push_back({.line = line_,
                           .bytes = bytes_of(opcode),
                           .parameter = parameter_among(words),
                           .is_store = is_store});
    } else if (!is_load && !is_store && !pointers_.contains(words[1])) {
      // Addresses are made of pointers by whatever arithmetic; what a loop carries was copied
      // first.
      if (const int pointer = among(pointers_, words, 2); pointer >= 0)
        pointers_[words[1]] = pointer;
      // Loads with a cache operator take addresses as they are, without a conversion.
      else if (const int wide = among(values_, words, 2); wide >= 0 && is_wide(opcode))
        values_.try_emplace(words[1], wide);
    }
  }

  /// Arithmetic of 64 bits, in which addresses are made.
  static bool is_wide(std::string_view opcode) {
    return opcode.ends_with("64") && !is_opcode(opcode, "cvt");
  }

  int parameter_among(const Words& words) const {
    const int pointer = among(pointers_, words, 1);
    return pointer >= 0 ? pointer : among(values_, words, 1);
  }

  static int among(const std::unordered_map<std::string_view, int>& known, const Words& words,
                   std::size_t first) {
    for (std::size_t i = first; i < words.size(); ++i)
      if (const auto at = known.find(words[i]); at != known.end()) return at->second;
    return -1;
  }

  std::string_view entry_;
  bool is_inside_ = false;
  int line_ = 0;
  Words parameters_;
  std::unordered_map<std::string_view, int> values_;    ///< register → the parameter it holds
  std::unordered_map<std::string_view, int> pointers_;  ///< register → whose memory it points to
  std::vector<PtxAccess> accesses_;
};

}  // namespace

std::vector<PtxAccess> read_accesses(std::string_view ptx, std::string_view entry) {
  Reader reader(entry);
  while (!ptx.empty()) {
    const std::size_t end = std::min(ptx.find('\n'), ptx.size());
    if (!reader.take(ptx.substr(0, end))) break;
    ptx.remove_prefix(std::min(end + 1, ptx.size()));
  }
  if (!reader.found()) throw InternalError(fmt::format("the PTX has no kernel {}", entry));
  return reader.accesses();
}

}  // namespace sinter
