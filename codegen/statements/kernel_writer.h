// KernelWriter, which all kernel kinds share: parameters, names, and statements for values.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "codegen/text/expression.h"
#include "codegen/text/names.h"
#include "codegen/text/source.h"
#include "codegen/text/source_writer.h"
#include "compiler/body/access.h"
#include "compiler/program/kernel.h"
#include "ir/text/print.h"

namespace sinter {

/// The consumers of the values that one tile computes.
struct Sinks {
  std::vector<int> reductions;    ///< indices into Body::reductions
  std::vector<int> columns = {};  ///< indices into Body::columns
  std::vector<int> stores;        ///< indices into Body::stores
  std::vector<int> kept;          ///< values saved in arrays indexed by part and tile.
  /// Write statements before and after the values of element `k`.
  std::function<void()> before_each = {};
  std::function<void()> after_each = {};
};

/// One vector of consecutive positions along the vector axis, processed by one thread.
struct Tile {
  std::string count;        ///< variable with the number of positions that exist; empty: all exist
  std::string accumulator;  ///< variable that selects the accumulator: `tile`, or `i` if rolled
  std::string index;        ///< position of element `k` on the reduced axis, for argmax
  std::string held_index =
      {};                   ///< index of element `k` among those that a thread holds, for columns
  bool loads_done = false;  ///< an earlier loop has made the kept loads
};

/// The elements of a buffer that a block keeps in shared memory.
struct SharedTile {
  std::optional<Index> at;  ///< the index, counted from the start of tile 0; nullopt: as in memory
  std::int64_t step = 0;    ///< from the index of a tile's first element to that of the next tile
};

/// The stores of values that have no position on the reduced axis.
struct RowStores {
  bool is_final = false;  ///< those of final values, else those of rows
  /// A block barrier is between the first pass over the reduced axis and these stores.
  bool has_met = false;
};

/// A section of a horizontally fused kernel as a function. The kernel calls it for each block of
/// the section.
struct SectionFunction {
  std::string name;
  std::string head;                ///< text in front of it: comments and the user's functions
  std::string text;                ///< the function, from its name on
  std::string code;                ///< the text without comments and without the name
  Source source;                   ///< its `text` is empty
  std::vector<std::string> names;  ///< of the arguments
  /// In shared memory. Their pointers follow `names`, and the number of the tile follows them.
  std::vector<int> shared_buffers;
  std::string_view index_type;  ///< of the block index, the last parameter
};

/// Writes one kernel. The file of its kind sets the axes and writes loops and tiles.
class KernelWriter {
 public:
  KernelWriter(const Program& program, const Kernel& kernel, const Schedule& schedule,
               std::string_view entry, Naming naming = Naming::by_graph);

  // Set by the file of the kind before they write values.
  int vector_axis = -1;  ///< the axis along which vectors extend; -1: none.
  /// In an unrolled loop, `tile` starts at or after position `tile * before_tile` of the vector
  /// axis. 0: the loop is not unrolled.
  std::int64_t before_tile = 0;
  std::int64_t tile_copies = 1;  ///< copies of a tile's text after unrolling
  std::map<int, std::string> axis_names;

  int pass = 0;  ///< the pass over the reduced axis that is being written

  std::string store_condition;  ///< variable that guards a tile's stores; empty: no guard
  /// Variable with the number of row results that exist in a vector; empty: all.
  std::string row_count;

  // --- text -------------------------------------------------------------------------------------
  /// An extent or index as an expression; symbols in it become parameters.
  std::string text(Extent extent);
  std::string text(const Index& index, bool at_element);
  /// `index` evaluated in 64 bits.
  std::string wide_text(const Index& index, bool at_element);
  /// The chunk size 4 as a literal of the index type: `4` or `4ll`.
  std::string elements_per_chunk() const;
  /// `number` as an operand of the index type: `int(4)` or `4ll`. C++ has no `long long(4)`.
  std::string index_number(std::int64_t number) const;
  /// `int` or `long long`.
  std::string_view index_type() const { return index_type_; }
  /// Writes `const int NAME = EXPRESSION;` and returns the name.
  std::string declare_index(std::string_view name, const std::string& expression);
  /// Declares `start` and `end` for a schedule with a block limit. The block with index `block`
  /// processes at most `per_block` positions from `start` on, all below `end`.
  void declare_block_range(const std::string& block, Extent size, std::int64_t per_block);
  /// The number of blocks that cover `size` positions with at most `per_block` each. Respects
  /// Schedule::block_limit.
  Extent blocks_over(Extent size, std::int64_t per_block) const;
  /// Splits `linear`, the name of a linear index, into variables for `axes` (row-major).
  void declare_axes(const std::string& linear, std::span<const int> axes, std::string_view prefix);

