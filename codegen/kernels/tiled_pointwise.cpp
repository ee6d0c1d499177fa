// Pointwise kernels with arrays that are contiguous along another axis than the last. Each block
// moves such arrays between memory and tiles in shared memory along their own axis.
#include <fmt/format.h>

#include <optional>

#include "codegen/kernels/kernel_kinds.h"
#include "compiler/tiling/transpose_tiles.h"

namespace sinter {

namespace {

class TiledWriter {
 public:
  explicit TiledWriter(KernelWriter& writer)
      : writer_(writer),
        body_(writer.body),
        schedule_(writer.schedule),
        last_(writer.body.parallel_axes - 1),
        tiled_(tiled_accesses(writer.body, writer.program.facts)) {}

  void write() {
    writer_.source.has_barrier = true;
    declare_block();
    declare_tiles();
    for (const TileInMemory& tile : loads_) write_loads(tile);
    if (!schedule_.is_for_cpu())
      for (const TileInMemory& tile : loads_) write_puts(tile);
    if (!loads_.empty()) writer_.out.line("block_barrier();");
    write_values();
    if (!stores_.empty()) writer_.out.line("block_barrier();");
    for (const TileInMemory& tile : stores_) write_takes(tile);
  }

 private:
  /// A tile, and how threads move it along its own axis.
  struct TileInMemory {
    int number = 0;  ///< the index of the loaded value or of the store
    DType dtype;
    std::string name;
    int vector = 1;
    std::string position_type;  ///< computes the position of a vector
  };

  // --- position of a block ----------------------------------------------------------------------

  Extent tiles_along(int axis) const { return ceil_div(body_.space.extent(axis), schedule_.tile); }

  /// `left` and `top`: the first column and row of the block's tile.
  void declare_block() {
    Extent outer_size = 1;
    std::vector<int> outer;
    for (int axis = 0; axis < last_; ++axis) {
      if (axis == tiled_.axis) continue;
      outer.push_back(axis);
      outer_size = outer_size * body_.space.extent(axis);
    }
    const Extent across = tiles_along(last_);
    const Extent down = writer_.blocks_over(body_.space.extent(tiled_.axis), schedule_.tile);
    writer_.source.grid = outer_size * down * across;
    std::string rest = writer_.block();
    rest = declare_part("left", rest, across, !down.is(1) || !outer_size.is(1));
    if (schedule_.block_limit > 0) {
      writer_.declare_block_range(fmt::format("{} % {}", rest, writer_.text(down)),
                                  body_.space.extent(tiled_.axis), schedule_.tile);
      writer_.declare_index("top", "start");
      rest = fmt::format("{} / {}", rest, writer_.text(down));
    } else {
      rest = declare_part("top", rest, down, !outer_size.is(1));
    }
    if (!outer.empty()) writer_.declare_axes(rest, outer, "outer");
  }

  /// Declares `name`, the start of a tile, from the linear index `rest` of the block. Returns the
  /// quotient of `rest` by `tiles`.
  std::string declare_part(std::string_view name, const std::string& rest, Extent tiles,
                           bool is_shared) {
    if (tiles.is(1)) {
      writer_.declare_index(name, "0");
      return rest;
    }
    const std::string count = atomic(writer_.text(tiles));
    const std::string number = is_shared ? fmt::format("{} % {}", rest, count) : rest;
    writer_.declare_index(name, fmt::format("{} * {}", number, schedule_.tile));
    return fmt::format("{} / {}", rest, count);
  }

  // --- tiles ------------------------------------------------------------------------------------

  std::string position_type(int vector, int bytes_per_element) const {
    return fmt::format("TilePlace<{}, {}, {}>", schedule_.tile, vector,
                       lanes_across(schedule_.tile, vector, bytes_per_element));
  }

  /// Vectors of `vector` elements per thread and tile.
  int vectors_per_thread(int vector) const {
    return schedule_.tile * schedule_.tile / (vector * schedule_.threads);
  }

  void declare_tiles() {
    for (const int value : tiled_.loads)
      loads_.push_back(declare_tile(value, load_of(body_, value),
                                    body_.values[static_cast<std::size_t>(value)].node));
    for (const int store : tiled_.stores)
      stores_.push_back(declare_tile(store, store_of(body_, store),
                                     body_.stores[static_cast<std::size_t>(store)].node));
  }

  /// Vectors for CPUs are whole lines of the tile, of which the last one may be shorter.
  int vector_of(const TiledAccess& access) const {
    const Facts& facts = writer_.program.facts;
    const std::optional<Extent> step = step_along(access.at, tiled_.axis, schedule_.tile, facts);
    if (schedule_.is_for_cpu() && access.conditions.empty() && step && step->is(1))
      return schedule_.tile;
    return tile_vector(body_, tiled_.axis, access, schedule_, facts);
  }

