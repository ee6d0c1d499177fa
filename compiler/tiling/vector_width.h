// Chooses the width of vectors along an axis for the loads and stores of a body.
#pragma once

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"
#include "compiler/tiling/transpose_tiles.h"

namespace sinter {

/// The loads and stores that move along `axis`, for one vector width.
struct VectorAccesses {
  int wide = 0;                 ///< accesses of a whole vector at once
  int narrow = 0;               ///< accesses of fewer elements at once
  int narrow_instructions = 0;  ///< instructions of the narrow accesses, per 16 elements

  /// Instructions per 16 elements.
  int instructions(int width) const { return wide * 16 / width + narrow_instructions; }
};
/// Counts the accesses that do not use tiles.
VectorAccesses accesses_along(const Body& body, int axis, int width, const Facts& facts,
                              const TiledAccesses& tiled = {});

/// The widest vector along `axis` that at least half of the accesses can use. A narrower one that
/// more accesses can use wins if it takes fewer instructions.
int useful_vector(const Body& body, int axis, int limit, const Facts& facts,
                  const TiledAccesses& tiled = {});

}  // namespace sinter
