// What the files of all kernel shapes share: parameters, names, and statements for values.
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

/// What becomes of values that one tile computes.
struct Sinks {
  std::vector<int> reductions;    ///< indices into Body::reductions
  std::vector<int> columns = {};  ///< indices into Body::columns
  std::vector<int> stores;        ///< indices into Body::stores
  std::vector<int> kept;          ///< values saved in arrays over part and tile
  /// Write what stands before and after the values of element `k`.
  std::function<void()> before_each = {};
  std::function<void()> after_each = {};
};

/// One vector of consecutive positions along the vector axis, as a thread works on it.
struct Tile {
  std::string count;  ///< variable with the number of positions that exist; empty: all do
  std::string
      accumulator;        ///< variable that picks the accumulator: `tile`, or `i` in a rolled loop
  std::string index;      ///< position on the reduced axis of element `k`, for argmax
  std::string held = {};  ///< place of element `k` among those that a thread holds, for columns
  bool loads_done = false;  ///< kept loads were made in a loop of their own
};

/// A section of a horizontally fused kernel as a function that its entry calls for each block of
/// the section.
struct SectionFunction {
  std::string name;
  std::string head;                ///< what stands in front of it: comments, functions of its own
  std::string text;                ///< from its name on
  std::string code;                ///< the text without its comments and name
  Source source;                   ///< without a text of its own
  std::vector<std::string> names;  ///< of the arguments
  std::vector<int> kept;           ///< buffers that it has in shared memory, behind these
  std::string_view index_type;     ///< of the number of the block, its last parameter
};

/// Writes one kernel. A shape fills in the axes, then writes loops and tiles, then calls `finish`.
class KernelWriter {
 public:
  KernelWriter(const Program& program, const Kernel& kernel, const Schedule& schedule,
               std::string_view entry, Naming naming = Naming::by_graph);

  // What the shapes set before they write values.
  int vector_axis = -1;  ///< the axis that a Vector runs along; -1: none
  /// Elements of the vector axis before each `tile` that the compiler unrolls, at least; 0: none
  /// are.
  std::int64_t before_tile = 0;
  std::int64_t tile_copies = 1;  ///< that the compiler makes of what is written for a tile
  std::map<int, std::string> axis_names;

  int pass = 0;  ///< over the reduced axis, which is being written

  std::string store_condition;  ///< variable that says whether a tile's stores happen

  // --- text -------------------------------------------------------------------------------------
  /// An extent or index as an expression; symbols in it become parameters.
  std::string text(Extent extent);
  std::string text(const Index& index, bool at_element);
  /// The value of `index` in 64 bits.
  std::string wide_text(const Index& index, bool at_element);
  /// The 4 of a chunk in the type of indices.
  std::string elements_per_chunk() const;
  /// `int` or `long long`.
  std::string_view index_type() const { return index_type_; }
  /// `const int NAME = EXPRESSION;`, the name made free.
  std::string declare_index(std::string_view name, const std::string& expression);
  /// Declares `start` and `end`, between which block number `block` has `per_block` of `size`, or
  /// less where Schedule::stop comes before.
  void declare_share(const std::string& block, Extent size, std::int64_t per_block);
  /// How many blocks deal out `size` with `per_block` each, stopped or not.
  Extent blocks_over(Extent size, std::int64_t per_block) const;
  /// Splits `linear`, the name of a number, into variables for `axes` (row-major).
  void declare_axes(const std::string& linear, std::span<const int> axes, std::string_view prefix);

  /// A value that has been computed, as an operand.
  std::string operand_text(int value);

