#include "tests/virtual_gpu/driver/module_image.h"

#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

namespace sinter::virtual_gpu::driver {

namespace {

constexpr std::uint32_t kFatBinaryMagic = 0xBA55ED50;

struct PtxOfDriver {
  int driver;
  int ptx;
};
/// PTX ISA manual, "PTX Release History".
constexpr PtxOfDriver kPtxVersions[] = {
    {12000, 80}, {12010, 81}, {12020, 82}, {12030, 83}, {12040, 84}, {12050, 85}, {12060, 85},
    {12070, 86}, {12080, 87}, {12090, 88}, {13000, 90}, {13010, 91}, {13020, 92},
};

/// The word after a directive that begins a line; empty if there is none.
std::string_view word_after(std::string_view text, std::string_view directive) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.front())))
      line.remove_prefix(1);
    if (!line.starts_with(directive)) continue;
    line.remove_prefix(directive.size());
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return {};
    line.remove_prefix(begin);
    return line.substr(0, line.find_first_of(" \t\r,"));
  }
  return {};
}

int ptx_version_of(std::string_view word) {
  const std::size_t dot = word.find('.');
  int major = 0;
  int minor = 0;
  if (dot == std::string_view::npos) return 0;
  std::from_chars(word.data(), word.data() + dot, major);
  std::from_chars(word.data() + dot + 1, word.data() + word.size(), minor);
  return major * 10 + minor;
}

/// Other images: cuModuleLoadData accepts "a cubin file, a PTX file, or a fatbin".
void check_is_text(const void* image) {
  std::uint32_t magic = 0;
  std::memcpy(&magic, image, 1);
  if (magic == 0x7f || magic == (kFatBinaryMagic & 0xff)) {
    std::memcpy(&magic, image, sizeof magic);
    if (std::memcmp(image, "\177ELF", 4) == 0 || magic == kFatBinaryMagic)
      throw Refusal(CUDA_ERROR_NO_BINARY_FOR_GPU,
                    "the image is a binary; the virtual GPU takes PTX only");
  }
}

}  // namespace

int newest_ptx_version(int driver_version) {
  int newest = kPtxVersions[0].ptx;
  for (const PtxOfDriver& one : kPtxVersions)
    if (one.driver <= driver_version) newest = one.ptx;
  return newest;
}

bool can_run(std::string_view target, int compute_capability) {
  if (!target.starts_with("sm_")) return false;
  target.remove_prefix(3);
  int capability = 0;
  const auto [end, error] =
      std::from_chars(target.data(), target.data() + target.size(), capability);
  if (error != std::errc()) return false;
  const std::string_view suffix(end, static_cast<std::size_t>(target.data() + target.size() - end));
  if (suffix == "a") return capability == compute_capability;
  if (suffix == "f")
    return capability / 10 == compute_capability / 10 && capability <= compute_capability;
  return suffix.empty() && capability <= compute_capability;
}

std::string checked_ptx(const void* image, int driver_version, int compute_capability) {
  check_is_text(image);
  std::string text = static_cast<const char*>(image);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const std::string_view begin =
      first == std::string::npos ? std::string_view() : std::string_view(text).substr(first);
  if (!begin.starts_with(".version") && !begin.starts_with("//") && !begin.starts_with("/*"))
    throw Refusal(CUDA_ERROR_INVALID_IMAGE, "the image is neither a binary nor PTX");
  const std::string_view version = word_after(text, ".version");
  if (ptx_version_of(version) > newest_ptx_version(driver_version))
    throw Refusal(CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
                  fmt::format("PTX {} is newer than the driver, which is of CUDA {}.{}", version,
                              driver_version / 1000, driver_version % 1000 / 10));
  const std::string_view target = word_after(text, ".target");
  if (!target.empty() && !can_run(target, compute_capability))
    throw Refusal(CUDA_ERROR_NO_BINARY_FOR_GPU,
                  fmt::format("code for {} does not run on compute capability {}.{}", target,
                              compute_capability / 10, compute_capability % 10));
  return text;
}

}  // namespace sinter::virtual_gpu::driver
