#include "runtime/compile/kernel_resources.h"

#include "sinter/error.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <vector>

#include <elf.h>
#include <llvm/ADT/StringExtras.h>

namespace sinter {
namespace {

// Records of .nv.info begin with a format and an attribute. This record (format 4) continues with a
// size and two words: the symbol index of the kernel, and the value.
constexpr unsigned char kWordsFormat = 4;
constexpr unsigned char kRegisterCount = 0x2f;

/// Reads an ELF file with bounds checks.
class Elf {
 public:
  explicit Elf(std::span<const std::byte> file) : file_(file), header_(read<Elf64_Ehdr>(0)) {
    ensure(std::memcmp(header_.e_ident, ELFMAG, SELFMAG) == 0, "a cubin is an ELF file");
    for (unsigned i = 0; i < header_.e_shnum; ++i)
      sections_.push_back(read<Elf64_Shdr>(header_.e_shoff + i * sizeof(Elf64_Shdr)));
    ensure(header_.e_shstrndx < sections_.size(), "a cubin names its sections");
  }

  template <class T>
  T read(std::size_t offset) const {
    ensure(offset <= file_.size() && sizeof(T) <= file_.size() - offset, "a cubin is whole");
    T value;
    std::memcpy(&value, file_.data() + offset, sizeof(T));
    return value;
  }
  std::string text(std::size_t offset) const {
    std::string result;
    for (char c; (c = read<char>(offset)); ++offset) result += c;
    return result;
  }
  std::string name(const Elf64_Shdr& section) const {
    return text(sections_[header_.e_shstrndx].sh_offset + section.sh_name);
  }
  std::span<const std::byte> bytes(const Elf64_Shdr& section) const {
    ensure(section.sh_offset <= file_.size() && section.sh_size <= file_.size() - section.sh_offset,
           "a cubin is whole");
    return file_.subspan(section.sh_offset, section.sh_size);
  }
  const std::vector<Elf64_Shdr>& sections() const { return sections_; }
  const Elf64_Shdr* find(std::string_view wanted) const {
    const auto found = std::ranges::find_if(
        sections_, [&](const Elf64_Shdr& section) { return name(section) == wanted; });
    return found == sections_.end() ? nullptr : &*found;
  }
  std::string symbol(std::size_t index) const {
    const Elf64_Shdr* const table = find(".symtab");
    ensure(table && table->sh_link < sections_.size(), "a cubin has symbols");
    const auto entry = read<Elf64_Sym>(table->sh_offset + index * sizeof(Elf64_Sym));
    return text(sections_[table->sh_link].sh_offset + entry.st_name);
  }

