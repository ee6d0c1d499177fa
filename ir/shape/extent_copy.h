// Copies extents from the ExtentTable of one graph into that of another.
#pragma once

#include "ir/shape/extent.h"
#include "ir/support/dense_map.h"

namespace sinter {

/// Copies extents of `from` into `to`, which must be empty. Symbols keep their order, and thus
/// their ids and every order derived from ids.
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