  /// The number of elements of a vector along `axis` that exist; empty: all of them.
  std::string declare_count(int axis, int vector) {
    const Extent extent = body_.space.extent(axis);
    if (vector < schedule_.tile || !schedule_.is_for_cpu() ||
        (extent.is_number() && extent.number() % vector == 0))
      return "";
    return writer_.declare_index(
        "count", fmt::format("minimum({}, {} - {})", writer_.index_number(vector),
                             atomic(writer_.text(extent)), writer_.axis_names[axis]));
  }

  /// The call `load<N>(…)` or `store<N>(…)` for the first `count` elements.
  static std::string some(std::string call, const std::string& count) {
    if (count.empty()) return call;
    call.insert(call.find('<'), "_some");
    return call.insert(call.rfind(')'), ", " + count);
  }

  TileInMemory declare_tile(int number, const TiledAccess& access, const Node* node) {
    const int vector = vector_of(access);
    std::string name = writer_.name_for(node, "_tile");
    const std::int64_t offset = writer_.source.shared_bytes;
    writer_.out.line(fmt::format("const Tile<{}, {}, {}> {}(shared_memory(){});",
                                 info(access.dtype).c_name, schedule_.tile,
                                 lines_per_padding(schedule_.vector), name,
                                 offset == 0 ? "" : fmt::format(" + {}", offset)));
    writer_.source.shared_bytes += tile_bytes(schedule_.tile, access.dtype, schedule_.vector);
    return {.number = number,
            .dtype = access.dtype,
            .name = std::move(name),
            .vector = vector,
            .position_type = position_type(vector, size_of(access.dtype))};
  }

  /// Writes a loop over a thread's vectors. `body` may use `place`, the position of the vector. For
  /// CPUs these are two loops, of which a compiler can vectorise the inner one.
  void for_each_position(const std::string& type, int vector, const std::function<void()>& body) {
    if (schedule_.is_for_cpu()) {
      const auto loop = [&](std::string_view index, int step) {
        return fmt::format("for (int {0} = 0; {0} < {1}; {0} += {2})", index, schedule_.tile, step);
      };
      writer_.out.block(loop("down", 1), [&] {
        writer_.out.block(loop("start", vector), [&] {
          writer_.out.line("const struct { int line, start; } place = {down, start};");
          body();
        });
      });
      return;
    }
    writer_.out.unrolled("u", std::to_string(vectors_per_thread(vector)), [&] {
      writer_.out.line(
          fmt::format("const {} place(threadIdx.x + u * {});", type, schedule_.threads));
      body();
    });
  }

  /// Declares the position at `place`, whose vectors extend along `axis`. Returns the condition
  /// that it is within the iteration space, or "" if it always is.
  std::string declare_position(int axis) {
    const bool is_along_rows = axis == last_;
    writer_.axis_names[tiled_.axis] =
        writer_.declare_index("row", is_along_rows ? "top + place.line" : "top + place.start");
    writer_.axis_names[last_] =
        writer_.declare_index("column", is_along_rows ? "left + place.start" : "left + place.line");
    std::vector<std::string> guards;
    for (const int each : {tiled_.axis, last_}) {
      const Extent extent = body_.space.extent(each);
      if (each == tiled_.axis && schedule_.block_limit > 0)
        guards.push_back(fmt::format("{} < end", writer_.axis_names[each]));
      else if (!extent.is_number() || extent.number() % schedule_.tile != 0)
        guards.push_back(fmt::format("{} < {}", writer_.axis_names[each], writer_.text(extent)));
    }
    return fmt::format("{}", fmt::join(guards, " && "));
  }

  /// `if (…) `, or "" if `inside` and `condition` are both empty.
  static std::string if_text(std::string inside, const std::string& condition) {
    if (!condition.empty()) inside += (inside.empty() ? "" : " && ") + condition;
    return inside.empty() ? "" : fmt::format("if ({}) ", inside);
  }

