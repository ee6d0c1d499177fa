// Extents of one graph as extents of another that has a table of its own.
#pragma once

#include "ir/shape/extent.h"
#include "ir/support/dense_map.h"

namespace sinter {

/// Brings extents of `from` into `to`, which must be empty: symbols keep their order, and so their
/// ids and every order that follows from them.
class ExtentCopier {
 public:
  ExtentCopier(const ExtentTable& from, ExtentTable& to);
  Extent operator()(Extent extent);

 private:
  ExtentTable& to_;
  DenseMap<const ExtentAtom*, const ExtentAtom*> atoms_;
  DenseMap<const ExtentExpression*, Extent> expressions_;
};

}  // namespace sinter
