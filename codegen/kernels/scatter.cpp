// Scatters: rows written or added at indices. Each block owns some rows of the result, and one
// thread owns each of their elements. Nothing is atomic, and sums are taken in index order. Every
// block therefore reads all indices, mostly from the L2 cache.
//
// The rows stay in shared memory until all indices are processed. Rows of an in-place result are
// changed in memory instead, and so are rows too long for shared memory. If values are computed
// from such long rows, the block first stores the results that rows without scattered values have.
// Rows that an index names then hold sums in place of results, until their results are stored.
//
// Several scatters of one kernel run in turn. If they scatter values of the same arrays, they run
// at once instead, so that those are read once.
#include <fmt/format.h>

#include <set>

#include "codegen/kernels/kernel_kinds.h"
#include "codegen/text/expression.h"
#include "ir/support/round_up.h"
#include "sinter/error.h"

namespace sinter {

namespace {

bool accumulates(const BodyScatter& scatter) {
  return attribute(*scatter.node, "accumulate").integer != 0;
}

/// The new value of an element that was `old`, for the scattered value `added`.
std::string combined(const BodyScatter& scatter, const std::string& old, const std::string& added) {
  if (!accumulates(scatter)) return added;
  const DType dtype = scatter.node->dtype;
  return is_floating(dtype) ? fmt::format("{} + {}", old, added)
                            : fmt::format("wrapping_add({}, {})", old, added);
}

class ScatterWriter {
 public:
  explicit ScatterWriter(KernelWriter& writer)
      : writer_(writer), scatter_(&*writer.body.scatter), type_(writer.index_type()) {
    rows_ = writer.text(writer.body.space.extent(0));
    columns_ = atomic(writer.text(writer.body.space.extent(1)));
    count_ = atomic(writer.text(writer.body.space.extent(2)));
  }

  void write() {
    const Schedule& schedule = writer_.schedule;
    Source& source = writer_.source;
    source.grid = ceil_div(writer_.body.space.extent(0), schedule.rows_per_block);
    source.shared_bytes = std::int64_t{4} * schedule.threads;
    source.has_barrier = true;
    is_kept_ = schedule.resident;
    is_finished_ = !is_kept_ && !stores_only_scatter(writer_.body);
    ensure(!is_finished_ || may_sum_in_results(writer_.body),
           "results computed from scattered rows need a schedule that keeps the rows");
    writer_.declare_index("first_row",
                          fmt::format("{} * {}", writer_.block(), schedule.rows_per_block));
    writer_.declare_index(
        "owned_rows", fmt::format("minimum({}, {} - first_row)",
                                  writer_.index_number(schedule.rows_per_block), atomic(rows_)));
    writer_.declare_index("thread", schedule.is_for_cpu() ? "0" : "static_cast<int>(threadIdx.x)");
    writer_.declare_index("threads", std::to_string(schedule.threads));
    if (read_same_arrays()) {
      write_all_at_once();
    } else {
      if (is_kept_) declare_owned();
      if (is_finished_) {
        declare_named();
        write_first_results();
      } else {
        write_base();
      }
      write_scan({&scatter_, 1});
      write_more_scatters();
    }
    // The rows that the indices name are not known, so the traffic is a bound.
    source.traffic.is_bound = true;
    if (is_kept_) return write_results();
    if (is_finished_) write_named_results();
    // Rows that the indices name are written again, and read first if values are added to them.
    source.traffic.writes_are_bound = true;
    const Extent again = elements_named() * Extent(size_of(scatter_->node->dtype));
    const Extent times = is_finished_ ? 2 : 1;
    source.traffic.bytes_written =
        again * times + product(scatter_->node->shape) * Extent(size_of(scatter_->node->dtype));
    if (is_finished_ || accumulates(*scatter_))
      source.traffic.bytes_read = source.traffic.bytes_read + again;
  }

 private:
  SourceWriter& out() { return writer_.out; }

  /// The maximum number of elements in rows that the indices name.
  Extent elements_named() const {
    const Extent count = writer_.body.space.extent(2);
    const Extent rows = writer_.body.space.extent(0);
    return (provably_less(count, rows) ? count : rows) * writer_.body.space.extent(1);
  }

  /// The offset in the result of the element at the position in `axis_names`.
  std::string element() const { return writer_.text(writer_.body.stores[0].at, false); }