  /// The text of a computed value as an operand. Throws InternalError if it is not yet computed.
  std::string operand_text(int value);

  // --- values -----------------------------------------------------------------------------------
  /// For later passes: makes the compiler convert the `kept` narrow loads again, so that it does
  /// not keep their converted values in registers too.
  void write_reconversions(std::span<const int> kept);
  /// Statements for `values` at one tile, and for their sinks.
  void write_tile(const std::vector<bool>& values, const Sinks& sinks, const Tile& tile);
  /// Loads those `kept` values that are vector loads into their arrays.
  void write_kept_loads(std::span<const int> kept, const Tile& tile);
  // Loads ahead of their tiles (loads_ahead.h):
  /// True for an unconditional vector load whose address depends on no loaded value.
  bool may_load_ahead(int value);
  /// Declares an array of `vectors` vectors for the load `value`. Returns its name, which the
  /// caller releases.
  std::string declare_ahead(int value, int vectors);
  void release(const std::string& name) { names_.release(name); }
  void write_load_ahead(int value, const std::string& place, const Tile& tile);
  /// From here on, `value` is the vector at `place` instead of a load. Empty: a load again.
  void read_ahead(int value, std::string place) {
    ahead_[static_cast<std::size_t>(value)] = std::move(place);
  }
  // Prefetches for CPUs (prefetches.cpp):
  /// True for a load of vectors along `axis`, from a large array. The vector at the next position
  /// of `next_axis` is another one, whose address depends on no loaded value.
  bool may_prefetch(int value, int axis, int next_axis, int vector) const;
  /// Prefetches the vector at the position in `axis_names`.
  void write_prefetch(int value, int vector);
  /// The same for the vectors of large arrays that later passes store there.
  void write_prefetches_for_stores();
  // Accesses across the vectors of a chunk (chunk_accesses.h):
  /// True if the elements of a chunk are adjacent in memory, and those of a vector are not.
  bool may_load_across(int value);
  bool may_store_across(int store);
  /// Moves the kChunk vectors of `array`, whose first one is at the position in `axis_names`.
  void write_load_across(int value, const std::string& array);
  void write_store_across(int store, const std::string& array);
  // Copies of loads to shared memory (copied_loads.h):
  /// The address of the element at the linear position `first`, of which each thread copies a
  /// vector. Counts the bytes of the load.
  std::string copied_from(int load, const std::string& first);

