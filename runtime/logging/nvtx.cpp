#include "runtime/logging/nvtx.h"

#include <algorithm>
#include <array>

#if __has_include(<nvtx3/nvToolsExt.h>)
#define SINTER_HAS_NVTX 1
#include <nvtx3/nvToolsExt.h>
#else
#define SINTER_HAS_NVTX 0
#endif

namespace sinter {

#if SINTER_HAS_NVTX

namespace {

constexpr std::array<const char*, 8> kCategories = {"compile", "plan", "emit",    "tune",
                                                    "launch",  "copy", "profile", "host kernel"};

/// The NVTX id of a category; 0: unknown.
std::uint32_t category_number(std::string_view category) {
  const auto* const found = std::ranges::find(kCategories, category);
  return found == kCategories.end() ? 0
                                    : static_cast<std::uint32_t>(found - kCategories.begin()) + 1;
}

/// The NVTX domain; null without a tool. It lives as long as the process.
nvtxDomainHandle_t domain() {
  static const nvtxDomainHandle_t domain = [] {
    const nvtxDomainHandle_t made = nvtxDomainCreateA("sinter");
    if (made)
      for (const char* const category : kCategories)
        nvtxDomainNameCategoryA(made, category_number(category), category);
    return made;
  }();
  return domain;
}

}  // namespace

bool Nvtx::is_built_in() { return true; }
bool Nvtx::has_tool() { return domain() != nullptr; }

void Nvtx::push(std::string_view category, const std::string& name) {
  nvtxEventAttributes_t event = {};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.category = category_number(category);
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = name.c_str();
  nvtxDomainRangePushEx(domain(), &event);
}

void Nvtx::pop() { nvtxDomainRangePop(domain()); }

#else

bool Nvtx::is_built_in() { return false; }
bool Nvtx::has_tool() { return false; }
void Nvtx::push(std::string_view, const std::string&) {}
void Nvtx::pop() {}

#endif

}  // namespace sinter
