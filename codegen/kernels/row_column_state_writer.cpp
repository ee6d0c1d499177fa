#include "codegen/kernels/row_column_state_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/body/access.h"
#include "compiler/candidates/row_column_candidates.h"
#include "compiler/program/op_cost.h"
#include "compiler/program/size_class.h"
#include "ir/support/round_up.h"

namespace sinter {

RowColumnStateWriter::RowColumnStateWriter(KernelWriter& writer, RowPasses& passes,
                                           const Tree& over_rows)
    : writer_(writer),
      body_(writer.body),
      schedule_(writer.schedule),
      out_(writer.out),
      passes_(passes),
      over_rows_(over_rows),
      levels_(pending_levels(over_rows, schedule_.splits)),
      workspace_states_(workspace_states(schedule_)),
      per_group_(states_per_group(schedule_)),
      groups_(workspace_states_ / per_group_) {
  int widest = 4;
  for (const BodyReduction& column : body_.columns)
    widest = std::max(widest, state_bytes(*column.node));
  const std::int64_t divisor = divisor_of(body_.reduced_size(), writer.program.facts);
  while (neighbours_ * 2 * widest <= 16 && divisor % (neighbours_ * 2) == 0) neighbours_ *= 2;
}

bool RowColumnStateWriter::combines_in_block() const {
  return schedule_.rows_per_block > 1 || schedule_.combines_columns;
}

void RowColumnStateWriter::for_each_column(const std::function<void(std::size_t)>& inside) const {
  for (std::size_t i = 0; i < names_.size(); ++i) inside(i);
}

/// Column states that wait for their partner in the tree follow the exchange in shared memory. The
/// states that a block or cluster combines reuse this memory later.
void RowColumnStateWriter::declare() {
  const std::int64_t longest = std::max<std::int64_t>(
      class_of_residency(body_.reduced_size(), writer_.program.facts).high, 1);
  for (const BodyReduction& column : body_.columns) {
    const std::string name = writer_.name_for(column.node, "_tree");
    shared_offsets_.push_back(writer_.source.shared_bytes);
    out_.line(fmt::format("ColumnStates<{}, {}, {}, {}> {}(shared_memory() + {});",
                          writer_.state_type(*column.node), passes_.held_elements(), levels_,
                          schedule_.threads, name, writer_.source.shared_bytes));
    const std::int64_t bytes =
        states_in_shared(over_rows_, schedule_, passes_.held_elements(), longest) *
        state_bytes(*column.node);
    writer_.source.shared_bytes += round_up(bytes, 16);
    writer_.set_result(column, name);
    names_.push_back(name);
  }
}

/// Splits of one block differ in the highest bits of their index, and splits of one cluster in the
/// next bits. So they combine before all others, as the far-first tree requires.
void RowColumnStateWriter::declare_split() {
  const Extent accesses = ceil_div(body_.reduced_size(), neighbours_);
  accesses_ = accesses.is_number() ? std::to_string(accesses.number())
                                   : writer_.declare_index("accesses", writer_.text(accesses));
  const int slots = schedule_.rows_per_block;
  writer_.source.grid = blocks_of(schedule_);
  writer_.source.cluster = schedule_.cluster;
  state_index_ = writer_.block();
  if (schedule_.cluster > 1)
    state_index_ =
        writer_.declare_index("team", fmt::format("{} / {}", state_index_, schedule_.cluster));
  if (slots > 1) writer_.declare_index("slot", "static_cast<int>(threadIdx.x) / Shape::kThreads");
  std::string place = slots > 1 ? "slot" : "";
  if (schedule_.combines_columns)
    place = slots > 1 ? fmt::format("(cluster_rank() + {} * slot)", schedule_.cluster)
                      : "cluster_rank()";
  writer_.declare_index(
      "split", place.empty() ? state_index_
                             : fmt::format("{} + {} * {}", state_index_, workspace_states_, place));
  if (groups_ > 1) writer_.declare_index("group", fmt::format("{} % {}", state_index_, groups_));
}

void RowColumnStateWriter::write() {
  declare_states();
  write_held();
  if (schedule_.rows_per_block > 1) write_combine_in_block();
  if (schedule_.combines_columns) write_combine_in_cluster();
  if (!combines_all()) write_last_blocks();
}

void RowColumnStateWriter::declare_states() {
  Extent offset = 0;
  if (!combines_all()) {
    writer_.add_scratch_arguments();
    writer_.source.tickets = (groups_ == 1 ? 1 : groups_ + 1) * schedule_.cluster;
  }
  for_each_column([&](std::size_t i) {
    if (!combines_all()) declare_workspace(i, offset);
    if (combines_in_block())
      out_.line(fmt::format("auto* {} = reinterpret_cast<{}>(shared_memory() + {});",
                            shared_name(i), state_pointer(i), shared_offsets_[i]));
  });
  writer_.source.workspace_bytes = offset;
}

std::string RowColumnStateWriter::state_pointer(std::size_t column) const {
  return fmt::format("Neighbours<{}, {}>*", writer_.state_type(*body_.columns[column].node),
                     neighbours_);
}

void RowColumnStateWriter::declare_workspace(std::size_t column, Extent& offset) {
  out_.line(fmt::format("auto* {} = reinterpret_cast<{}>(workspace{});", workspace_name(column),
                        state_pointer(column), offset.is(0) ? "" : " + " + writer_.text(offset)));
  Traffic& traffic = writer_.source.traffic;
  const Extent row = body_.reduced_size() * Extent(state_bytes(*body_.columns[column].node));
  const Extent bytes = row * Extent(workspace_states_);
  offset = offset + ceil_div(bytes, 16) * Extent(16);
  traffic.bytes_read = traffic.bytes_read + bytes;
  traffic.bytes_written = traffic.bytes_written + bytes + row * Extent(groups_ == 1 ? 0 : groups_);
}

/// Writes the states that this thread holds to shared memory, or to the workspace if the block or
/// cluster does not combine them.
void RowColumnStateWriter::write_held() {
  const bool in_shared = combines_in_block();
  if (in_shared && levels_ > 0)
    out_.line("block_barrier();  // waiting states used the same memory");
  std::string at = neighbours_ == 1 ? "column + k" : fmt::format("(column + k) / {}", neighbours_);
  if (schedule_.rows_per_block > 1) at = fmt::format("slot * {} + {}", accesses_, at);
  const auto write_states = [&] {
    for_each_column([&](std::size_t i) {
      const std::string states =
          fmt::format("{}.neighbours<{}>({})", names_[i], neighbours_, passes_.held_index());
      out_.line(in_shared ? fmt::format("{}[{}] = {};", shared_name(i), at, states)
                          : fmt::format("store_workspace({}, {} * {} + {}, {});", workspace_name(i),
                                        state_index_, accesses_, at, states));
    });
  };
  passes_.for_each_vector([&](const Tile& tile) {
    out_.directive("#pragma unroll");
    out_.block(fmt::format("for (int k = 0; k < {}; k += {})", schedule_.vector, neighbours_),
               [&] { out_.block_if(tile.count.empty() ? "" : "k < " + tile.count, write_states); });
  });
}

void RowColumnStateWriter::for_each_access(const std::function<void()>& inside) {
  out_.directive("#pragma unroll 1");
  out_.block(fmt::format("for (int at = static_cast<int>(threadIdx.x); at < {}; at += {})",
                         accesses_, schedule_.threads),
             inside);
}

/// Distributes the accesses over the blocks of a cluster. If the cluster shares a row, each block
/// takes the columns of its own parts. Otherwise the blocks take `threads` accesses in turn.
void RowColumnStateWriter::for_each_own_access(const std::function<void()>& inside) {
  if (schedule_.cluster == 1) return for_each_access(inside);
  const OwnAccesses own = own_accesses();
  out_.directive("#pragma unroll 1");
  out_.block(fmt::format("for (int own = static_cast<int>(threadIdx.x); own < {}; own += {})",
                         own.end, schedule_.threads),
             [&] {
               writer_.declare_index(
                   "at", own.has_one_share
                             ? fmt::format("cluster_rank() * {} + own", own.share)
                             : fmt::format("(own / {0} * {1} + cluster_rank()) * {0} + own % {0}",
                                           own.share, schedule_.cluster));
               out_.block_if(own.are_whole ? "" : fmt::format("at < {}", accesses_), inside);
             });
}

RowColumnStateWriter::OwnAccesses RowColumnStateWriter::own_accesses() const {
  const int blocks = schedule_.cluster;
  const Extent columns = body_.reduced_size();
  const Extent accesses = ceil_div(columns, neighbours_);
  const std::int64_t parts = tree_of(class_of_residency(columns, writer_.program.facts).high).parts;
  const Extent share = schedule_.combines_columns
                           ? Extent(schedule_.threads)
                           : chunks_per_part(columns, parts) * Extent(kChunk / neighbours_);
  if (accesses.is_number()) {
    const std::int64_t of_block = share.number();
    const std::int64_t shares = divide_up(accesses.number(), of_block * blocks);
    return {.share = std::to_string(of_block),
            .end = std::to_string(shares * of_block),
            .has_one_share = shares == 1,
            .are_whole = shares * of_block * blocks == accesses.number()};
  }
  if (!schedule_.combines_columns) {
    const std::string text = "(" + writer_.text(share) + ")";
    return {.share = text,
            .end = fmt::format("{} * {}", parts / blocks, text),
            .has_one_share = parts == blocks};
  }
  const Extent shares = ceil_div(accesses, std::int64_t{schedule_.threads} * blocks);
  return {.share = std::to_string(schedule_.threads),
          .end = writer_.text(shares * Extent(schedule_.threads))};
}

/// Each thread combines the states of some columns over all rows of the block.
void RowColumnStateWriter::write_combine_in_block() {
  out_.line("block_barrier();");
  const auto joined = [&](std::size_t i) {
    return fmt::format("join_slots<{}>({} + at, {})", schedule_.rows_per_block, shared_name(i),
                       accesses_);
  };
  if (combines_all() && !schedule_.combines_columns) writer_.forget_values();
  for_each_access([&] {
    if (combines_all() && !schedule_.combines_columns) return write_columns(joined);
    for_each_column([&](std::size_t i) {
      out_.line(schedule_.combines_columns
                    ? fmt::format("{}[at] = {};", shared_name(i), joined(i))
                    : fmt::format("store_workspace({}, {} * {} + at, {});", workspace_name(i),
                                  state_index_, accesses_, joined(i)));
    });
  });
}

/// Each block combines some columns over all blocks of its cluster. No block may exit before that.
void RowColumnStateWriter::write_combine_in_cluster() {
  out_.line("cluster_arrive();");
  out_.line("cluster_wait();");
  const auto joined = [&](std::size_t i) {
    return fmt::format("join_ranks<{}>({} + at)", schedule_.cluster, shared_name(i));
  };
  if (combines_all()) writer_.forget_values();
  for_each_own_access([&] {
    if (combines_all()) return write_columns(joined);
    for_each_column([&](std::size_t i) {
      out_.line(fmt::format("store_workspace({}, {} * {} + at, {});", workspace_name(i),
                            state_index_, accesses_, joined(i)));
    });
  });
  // With a release, because the reads must complete before another block exits.
  out_.line("cluster_arrive();");
  out_.line("cluster_wait();  // no block reads the states of this block any more");
}

/// Blocks of each rank have their own tickets, because only they store and combine their columns.
std::string RowColumnStateWriter::ticket(const std::string& number) const {
  std::string result = "tickets";
  if (schedule_.cluster > 1)
    result +=
        groups_ == 1 ? " + cluster_rank()" : fmt::format(" + {} * cluster_rank()", groups_ + 1);
  return number.empty() ? result : result + " + " + number;
}

/// The last block of each group combines the group's states. The last of these blocks combines the
/// groups.
void RowColumnStateWriter::write_last_blocks() {
  // The blocks of a cluster have met behind their stores.
  const std::string_view first = schedule_.combines_columns ? "<true>" : "";
  if (groups_ > 1) {
    out_.line(
        fmt::format("if (!last_block{}({}, {})) return;", first, ticket("group"), per_group_));
    for_each_own_access([&] {
      writer_.declare_index("place", fmt::format("group * {} + at", accesses_));
      for_each_column([&](std::size_t i) {
        out_.line(fmt::format(
            "store_workspace({0}, place, join_column<{1}>({0} + place, {2}));", workspace_name(i),
            per_group_,
            writer_.text(ceil_div(body_.reduced_size(), neighbours_) * Extent(groups_))));
      });
    });
    out_.line(
        fmt::format("if (!last_block({}, {})) return;", ticket(std::to_string(groups_)), groups_));
  } else {
    out_.line(fmt::format("if (!last_block{}({}, {})) return;", first, ticket(""), per_group_));
  }
  writer_.forget_values();
  for_each_own_access([&] {
    write_columns([&](std::size_t i) {
      return fmt::format("join_column<{}>({} + at, {})", groups_ == 1 ? per_group_ : groups_,
                         workspace_name(i), accesses_);
    });
  });
}

void RowColumnStateWriter::write_columns(const std::function<std::string(std::size_t)>& joined) {
  for_each_column([&](std::size_t i) {
    out_.line(fmt::format("const auto {}_joined = {};", names_[i], joined(i)));
  });
  out_.unrolled("k", std::to_string(neighbours_), [&] { write_column(); });
}

void RowColumnStateWriter::write_column() {
  writer_.axis_names[body_.reduced_axis()] = writer_.declare_index(
      "column", neighbours_ == 1 ? "at" : fmt::format("at * {} + k", neighbours_));
  for_each_column([&](std::size_t i) {
    declare_result(writer_, body_.columns[i], names_[i] + "_joined.states[k].result()");
  });
  writer_.write_column_stores();
}

}  // namespace sinter
