// Saved executables as bytes. Files round-trip, and the reader rejects all other bytes with an
// error.
#include "runtime/saved/saved_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "tests/support/files/saved_bytes.h"

namespace sinter::test::saved_file_test {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(SavedFile, RoundTrips) {
  const SavedExecutable saved = read_saved(sound(), kPath);
  EXPECT_EQ(saved.version, sinter_version());
  EXPECT_EQ(saved.archs, (std::vector<std::string>{"sm_80", "sm_90"}));
  EXPECT_EQ(pack(saved.program), pack(saved_program()));
  const SavedKernels kernels = read_kernels(saved, 0, kPath);
  EXPECT_EQ(pack(kernels), pack(saved_kernels("sm_80")));
  const Variant& variant = kernels.variants[1].variant;
  EXPECT_EQ(variant.program.facts.symbols, (std::vector<std::int64_t>{64, 40000}));
  EXPECT_EQ(variant.program.numerics.rounding, Rounding::wide);
  EXPECT_EQ(variant.report.kernels[0].source, variant.kernels[0].source.text);
  EXPECT_EQ(variant.report.kernels[0].candidates[0].median_us, 1.0 / 3);
}

TEST(SavedFile, RejectsTruncatedFiles) {
  for (std::size_t size = 0; size < sound().size(); ++size) {
    const std::string problem = problem_of(std::span(sound()).first(size));
    if (size < 8)
      ASSERT_THAT(problem, AnyOf(HasSubstr("is cut short"), HasSubstr("is not an executable")))
          << size;
    else
      ASSERT_THAT(problem, StartsWith(fmt::format(
                               "load: norm.sinterx is cut short: it has {} bytes", size)));
    ASSERT_THAT(problem, HasSubstr("load: norm.sinterx is "));
  }
  EXPECT_EQ(problem_of(sound()), "");
}

/// Truncation within a section, with valid checksums.
TEST(SavedFile, RejectsTruncatedSections) {
  SavedKernels kernels = saved_kernels("sm_90");
  for (SavedVariant& saved : kernels.variants)
    for (VariantKernel& kernel : saved.variant.kernels) kernel.source.text.clear();
  const Bytes program = pack(saved_program()), all = pack(kernels);
  const auto cut = [](const Bytes& bytes, std::size_t size) {
    return Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
  };
  const auto problem_with = [](Bytes first, Bytes second) {
    return problem_of(pack_saved_file(std::vector<SavedSection>{
        {kProgramSection, "", first}, {kKernelsSection, "sm_90", second}}));
  };
  for (std::size_t size = 0; size < program.size(); ++size)
    ASSERT_THAT(problem_with(cut(program, size), all),
                StartsWith("load: norm.sinterx is invalid: the program: "))
        << size;
  for (std::size_t size = 0; size < all.size(); size += 1 + size / 100)
    ASSERT_THAT(problem_with(program, cut(all, size)),
                StartsWith("load: norm.sinterx is invalid: the kernels for sm_90: "))
        << size;
  EXPECT_EQ(problem_with(program, all), "");
}

TEST(SavedFile, RejectsFlippedBits) {
  Bytes file = sound();
  for (std::size_t i = 0; i < file.size(); ++i)
    for (const int bit : {0, 7}) {
      const auto flipped = static_cast<std::byte>(1 << bit);
      file[i] ^= flipped;
      ASSERT_THAT(problem_of(file), StartsWith("load: norm.sinterx ")) << i;
      file[i] ^= flipped;
    }
}

TEST(SavedFile, ReportsTheProblemAndTheRemedy) {
  const std::string here(sinter_version());
  EXPECT_EQ(problem_of(text_bytes("")),
            "load: norm.sinterx is not an executable that sinter saved: write one with save");
  EXPECT_EQ(problem_of(text_bytes("#!/bin/sh\n" + std::string(100, ' '))),
            "load: norm.sinterx is not an executable that sinter saved: write one with save");
  Bytes file = sound();
  file.back() ^= std::byte{1};
  EXPECT_EQ(problem_of(file),
            "load: norm.sinterx is damaged: its contents do not match the checksum in its header; "
            "copy or save it again");
  file = sound();
  file[12] ^= std::byte{1};
  EXPECT_EQ(problem_of(file),
            "load: norm.sinterx is damaged: its header does not match its checksum; "
            "copy or save it again");
  file = sound();
  file.push_back(std::byte{0});
  EXPECT_EQ(problem_of(file),
            fmt::format("load: norm.sinterx is damaged: it has {} bytes instead of {}; copy or "
                        "save it again",
                        sound().size() + 1, sound().size()));
  // Another version, in which the rest of the header may have another meaning.
  file = sound();
  file[8] = std::byte{7};
  std::memcpy(file.data() + 16, "9.1.0\0\a", 7);
  EXPECT_EQ(problem_of(file),
            "load: norm.sinterx has format 7, but this sinter reads format 4 (it was saved by "
            "sinter 9.1.0, this is " +
                here + "): save it again with this version");
}

/// Later releases may add sections, or change the version of one.
TEST(SavedFile, ReportsUnreadableSections) {
  const std::string here(sinter_version());
  const auto about = [&](const std::string& what) {
    return "load: norm.sinterx has " + what + " (it was saved by sinter " + here + ", this is " +
           here + "); load it with that version, or save it again with this one";
  };
  std::vector<SavedSection> sections = {
      {kProgramSection, "", pack(saved_program())},
      {kKernelsSection, "sm_80", pack(saved_kernels("sm_80"))},
      {kKernelsSection, "sm_90", pack(saved_kernels("sm_90"))},
      {{"gradients", 3}, "", text_bytes("of whom?"), /*may_be_skipped=*/true}};
  const auto problem = [&] { return problem_of(pack_saved_file(sections)); };
  EXPECT_EQ(problem(), "");
  sections[3].may_be_skipped = false;
  EXPECT_EQ(problem(), about("a section of gradients, version 3, which this sinter does not know"));
  sections.pop_back();
  sections[2].kind.version = 6;
  EXPECT_EQ(problem(),
            about("version 6 of the kernels for sm_90, but this sinter reads version 5"));
  const Bytes file = pack_saved_file(sections);
  const SavedExecutable saved = read_saved(file, kPath);
  EXPECT_EQ(read_kernels(saved, 0, kPath).arch, "sm_80") << "what it can read, it does";
  sections[0].kind.version = 0;
  EXPECT_EQ(problem(), about("version 0 of the program, but this sinter reads version 2"));
}

/// Invalid section tables with valid checksums.
TEST(SavedFile, RejectsMisplacedSections) {
  constexpr std::size_t kHeader = 64, kRow = 56, kOffset = 40, kBytes = 48;
  const auto number = [](Bytes& file, std::size_t at) -> std::uint64_t& {
    return *reinterpret_cast<std::uint64_t*>(file.data() + at);
  };
  Bytes file = sound();
  for (std::size_t i = 0; i < kRow; ++i) std::swap(file[kHeader + i], file[kHeader + kRow + i]);
  EXPECT_THAT(problem_of(sealed(file)),
              HasSubstr("a section does not begin where the previous one ends"));
  // Exchange only their kinds, names and versions.
  file = sound();
  for (std::size_t i = 0; i < 36; ++i) std::swap(file[kHeader + i], file[kHeader + kRow + i]);
  EXPECT_THAT(problem_of(sealed(file)), StartsWith("load: norm.sinterx is invalid: the program: "));
  for (const std::size_t at : {kOffset, kBytes, kRow + kOffset, kRow + kBytes})
    for (const std::uint64_t value :
         {std::uint64_t{0}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
      file = sound();
      number(file, kHeader + at) = value;
      EXPECT_THAT(problem_of(sealed(file)), StartsWith("load: norm.sinterx is invalid: "));
    }
  file = sound();
  const std::uint32_t many = ~0U;
  std::memcpy(file.data() + 12, &many, sizeof many);
  EXPECT_THAT(problem_of(sealed(file)), HasSubstr("its table of sections does not fit in it"));
  file = sound();
  file.push_back(std::byte{0});
  EXPECT_THAT(problem_of(sealed(file)), HasSubstr("there are bytes after its last section"));
}

/// Mutations with valid checksums, as an attacker would write them.
TEST(SavedFile, SurvivesTenThousandMutations) {
  std::mt19937 random(11);
  const auto below = [&](std::size_t most) { return random() % most; };
  SavedKernels kernels = saved_kernels("sm_90");
  for (SavedVariant& saved : kernels.variants)  // mutations in source texts would be harmless
    for (VariantKernel& kernel : saved.variant.kernels) kernel.source.text.clear();
  const std::vector<Bytes> sections = {pack(saved_program()), pack(kernels)};
  const auto mutate = [&](Bytes bytes) {
    for (std::size_t changes = 1 + below(3); changes > 0 && !bytes.empty(); --changes) {
      const auto at = static_cast<std::ptrdiff_t>(below(bytes.size()));
      const auto position = bytes.begin() + at;
      const auto count =
          std::min(bytes.end() - position, static_cast<std::ptrdiff_t>(1 + below(40)));
      switch (below(5)) {
        case 0: *position = static_cast<std::byte>(random()); break;
        case 1: *position ^= static_cast<std::byte>(1 << below(8)); break;
        case 2: bytes.erase(position, position + count); break;
        case 3: {
          const Bytes again(position, position + count);
          bytes.insert(position, again.begin(), again.end());
          break;
        }
        default:
          std::fill(position, position + count, static_cast<std::byte>(below(2) * 255));
          break;
      }
    }
    return bytes;
  };
  int refused = 0;
  int read = 0;
  for (int i = 0; i < 10000; ++i) {
    const bool is_program = i % 2 == 0;
    const std::vector<SavedSection> changed = {
        {kProgramSection, "", is_program ? mutate(sections[0]) : sections[0]},
        {kKernelsSection, "sm_90", is_program ? sections[1] : mutate(sections[1])}};
    const Bytes file = pack_saved_file(changed);
    const std::string problem = problem_of(file);
    if (problem.empty()) prepare_all(file);
    ++(problem.empty() ? read : refused);
    EXPECT_THAT(problem, AnyOf("", StartsWith("load: norm.sinterx is invalid: ")));
  }
  std::printf("%d refused, %d read\n", refused, read);
  EXPECT_GT(refused, 1000);
  EXPECT_GT(read, 100) << "most of what is changed in texts is harmless";
}

}  // namespace
}  // namespace sinter::test::saved_file_test
