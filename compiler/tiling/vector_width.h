// How wide vectors along an axis should be for what a body loads and stores.
#pragma once

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"
#include "compiler/tiling/transpose_tiles.h"

namespace sinter {

/// Loads and stores that move along `axis`, with vectors of some width.
struct Accesses {
  int wide = 0;                 ///< of a whole vector at once
  int narrow = 0;               ///< of fewer elements at once
  int narrow_instructions = 0;  ///< of these, for 16 elements

  /// Instructions for 16 elements.
  int instructions(int width) const { return wide * 16 / width + narrow_instructions; }
};
/// Without those that have tiles.
Accesses accesses_along(const Body& body, int axis, int width, const Facts& facts,
                        const TiledAccesses& tiled = {});

/// The widest vector along `axis` that half of the accesses can make use of; or a narrower one that
/// more of them can, where that takes fewer instructions.
int useful_vector(const Body& body, int axis, int limit, const Facts& facts,
                  const TiledAccesses& tiled = {});

}  // namespace sinter