  // --- values -----------------------------------------------------------------------------------
  /// In a pass after the one that loaded them: of `kept` values that are narrow loads, what was
  /// made of them is made again rather than kept too.
  void write_conversions_again(std::span<const int> kept);
  /// Statements for `values` at one tile, and their sinks. `in_row`: the values are kept as
  /// variables of the row rather than of a tile.
  void write_tile(const std::vector<bool>& values, const Sinks& sinks, const Tile& tile);
  /// Loads of `kept` values that are loads, into their arrays.
  void write_kept_loads(std::span<const int> kept, const Tile& tile);
  // Loads in front of their tiles (loads_ahead.h):
  /// True for a load of whole vectors whose address and conditions depend on nothing else.
  bool may_load_ahead(int value);
  /// Declares an array for `vectors` of the load `value`; returns its name, to be released.
  std::string declare_ahead(int value, int vectors);
  void release(const std::string& name) { names_.release(name); }
  void write_load_ahead(int value, const std::string& place, const Tile& tile);
  /// From here on `value` is not read from memory, but is the vector at `place`; empty: it is read.
  void read_ahead(int value, std::string place) {
    ahead_[static_cast<std::size_t>(value)] = std::move(place);
  }
  /// Values that do not vary along the reduced axis and are ready after `stage` passes.
  void write_row_values(int stage, bool is_final = false);
  /// Stores of row values, or of final ones; `condition` says which thread writes.
  void write_row_stores(const std::string& condition, bool is_final = false);
  /// Statements for `roots` and all that they are made of, as single elements in a scope of their
  /// own; `inside` writes what follows them there, with `operand_text` of the roots.
  void write_in_scope(std::span<const int> roots, const std::function<void()>& inside);
  void write_in_scope(int root, const std::function<void(const std::string&)>& inside) {
    write_in_scope({&root, 1}, [&] { inside(operand_text(root)); });
  }
  /// [value]: true for `roots` and all that they are made of and that has not been computed.
  std::vector<bool> needed_for(std::span<const int> roots) const;
  /// From now on `value` is written as `text`.
  void set_text(int value, std::string text) {
    texts_[static_cast<std::size_t>(value)] = std::move(text);
  }
  /// The parameter that the one store of this kernel writes to.
  std::string result_parameter() { return buffer_name(kernel.stores[0].buffer, true); }
  /// True if the store of this kernel goes to where `value` is loaded from.
  bool is_in_place(int value) const;
  /// `store(…, value);` of one element, counted.
  void write_element_store(const BodyStore& store, const std::string& value);
  /// Declares the array that keeps `value` between passes, of `rows` rows at once.
  void declare_kept(int value, int rows, int parts, int tiles);
  /// Within a tile: `value`, which shared memory keeps, is the vector `name` of type kept_type.
  void set_kept(int value, const std::string& name);
  std::string kept_type(int value) const;
  /// The vector that keeps `value` at this part and tile.
  const std::string& kept_place(int value) const {
    return places_[static_cast<std::size_t>(value)];
  }
  /// From here on rows are over: nothing that was computed for one is at hand any more.
  void leave_rows();
  /// Stores of what all rows make for each column, at the element that `axis_names` say.
  void write_column_stores();
  /// From now on the result of a reduction is written as `text`.
  void set_result(const BodyReduction& reduction, std::string text);
  const std::string& result_text(const BodyReduction& reduction) const {
    return texts_[static_cast<std::size_t>(reduction.result)];
  }
  /// `load<vector>(…)` of `value` at what `axis_names` say, counted; `store<vector>(…)` likewise.
  std::string counted_load(int value, int vector);
  std::string counted_store(int store, int vector, const std::string& values);
  /// Whether a load or store happens at what `axis_names` say; empty: always.
  std::string condition_of(std::span<const Condition> conditions);
  /// From here on `value` is not read from memory, but is `element`, an expression in `k`; 0 where
  /// its conditions do not hold.
  void read_from_tile(int value, std::string element);
  /// From here on `load` reads element `at` of `row`, a pointer to shared memory.
  void read_from_row(int load, const Index& at, std::string row);
  /// From here on `store` writes its vectors by `call`, where `{}` stands for a vector.
  void write_to_tile(int store, std::string call);
  /// A free name for what belongs to `node`.
  std::string name_for(const Node* node, std::string_view suffix = "");
  /// `Max<float>`, of a reduction or scan.
  std::string state_type(const Node& node) const;
  /// True if a value moves along the vector axis.
  bool moves(int value) const { return moves_[static_cast<std::size_t>(value)]; }

  /// The parameters `tickets` and `workspace`.
  void add_scratch_arguments();
  /// The number of the block, in the type of indices.
  std::string block() const;
  /// How many blocks there are; known once the shape has set the grid.
  std::string blocks();
  Source finish();

