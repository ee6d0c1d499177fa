// Rows written at indices. Each block owns some rows of the result, and each element of them
// belongs to one thread from beginning to end, so nothing is atomic and sums are taken in the order
// of the indices. For that every block reads all indices, mostly from the L2 cache. Rows stay in
// shared memory meanwhile, and what is made of them is stored at the end; but rows that are there
// already, since the result is written over them, are changed in memory.
#include <fmt/format.h>

#include "codegen/expression.h"
#include "codegen/shapes.h"
#include "sinter/error.h"

namespace sinter {

namespace {

bool accumulates(const BodyScatter& scatter) {
  return attribute(*scatter.node, "accumulate").integer != 0;
}

/// What is written where `added` meets what was there.
std::string combined(const BodyScatter& scatter, const std::string& old, const std::string& added) {
  if (!accumulates(scatter)) return added;
  const DType dtype = scatter.node->dtype;
  return is_floating(dtype) ? fmt::format("{} + {}", old, added)
                            : fmt::format("wrapping_add({}, {})", old, added);
}

class ScatterWriter {
 public:
  explicit ScatterWriter(KernelWriter& writer)
      : writer_(writer), scatter_(*writer.body.scatter), type_(writer.index_type()) {
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
    ensure(is_kept_ || stores_only_scatter(writer_.body),
           "what is made of scattered rows needs a schedule that keeps them");
    writer_.declare_index("first_row",
                          fmt::format("{} * {}", writer_.block(), schedule.rows_per_block));
    writer_.declare_index("owned_rows", fmt::format("minimum({}({}), {} - first_row)", type_,
                                                    schedule.rows_per_block, atomic(rows_)));
    writer_.declare_index("thread", "static_cast<int>(threadIdx.x)");
    writer_.declare_index("threads", std::to_string(schedule.threads));
    if (is_kept_) declare_owned();
    write_base();
    write_scan();
    // Which rows the indices name is not known, nor whether they name any.
    source.traffic.is_bound = true;
    if (is_kept_) return write_results();
    // Rows that the indices name are written again, and read before if they are added to.
    source.traffic.writes_are_bound = true;
    const Extent count = writer_.body.space.extent(2);
    const Extent rows = writer_.body.space.extent(0);
    const Extent named = provably_less(count, rows) ? count : rows;
    const Extent again =
        named * writer_.body.space.extent(1) * Extent(size_of(scatter_.node->dtype));
    source.traffic.bytes_written =
        again + product(scatter_.node->shape) * Extent(size_of(scatter_.node->dtype));
    if (accumulates(scatter_)) source.traffic.bytes_read = source.traffic.bytes_read + again;
  }

 private:
  SourceWriter& out() { return writer_.out; }

  /// Where the element at the axes' names lies in the result.
  std::string element() const { return writer_.text(writer_.body.stores[0].at, false); }

  std::string stored(const std::string& value) const {
    const DType dtype = scatter_.node->dtype;
    return is_narrow(dtype) ? fmt::format("to_memory<{}>({})", name(dtype), value) : value;
  }

  void declare_owned() {
    const DType dtype = scatter_.node->dtype;
    const std::string_view type = info(dtype).c_name;
    out().line(fmt::format("{}* owned = reinterpret_cast<{}*>(shared_memory() + {});", type, type,
                           writer_.source.shared_bytes));
    const Extent elements = writer_.body.space.extent(1) * Extent(writer_.schedule.rows_per_block);
    writer_.source.shared_bytes += elements.number() * size_of(dtype);
  }

  /// Calls `body` for each element that the thread owns, with its `element` among those of the
  /// block and its axes declared.
  void write_owned(const std::function<void()>& body) {
    out().block(
        fmt::format("for ({} element = thread; element < owned_rows * {}; element += threads)",
                    type_, columns_),
        [&] {
          name_axes(writer_.declare_index("row", fmt::format("first_row + element / {}", columns_)),
                    writer_.declare_index("column", fmt::format("element % {}", columns_)), "");
          body();
        });
  }

