// An injection library that NVTX loads like Nsight Systems. It logs the ranges of all domains to
// the file $SINTER_NVTX_LOG, with one line for each begin or end.
#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

namespace {

struct Domain {
  std::string name;
  std::map<std::uint32_t, std::string> categories;
};

std::mutex mutex;
std::FILE* log = nullptr;
thread_local int depth = 0;

Domain* domain_of(nvtxDomainHandle_t handle) { return reinterpret_cast<Domain*>(handle); }

nvtxDomainHandle_t create(const char* name) {
  return reinterpret_cast<nvtxDomainHandle_t>(new Domain{.name = name, .categories = {}});
}

void name_category(nvtxDomainHandle_t domain, std::uint32_t category, const char* name) {
  domain_of(domain)->categories[category] = name;
}

int push(nvtxDomainHandle_t handle, const nvtxEventAttributes_t* event) {
  const std::lock_guard lock(mutex);
  Domain& domain = *domain_of(handle);
  std::fprintf(log, "%d %s %s: %s\n", depth, domain.name.c_str(),
               domain.categories[event->category].c_str(), event->message.ascii);
  return depth++;
}

int pop(nvtxDomainHandle_t) {
  const std::lock_guard lock(mutex);
  std::fprintf(log, "%d end\n", --depth);
  std::fflush(log);
  return depth;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t get_export_table) {
  const auto* const callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size))
    return 0;
  const char* const path = std::getenv("SINTER_NVTX_LOG");
  log = path ? std::fopen(path, "w") : nullptr;
  if (!log) return 0;
  *table[NVTX_CBID_CORE2_DomainCreateA] = reinterpret_cast<NvtxFunctionPointer>(create);
  *table[NVTX_CBID_CORE2_DomainNameCategoryA] =
      reinterpret_cast<NvtxFunctionPointer>(name_category);
  *table[NVTX_CBID_CORE2_DomainRangePushEx] = reinterpret_cast<NvtxFunctionPointer>(push);
  *table[NVTX_CBID_CORE2_DomainRangePop] = reinterpret_cast<NvtxFunctionPointer>(pop);
  return 1;
}
