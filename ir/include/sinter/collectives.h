// Collectives: values that cross the devices of a group of ranks.
//
// Every rank of a group runs the same program, on a device of its own. A collective is recorded,
// printed, differentiated and checked like every op. At run time it is a call of NCCL or MPI
// (sinter/communicator.h). Nothing is fused into it; its operand and its result are whole arrays in
// memory. All ranks execute the collectives of a program in the same order. The operands of one
// collective have the same shape on all ranks, also where it is symbolic. MPI reports ranks that
// differ; NCCL does not see them.
//
// The gradient of a program on several ranks is that of the sum of the losses of all ranks. For the
// gradient of a mean over the whole batch, divide the loss of each rank by its share, and reduce
// the gradients once:
//
//     const Tensor loss = sum(losses) / (own_batch * data.size);
//     const Tensor slope = all_reduce(gradient(loss, {weights})[0], data);
//
// A loss that is reduced first, all_reduce(loss, data), counts on every rank. Its gradient is the
// sum over all of them already.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sinter/graph.h"

namespace sinter {

/// A named set of ranks, numbered from 0. The name says which Communicator of a Context carries its
/// collectives. All uses of one name in a graph must have one size.
struct RankGroup {
  std::string name;
  int size = 1;
};

/// The operation that combines the values of all ranks.
enum class RankReduction : std::uint8_t { sum, prod, max, min, mean };

/// The order in which a sum or product of all ranks adds up.
enum class Reduce : std::uint8_t {
  ordered,  ///< along sinter's reduction tree: the same bits in every run, on every device
  fast,     ///< the communicator decides
};

struct AllReduceOptions {
  RankReduction reduction = RankReduction::sum;
  Reduce order = Reduce::ordered;
  /// Also reduces this axis of x, which all ranks hold a part of. With Reduce::ordered, the bits
  /// depend on the elements of the whole axis, not on the number of ranks that hold them.
  std::optional<int> axis = std::nullopt;
};

/// The reduction of x over the ranks, on every rank, in the dtype of x; the mean of integers is f32.
///
/// With `axis`, the result is `sum(all_gather(x, group, axis), {axis})`, bit for bit if the order is
/// Reduce::ordered. A rank can compute the gradients of its part of the batch in pieces of a fixed
/// size [pieces, …]. Their sum is then independent of the number of ranks.
///
/// Reduce::ordered exchanges parts of x (all_to_all), reduces them, and gathers the results. These
/// are as many bytes as a ring all-reduce sends, for one piece per rank. Small arrays are gathered
/// whole, which is one call. With Reduce::fast, the communicator also decides the sign of a zero and
/// the result for NaN in maxima.
///
/// The bits of Reduce::ordered are the same on every number of ranks under Rounding::as_recorded.
/// Under Rounding::wide, one rank may keep an operand of 16 bits in f32 that several ranks exchange
/// rounded. Bits of NaN may differ, too.
///
/// x is an integer or floating dtype except i16, u16 and f8. Throws UserError for other dtypes.
Tensor all_reduce(const Operand& x, const RankGroup& group, const AllReduceOptions& options = {});

/// The arrays of all ranks, one after another along `axis`, in the order of the ranks.
Tensor all_gather(const Operand& x, const RankGroup& group, int axis = 0);

/// The reduction of x over the ranks, of which each rank gets its part along `axis`. Throws
/// UserError if the extent of the axis is not a multiple of the size of the group, or for dtypes
/// that all_reduce refuses.
Tensor reduce_scatter(const Operand& x, const RankGroup& group, int axis = 0,
                      RankReduction reduction = RankReduction::sum,
                      Reduce order = Reduce::ordered);

/// The x of rank `root`, on every rank.
Tensor broadcast(const Operand& x, const RankGroup& group, int root = 0);

/// The sum of x over the ranks on rank `root`, and 0 on the other ranks. The communicator decides
/// the order of the sum. It is the vjp of `broadcast`. Throws UserError for dtypes that all_reduce
/// refuses.
Tensor reduce_to(const Operand& x, const RankGroup& group, int root = 0);

/// Cuts x along `split_axis` into one part per rank, and sends part i to rank i. The result is the
/// received parts, one after another along `concat_axis`. Throws UserError if the extent of
/// `split_axis` is not a multiple of the size of the group.
Tensor all_to_all(const Operand& x, const RankGroup& group, int split_axis = 0,
                  int concat_axis = 0);

/// A value that rank `from` sends to rank `to`.
struct RankPair {
  int from = 0;
  int to = 0;
};

/// The x of the rank that sends to this one, or 0 if none does. A rank sends to at most one rank,
/// and receives from at most one rank. Throws UserError if the pairs are not so.
Tensor send_receive(const Operand& x, const RankGroup& group, const std::vector<RankPair>& pairs);

}  // namespace sinter