  void write_base() {
    if (!is_kept_ && writer_.is_in_place(scatter_.base)) return;  // it is there already
    write_owned([&] {
      writer_.write_in_scope(scatter_.base, [&](const std::string& value) {
        out().line(is_kept_ ? fmt::format("owned[element] = {};", stored(value))
                            : fmt::format("store({}, {}, {});", writer_.result_parameter(),
                                          element(), stored(value)));
      });
    });
  }

  /// What is made of the rows, when all indices are done.
  void write_results() {
    const DType dtype = scatter_.node->dtype;
    std::vector<int> roots;
    for (const BodyStore& store : writer_.body.stores) roots.push_back(store.value);
    write_owned([&] {
      writer_.set_text(scatter_.result,
                       is_narrow(dtype) ? "to_float(owned[element])" : "owned[element]");
      writer_.write_in_scope(roots, [&] {
        for (const BodyStore& store : writer_.body.stores)
          writer_.write_element_store(store, writer_.operand_text(store.value));
      });
    });
  }

  /// Threads mark the indices that name rows of this block, 32 each; then all go through the marks.
  void write_scan() {
    out().line("unsigned* marks = reinterpret_cast<unsigned*>(shared_memory());");
    out().block(
        fmt::format("for ({} start = 0; start < {}; start += 32 * threads)", type_, count_), [&] {
          out().line("unsigned mark = 0;");
          out().block("for (int bit = 0; bit < 32; ++bit)", [&] {
            name_axes("", "", writer_.declare_index("along", "start + thread * 32 + bit"));
            out().block(fmt::format("if (along < {})", count_), [&] {
              writer_.write_in_scope(scatter_.index, [&](const std::string& index) {
                out().line(fmt::format(
                    "const long long place = static_cast<long long>({}) - first_row;", index));
                out().line("if (place >= 0 && place < owned_rows) mark |= 1u << bit;");
              });
            });
          });
          out().line("marks[thread] = mark;");
          out().line("block_barrier();");
          out().block("for (int marker = 0; marker < threads; ++marker)", [&] {
            out().block("for (unsigned left = marks[marker]; left != 0; left &= left - 1)",
                        [&] { write_row(); });
          });
          out().line("block_barrier();");
        });
  }

  void write_row() {
    const std::string along =
        writer_.declare_index("along", "start + marker * 32 + lowest_one_of(left)");
    name_axes("", "", along);
    writer_.write_in_scope(scatter_.index, [&](const std::string& index) {
      const std::string row =
          writer_.declare_index("row", fmt::format("static_cast<{}>({})", type_, index));
      writer_.declare_index("begin", fmt::format("(row - first_row) * {} % threads", columns_));
      // The columns of the elements that this thread owns.
      out().block(
          fmt::format(
              "for ({} column = thread >= begin ? thread - begin : thread - begin + threads; "
              "column < {}; column += threads)",
              type_, columns_),
          [&] { write_element(row, along); });
    });
  }

  void write_element(const std::string& row, const std::string& along) {
    name_axes(row, "column", along);
    if (is_kept_) {
      const std::string kept = writer_.declare_index(
          "element", fmt::format("({} - first_row) * {} + column", row, columns_));
      writer_.write_in_scope(scatter_.source, [&](const std::string& value) {
        const std::string to = fmt::format("owned[{}]", kept);
        out().line(fmt::format("{} = {};", to, stored(combined(scatter_, to, value))));
      });
      return;
    }
    const std::string to = writer_.result_parameter();
    writer_.write_in_scope(scatter_.source, [&](const std::string& value) {
      out().line(fmt::format(
          "store({}, {}, {});", to, element(),
          stored(combined(scatter_, fmt::format("load({}, {})", to, element()), value))));
    });
  }

  void name_axes(const std::string& row, const std::string& column, const std::string& along) {
    writer_.axis_names = {{0, row}, {1, column}, {2, along}};
  }

  KernelWriter& writer_;
  const BodyScatter& scatter_;
  bool is_kept_ = false;  ///< rows stay in shared memory
  std::string_view type_;
  std::string rows_;
  std::string columns_;
  std::string count_;
};

}  // namespace

void write_scatter(KernelWriter& writer) { ScatterWriter(writer).write(); }

}  // namespace sinter