  std::string stored(const std::string& value) const {
    return in_memory(scatter_->node->dtype, value);
  }

  /// Writes the other scatters in turn, each with its own rows in shared memory.
  void write_more_scatters() {
    for (const BodyScatter& other : writer_.body.more_scatters) {
      scatter_ = &other;
      out().block("", [&] {
        declare_owned();
        write_base();
        write_scan({&scatter_, 1});
      });
    }
    scatter_ = &*writer_.body.scatter;
  }

  /// The loads that `source` is computed from, without those that all columns share.
  std::set<int> loads_of(int source) const {
    std::set<int> loads;
    std::vector<int> pending = {source};
    while (!pending.empty()) {
      const int next = pending.back();
      pending.pop_back();
      const Value& value = writer_.body.values[static_cast<std::size_t>(next)];
      if (value.kind == Value::Kind::load && depends_on(value.at, 1)) loads.insert(next);
      pending.insert(pending.end(), value.operands.begin(), value.operands.end());
    }
    return loads;
  }

  /// True if there are several scatters, of values that are computed from the same loads. A row
  /// must occupy a warp, because a thread owns whole columns then.
  bool read_same_arrays() const {
    constexpr std::int64_t kFewestColumns = 32;
    const std::vector<BodyScatter>& more = writer_.body.more_scatters;
    const std::set<int> loads = loads_of(writer_.body.scatter->source);
    const Extent columns = writer_.body.space.extent(1);
    return is_kept_ && !more.empty() && !loads.empty() && columns.is_number() &&
           columns.number() >= kFewestColumns &&
           std::ranges::all_of(
               more, [&](const BodyScatter& other) { return loads_of(other.source) == loads; });
  }

  /// Writes one loop over the indices for all scatters. A thread then owns whole columns, because
  /// it loads a source element once for all scatters.
  void write_all_at_once() {
    std::vector<const BodyScatter*> scatters = {&*writer_.body.scatter};
    for (const BodyScatter& other : writer_.body.more_scatters) scatters.push_back(&other);
    for (std::size_t i = 0; i < scatters.size(); ++i) {
      scatter_ = scatters[i];
      owned_ = fmt::format("owned_{}", i);
      declare_owned();
      write_base();
    }
    scatter_ = scatters[0];
    owned_ = "owned_0";
    write_scan(scatters);
    out().line("block_barrier();");
  }

  void declare_owned() {
    const DType dtype = scatter_->node->dtype;
    writer_.source.shared_bytes = round_up(writer_.source.shared_bytes, 16);
    owned_at_.push_back(writer_.source.shared_bytes);
    const std::string_view type = info(dtype).c_name;
    out().line(fmt::format("{}* {} = reinterpret_cast<{}*>(shared_memory() + {});", type, owned_,
                           type, writer_.source.shared_bytes));
    const Extent elements = writer_.body.space.extent(1) * Extent(writer_.schedule.rows_per_block);
    writer_.source.shared_bytes += elements.number() * size_of(dtype);
  }

  /// Declares the axes of `element`, an index among the block's elements.
  void declare_element_axes() {
    const std::string column =
        writer_.declare_index("column", fmt::format("element % {}", columns_));
    const std::string row =
        writer_.declare_index("row", fmt::format("first_row + element / {}", columns_));
    name_axes(row, column, "");
  }

  /// Writes a loop over the elements that the thread owns. `body` may use `element` and the axes.
  void write_owned(const std::function<void()>& body) {
    if (writer_.schedule.is_for_cpu()) return write_owned_rows(body);
    out().block(
        fmt::format("for ({} element = thread; element < owned_rows * {}; element += threads)",
                    type_, columns_),
        [&] {
          declare_element_axes();
          body();
        });
  }

  /// The same for the one thread of a block: two loops without divisions, of which a compiler can
  /// vectorise the inner one.
  void write_owned_rows(const std::function<void()>& body) {
    const auto loop = [&](std::string_view index, const std::string& end) {
      return fmt::format("for ({0} {1} = 0; {1} < {2}; ++{1})", type_, index, end);
    };
    out().block(loop("slot", "owned_rows"), [&] {
      writer_.declare_index("row", "first_row + slot");
      out().block(loop("column", columns_), [&] {
        writer_.declare_index("element", fmt::format("slot * {} + column", columns_));
        name_axes("row", "column", "");
        body();
      });
    });
  }

