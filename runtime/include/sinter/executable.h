// Executable and Context: a compiled graph, and one place that it runs in.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "sinter/array.h"
#include "sinter/device.h"
#include "sinter/graph.h"
#include "sinter/options.h"
#include "sinter/report.h"
#include "sinter/saved.h"

namespace sinter {

struct ExecutableState;  // internal
struct ContextState;     // internal
struct BindingsState;    // internal
struct Profile;
struct ProfileOptions;

/// An Array or a number for the input, scalar or output called `name`. Refers to the Array, so it
/// is good for the call that it is written in.
struct Binding {
  Binding(std::string_view name, const Array& array) : name(name), array(&array) {}
  template <Arithmetic Number>
  Binding(std::string_view name, Number value) : name(name), number(Literal::of(value)) {}

  std::string_view name;
  const Array* array = nullptr;  ///< null: a number
  Literal number = {};
};

/// How a function takes bindings: from `{{"x", xs}, {"lr", 0.1f}}`, a vector, or a span. Holds no
/// data.
class BindingList : public std::span<const Binding> {
 public:
  constexpr BindingList() = default;
  BindingList(std::initializer_list<Binding> list) : span(list.begin(), list.size()) {}
  BindingList(const std::vector<Binding>& vector) : span(vector) {}  // NOLINT
  BindingList(std::span<const Binding> view) : span(view) {}         // NOLINT
};

/// The size of a symbol.
struct Size {
  std::string_view symbol;
  std::int64_t value = 0;
};

/// What becomes of outputs that are plain views of inputs or of other outputs, as a transposed or
/// sliced input is: reshape, permute, slice, broadcast_to and the like, and nothing else, stand
/// between them, and their elements lie evenly spaced, none backwards.
enum class Views : std::uint8_t {
  returned,  ///< nothing is computed for them: a run that makes its outputs gives views
  written,   ///< they are written into arrays of the caller's
};

/// Arrays that a run made for its results, in the order of the graph's outputs. Those that are
/// plain views share their memory with the input or output that they show, and change when it does.
class Outputs {
 public:
  /// Throws UserError if the graph has no output of that name or number.
  const Array& operator[](std::string_view name) const;
  const Array& operator[](int index) const;
  const Array& operator[](const char* name) const { return (*this)[std::string_view(name)]; }
  int size() const { return static_cast<int>(arrays_.size()); }

 private:
  friend class Context;
  std::shared_ptr<const ExecutableState> executable_;
  std::vector<Array> arrays_;
};

class Context;

/// Bindings that were checked once, for calls that are repeated. It keeps its Arrays alive.
class Bindings {
 public:
  /// Replaces what is bound to `name`, checked as in Context::bind.
  void set(std::string_view name, const Array& array);
  template <Arithmetic Number>
  void set(std::string_view name, Number value) {
    set(Binding(name, value));
  }
  void set(const Binding& binding);

 private:
  friend class Context;
  friend Profile profile(Context& context, const Bindings& bindings, const ProfileOptions& options);
  explicit Bindings(std::shared_ptr<BindingsState> state) : state_(std::move(state)) {}
  std::shared_ptr<BindingsState> state_;
};

/// A place to run an Executable in: arena, launch records and CUDA Graph. It serves one run at a
/// time: calls on different streams wait for one another on the device; two threads in it at once
/// are an error. Take one Context per concurrent run. It waits for its work when it is destroyed.
class Context {
 public:
  Context(Context&&) noexcept;
  Context& operator=(Context&&) noexcept;
  ~Context();

  /// Launches the program on `stream`. New sizes plan, compile and tune first (see
  /// Executable::prepare). Outputs must not overlap anything else that is bound. An output that is
  /// a plain view (Views) may be left out; it is written if an array is bound to it. Throws
  /// UserError, before anything is launched, where a binding does not fit the graph.
  ///
  /// If `stream` is being captured (cuStreamBeginCapture), the run becomes a node of the caller's
  /// CUDA Graph, with memory of its own that lives as long as the graph, as do the Arrays that are
  /// bound. Throws UserError where it calls a function that cannot be captured.
  void run(const Stream& stream, BindingList inputs, BindingList outputs);
  void run(const Stream& stream, const Bindings& bindings);
  /// The same into fresh arrays. Outputs that are plain views (Views) are given as such.
  [[nodiscard]] Outputs run(const Stream& stream, BindingList inputs);

  /// As run, as one launch of a CUDA Graph that is built once; only what changed is patched. Where
  /// `stream` is being captured it is what run is.
  void replay(const Stream& stream, BindingList inputs, BindingList outputs);
  void replay(const Stream& stream, const Bindings& bindings);

  /// Checks and keeps bindings for later runs in any Context of this Executable.
  Bindings bind(BindingList inputs, BindingList outputs) const;

  /// What this Context has asked of the driver so far.
  struct Counters {
    std::int64_t kernel_launches = 0;  ///< of run, one by one
    std::int64_t graph_launches = 0;   ///< of replay
    std::int64_t graph_builds = 0;
    std::int64_t patched_nodes = 0;  ///< of graphs that were built before
  };
  Counters counters() const;

 private:
  friend class Executable;
  friend Profile profile(Context& context, const Bindings& bindings, const ProfileOptions& options);
  explicit Context(std::unique_ptr<ContextState> state);
  std::unique_ptr<ContextState> state_;
};

/// A compiled graph: immutable, free to copy, shared by threads. It keeps one variant of its
/// kernels per class of sizes and pointer alignments that it met.
class Executable {
 public:
  explicit Executable(std::shared_ptr<ExecutableState> state) : state_(std::move(state)) {}

  std::string_view name() const;
  Device device() const;
  Context context() const;
  /// Plans, compiles and tunes for these sizes now rather than at their first run. `views` says
  /// whether the runs will bind arrays to outputs that are plain views.
  void prepare(std::initializer_list<Size> sizes, Views views = Views::returned) const;
  void prepare(std::span<const Size> sizes, Views views = Views::returned) const;
  /// Options::never_stall: returns when what is being made in the background is there, or failed
  /// (VariantReport::background_problem).
  void await_background() const;
  Report report() const;
  /// Writes all kernels that there are now, of every class of sizes that was prepared or run, to
  /// the file `path`: `sinter::load` needs no compiler. They are compiled once more, without the
  /// candidates that were not chosen. Throws UserError where there are none yet or the file cannot
  /// be written, CompileError, and DriverError where a compiler is missing.
  void save(const std::string& path, const SaveOptions& options = {}) const;

  const std::shared_ptr<ExecutableState>& state() const { return state_; }

 private:
  std::shared_ptr<ExecutableState> state_;
};

/// Compiles `graph` for `device`: at once if all its extents are numbers, else size class by size
/// class, when each is prepared or first run. The graph is copied: it may be changed or destroyed
/// afterwards. Throws UserError for a graph that cannot be run, CompileError for a kernel that
/// cannot.
Executable compile(const Graph& graph, Device device, const Options& options = {},
                   const char* file = __builtin_FILE(), int line = __builtin_LINE());

}  // namespace sinter