  /// To be called first: this kernel is a section of a joined one, other sections of which write
  /// `exchanged` buffers that it touches, or touch those that it writes.
  void become_section(std::set<int> exchanged);
  /// To be called after it: the kernel is one of a list, and its size a parameter where
  /// `size_text` is asked for it.
  void become_listed() { is_listed_ = true; }
  /// From here on loads of `buffer` are from shared memory, where the element is `at`, or where it
  /// is in memory: the section has a pointer to where that begins as a parameter of its own.
  void read_from_shared(int buffer, const std::optional<Index>& at);
  /// Stores to `buffer` go there too, or not to memory at all.
  void write_to_shared(int buffer, const std::optional<Index>& at, bool is_in_memory);
  /// `size` as an expression: a parameter in a kernel of a list.
  std::string size_text(Extent size);
  /// True if `size` is a number in the text.
  bool is_known(Extent size) const { return size.is_number() && !is_listed_; }
  SectionFunction finish_section();

  const Program& program;
  const Kernel& kernel;
  const Schedule& schedule;
  Body body;
  SourceWriter out{1};
  Source source;

 private:
  /// `few`: a vector as several that are aligned.
  enum class Access : std::uint8_t { scalar, vector, few, apart, element };
  struct LoadForm {
    Access access;
    std::string step = {};
    int each = 1;  ///< elements that are loaded at once
  };

  /// Where a store goes: to memory, to shared memory, or to both.
  struct Destination {
    std::string name;
    Index at;
    bool is_shared = false;
  };

  const GraphData& graph() const { return program.graph->data(); }
  IndexWriter index_writer(bool at_element);
  std::string buffer_name(int buffer, bool is_store);
  int buffer_of(const BodyStore& store) const {
    return kernel.stores[static_cast<std::size_t>(store.request)].buffer;
  }
  std::string value_expression(int value);
  /// True if the pieces of a select are single loads of one narrow dtype: nothing is done with them
  /// before one of them is chosen, so that they become one load for the compiler.
  bool is_chosen_in_memory(const Value& select) const;
  /// True for a piece of such a select.
  bool is_segment_in_memory(int value) const;
  std::string custom_call(const Node& node, std::span<const std::string> operands);
  /// The users' functions in front of the kernel, under their own line numbers.
  std::string custom_definitions(const std::string& head) const;
  std::string custom_namespace() const { return fmt::format("custom_of_{}", source.entry); }
  LoadForm load_form(const Value& value);
  /// `_streaming` or `_retained`, if the caches are told what becomes of `value`.
  std::string_view load_hint(const Value& value) const;
  std::string load_call(const Value& value, const LoadForm& form, const std::string& count);
  /// At element `k` of a vector, or at its first; empty where nothing has to be asked.
  std::string condition_text(const std::vector<Condition>& conditions, bool at_element);
  /// What holds of a vector in which `conditions` hold at some element; empty where that is
  /// unknown.
  std::string condition_of_vectors(const std::vector<Condition>& conditions);
  void write_scalar(int value);
  void write_vector_load(int value, const std::string& count, const std::string& destination);
  /// Vectors that are read under the same conditions are read in one block.
  void write_conditional_loads(std::span<const int> loads, const std::string& count);
  void write_ending_loads(std::span<const int> loads, const std::string& count);
  void write_kept_element(int value);
  bool is_kept(int value) const { return !places_[static_cast<std::size_t>(value)].empty(); }
  const std::string& tiled_element(const Value& load) const;
  /// The vector of a `load` that was made ahead; empty: it was not.
  const std::string& vector_ahead(const Value& load) const;
  /// Where `load` finds its row in shared memory; empty: it does not.
  const std::string& row_of(const Value& load) const;
  std::vector<int> write_tile_loads(const std::vector<bool>& values, const Sinks& sinks,
                                    const Tile& tile);
  void write_elements(std::span<const int> values, const Sinks& sinks, const Tile& tile,
                      std::span<const std::string> results);
  /// Random words: of neighbouring elements, computed together in front of the loop over them.
  int number_of_word(const Value& value) const;
  bool has_neighbouring_words(int value) const;
  void write_random_words(int value);
  /// Takes out of the loop the numbers of elements that nothing but such words would use.
  void drop_numbers_of_words(std::vector<int>& in_loop, const std::vector<bool>& values,
                             const Sinks& sinks) const;
  bool has_use(int value, const std::vector<bool>& written, const Sinks& sinks) const;
  /// Divisions of a kept vector by one number, where the text of a tile has many copies: by a
  /// function, in front of the loop over the vector's elements.
  bool is_called_division(int value, const Sinks& sinks) const;
  void write_quotients(int value);
  /// The vector that `write_quotients` declared.
  std::string quotients_name(int value) const;
  /// True if such a vector is stored as it is.
  bool is_stored_whole(const BodyStore& store, const Sinks& sinks) const;
  std::string number_text(const Value& value, bool at_element);
  bool is_only_stored(int value, const std::vector<bool>& values, const Sinks& sinks) const;
  /// Calls `write` inside an `if` where `store` has conditions.
  void write_if(const BodyStore& store, bool at_element, const std::function<void()>& write);
  void write_store(const BodyStore& store, const std::string& vector, const std::string& count);
  void write_vector_store(const BodyStore& store, const Destination& to, const std::string& vector,
                          const std::string& count);
  void write_elements_of(const BodyStore& store, const Destination& to, const std::string& vector,
                         const std::string& count);
  bool is_same_along_vector(const Condition& condition) const;
  bool is_at_first(const Condition& condition) const;
  void write_row_store(const BodyStore& store);
  void count_store(const BodyStore& store);
  std::vector<Destination> destinations_of(const BodyStore& store);
  enum class Does : std::uint8_t { load, store };
  /// Remembers that so many elements of `buffer` are accessed at once.
  void note_access(Does what, int buffer, int elements);
  /// The same of a vector that goes by `each`; the rest of a whole one of which `count` elements
  /// are there goes element by element too.
  void note_vector(Does what, int buffer, int each, const std::string& count);
  /// How many neighbours of a vector may be accessed at once: all of them, or so many of which
  /// every vector has several.
  int elements_at_once(const Index& at, DType dtype, int buffer, int aligned);
  /// Bytes that element 0 of `buffer` and what stands `aligned` elements behind it are aligned to.
  std::int64_t alignment_of(int buffer, DType dtype, int aligned) const;
  /// Of a load that is otherwise element by element since its vectors go past the ends of rows.
  PartialVector partial_vector_of(const Value& value);
  void write_few_at_once(int value, const std::string& count);
  void count_load(const Value& value);
  void find_moving_values();
  std::string head_comment() const;
  std::string parameters();

