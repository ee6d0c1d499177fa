// Reading values from bytes that may say anything.
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
    Writer writer;
    writer(value);
    const Bytes bytes = writer.take();
    Reader reader(bytes);
    std::int64_t read = 1;
    reader(read);
    reader.finish();
    EXPECT_EQ(read, value);
  }
}

std::string damage_of(const Bytes& bytes, auto value) {
  try {
    Reader reader(bytes);
    reader(value);
  } catch (const Damage& damage) {
    return damage.what;
  }
  return "(none)";
}

TEST(Archive, TakesNoLengthOnTrust) {
  Writer writer;
  writer(std::numeric_limits<std::int64_t>::max());
  const Bytes most = writer.take();
  EXPECT_THAT(damage_of(most, std::string()), HasSubstr("bytes begins where 0 are left"));
  EXPECT_THAT(damage_of(most, Bytes()), HasSubstr("bytes begins where 0 are left"));
  EXPECT_THAT(damage_of(most, std::vector<std::string>()),
              StartsWith("it ends in the middle of a number (at byte "));
  EXPECT_THAT(damage_of(most, 0), HasSubstr("stands where a number from -2147483648 to "));
  EXPECT_THAT(damage_of(most, false), HasSubstr("stands where a number from 0 to 1 should"));
  EXPECT_THAT(damage_of(Bytes(20, std::byte{0xff}), std::int64_t{0}),
              StartsWith("a number has no end"));
}

/// A thousand bytes for each of a million empty plans.
TEST(Archive, TakesNoMoreMemoryThanItHasBytesFor) {
  Bytes bytes(1 << 20, std::byte{0});
  Writer writer;
  writer(std::int64_t{1} << 30);
  const Bytes count = writer.take();
  std::ranges::copy(count, bytes.begin());
  EXPECT_THAT(damage_of(bytes, std::vector<SavedVariant>()),
              StartsWith("it is more than it has bytes for (at byte "));
  EXPECT_THAT(damage_of(bytes, std::vector<bool>()),
              StartsWith("it ends in the middle of a number"));
}

/// Deeper than any stack.
TEST(Archive, EndsWhereQuotientsDoNot) {
  Writer quotient;
  // One product of one atom, which is a quotient, whose numerator is one product …
  for (int i = 0; i < 1000000; ++i)
    quotient(std::int64_t{1}, std::int64_t{1}, std::int64_t{1}, std::int64_t{1}, std::int64_t{1});
  EXPECT_THAT(damage_of(quotient.take(), Extent()),
              StartsWith("quotients lie too deep in one another"));
}

TEST(Archive, ReadsWholeImagesAlone) {
  EXPECT_FALSE(is_whole_image({}, "sm_90"));
  EXPECT_TRUE(is_whole_image(bytes_of(std::string_view("// ptx\n\0", 8)), "sm_90"));
  EXPECT_FALSE(is_whole_image(bytes_of("// ptx\n"), "sm_90"));
  EXPECT_FALSE(is_whole_image(bytes_of(std::string_view("// \0tx\n\0", 8)), "sm_90"));
  // The host device looks for the mark of an ELF file, however short the image is.
  EXPECT_FALSE(is_whole_image(bytes_of(std::string_view("a\0", 2)), "host"));
  EXPECT_FALSE(is_whole_image(bytes_of(std::string_view("// ptx\n\0", 8)), "host"));
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
    return is_whole_image(elf, "host");
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