  /// Statements for values that are constant along the reduced axis and known after `stage` passes.
  void write_row_values(int stage, bool is_final = false);
  /// The same for `stage` and all later stages.
  void write_row_values_from(int stage, bool is_final = false);
  /// Stores of row values, or of final ones. `condition` selects the thread that writes. If other
  /// threads of the block may still read what the stores overwrite, a barrier precedes them.
  void write_row_stores(const std::string& condition, RowStores which = {});
  /// Statements for single elements of `roots` and of all values that they depend on. Then `inside`
  /// writes statements that may use `operand_text` of the roots. Afterwards the names are free.
  void write_in_scope(std::span<const int> roots, const std::function<void()>& inside);
  void write_in_scope(int root, const std::function<void(const std::string&)>& inside) {
    write_in_scope({&root, 1}, [&] { inside(operand_text(root)); });
  }
  /// [value]: true for `roots` and the values that they depend on. Computed values are included,
  /// but not their operands.
  std::vector<bool> needed_for(std::span<const int> roots) const;
  /// From here on, `value` is written as `text`.
  void set_text(int value, std::string text) {
    texts_[static_cast<std::size_t>(value)] = std::move(text);
  }
  /// The parameter that the only store of this kernel writes to.
  std::string result_parameter() { return buffer_name(kernel.stores[0].buffer, true); }
  /// True if the kernel loads from the memory that `store` writes.
  bool is_update(const BodyStore& store) const;
  /// The same for loads behind the first pass over the reduced axis.
  bool is_late_update(const BodyStore& store) const;
  /// True if the kernel loads from memory that one of its stores writes.
  bool has_updates() const;
  /// True if this section loads from memory that a section of a later phase writes.
  bool loads_overwritten() const;
  /// True if the kernel's first store overwrites the element that `value` loads.
  bool is_in_place(int value) const;
  /// `store(…, value);` of one element. Counts its bytes.
  void write_element_store(const BodyStore& store, const std::string& value);
  /// Declares the array that keeps `value` between passes, for `rows` rows at once.
  void declare_kept(int value, int rows, int parts, int tiles);
  /// From here on, the kept `value` is the vector `name` of type kept_type.
  void set_kept(int value, const std::string& name);
  std::string kept_type(int value) const;
  /// The vector that holds the kept `value` at the current part and tile.
  const std::string& kept_vector(int value) const {
    return kept_vectors_[static_cast<std::size_t>(value)];
  }
  /// Ends the work on rows: values computed so far are no longer available.
  void forget_values();
  /// Stores of the column results, at the position in `axis_names`.
  void write_column_stores();
  /// From here on, the result of a reduction is written as `text`.
  void set_result(const BodyReduction& reduction, std::string text) {
    set_text(reduction.result, std::move(text));
  }
  const std::string& result_text(const BodyReduction& reduction) const {
    return texts_[static_cast<std::size_t>(reduction.result)];
  }
  /// `load<vector>(…)` or `store<vector>(…)` at the position in `axis_names`. Counts its bytes.
  std::string counted_load(int value, int vector);
  std::string counted_store(int store, int vector, const std::string& values);
  /// `conditions` at element `k` of a vector, or at its first element. Empty if there are none.
  std::string condition_text(std::span<const Condition> conditions, bool at_element);
  /// From here on, `value` is `element`, an expression in `k`, instead of a load. The tile holds 0
  /// at positions where the load's conditions are false.
  void read_from_tile(int value, std::string element) {
    tiled_[static_cast<std::size_t>(value)] = std::move(element);
  }
  /// From here on, `load` reads element `at` of `row`, a pointer to shared memory.
  void read_from_row(int load, const Index& at, std::string row);
  /// From here on, `store` writes each vector by `call`, in which `{}` is replaced by the vector.
  void write_to_tile(int store, std::string call) {
    tile_calls_[static_cast<std::size_t>(store)] = std::move(call);
  }
  /// A free name derived from the label or op of `node`.
  std::string name_for(const Node* node, std::string_view suffix = "");
  /// The state type of a reduction or scan, such as `Max<float>`.
  std::string state_type(const Node& node) const;
  /// True if a value varies along the vector axis.
  bool varies_along_vector(int value) const {
    return varies_along_vector_[static_cast<std::size_t>(value)];
  }

  /// Adds the parameters `tickets` and `workspace`.
  void add_scratch_arguments();
  /// Appends an array of `bytes` bytes to the workspace, aligned to 16 bytes. Counts the bytes as
  /// written and read. Returns a pointer to the array as an expression.
  std::string add_workspace_array(std::string_view type, Extent bytes);
  /// The index of the block, in the index type.
  std::string block() const;
  /// The number of blocks. The grid must be set.
  std::string blocks();
  Source finish();

