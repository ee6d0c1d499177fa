#include "runtime/collectives/collective_traffic.h"

#include "ir/collectives/collective_node.h"
#include "ir/shape/extent.h"

namespace sinter {

std::int64_t bytes_sent(const Node& node, std::span<const std::int64_t> symbols) {
  const std::int64_t bytes =
      evaluate(product(node.operand(0)->shape), symbols) * size_of(node.dtype);
  const std::int64_t ranks = ranks_of(node);
  switch (node.op) {
    case Op::all_gather: return bytes * (ranks - 1);
    case Op::send_receive: return bytes;
    case Op::all_reduce: return 2 * bytes * (ranks - 1) / ranks;
    default: return bytes * (ranks - 1) / ranks;
  }
}

}  // namespace sinter