  /// Writes `to = VALUE;` for one element of `root`.
  void write_assignment(const std::string& to, int root) {
    writer_.write_in_scope(
        root, [&](const std::string& value) { out().line(fmt::format("{} = {};", to, value)); });
  }

  /// Declares one bit per thread and row: true once the thread has changed its elements of the row.
  void declare_named() {
    out().line(fmt::format("unsigned* named = reinterpret_cast<unsigned*>(shared_memory() + {});",
                           writer_.source.shared_bytes));
    const std::int64_t words = divide_up(writer_.schedule.rows_per_block, 32);
    writer_.source.shared_bytes += words * 4 * writer_.schedule.threads;
    out().line(fmt::format(
        "for (int word = 0; word < {}; ++word) named[word * threads + thread] = 0;", words));
  }

  /// Stores the results of all rows before any index is processed. Several elements are processed
  /// at once, so that their loads are in flight together. Stores between them would prevent that.
  void write_first_results() {
    constexpr int kAtOnce = 8;
    const BodyStore& store = writer_.body.stores[0];
    const std::string_view type = compute_c_type(scatter_->node->dtype);
    if (writer_.schedule.is_for_cpu())
      return write_owned([&] {
        out().line(fmt::format("{} results;", type));
        write_assignment("results", scatter_->base);
        writer_.set_text(scatter_->result, "results");
        write_assignment("results", store.value);
        writer_.write_element_store(store, "results");
      });
    const auto for_each = [&](const std::function<void()>& body) {
      out().unrolled("i", std::to_string(kAtOnce), [&] {
        writer_.declare_index("element", "start + i * threads");
        out().block(fmt::format("if (element < owned_rows * {})", columns_), [&] {
          declare_element_axes();
          body();
        });
      });
    };
    out().block(fmt::format("for ({} start = thread; start < owned_rows * {}; start += {} * "
                            "threads)",
                            type_, columns_, kAtOnce),
                [&] {
                  out().line(fmt::format("{} results[{}];", type, kAtOnce));
                  for_each([&] { write_assignment("results[i]", scatter_->base); });
                  writer_.set_text(scatter_->result, "results[i]");
                  for_each([&] { write_assignment("results[i]", store.value); });
                  for_each([&] { writer_.write_element_store(store, "results[i]"); });
                });
  }

  /// Stores the results of the rows that indices have named, after all indices.
  void write_named_results() {
    const Traffic all = writer_.source.traffic;
    const std::string words = std::to_string(divide_up(writer_.schedule.rows_per_block, 32));
    out().block(fmt::format("for (int word = 0; word < {}; ++word)", words), [&] {
      out().block(
          "for (unsigned left = named[word * threads + thread]; left != 0; left &= left - 1)", [&] {
            const std::string row = writer_.declare_index(
                "row", fmt::format("first_row + word * 32 + lowest_one_of(left)"));
            write_owned_columns(row, [&] {
              name_axes(row, "column", "");
              out().line(fmt::format("const {} added = load({}, {});",
                                     compute_c_type(scatter_->node->dtype),
                                     writer_.result_parameter(), element()));
              writer_.set_text(scatter_->result, "added");
              const BodyStore& store = writer_.body.stores[0];
              writer_.write_in_scope(store.value, [&](const std::string& value) {
                writer_.write_element_store(store, value);
              });
            });
          });
    });
    // Each load is repeated at most for the rows that are named.
    writer_.source.traffic = all;
    for (const Value& value : writer_.body.values)
      if (value.kind == Value::Kind::load && depends_on(value.at, 0) && !depends_on(value.at, 2))
        writer_.source.traffic.bytes_read =
            writer_.source.traffic.bytes_read + elements_named() * Extent(size_of(value.dtype));
  }

  void write_base() {
    if (!is_kept_ && writer_.is_in_place(scatter_->base)) return;  // memory holds it already
    write_owned([&] {
      writer_.write_in_scope(scatter_->base, [&](const std::string& value) {
        out().line(is_kept_ ? fmt::format("{}[element] = {};", owned_, stored(value))
                            : fmt::format("store({}, {}, {});", writer_.result_parameter(),
                                          element(), stored(value)));
      });
    });
  }

