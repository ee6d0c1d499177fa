// Reading values from untrusted bytes.
#include "runtime/support/archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include <elf.h>

#include "runtime/saved/saved_fields.h"

namespace sinter::archive_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

TEST(Archive, ReadsNumbersOfAnySize) {
  for (const std::int64_t value :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{63}, std::int64_t{64}, std::int64_t{-65},
        std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
    ArchiveWriter writer;
    writer(value);
    const Bytes bytes = writer.take();
    ArchiveReader reader(bytes);
    std::int64_t read = 1;
    reader(read);
    reader.finish();
    EXPECT_EQ(read, value);
  }
}

std::string damage_of(const Bytes& bytes, auto value) {
  try {
    ArchiveReader reader(bytes);
    reader(value);
  } catch (const InvalidData& invalid) {
    return invalid.what;
  }
  return "(none)";
}

TEST(Archive, ChecksLengths) {
  ArchiveWriter writer;
  writer(std::numeric_limits<std::int64_t>::max());
  const Bytes most = writer.take();
  EXPECT_THAT(damage_of(most, std::string()), HasSubstr("bytes does not fit in the 0 bytes left"));
  EXPECT_THAT(damage_of(most, Bytes()), HasSubstr("bytes does not fit in the 0 bytes left"));
  EXPECT_THAT(damage_of(most, std::vector<std::string>()),
              StartsWith("it ends in the middle of a number (at byte "));
  EXPECT_THAT(damage_of(most, 0), HasSubstr("is not in the range from -2147483648 to "));
  EXPECT_THAT(damage_of(most, false), HasSubstr("is not in the range from 0 to 1"));
  EXPECT_THAT(damage_of(Bytes(20, std::byte{0xff}), std::int64_t{0}),
              StartsWith("a number is too long"));
}

/// A million empty plans would take about a thousand bytes each.
TEST(Archive, LimitsMemoryByInputSize) {
  Bytes bytes(1 << 20, std::byte{0});
  ArchiveWriter writer;
  writer(std::int64_t{1} << 30);
  const Bytes count = writer.take();
  std::ranges::copy(count, bytes.begin());
  EXPECT_THAT(damage_of(bytes, std::vector<SavedVariant>()),
              StartsWith("it needs more memory than its size allows (at byte "));
  EXPECT_THAT(damage_of(bytes, std::vector<bool>()),
              StartsWith("it ends in the middle of a number"));
}

/// Nesting that would overflow the stack.
TEST(Archive, RejectsDeeplyNestedQuotients) {
  ArchiveWriter quotient;
  // One product of one atom, which is a quotient, whose numerator is one product …
  for (int i = 0; i < 1000000; ++i)
    quotient(std::int64_t{1}, std::int64_t{1}, std::int64_t{1}, std::int64_t{1}, std::int64_t{1});
  EXPECT_THAT(damage_of(quotient.take(), Extent()), StartsWith("quotients are nested too deeply"));
}

TEST(Archive, RecognisesCompleteImages) {
  EXPECT_FALSE(is_complete_image({}, "sm_90"));
  EXPECT_TRUE(is_complete_image(bytes_of(std::string_view("// ptx\n\0", 8)), "sm_90"));
  EXPECT_FALSE(is_complete_image(bytes_of("// ptx\n"), "sm_90"));
  EXPECT_FALSE(is_complete_image(bytes_of(std::string_view("// \0tx\n\0", 8)), "sm_90"));
  // The host device checks the ELF magic, even of very short images.
  EXPECT_FALSE(is_complete_image(bytes_of(std::string_view("a\0", 2)), "host"));
  EXPECT_FALSE(is_complete_image(bytes_of(std::string_view("// ptx\n\0", 8)), "host"));
  Bytes elf(sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Shdr) + 100);
  const auto with = [&](auto change) {
    Elf64_Ehdr header = {};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_shoff = sizeof header;
    header.e_shnum = 2;
    header.e_shentsize = sizeof(Elf64_Shdr);
    Elf64_Shdr section = {};
    section.sh_type = SHT_PROGBITS;
    section.sh_offset = elf.size() - 100;
    section.sh_size = 100;
    change(header, section);
    std::memcpy(elf.data(), &header, sizeof header);
    std::memcpy(elf.data() + sizeof header + sizeof section, &section, sizeof section);
    return is_complete_image(elf, "host");
  };
  EXPECT_TRUE(with([](auto&, auto&) {}));
  EXPECT_FALSE(with([](auto&, auto& section) { ++section.sh_size; }));
  EXPECT_FALSE(with([](auto&, auto& section) { section.sh_offset = ~std::uint64_t{0}; }));
  EXPECT_TRUE(with([](auto&, auto& section) {
    section.sh_type = SHT_NOBITS;
    section.sh_size = 1 << 30;
  }));
  EXPECT_FALSE(with([](auto& header, auto&) { header.e_shoff = ~std::uint64_t{0} - 8; }));
  EXPECT_FALSE(with([](auto& header, auto&) { header.e_shnum = 5; }));
  EXPECT_FALSE(with([](auto& header, auto&) { header.e_shnum = 0; }));
  EXPECT_FALSE(with([](auto& header, auto&) { header.e_phnum = 1; }));
  EXPECT_FALSE(with([](auto& header, auto&) { header.e_ident[EI_CLASS] = ELFCLASS32; }));
  EXPECT_FALSE(with([](auto& header, auto&) { header.e_ident[EI_DATA] = ELFDATA2MSB; }));
}

}  // namespace
}  // namespace sinter::archive_test
