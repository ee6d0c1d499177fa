// The modifiers that memory instructions share: spaces, cache hints, scopes and ordering.
#pragma once

#include <optional>
#include <string_view>

#include "tests/virtual_gpu/program/program.h"

namespace sinter::virtual_gpu {

/// The space that a modifier names.
inline std::optional<Space> space_of(std::string_view part) {
  if (part == "global") return Space::global;
  if (part == "shared" || part == "shared::cta") return Space::shared;
  if (part == "shared::cluster") return Space::cluster;
  if (part == "local") return Space::local;
  if (part == "const") return Space::constant;
  if (part == "param" || part == "param::entry" || part == "param::func") return Space::parameter;
  return std::nullopt;
}

/// True if the modifier says how caches work, and changes no result.
inline bool is_cache_hint(std::string_view part) {
  for (const std::string_view hint : {"ca", "cg", "cs", "lu", "cv", "wb", "wt"})
    if (part == hint) return true;
  return part.starts_with("L1::") || part.starts_with("L2::");
}

inline bool is_scope(std::string_view part) {
  return part == "cta" || part == "cluster" || part == "gpu" || part == "sys";
}

/// Reads a modifier that all memory instructions have. False if it is another one.
inline bool read_modifier(std::string_view part, Details& details) {
  if (const std::optional<Space> space = space_of(part)) {
    details.space = *space;
    return true;
  }
  if (part == "volatile" || part == "relaxed" || part == "mmio") {
    details.is_strong = true;
    return true;
  }
  if (part == "acquire" || part == "release" || part == "acq_rel") {
    details.is_strong = true;
    details.acquires = part != "release";
    details.releases = part != "acquire";
    return true;
  }
  return part == "weak" || is_scope(part) || is_cache_hint(part);
}

}  // namespace sinter::virtual_gpu