  /// Call first: this kernel is a section of a horizontally fused kernel. `exchanged` has the
  /// buffers that one section writes and another one accesses, `overwritten` those that sections of
  /// later phases write.
  void become_section(std::set<int> exchanged, std::set<int> overwritten);
  /// Call after become_section: the section is in a list, so `size_text` makes its size a
  /// parameter.
  void become_listed() { is_listed_ = true; }
  /// From here on, loads of `buffer` read a tile in shared memory. The section gets two parameters:
  /// a pointer to the tile, and the number of the tile. Statements subtract the index of the tile's
  /// first element, because a pointer must not leave the shared memory of the block.
  void read_from_shared(int buffer, const SharedTile& tile);
  /// From here on, stores to `buffer` write such a tile, and global memory if `is_in_memory`.
  void write_to_shared(int buffer, const SharedTile& tile, bool is_in_memory);
  /// `size` as an expression. In a section of a list, a constant size is a parameter.
  std::string size_text(Extent size);
  /// True if `size` is a constant in the text.
  bool is_known(Extent size) const { return size.is_number() && !is_listed_; }
  SectionFunction finish_section();

  const Program& program;
  const Kernel& kernel;
  const Schedule& schedule;
  Body body;
  SourceWriter out{1};
  Source source;

 private:
  /// Scalar is one element outside of the loop over `k`, and element is one inside of it. Vector is
  /// one aligned vector, partial_vectors are several narrower ones, and strided are elements with a
  /// stride.
  enum class Access : std::uint8_t { scalar, vector, partial_vectors, strided, element };
  struct LoadForm {
    Access access;
    std::string step = {};  ///< the stride of `strided`
    int each = 1;           ///< elements per access
  };

  /// One destination of a store, in global or shared memory. A store may have both.
  struct Destination {
    std::string name;
    Index at;
    bool is_shared = false;
    std::int64_t step = 0;  ///< SharedTile::step
  };

