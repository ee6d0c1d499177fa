// Copies extents from the ExtentTable of one graph into that of another.
#pragma once

#include "ir/shape/extent.h"
#include "ir/support/dense_map.h"

namespace sinter {

/// Copies extents of `from` into `to`, which must be empty. Symbols keep their order, and thus
/// their ids and every order derived from ids. If `values` gives the value of each symbol, the
/// copies are numbers.
class ExtentCopier {
 public:
  ExtentCopier(const ExtentTable& from, ExtentTable& to, std::span<const std::int64_t> values = {});
  Extent operator()(Extent extent);

 private:
  ExtentTable& to_;
  std::span<const std::int64_t> values_;
  DenseMap<const ExtentAtom*, const ExtentAtom*> atoms_;
  DenseMap<const ExtentExpression*, Extent> expressions_;
};

}  // namespace sinter