  /// Stores the results of all rows, after all indices.
  void write_results() {
    std::vector<int> roots;
    for (const BodyStore& store : writer_.body.stores) roots.push_back(store.value);
    write_owned([&] {
      writer_.set_text(scatter_->result, computed(scatter_->node->dtype, owned_ + "[element]"));
      for (std::size_t i = 0; i < writer_.body.more_scatters.size(); ++i) {
        const BodyScatter& other = writer_.body.more_scatters[i];
        const DType dtype = other.node->dtype;
        writer_.set_text(
            other.result,
            computed(dtype,
                     fmt::format("reinterpret_cast<const {}*>(shared_memory() + {})[element]",
                                 info(dtype).c_name, owned_at_[i + 1])));
      }
      writer_.write_in_scope(roots, [&] {
        for (const BodyStore& store : writer_.body.stores)
          writer_.write_element_store(store, writer_.operand_text(store.value));
      });
    });
  }

  /// The number of the row of `scatter` among those of the block: its name, for one of `count`.
  static std::string place_name(std::size_t scatter, std::size_t count) {
    return count == 1 ? "place" : fmt::format("place_{}", scatter);
  }

  /// Each thread marks those of 32 indices that name rows of this block, in any of `scatters`. Then
  /// all threads iterate over the marks.
  void write_scan(std::span<const BodyScatter* const> scatters) {
    std::vector<int> indices;
    for (const BodyScatter* scatter : scatters) indices.push_back(scatter->index);
    out().line("unsigned* marks = reinterpret_cast<unsigned*>(shared_memory());");
    const Extent count = writer_.body.space.extent(2);
    const bool is_first = scatter_ == &*writer_.body.scatter;
    const bool is_one_round =
        count.is_number() && count.number() <= std::int64_t{32} * writer_.schedule.threads;
    out().block(
        fmt::format("for ({} start = 0; start < {}; start += 32 * threads)", type_, count_), [&] {
          out().line("unsigned mark = 0;");
          out().block("for (int bit = 0; bit < 32; ++bit)", [&] {
            name_axes("", "", writer_.declare_index("along", "start + thread * 32 + bit"));
            out().block(fmt::format("if (along < {})", count_), [&] {
              writer_.write_in_scope(indices, [&] {
                std::vector<std::string> are_owned;
                for (std::size_t i = 0; i < scatters.size(); ++i) {
                  declare_place(*scatters[i], place_name(i, scatters.size()));
                  are_owned.push_back(
                      fmt::format("{0} >= 0 && {0} < owned_rows", place_name(i, scatters.size())));
                  if (scatters.size() > 1) are_owned.back() = "(" + are_owned.back() + ")";
                }
                out().line(fmt::format("if ({}) mark |= 1u << bit;", fmt::join(are_owned, " || ")));
              });
            });
          });
          // All threads have read the previous marks.
          if (!is_first || !is_one_round)
            out().line(is_first ? "if (start > 0) block_barrier();" : "block_barrier();");
          out().line("marks[thread] = mark;");
          out().line("block_barrier();");
          out().block("for (int marker = 0; marker < threads; ++marker)", [&] {
            out().block("for (unsigned left = marks[marker]; left != 0; left &= left - 1)",
                        [&] { scatters.size() == 1 ? write_row() : write_rows(scatters); });
          });
        });
  }

  void declare_place(const BodyScatter& scatter, const std::string& name) {
    out().line(fmt::format("const long long {} = static_cast<long long>({}) - first_row;", name,
                           writer_.operand_text(scatter.index)));
  }

