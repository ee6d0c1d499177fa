#include "codegen/kernels/row_passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "codegen/statements/loads_once.h"
#include "compiler/tiling/row_staging.h"
#include "ir/support/round_up.h"

namespace sinter {

RowPasses::RowPasses(KernelWriter& writer)
    : writer_(writer),
      body_(writer.body),
      schedule_(writer.schedule),
      shared_(writer),
      plan_(plan_tree(writer, writer.schedule.vector / static_cast<int>(kChunk))) {}

bool RowPasses::meets() const { return plan_.lanes > 32 || schedule_.groups > 1; }

void RowPasses::set_meeting() const {
  Source& source = writer_.source;
  const bool is_done =
      !has_late_loads(body_) && std::ranges::none_of(body_.stores, &BodyStore::varies);
  source.has_met = meets() && is_done;
  // A row of its own thread 0.
  const bool is_one_row =
      schedule_.blocks_per_row() == 1 &&
      (schedule_.threads_per_row == schedule_.threads || body_.parallel_size().is(1));
  source.ends_met = is_one_row && is_done && (source.has_met || !writer_.loads_overwritten());
}

std::string RowPasses::first_of_row() const {
  if (schedule_.blocks_per_row() > 1) return "cluster_rank() == 0 && Shape::thread() == 0";
  return live.empty() ? "Shape::thread() == 0" : live + " && Shape::thread() == 0";
}

std::int64_t RowPasses::exchange_uses() const {
  const int of_each =
      (plan_.lanes > 32 ? plan_.parts_per_group : 0) + (schedule_.groups > 1 ? 1 : 0);
  return static_cast<std::int64_t>(body_.reductions.size()) * of_each;
}

std::int64_t RowPasses::exchange_bytes() const {
  return meets() ? std::int64_t{schedule_.threads} * plan_.vector_chunks * widest_state(writer_)
                 : 0;
}

void RowPasses::declare_shape(std::int64_t at_least) {
  declare_row_shape(writer_, plan_, std::max(exchange_bytes(), at_least));
  if (schedule_.blocks_per_row() > 1)
    declare_cluster_exchange(writer_, std::int64_t{schedule_.cluster} * widest_state(writer_));
  if (has_first_column()) declare_first_column();
  declare_chunks(writer_, plan_);
}

void RowPasses::await_cluster() {
  if (schedule_.blocks_per_row() > 1) write_cluster_start_wait(writer_);
}

void RowPasses::declare_kept(std::span<const int> values, int rows) {
  for (const int value : values)
    writer_.declare_kept(value, rows, plan_.parts_per_group, static_cast<int>(plan_.tiles));
}

void RowPasses::declare_kept_values() {
  passes_ = plan_passes(body_);
  if (!schedule_.resident) return;
  passes_ = plan_resident_passes(body_);
  if (schedule_.in_shared) {
    // Each thread has its own vectors, adjacent to those of the next thread.
    const std::int64_t vectors =
        std::int64_t{plan_.parts_per_group} * plan_.tiles * schedule_.threads;
    return shared_.declare(passes_, vectors * schedule_.vector, "threadIdx.x");
  }
  declare_kept(passes_.kept, 1);
  if (schedule_.blocks_per_row() == 1) declare_staged_rows();
}

void RowPasses::declare_staged_rows() {
  const std::vector<StagedRow> rows = staged_rows(body_, passes_, writer_.program.facts);
  for (const StagedRow& row : rows) {
    const Value& kept = body_.values[static_cast<std::size_t>(row.kept)];
    const std::int64_t bytes = staged_bytes(body_, row, schedule_.vector, writer_.program.facts) *
                               schedule_.rows_per_block;
    const std::string name = writer_.name_for(kept.node, "_row");
    writer_.out.line(fmt::format(
        "{0}* const {1} = reinterpret_cast<{0}*>(shared_memory() + {2}){3};",
        info(kept.dtype).c_name, name, writer_.source.shared_bytes,
        schedule_.rows_per_block == 1
            ? ""
            : fmt::format(" + static_cast<int>(threadIdx.x) / Shape::kThreads * {}",
                          staged_length(body_, schedule_.vector, writer_.program.facts))));
    writer_.source.shared_bytes += round_up(bytes, 16);
    for (const auto& [load, shift] : row.loads)
      writer_.read_from_row(load,
                            writer_.body.space.add(writer_.body.space.axis(body_.reduced_axis()),
                                                   constant_index(shift)),
                            name);
    staged_.emplace_back(row.kept, name);
  }
}

/// Each thread stores its vectors for the other threads of the row.
void RowPasses::write_staged_rows() {
  for_each_vector([&](const Tile&) {
    for (const auto& [kept, row] : staged_)
      writer_.out.line(fmt::format("*reinterpret_cast<{}*>({} + {}) = {};", writer_.kept_type(kept),
                                   row, writer_.axis_names[body_.reduced_axis()],
                                   writer_.kept_vector(kept)));
  });
  writer_.out.line("block_barrier();");
}

/// A tile of a row in shared memory: loads what earlier passes kept, computes, and stores what
/// `pass` keeps.
void RowPasses::write_shared_tile(int pass, const Sinks& sinks, const Tile& tile) {
  const std::string place = fmt::format(
      "{} * {}",
      plan_.parts_per_group == 1 ? "tile" : fmt::format("(part * {} + tile)", plan_.tiles),
      schedule_.threads);
  shared_.write_pass(passes_, pass, place, [&] {
    write_guarded(passes_.needed[static_cast<std::size_t>(pass)], sinks, tile);
  });
}

void RowPasses::write_common_loads() {
  passes_ = plan_loaded_passes(body_);
  std::vector<int> common;
  for (const int value : passes_.kept) {
    const bool is_common = is_same_in_rows(body_, body_.values[static_cast<std::size_t>(value)]);
    (is_common ? common : kept_of_rows_).push_back(value);
  }
  if (common.empty()) return;
  declare_kept(common, 1);
  write_loads(common);
}

void RowPasses::declare_rows(int rows) { declare_kept(kept_of_rows_, rows); }

void RowPasses::write_kept_loads() { write_loads(kept_by_pass(passes_, 0)); }

void RowPasses::write_row_loads() { write_first_loads(kept_of_rows_); }

void RowPasses::write(bool loads_done) {
  const int passes = body_.passes();
  for (int pass = 0; pass < passes; ++pass) {
    writer_.write_row_values(pass);
    write_pass(pass, loads_done);
  }
  writer_.write_row_values_from(passes);
  writer_.write_row_stores(first_of_row(), {.has_met = meets()});
  write_prefix_constants();
}

bool RowPasses::is_prefix_constant_store(const BodyStore& store) const {
  const Value::Kind kind = body_.values[static_cast<std::size_t>(store.value)].kind;
  const bool is_number = kind == Value::Kind::literal || kind == Value::Kind::scalar;
  if (!is_number || !store.varies || store.conditions.size() != 1) return false;
  const Condition& places = store.conditions[0];
  return has_unit_stride(places.at, body_.reduced_axis()) && places.at.terms.size() == 1 &&
         places.at.constant.is(0) && places.begin.is(0) && places.end.is_number() &&
         places.end.number() <= schedule_.threads_per_row;
}

void RowPasses::write_prefix_constants() {
  if (std::ranges::none_of(body_.stores,
                           [&](const BodyStore& store) { return is_prefix_constant_store(store); }))
    return;
  writer_.axis_names[body_.reduced_axis()] = writer_.declare_index("place", "Shape::thread()");
  std::string guard = live;
  if (schedule_.blocks_per_row() > 1)
    guard += fmt::format("{}cluster_rank() == 0", guard.empty() ? "" : " && ");
  writer_.out.block_if(guard, [&] {
    for (const BodyStore& store : body_.stores)
      if (is_prefix_constant_store(store))
        writer_.write_element_store(store, writer_.operand_text(store.value));
  });
}

/// True if `first_column` holds the common part of all positions. If a row stays in registers, each
/// pass has one copy of a tile's text per tile, and compilers find the common part slowly. Threads
/// that process many rows have no register to spare for it.
bool RowPasses::has_first_column() const {
  return (plan_.is_fixed || plan_.tree.parts == 1) && keeps_in_registers() && body_.columns.empty();
}

/// Declares the position at which the first vector of this thread begins.
void RowPasses::declare_first_column() {
  const bool is_divided = schedule_.groups * schedule_.blocks_per_row() > 1;
  const std::string chunk = "Shape::chunk(0)";
  writer_.declare_index(
      "first_column",
      fmt::format(
          "{} * {}", writer_.elements_per_chunk(),
          is_divided ? fmt::format("({} + {})", part_start(writer_, plan_, "0"), chunk) : chunk));
}

/// The position at which the vector with the indices `part` and `tile` begins.
std::string RowPasses::column_text() const {
  if (!has_first_column()) {
    const std::string start = part_start(writer_, plan_, plan_.parts_per_group == 1 ? "0" : "part");
    return fmt::format(
        "{} * {}", writer_.elements_per_chunk(),
        start == "0" ? "Shape::chunk(tile)" : "(" + start + " + Shape::chunk(tile))");
  }
  const std::int64_t groups = std::int64_t{schedule_.groups} * schedule_.blocks_per_row();
  std::string column = "first_column";
  if (plan_.parts_per_group > 1)
    column += fmt::format(" + {} * {} * part", writer_.elements_per_chunk(),
                          groups * plan_.tree.chunks_per_part);
  if (plan_.tiles > 1)
    column += fmt::format(" + {} * tile", std::int64_t{plan_.lanes} * schedule_.vector);
  return column;
}

/// Declares `column`, the position of the tile. Guards `inside` by the elements of the tile that
/// exist.
void RowPasses::in_tile(const std::function<void(const Tile&)>& inside, const TileLoop& loop) {
  writer_.axis_names[body_.reduced_axis()] = writer_.declare_index("column", column_text());
  // If tiles are unrolled, only the last ones need a guard.
  const std::string is_whole =
      loop.is_unrolled && plan_.whole_tiles > 0 ? fmt::format("tile < {}", plan_.whole_tiles) : "";
  const auto write = [&] {
    write_guarded_tile(writer_, plan_, loop, is_whole, [&](const Tile& tile) {
      if (loop.is_unrolled) {
        writer_.before_tile = std::int64_t{plan_.lanes} * schedule_.vector;
        writer_.tile_copies = plan_.parts_per_group * plan_.tiles;
      }
      inside(tile);
      writer_.before_tile = 0;
      writer_.tile_copies = 1;
    });
  };
  // Threads of rows that do not exist must not read a row that its threads update.
  writer_.out.block_if(writer_.has_updates() && !live.empty() ? "live" : "", write);
}

void RowPasses::for_each_vector(const std::function<void(const Tile&)>& inside) {
  write_tile_loops(writer_, plan_, true,
                   {.body = [&](const TileLoop& loop) { in_tile(inside, loop); }},
                   [](const std::string&) {});
}

bool RowPasses::keeps_in_registers() const { return schedule_.resident && !schedule_.in_shared; }

std::int64_t RowPasses::held_elements() const {
  return plan_.parts_per_group * plan_.tiles * schedule_.vector;
}

std::string RowPasses::held_index() const {
  if (plan_.parts_per_group == 1 && plan_.tiles == 1) return "k";
  if (plan_.parts_per_group == 1) return fmt::format("{} * tile + k", schedule_.vector);
  return fmt::format("{} * ({} * part + tile) + k", schedule_.vector, plan_.tiles);
}

/// For CPUs: prefetches the `loads` of the next row.
void RowPasses::write_prefetches(std::span<const int> loads) {
  const int last = body_.parallel_axes - 1;
  if (last < 0) return;
  const std::string here = writer_.axis_names[last];
  writer_.axis_names[last] += " + 1";
  for (const int load : loads)
    if (writer_.may_prefetch(load, writer_.vector_axis, last, schedule_.vector))
      writer_.write_prefetch(load, schedule_.vector);
  writer_.axis_names[last] = here;
}

/// The loads of a row, before other work on it. Its stores come in a burst after that work.
void RowPasses::write_first_loads(std::span<const int> kept) {
  for_each_vector([&](const Tile& tile) {
    writer_.write_prefetches_for_stores();
    write_prefetches(kept);
    writer_.write_kept_loads(kept, tile);
  });
}

void RowPasses::write_loads(std::span<const int> kept) {
  for_each_vector([&](const Tile& tile) { writer_.write_kept_loads(kept, tile); });
}

void RowPasses::write_pass(int pass, bool loads_done) {
  writer_.pass = pass;
  const bool has_columns = !body_.columns.empty();
  const bool unroll = keeps_in_registers() || has_columns;
  Sinks sinks{.reductions = declare_row_reductions(writer_, plan_, unroll, pass),
              .stores = stores_of_pass(body_, pass),
              .kept = kept_by_pass(passes_, pass)};
  for (std::size_t i = 0; i < body_.columns.size(); ++i)
    if (body_.columns[i].stage == pass) sinks.columns.push_back(static_cast<int>(i));
  std::erase_if(sinks.stores, [&](int store) {
    return is_prefix_constant_store(body_.stores[static_cast<std::size_t>(store)]);
  });
  if (sinks.reductions.empty() && sinks.columns.empty() && sinks.stores.empty()) return;
  const bool loads_first = !schedule_.in_shared && std::ranges::any_of(sinks.kept, [&](int value) {
    return body_.values[static_cast<std::size_t>(value)].kind == Value::Kind::load;
  });
  // All loads of the row are in flight before the first is used.
  if (loads_first && !loads_done) {
    if (pass == 0)
      write_first_loads(sinks.kept);
    else
      write_loads(sinks.kept);
  }
  const auto finish_part = [&](const std::string& part) {
    for (const int reduction : sinks.reductions)
      writer_.out.line(
          fmt::format("{}.finish_part({}, exchange);", tree_name(writer_, reduction), part));
  };
  const std::vector<bool>& needed = passes_.needed[static_cast<std::size_t>(pass)];
  const auto write_tile = [&](Tile tile) {
    if (schedule_.in_shared) return write_shared_tile(pass, sinks, tile);
    tile.loads_done = loads_first || loads_done;
    writer_.write_reconversions(kept_before(pass));
    if (has_columns) tile.held_index = held_index();
    write_guarded(needed, sinks, tile);
  };
  const int along[] = {body_.reduced_axis()};
  TileWriters tile_writers{.body = [&](const TileLoop& loop) { in_tile(write_tile, loop); },
                           .reads_once = reads_once(body_, needed, along)};
  if (!unroll && schedule_.unroll > 1) {
    tile_writers.guarded = [&](const auto& inside, const TileLoop& loop) { in_tile(inside, loop); };
    tile_writers.ahead = LoadsAhead(writer_, needed);
    // The schedule's unroll is meant for the first pass. Other passes get as many registers for
    // loads as that pass uses.
    const int words = tile_writers.ahead.words();
    if (pass == 0) words_ahead_ = words * schedule_.unroll;
    if (words > 0)
      tile_writers.at_once = static_cast<int>(std::bit_floor(
          static_cast<unsigned>(std::clamp(words_ahead_ / words, 1, schedule_.unroll))));
  }
  write_tile_loops(writer_, plan_, unroll, std::move(tile_writers), finish_part);
  if (pass == 0 && !has_columns) await_cluster();
  for (const int index : sinks.reductions) finish_reduction(index);
  if (pass == 0 && !staged_.empty()) write_staged_rows();
}

std::vector<int> RowPasses::kept_before(int pass) const {
  std::vector<int> result;
  for (const int kept : passes_.kept) {
    const auto value = static_cast<std::size_t>(kept);
    if (passes_.first_pass[value] < pass && passes_.needed[static_cast<std::size_t>(pass)][value])
      result.push_back(kept);
  }
  return result;
}

/// Skips the stores of rows that do not exist. The other work on them is harmless.
void RowPasses::write_guarded(const std::vector<bool>& values, const Sinks& sinks,
                              const Tile& tile) {
  if (live.empty() || (sinks.stores.empty() && sinks.columns.empty())) {
    writer_.write_tile(values, sinks, tile);
    return;
  }
  if (sinks.reductions.empty()) {
    writer_.out.block("if (live)", [&] { writer_.write_tile(values, sinks, tile); });
    return;
  }
  writer_.store_condition = live;
  writer_.write_tile(values, sinks, tile);
  writer_.store_condition.clear();
}

void RowPasses::finish_reduction(int index) {
  const BodyReduction& reduction = body_.reductions[static_cast<std::size_t>(index)];
  declare_result(writer_, reduction,
                 plan_.is_empty ? empty_result(reduction)
                                : fmt::format("{}.finish({}).result()", tree_name(writer_, index),
                                              schedule_.blocks_per_row() > 1 ? "exchange, cluster"
                                                                             : "exchange"));
}

}  // namespace sinter
