#include "runtime/support/library_file.h"

#include <cstdint>
#include <cstring>
#include <span>

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <link.h>
#include <sys/stat.h>

namespace sinter {

namespace {

struct Search {
  const char* name = nullptr;  ///< the loader's name of the library
  std::string id;
};

/// The build id among the notes of one segment; "" if there is none.
std::string id_among(std::span<const std::uint8_t> notes) {
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes.data(), sizeof note);
    const std::size_t name_bytes = (note.n_namesz + 3U) & ~3U;
    const std::size_t bytes = sizeof note + name_bytes + ((note.n_descsz + 3U) & ~3U);
    if (bytes > notes.size()) break;
    const std::span<const std::uint8_t> id = notes.subspan(sizeof note + name_bytes, note.n_descsz);
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        std::memcmp(notes.data() + sizeof note, "GNU", 4) == 0)
      return fmt::format("{:02x}", fmt::join(id, ""));
    notes = notes.subspan(bytes);
  }
  return {};
}

int visit(dl_phdr_info* object, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  if (std::strcmp(object->dlpi_name, search.name) != 0) return 0;
  for (const ElfW(Phdr) & segment : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
    if (segment.p_type != PT_NOTE || !search.id.empty()) continue;
    const auto* const begin =
        reinterpret_cast<const std::uint8_t*>(object->dlpi_addr + segment.p_vaddr);
    search.id = id_among({begin, segment.p_memsz});
  }
  return 1;
}

}  // namespace

LibraryFile library_file(void* handle) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || !map) return {};
  Search search{.name = map->l_name, .id = {}};
  dl_iterate_phdr(visit, &search);
  struct stat status = {};
  if (search.id.empty() && stat(map->l_name, &status) == 0)
    search.id = fmt::format("{} bytes", status.st_size);
  return {.path = map->l_name, .id = std::move(search.id)};
}

}  // namespace sinter