  /// True if kChunk elements along the reduced axis are one aligned vector, and elements along the
  /// vector axis have a stride.
  bool is_across(const Index& at, DType dtype, int buffer, int aligned) const;
  /// The stride along the vector axis, as an operand of the index type.
  std::string step_text(const Index& at);
  const GraphData& graph() const { return program.graph->data(); }
  const Value& value_at(int value) const { return body.values[static_cast<std::size_t>(value)]; }
  IndexWriter index_writer(bool at_element);
  std::string buffer_name(int buffer, bool is_store);
  /// Adds the parameters of a tile that holds `buffer`.
  void add_shared_buffer(int buffer, std::int64_t step);
  /// `index` relative to the tile whose number the section gets.
  std::string index_in_tile(const std::string& index, std::int64_t step) const;
  /// The index at which a load or store accesses its array.
  std::string index_text(const Value& load, bool at_element);
  std::string index_text(const Destination& to, bool at_element);
  int buffer_of(const BodyStore& store) const {
    return kernel.stores[static_cast<std::size_t>(store.request)].buffer;
  }
  int buffer_of(const Value& load) const { return program.buffer_of.lookup(load.node); }
  /// `array` for anonymous kernels, else the name of `buffer`, made unique and with a suffix.
  std::string take_array_name(int buffer, std::string_view suffix);
  std::string value_expression(int value);
  /// True if all operands of a select are single loads of one narrow dtype. The select then chooses
  /// among unconverted elements, which the compiler merges into one load.
  bool selects_unconverted_loads(const Value& select) const;
  /// True for an operand of such a select.
  bool is_unconverted_segment(int value) const;
  std::string custom_call(const Node& node, std::span<const std::string> operands);
  /// The user's functions, with line numbers counted from the start of their own source.
  std::string custom_definitions(const std::string& head) const;
  std::string custom_namespace() const { return fmt::format("custom_of_{}", source.entry); }
  LoadForm load_form(const Value& value);
  /// `_streaming` or `_retained` if the load has a cache hint, else empty.
  std::string_view load_hint(const Value& value) const;
  std::string load_call(const Value& value, const LoadForm& form, const std::string& count);
  /// A condition that every vector with an element in `conditions` satisfies; empty if none is
  /// known.
  std::string condition_of_vectors(const std::vector<Condition>& conditions);
  /// True for literals and scalars, which need no statement.
  static bool is_plain(const Value& value) {
    return value.kind == Value::Kind::literal || value.kind == Value::Kind::scalar;
  }
  void write_scalar(int value);
  /// Declares the vector of a load, which later statements fill. Returns its name.
  std::string declare_loaded_vector(int value, std::string_view initializer = "");
  void write_vector_load(int value, const std::string& count, const std::string& destination);
  /// Writes the loads grouped by condition, each group in one block.
  void write_conditional_loads(std::span<const int> loads, const std::string& count);
  void write_masked_loads(std::span<const int> loads, const std::string& count);
  void write_kept_element(int value);
  bool is_kept(int value) const { return !kept_vector(value).empty(); }
  std::size_t index_of(const Value& value) const {
    return static_cast<std::size_t>(&value - body.values.data());
  }
  const std::string& tiled_element(const Value& load) const { return tiled_[index_of(load)]; }
  /// The vector of a `load` that was made ahead, else empty.
  const std::string& vector_ahead(const Value& load) const { return ahead_[index_of(load)]; }
  /// The pointer to the staged row in shared memory that `load` reads, else empty.
  const std::string& row_of(const Value& load) const { return rows_[index_of(load)]; }
  bool is_worth_prefetching(int buffer, const Index& at, int axis, int vector) const;
  std::vector<int> write_tile_loads(const std::vector<bool>& values, const Sinks& sinks,
                                    const Tile& tile);
  void write_elements(std::span<const int> values, const Sinks& sinks, const Tile& tile,
                      std::span<const std::string> results);
  void write_element_loops(std::span<const int> values, const Sinks& sinks, const Tile& tile,
                           std::span<const std::string> results);
  // Reductions of schedules for CPUs, which add the elements of a vector behind the loop:
  std::string whole_operand(const BodyReduction& reduction) const;
  std::string elements_to_add(const BodyReduction& reduction) const {
    return result_text(reduction) + "_elements";
  }
  bool adds_in_loop(const BodyReduction& reduction, const Tile& tile) const;
  std::string columns_of(const BodyReduction& reduction) const {
    return result_text(reduction) + "_columns";
  }
  std::vector<std::string> declare_vectors_to_add(const Sinks& sinks, const Tile& tile);
  void add_vectors(const std::vector<std::string>& vectors, const Sinks& sinks, const Tile& tile);
  // Random words of adjacent elements, computed together before the loop over the elements:
  int philox_index_of(const Value& value) const;
  bool has_consecutive_words(int value) const;
  void write_random_words(int value);
  /// Removes element numbers from `in_loop` that only such words would use.
  void drop_unused_philox_indices(std::vector<int>& in_loop, const std::vector<bool>& values,
                                  const Sinks& sinks) const;
  bool has_use(int value, const std::vector<bool>& users, const Sinks& sinks) const;
  std::ptrdiff_t stores_of(int value, const Sinks& sinks) const;
  /// True for a division of a kept vector by a scalar in a tile whose text has many copies. One
  /// function call divides the whole vector, before the loop over its elements.
  bool uses_division_call(int value, const Sinks& sinks) const;
  void write_quotients(int value);
  /// The vector that `write_quotients` declared.
  std::string quotients_name(int value) const;
  /// True if the store writes that vector without a conversion.
  bool is_stored_whole(const BodyStore& store, const Sinks& sinks) const;
  std::string number_text(const Value& value, bool at_element);
  bool is_only_stored(int value, const std::vector<bool>& values, const Sinks& sinks) const;
  /// Declares the vector of a store's results. Returns its name.
  std::string declare_stored_vector(const BodyStore& store);
  void write_store(const BodyStore& store, const std::string& vector, const std::string& count);
  void write_vector_store(const BodyStore& store, const Destination& to, const std::string& vector,
                          const std::string& count);
  void write_elements_of(const BodyStore& store, const Destination& to, const std::string& vector,
                         const std::string& count);
  bool is_same_along_vector(const Condition& condition) const;
  bool are_same_along_vector(std::span<const Condition> conditions) const;
  bool is_at_first(const Condition& condition) const;
  void write_row_store(const BodyStore& store);
  void count_store(const BodyStore& store);
  std::vector<Destination> destinations_of(const BodyStore& store);
  enum class AccessKind : std::uint8_t { load, store };
  /// Records an access of `elements` adjacent elements of `buffer`.
  void record_access(AccessKind kind, int buffer, int elements);
  /// Records a vector that is accessed `each` elements at a time. The tail of a whole vector with a
  /// `count` is accessed element by element too.
  void record_vector(AccessKind kind, int buffer, int each, const std::string& count);
  /// The number of adjacent elements of a vector that one access may cover (widest_access).
  int elements_at_once(const Index& at, DType dtype, int buffer, int aligned);
  /// The alignment of `buffer` in bytes: `aligned` elements, but for the caller's arrays at most
  /// the alignment that the program assumes.
  std::int64_t alignment_of(int buffer, DType dtype, int aligned) const;
  /// The elements that one access may read of a load whose vectors cross the ends of rows.
  PartialVector partial_vector_of(const Value& value);
  void write_partial_vectors(int value, const std::string& count);
  void count_load(const Value& value);
  void find_varying_values();
  std::string head_comment() const;
  std::string parameters();

