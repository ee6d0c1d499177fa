#include "runtime/compile/cubin_info.h"

#include "runtime/compile/machine_code.h"
#include "sinter/error.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include <elf.h>
#include <llvm/ADT/StringExtras.h>

namespace sinter {
namespace {

// Records of .nv.info begin with a format and an attribute. These records (format 4) continue with
// a size and two words: the symbol index of the kernel, and the value.
constexpr unsigned char kWordsFormat = 4;
constexpr unsigned char kFrameSize = 0x11;
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

KernelResources* find_kernel(std::vector<KernelResources>& kernels, std::string_view entry) {
  const auto found = std::ranges::find(kernels, entry, &KernelResources::entry);
  return found == kernels.end() ? nullptr : &*found;
}

void read_info(const Elf& elf, std::vector<KernelResources>& kernels) {
  const Elf64_Shdr* const info = elf.find(".nv.info");
  if (!info) return;
  const std::size_t end = info->sh_offset + info->sh_size;
  for (std::size_t at = info->sh_offset; at + 4 <= end;) {
    const auto format = elf.read<unsigned char>(at);
    const auto attribute = elf.read<unsigned char>(at + 1);
    const auto size = elf.read<std::uint16_t>(at + 2);
    if (format == kWordsFormat && size >= 8 &&
        (attribute == kFrameSize || attribute == kRegisterCount)) {
      const auto value = elf.read<std::uint32_t>(at + 8);
      KernelResources* const kernel =
          find_kernel(kernels, elf.symbol(elf.read<std::uint32_t>(at + 4)));
      if (kernel && attribute == kRegisterCount) kernel->registers = static_cast<int>(value);
      if (kernel && attribute == kFrameSize) kernel->stack_bytes = value;
    }
    at += 4 + (format == kWordsFormat ? size : 0);  // others store the value as the size
  }
}

/// The number before `words` in a line of the log; nothing without it.
std::optional<std::int64_t> number_before(std::string_view line, std::string_view words) {
  const std::size_t end = line.find(words);
  if (end == std::string_view::npos) return std::nullopt;
  const std::size_t start = line.find_last_not_of("0123456789", end - 1) + 1;
  std::int64_t value = 0;
  const auto read = std::from_chars(line.data() + start, line.data() + end, value);
  return read.ec == std::errc() ? std::optional(value) : std::nullopt;
}

void read_log(std::string_view log, std::vector<KernelResources>& kernels) {
  KernelResources* kernel = nullptr;
  for (const std::string_view line : llvm::split(log, '\n')) {
    constexpr std::string_view kStart = "Compiling entry function '";
    if (const std::size_t start = line.find(kStart); start != std::string_view::npos) {
      const std::string_view name = line.substr(start + kStart.size());
      kernel = find_kernel(kernels, name.substr(0, name.find('\'')));
    }
    if (!kernel) continue;
    kernel->spill_bytes += number_before(line, " bytes spill stores").value_or(0) +
                           number_before(line, " bytes spill loads").value_or(0);
    kernel->static_shared_bytes += number_before(line, " bytes smem").value_or(0);
  }
}

}  // namespace

std::vector<KernelResources> read_resources(std::span<const std::byte> cubin,
                                            std::string_view log) {
  const Elf elf(cubin);
  std::vector<KernelResources> kernels;
  constexpr std::string_view kCode = ".text.";
  for (const Elf64_Shdr& section : elf.sections())
    if (const std::string name = elf.name(section); name.starts_with(kCode))
      kernels.push_back(
          {.entry = name.substr(kCode.size()),
           .instructions = static_cast<std::int64_t>(section.sh_size / kInstructionBytes),
           .loads_in_flight = most_loads_in_flight(elf.bytes(section)),
           .loads_before_wait = loads_before_wait(elf.bytes(section))});
  read_info(elf, kernels);
  read_log(log, kernels);
  std::ranges::sort(kernels, {}, &KernelResources::entry);
  return kernels;
}

}  // namespace sinter
