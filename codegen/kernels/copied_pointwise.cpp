// Pointwise kernels whose contiguous operands are copied to tiles in shared memory ahead of their
// use. A block has `unroll` adjacent tiles, and `stages` of them are in flight.
#include <algorithm>

#include <fmt/format.h>

#include "codegen/kernels/kernel_kinds.h"
#include "codegen/kernels/vector_positions.h"
#include "codegen/statements/loads_ahead.h"
#include "codegen/text/traffic_snapshot.h"
#include "compiler/tiling/copied_loads.h"
#include "sinter/error.h"

namespace sinter {

namespace {

class CopiedWriter {
 public:
  explicit CopiedWriter(KernelWriter& writer)
      : writer_(writer),
        out_(writer.out),
        schedule_(writer.schedule),
        is_bulk_(writer.schedule.copies == Copies::bulk),
        loads_(copied_loads(writer.body, writer.schedule, writer.program.facts)),
        per_tile_(copied_elements(writer.body, writer.schedule)),
        positions_(writer),
        has_end_(positions_.may_be_outside(per_tile_ * writer.schedule.unroll)) {}

  void write() {
    declare_block();
    declare_tiles();
    writer_.vector_axis = writer_.body.parallel_axes - 1;
    std::vector<bool> is_copied(writer_.body.values.size());
    for (const int load : loads_) is_copied[static_cast<std::size_t>(load)] = true;
    LoadsAhead vectors(writer_, is_copied);
    ensure(!loads_.empty() && vectors.size() == loads_.size(),
           "copied loads are loads of whole vectors");
    out_.unrolled("u", std::to_string(schedule_.stages), [&] { write_copies("u", false); });
    out_.directive("#pragma unroll 1");
    out_.block(fmt::format("for (int u = 0; u < {}; ++u)", schedule_.unroll),
               [&] { vectors.with_arrays(1, [&] { write_one_tile(vectors); }); });
  }

 private:
  bool reuses_tiles() const { return schedule_.unroll > schedule_.stages; }

  /// `start`: the first element of the block. `place`: the thread's vector in a tile. `whole`: the
  /// number of complete tiles, if it may be less than all. Only complete tiles are copied.
  void declare_block() {
    writer_.source.grid =
        writer_.blocks_over(writer_.body.parallel_size(), per_tile_ * schedule_.unroll);
    writer_.declare_index("start",
                          fmt::format("{} * {}", writer_.block(), per_tile_ * schedule_.unroll));
    writer_.declare_index("place",
                          fmt::format("static_cast<int>(threadIdx.x) * {}", schedule_.vector));
    if (has_end_)
      writer_.declare_index("whole", fmt::format("minimum({}, ({} - start) / {})",
                                                 writer_.index_number(schedule_.unroll),
                                                 atomic(positions_.size_text()), per_tile_));
  }

  void declare_tiles() {
    std::int64_t offset = 0;
    for (const int load : loads_) {
      const Value& value = value_of(load);
      tiles_.push_back(writer_.name_for(value.node, "_tile"));
      out_.line(fmt::format("{0}* const {1} = reinterpret_cast<{0}*>(shared_memory(){2});",
                            info(value.dtype).c_name, tiles_.back(),
                            offset == 0 ? "" : fmt::format(" + {}", offset)));
      offset += schedule_.stages * per_tile_ * size_of(value.dtype);
    }
    const std::int64_t bytes = stage_bytes(writer_.body, loads_, schedule_);
    writer_.source.shared_bytes = copied_shared_bytes(bytes, schedule_);
    writer_.source.copied_ahead = schedule_.stages * bytes;
    writer_.source.has_barrier = is_bulk_;
    if (is_bulk_)
      out_.line(fmt::format("const BulkCopies<{}> copies(shared_memory() + {});", schedule_.stages,
                            offset));
    else
      out_.line(fmt::format("const ThreadCopies<{}> copies;", schedule_.stages));
  }