  std::string_view index_type_ = "int";
  std::string count_;  ///< Tile::count of the tile that is being written
  NameSet names_;
  std::vector<std::string> texts_;  ///< how a value that is computed is written; empty: not yet
  std::vector<bool> moves_;
  std::vector<int> last_reads_;          ///< of each value (cache_hints.h); empty: no hints
  std::vector<std::string> places_;      ///< of a kept value, the vector it is kept in; else empty
  std::vector<std::string> tiled_;       ///< of a load from a tile, its element; else empty
  std::vector<std::string> ahead_;       ///< of a load that was made ahead, its vector; else empty
  std::vector<std::string> rows_;        ///< of a load from a row in shared memory; else empty
  std::vector<std::string> tile_calls_;  ///< of a store to a tile, what does it; else empty
  std::vector<std::string> tile_names_;  ///< names that end with the tile being written
  bool in_tile_ = false;
  std::map<int, std::string> inputs_;  ///< buffer → parameter
  std::map<int, std::string> outputs_;
  std::map<int, Widths> loads_;  ///< buffer → how wide it is loaded
  std::map<int, Widths> stores_;
  std::map<int, std::string> scalars_;  ///< place among the graph's inputs → parameter
  std::vector<const Node*> customs_;    ///< one node for each function of the user's
  std::map<int, std::string> symbols_;  ///< symbol id → parameter
  std::vector<std::pair<Argument, std::string>> scratch_;
  bool is_section_ = false;
  bool is_listed_ = false;
  bool is_anonymous_;
  std::set<int> updated_;                              ///< buffers that are read and written
  std::vector<std::pair<Extent, std::string>> sizes_;  ///< that are parameters
  std::set<int> exchanged_;
  std::map<int, std::string> kept_;  ///< buffer that is in shared memory → parameter
  /// Of what is written there.
  struct WrittenToShared {
    std::optional<Index> at;
    bool is_in_memory = true;
  };
  std::map<int, WrittenToShared> written_to_shared_;
  std::vector<std::string> parameter_names_;
};

/// What reproduces the text of a kernel, as a comment.
std::string reproduce_comment(const Program& program, const Kernel& kernel);
/// The bytes that a kernel moves, as a comment.
/// 1 for any size but 0.
Extent one_unless_zero(Extent size);

std::string traffic_comment(const Traffic& traffic);

}  // namespace sinter
