// Checks includes. They go only downward (ir, compiler, codegen, runtime), public headers include
// only public and standard headers, and no file needs a CUDA header.
#include "tests/repo/source_tree.h"

#include <array>
#include <optional>
#include <regex>

#include <gtest/gtest.h>

namespace sinter::repo::layering_test {
namespace {

constexpr std::array<std::string_view, 4> kLayers = {"ir", "compiler", "codegen", "runtime"};

/// The layer of a path from the root, 0 for ir; nullopt outside of the layers.
std::optional<int> layer_of(std::string_view path) {
  for (int layer = 0; layer < static_cast<int>(kLayers.size()); ++layer)
    if (path.starts_with(std::string(kLayers[layer]) + "/")) return layer;
  return std::nullopt;
}

bool is_public(std::string_view path) { return path.find("/include/sinter/") != std::string::npos; }

/// True for files of the prelude. Their includes serve only tools that read each file separately.
bool is_prelude(std::string_view path) { return path.starts_with("codegen/device/"); }

struct Include {
  std::string name;
  bool angled;
};

std::optional<Include> parse_include(const std::string& line) {
  static const std::regex form(R"re(^\s*#\s*include\s*(["<])([^">]+)[">])re");
  std::smatch match;
  if (!std::regex_search(line, match, form)) return std::nullopt;
  return Include{match[2], match[1] == "<"};
}

/// The path from the root of the public header `name` (`sinter/…`); empty if no layer has it.
std::string find_public(const std::string& name) {
  for (std::string_view layer : kLayers) {
    const std::string path = std::string(layer) + "/include/" + name;
    if (std::filesystem::exists(source_root() / path)) return path;
  }
  return "";
}

/// The error in `include` of the file at `path`; empty if there is none.
std::string include_error(const std::string& path, const Include& include) {
  static const std::regex cuda_header(R"(^(cuda.*|nvrtc.*|driver_types)\.h$)");
  static const std::regex standard_header("^[a-z0-9_]+$");
  if (std::regex_match(include.name, cuda_header))
    return "includes the CUDA header " + include.name +
           "; runtime/driver/cuda_abi.h declares what we use";
  const bool names_public = include.name.starts_with("sinter/");
  const std::string target = names_public ? find_public(include.name) : include.name;
  if (names_public && target.empty()) return "includes " + include.name + ", which no layer has";
  if (is_public(path) && !names_public && !std::regex_match(include.name, standard_header))
    return "public header includes " + include.name + ", which is neither public nor standard";
  if (!include.angled && !names_public && !std::filesystem::exists(source_root() / target))
    return "includes \"" + include.name + "\", which is no path from the root";
  const std::optional<int> from = layer_of(path);
  const std::optional<int> to = layer_of(target);
  if (to && *to > *from)
    return "includes " + include.name + ", upward from " + std::string(kLayers[*from]) + " to " +
           std::string(kLayers[*to]);
  if (!to && !include.angled) return "includes " + include.name + ", which is outside the layers";
  return "";
}

std::string offences_in(const SourceFile& file) {
  if (!layer_of(file.path) || is_prelude(file.path)) return "";
  std::string offences;
  for (std::size_t i = 0; i < file.lines.size(); ++i)
    if (const std::optional<Include> include = parse_include(file.lines[i]))
      if (const std::string wrong = include_error(file.path, *include); !wrong.empty())
        offences += offence(file, i, wrong);
  return offences;
}

TEST(LayeringTest, IncludesGoDownwardOnly) {
  std::string offences;
  for (const SourceFile& file : read_source_tree()) offences += offences_in(file);
  EXPECT_EQ(offences, "");
}

TEST(LayeringTest, SeesTheSources) {
  int in_layers = 0;
  for (const SourceFile& file : read_source_tree()) in_layers += layer_of(file.path).has_value();
  EXPECT_GE(in_layers, 10);
}

TEST(LayeringTest, ReportsAnUpwardInclude) {
  const SourceFile file{"ir/broken.cpp", {"", "#include \"codegen/prelude/prelude.h\""}};
  EXPECT_EQ(offences_in(file),
            "ir/broken.cpp:2: includes codegen/prelude/prelude.h, upward from ir to codegen\n");
}

TEST(LayeringTest, ReportsForeignTypesInPublicHeaders) {
  const SourceFile file{"ir/include/sinter/broken.h", {"#include <llvm/ADT/SmallVector.h>"}};
  EXPECT_EQ(offences_in(file),
            "ir/include/sinter/broken.h:1: public header includes llvm/ADT/SmallVector.h, which is "
            "neither public nor standard\n");
}

TEST(LayeringTest, ReportsInternalHeadersInPublicHeaders) {
  const SourceFile file{"codegen/include/sinter/broken.h",
                        {"#include \"codegen/prelude/prelude.h\""}};
  EXPECT_EQ(offences_in(file),
            "codegen/include/sinter/broken.h:1: public header includes codegen/prelude/prelude.h, "
            "which is "
            "neither public nor standard\n");
}

TEST(LayeringTest, ReportsCudaHeaders) {
  const SourceFile file{"runtime/broken.cpp", {"#include <cuda.h>"}};
  EXPECT_EQ(
      offences_in(file),
      "runtime/broken.cpp:1: includes the CUDA header cuda.h; runtime/driver/cuda_abi.h declares "
      "what we use\n");
}

}  // namespace
}  // namespace sinter::repo::layering_test