  /// The elements that an index position adds to the rows of all scatters.
  void write_rows(std::span<const BodyScatter* const> scatters) {
    std::vector<int> indices, sources;
    for (const BodyScatter* scatter : scatters) {
      indices.push_back(scatter->index);
      sources.push_back(scatter->source);
    }
    const std::string along =
        writer_.declare_index("along", "start + marker * 32 + lowest_one_of(left)");
    name_axes("", "", along);
    writer_.write_in_scope(indices, [&] {
      for (std::size_t i = 0; i < scatters.size(); ++i)
        declare_place(*scatters[i], place_name(i, scatters.size()));
      const std::string loop =
          fmt::format("for ({} column = thread; column < {}; column += threads)", type_, columns_);
      out().block(loop, [&] {
        name_axes("", "column", along);
        writer_.write_in_scope(sources, [&] {
          for (std::size_t i = 0; i < scatters.size(); ++i) {
            const std::string place = place_name(i, scatters.size());
            const std::string to = fmt::format("owned_{}[element]", i);
            out().block(fmt::format("if ({0} >= 0 && {0} < owned_rows)", place), [&] {
              out().line(fmt::format("const {0} element = static_cast<{0}>({1}) * {2} + column;",
                                     type_, place, columns_));
              out().line(fmt::format(
                  "{} = {};", to,
                  in_memory(scatters[i]->node->dtype,
                            combined(*scatters[i], to, writer_.operand_text(sources[i])))));
            });
          }
        });
      });
    });
  }

  void write_row() {
    const std::string along =
        writer_.declare_index("along", "start + marker * 32 + lowest_one_of(left)");
    name_axes("", "", along);
    writer_.write_in_scope(scatter_->index, [&](const std::string& index) {
      const std::string row =
          writer_.declare_index("row", fmt::format("static_cast<{}>({})", type_, index));
      if (is_finished_) {
        out().line(
            fmt::format("unsigned& word = named[({} - first_row) / 32 * threads + thread];", row));
        out().line(fmt::format("const unsigned own_bit = 1u << ({} - first_row) % 32;", row));
        out().line("const bool is_begun = (word & own_bit) != 0;");
        out().line("word |= own_bit;");
      }
      write_owned_columns(row, [&] { write_element(row, along); });
    });
  }

  /// Writes a loop over each `column` of `row` whose element this thread owns.
  void write_owned_columns(const std::string& row, const std::function<void()>& body) {
    const std::string begin = writer_.declare_index(
        "begin", fmt::format("({} - first_row) * {} % threads", row, columns_));
    out().block(fmt::format("for ({} column = thread >= {} ? thread - {} : thread - {} + threads; "
                            "column < {}; column += threads)",
                            type_, begin, begin, begin, columns_),
                body);
  }

  void write_element(const std::string& row, const std::string& along) {
    name_axes(row, "column", along);
    if (is_kept_) {
      const std::string kept = writer_.declare_index(
          "element", fmt::format("({} - first_row) * {} + column", row, columns_));
      writer_.write_in_scope(scatter_->source, [&](const std::string& value) {
        const std::string to = fmt::format("owned[{}]", kept);
        out().line(fmt::format("{} = {};", to, stored(combined(*scatter_, to, value))));
      });
      return;
    }
    const std::string to = writer_.result_parameter();
    std::string old = fmt::format("load({}, {})", to, element());
    if (is_finished_ && accumulates(*scatter_)) write_old(std::exchange(old, "added"));
    writer_.write_in_scope(scatter_->source, [&](const std::string& value) {
      out().line(fmt::format("store({}, {}, {});", to, element(),
                             stored(combined(*scatter_, old, value))));
    });
  }

  /// Declares `added`, the sum so far. Until the thread has changed the row, memory holds a result
  /// instead, so the sum is the base value.
  void write_old(const std::string& in_memory) {
    const Traffic all = writer_.source.traffic;
    out().line(fmt::format("{} added;", compute_c_type(scatter_->node->dtype)));
    out().block("if (is_begun)", [&] { out().line(fmt::format("added = {};", in_memory)); });
    out().block("else", [&] { write_assignment("added", scatter_->base); });
    writer_.source.traffic = all;  // write_named_results counts these loads
  }

  void name_axes(const std::string& row, const std::string& column, const std::string& along) {
    writer_.axis_names = {{0, row}, {1, column}, {2, along}};
  }

  KernelWriter& writer_;
  const BodyScatter* scatter_;          ///< the scatter that is being written
  std::string owned_ = "owned";         ///< the name of its rows in shared memory
  std::vector<std::int64_t> owned_at_;  ///< the offset of each scatter's rows in shared memory
  bool is_kept_ = false;                ///< rows stay in shared memory
  bool is_finished_ = false;            ///< rows in memory are results, and sums temporarily
  std::string_view type_;
  std::string rows_;
  std::string columns_;
  std::string count_;
};

}  // namespace

void write_scatter(KernelWriter& writer) { ScatterWriter(writer).write(); }

}  // namespace sinter