  const Value& value_of(int load) const {
    return writer_.body.values[static_cast<std::size_t>(load)];
  }

  /// The first element of the stage of tile `u` in the array of all stages.
  std::string stage() const {
    return reuses_tiles() ? fmt::format("u % {} * {}", schedule_.stages, per_tile_)
                          : fmt::format("u * {}", per_tile_);
  }

  /// Starts the copies of tile `number`, if there is one, into the stage of tile `u`. With
  /// `is_reused`, all threads have read the stage first.
  void write_copies(const std::string& number, bool is_reused) {
    std::string condition;
    if (has_end_) condition = number + " < whole";
    if (is_reused && !has_end_) condition = fmt::format("{} < {}", number, schedule_.unroll);
    out_.block_if(condition, [&] {
      if (is_bulk_ && is_reused) out_.line("copies.release();");
      out_.block_if(is_bulk_ ? "copies.issues()" : "", [&] { write_copies_of(number); });
    });
    if (!is_bulk_) out_.line("copies.commit();");
  }

  void write_copies_of(const std::string& number) {
    const std::string first =
        fmt::format("start + {} * {}{}", atomic(number), per_tile_, is_bulk_ ? "" : " + place");
    if (is_bulk_)
      out_.line(fmt::format("copies.expect({}, {});", number,
                            stage_bytes(writer_.body, loads_, schedule_)));
    for (std::size_t i = 0; i < loads_.size(); ++i) {
      const std::string from = writer_.copied_from(loads_[i], first);
      out_.line(is_bulk_ ? fmt::format("copies.copy({}, {} + {}, {}, {});", number, tiles_[i],
                                       stage(), from, per_tile_)
                         : fmt::format("copies.copy<{}>({} + {} + place, {});", schedule_.vector,
                                       tiles_[i], stage(), from));
    }
  }

  /// Reads the vectors of tile `u`, fills its stage with a later tile, and computes the results.
  void write_one_tile(LoadsAhead& vectors) {
    const std::string if_exists = has_end_ ? fmt::format("first < {}", positions_.size_text()) : "";
    writer_.declare_index("first", fmt::format("start + u * {} + place", per_tile_));
    out_.block_if(has_end_ ? "u < whole" : "", [&] {
      out_.line(is_bulk_ ? "copies.await(u);" : "copies.await();");
      vectors.write_vectors("0", [&](int load) {
        const auto at = std::ranges::find(loads_, load) - loads_.begin();
        return fmt::format("load<{}>({}, {} + place)", schedule_.vector,
                           tiles_[static_cast<std::size_t>(at)], stage());
      });
    });
    if (has_end_) {
      const TrafficSnapshot same(writer_.source);
      out_.block(fmt::format("else if ({})", if_exists),
                 [&] { vectors.write_loads("0", positions_.declare_tile("first", false)); });
    }
    write_next_copies();
    Sinks sinks;
    sinks.stores = indices_below(static_cast<int>(writer_.body.stores.size()));
    const std::vector<bool> all(writer_.body.values.size(), true);
    vectors.with_loads("0", [&] {
      out_.block_if(if_exists, [&] {
        writer_.write_tile(all, sinks, positions_.declare_tile("first", false));
      });
    });
  }

  void write_next_copies() {
    const TrafficSnapshot same(writer_.source);
    if (reuses_tiles())
      write_copies(fmt::format("u + {}", schedule_.stages), true);
    else if (!is_bulk_)
      out_.line("copies.commit();");
  }

  KernelWriter& writer_;
  SourceWriter& out_;
  const Schedule& schedule_;
  bool is_bulk_;
  std::vector<int> loads_;
  std::vector<std::string> tiles_;  ///< [load]: the array of its stages
  std::int64_t per_tile_;           ///< elements
  VectorPositions positions_;
  bool has_end_;  ///< the last block may have fewer positions than the others
};

}  // namespace

void write_copied_pointwise(KernelWriter& writer) { CopiedWriter(writer).write(); }

}  // namespace sinter