 private:
  std::span<const std::byte> file_;
  Elf64_Ehdr header_;
  std::vector<Elf64_Shdr> sections_;
};

void read_registers(const Elf& elf, KernelResources& kernels) {
  const Elf64_Shdr* const info = elf.find(".nv.info");
  if (!info) return;
  const std::size_t end = info->sh_offset + info->sh_size;
  for (std::size_t at = info->sh_offset; at + 4 <= end;) {
    const auto format = elf.read<unsigned char>(at);
    const auto attribute = elf.read<unsigned char>(at + 1);
    const auto size = elf.read<std::uint16_t>(at + 2);
    if (format == kWordsFormat && size >= 8 && attribute == kRegisterCount) {
      const auto kernel = kernels.find(elf.symbol(elf.read<std::uint32_t>(at + 4)));
      const auto registers = elf.read<std::uint32_t>(at + 8);
      if (kernel != kernels.end()) kernel->second.registers = static_cast<int>(registers);
    }
    at += 4 + (format == kWordsFormat ? size : 0);  // others store the value as the size
  }
}

/// The number before `words` in a line of the log; 0 without it.
int number_before(std::string_view line, std::string_view words) {
  const std::size_t end = line.find(words);
  if (end == std::string_view::npos) return 0;
  const std::size_t start = line.find_last_not_of("0123456789", end - 1) + 1;
  int value = 0;
  std::from_chars(line.data() + start, line.data() + end, value);
  return value;
}

/// Adds up spill stores and spill loads in the code, each counted once.
void read_spills(std::string_view log, KernelResources& kernels) {
  auto kernel = kernels.end();
  for (const std::string_view line : llvm::split(log, '\n')) {
    constexpr std::string_view kStart = "Compiling entry function '";
    if (const std::size_t start = line.find(kStart); start != std::string_view::npos) {
      const std::string_view name = line.substr(start + kStart.size());
      kernel = kernels.find(name.substr(0, name.find('\'')));
    }
    if (kernel == kernels.end()) continue;
    kernel->second.spill_bytes +=
        number_before(line, " bytes spill stores") + number_before(line, " bytes spill loads");
  }
}

// NVIDIA does not document the format of machine code. From sm_70 to sm_120, an instruction has 16
// bytes, and its lowest 9 bits are the operation. Each load names one of six counters (bits
// 110-112). An instruction that needs a result waits for its counter (bits 116-121). A test
// compares this with kernels whose loads are known, for every architecture of NVRTC.
constexpr std::size_t kInstructionBytes = 16;
constexpr unsigned kCounters = 6;  // counter 7 means none

/// One instruction as two 64-bit words, and its fields.
struct Instruction {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  unsigned operation() const { return low & 0x1ff; }
  bool is_load() const { return operation() == 0x181; }                          // LDG
  bool is_copy() const { return operation() == 0x1ae || operation() == 0x1ba; }  // LDGSTS, UBLKCP
  bool is_early_wait() const { return (low & 0xfff) == 0x82e; }                  // ACQBULK
  bool is_jump() const {
    constexpr std::array<unsigned, 6> kJumps = {0x147, 0x149, 0x14a,   // BRA, BRX, JMP
                                                0x14c, 0x14d, 0x150};  // JMX, EXIT, RET
    return std::ranges::find(kJumps, operation()) != kJumps.end();
  }
  bool is_always() const { return ((low >> 12) & 0xf) == 7; }
  /// The width of a load, from bits 73-75: 8, 8, 16, 16, 32, 64 or 128 bits.
  int bytes() const {
    constexpr std::array kBytes = {1, 1, 2, 2, 4, 8, 16, 16};
    return kBytes[(high >> 9) & 7];
  }
  unsigned counter() const { return (high >> 46) & 7; }
  bool waits_for(unsigned counter) const { return (high >> (52 + counter)) & 1; }
};

/// Counts global loads. In flight: the most (by bytes) that a thread issues before it waits for one
/// of them, along straight-line code. The count restarts after each unconditional jump, so the real
/// number may be higher. Before the wait: those before an early started kernel waits for earlier
/// kernels (griddepcontrol.wait), or all loads if it does not. Asynchronous copies count here too.
void count_loads(std::span<const std::byte> code, CubinReport& report) {
  struct Loads {
    int count = 0;
    std::int64_t bytes = 0;
  };
  std::array<Loads, kCounters> pending{};
  Loads now;
  bool has_waited = false;
  for (; code.size() >= kInstructionBytes; code = code.subspan(kInstructionBytes)) {
    Instruction instruction;
    std::memcpy(&instruction, code.data(), kInstructionBytes);
    has_waited |= instruction.is_early_wait();
    if ((instruction.is_load() || instruction.is_copy()) && !has_waited) ++report.loads_before_wait;
    for (unsigned counter = 0; counter < kCounters; ++counter) {
      if (!instruction.waits_for(counter)) continue;
      now.count -= pending[counter].count;
      now.bytes -= pending[counter].bytes;
      pending[counter] = {};
    }
    if (instruction.is_load() && instruction.counter() < kCounters) {
      for (Loads* sum : {&now, &pending[instruction.counter()]}) {
        ++sum->count;
        sum->bytes += instruction.bytes();
      }
      if (now.bytes > report.bytes_in_flight) {
        report.loads_in_flight = now.count;
        report.bytes_in_flight = now.bytes;
      }
    }
    if (instruction.is_jump() && instruction.is_always()) {
      pending = {};
      now = {};
    }
  }
}

}  // namespace

KernelResources read_resources(std::span<const std::byte> cubin, std::string_view log) {
  const Elf elf(cubin);
  KernelResources kernels;
  constexpr std::string_view kCode = ".text.";
  for (const Elf64_Shdr& section : elf.sections())
    if (const std::string name = elf.name(section); name.starts_with(kCode)) {
      CubinReport& kernel = kernels[name.substr(kCode.size())];
      kernel.instructions = static_cast<std::int64_t>(section.sh_size / kInstructionBytes);
      count_loads(elf.bytes(section), kernel);
    }
  read_registers(elf, kernels);
  read_spills(log, kernels);
  return kernels;
}

}  // namespace sinter