  /// All loads come before all puts, so that they are in flight at once. Not for CPUs, which would
  /// only move the data once more. Tiles of CPUs hold the rows of the values as lines, because
  /// vector code needs contiguous elements.
  void write_loads(const TileInMemory& tile) {
    if (schedule_.is_for_cpu()) {
      for_each_position(tile.position_type, tile.vector, [&] {
        writer_.out.line(
            fmt::format("Vector<{}, {}> ahead = {{}};", info(tile.dtype).c_name, tile.vector));
        const std::string inside = declare_position(tiled_.axis);
        const std::string condition =
            writer_.condition_text(load_of(body_, tile.number).conditions, false);
        const std::string count = declare_count(tiled_.axis, tile.vector);
        write_prefetches({&tile.number, 1}, tiled_.axis, tile.vector);
        writer_.out.line(fmt::format("{}ahead = {};", if_text(inside, condition),
                                     some(writer_.counted_load(tile.number, tile.vector), count)));
        writer_.out.line(fmt::format("{}.put(place.line, place.start, ahead);", tile.name));
      });
      writer_.out.line(tile.name + ".transpose();");
      return;
    }
    writer_.out.line(fmt::format("Vector<{}, {}> {}_ahead[{}] = {{}};", info(tile.dtype).c_name,
                                 tile.vector, tile.name, vectors_per_thread(tile.vector)));
    for_each_position(tile.position_type, tile.vector, [&] {
      const std::string inside = declare_position(tiled_.axis);
      const std::string condition =
          writer_.condition_text(load_of(body_, tile.number).conditions, false);
      writer_.out.line(fmt::format("{}{}_ahead[u] = {};", if_text(inside, condition), tile.name,
                                   writer_.counted_load(tile.number, tile.vector)));
    });
  }

  /// For CPUs, which do not predict the next lines of a tile: prefetches those of `loads`. Lines
  /// extend along `axis`.
  void write_prefetches(std::span<const int> loads, int axis, int vector) {
    constexpr int kLinesAhead = 16;  // measured with tiles of 64 lines
    std::string& line = writer_.axis_names[axis == last_ ? tiled_.axis : last_];
    const std::string here = std::exchange(line, fmt::format("{} + {}", line, kLinesAhead));
    for (const int load : loads)
      if (writer_.may_prefetch(load, axis, axis == last_ ? tiled_.axis : last_, vector))
        writer_.write_prefetch(load, vector);
    line = here;
  }

  void write_puts(const TileInMemory& tile) {
    for_each_position(tile.position_type, tile.vector, [&] {
      writer_.out.line(fmt::format("{0}.put(place.line, place.start, {0}_ahead[u]);", tile.name));
    });
  }

  void write_takes(const TileInMemory& tile) {
    if (schedule_.is_for_cpu()) writer_.out.line(tile.name + ".transpose();");
    for_each_position(tile.position_type, tile.vector, [&] {
      const std::string inside = declare_position(tiled_.axis);
      const std::string condition =
          writer_.condition_text(store_of(body_, tile.number).conditions, false);
      const std::string vector =
          fmt::format("{}.take<{}>(place.line, place.start)", tile.name, tile.vector);
      const std::string count = declare_count(tiled_.axis, tile.vector);
      writer_.out.line(if_text(inside, condition) +
                       some(writer_.counted_store(tile.number, tile.vector, vector), count));
    });
  }

  // --- values -----------------------------------------------------------------------------------

  void write_values() {
    writer_.vector_axis = last_;
    const bool is_for_cpu = schedule_.is_for_cpu();
    for (const TileInMemory& tile : loads_)
      writer_.read_from_tile(tile.number,
                             tile.name + (is_for_cpu ? "(place.line, place.start + k)"
                                                     : "(place.start + k, place.line)"));
    for (const TileInMemory& tile : stores_)
      writer_.write_to_tile(tile.number,
                            tile.name + (is_for_cpu ? ".put(place.line, place.start, {});"
                                                    : ".spread(place.start, place.line, {});"));
    Sinks sinks;
    sinks.stores = indices_below(static_cast<int>(body_.stores.size()));
    int largest = 1;
    for (const BodyStore& store : body_.stores)
      largest = std::max(largest, size_of(store.node->dtype));
    const std::vector<bool> all(body_.values.size(), true);
    std::vector<int> direct = indices_below(static_cast<int>(body_.values.size()));
    std::erase_if(direct, [&](int value) { return std::ranges::count(tiled_.loads, value) > 0; });
    for_each_position(position_type(schedule_.vector, largest), schedule_.vector, [&] {
      writer_.out.block_if(declare_position(last_), [&] {
        Tile tile{.count = {}, .accumulator = {}, .index = {}};
        tile.count = declare_count(last_, schedule_.vector);
        write_prefetches(direct, last_, schedule_.vector);
        writer_.write_tile(all, sinks, tile);
      });
    });
  }

  KernelWriter& writer_;
  const Body& body_;
  const Schedule& schedule_;
  int last_;
  TiledAccesses tiled_;
  std::vector<TileInMemory> loads_;
  std::vector<TileInMemory> stores_;
};

}  // namespace

void write_tiled_pointwise(KernelWriter& writer) { TiledWriter(writer).write(); }

}  // namespace sinter
