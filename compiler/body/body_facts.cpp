// Properties of bodies and nodes that need no body to be built.
#include <algorithm>

#include "compiler/body/body.h"

namespace sinter {

bool is_free(const Node& node) { return is_source(node.op) && node.op != Op::input; }

bool stores_only_scatter(const Body& body) {
  return body.more_scatters.empty() && body.stores.size() == 1 &&
         body.stores[0].value == body.scatter->result && body.stores[0].conditions.empty();
}

Extent bytes_of_rows(const Body& body) {
  int size = size_of(body.scatter->node->dtype);
  for (const BodyScatter& other : body.more_scatters) size += size_of(other.node->dtype);
  return body.space.extent(1) * Extent(size);
}

bool may_sum_in_results(const Body& body) {
  const DType dtype = body.scatter->node->dtype;
  return body.more_scatters.empty() && body.stores.size() == 1 &&
         body.stores[0].conditions.empty() && body.stores[0].node->dtype == dtype &&
         info(dtype).compute == dtype;
}

Extent Body::parallel_size() const {
  Extent size = 1;
  for (int axis = 0; axis < parallel_axes; ++axis) size = size * space.extent(axis);
  return size;
}

int Body::passes() const {
  int last = 0;
  for (const BodyReduction& reduction : reductions) last = std::max(last, reduction.stage);
  for (const BodyReduction& column : columns) last = std::max(last, column.stage);
  for (const BodyStore& store : stores)
    if (store.varies) last = std::max(last, store.stage);
  return last + 1;
}

}  // namespace sinter