  std::string_view index_type_ = "int";
  std::string count_;  ///< Tile::count of the tile that is being written
  NameSet names_;
  std::vector<std::string> texts_;  ///< [value]: the operand text; empty: not computed yet
  std::vector<bool> varies_along_vector_;
  std::vector<int> last_reads_;            ///< [value] (cache_hints.h); empty: no hints
  std::vector<std::string> kept_vectors_;  ///< [value]: the vector of a kept value, else empty
  std::vector<std::string> tiled_;       ///< [value]: the element of a load from a tile, else empty
  std::vector<std::string> ahead_;       ///< [value]: the vector of a load made ahead, else empty
  std::vector<std::string> rows_;        ///< [value]: the staged row of a load, else empty
  std::vector<std::string> tile_calls_;  ///< [store]: the call that writes to a tile, else empty
  std::vector<std::string> tile_names_;  ///< names that are freed after the current tile
  bool in_tile_ = false;
  std::map<int, std::string> inputs_;  ///< buffer → parameter
  std::map<int, std::string> outputs_;
  std::map<int, Widths> loads_;  ///< buffer → widths of its loads
  std::map<int, Widths> stores_;
  std::map<int, std::string> scalars_;  ///< index among the graph's inputs → parameter
  std::vector<const Node*> customs_;    ///< one node per function of the user
  std::map<int, std::string> symbols_;  ///< symbol id → parameter
  std::vector<std::pair<Argument, std::string>> scratch_;
  bool is_section_ = false;
  bool is_listed_ = false;
  bool is_anonymous_;
  std::set<int> updated_;                              ///< buffers that are read and written
  std::vector<std::pair<Extent, std::string>> sizes_;  ///< constant sizes → parameters
  std::set<int> exchanged_;
  std::set<int> overwritten_;  ///< buffers that later phases write
  /// The parameter of a buffer in shared memory.
  struct SharedBuffer {
    std::string name;
    std::int64_t step = 0;  ///< SharedTile::step
  };
  std::map<int, SharedBuffer> shared_buffers_;
  std::string tile_number_;  ///< the parameter with the number of the tile
  /// A buffer that the section writes to shared memory.
  struct WrittenToShared {
    std::optional<Index> at;
    bool is_in_memory = true;
  };
  std::map<int, WrittenToShared> written_to_shared_;
  std::vector<std::string> parameter_names_;
};

/// 0, 1 … count - 1: the indices of all parallel axes or all stores.
std::vector<int> indices_below(int count);
/// The head of a kernel, up to its opening brace. `parameters` is in parentheses.
std::string kernel_head(const Schedule& schedule, std::string_view entry,
                        const std::string& parameters);
/// The command that reproduces the text of a kernel, as a comment.
std::string reproduce_comment(const Program& program, const Kernel& kernel);
/// 0 if `size` is 0, else 1.
Extent one_unless_zero(Extent size);

/// The bytes that a kernel moves, as a comment.
std::string traffic_comment(const Traffic& traffic);

}  // namespace sinter
