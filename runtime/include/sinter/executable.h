// Executable and Context: a compiled graph, and the state to run it with.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sinter/array.h"
#include "sinter/communicator.h"
#include "sinter/device.h"
#include "sinter/graph.h"
#include "sinter/options.h"
#include "sinter/report.h"
#include "sinter/saved.h"

namespace sinter {

struct ExecutableState;  // internal
struct ContextState;     // internal
struct BindingsState;    // internal
struct Weights;          // internal
struct Profile;
struct ProfileOptions;

/// An Array or a number for the input, scalar or output called `name`. It holds references to the
/// name and the Array, which must outlive it.
struct Binding {
  Binding(std::string_view name, const Array& array) : name(name), array(&array) {}
  template <Arithmetic Number>
  Binding(std::string_view name, Number value) : name(name), number(Literal::of(value)) {}

  std::string_view name;
  const Array* array = nullptr;  ///< null: a number
  Literal number = {};
};

/// The parameter type for bindings: accepts `{{"x", xs}, {"lr", 0.1f}}`, a vector, or a span. It
/// does not own the bindings.
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

/// The number that `extent` is for these sizes. Throws UserError if the size of one of its symbols is
/// missing or negative.
std::int64_t extent_value(Extent extent, std::span<const Size> sizes);

/// The treatment of outputs that are plain views of inputs or of other outputs, for example of a
/// transposed or sliced input. Only view ops (reshape, permute, slice, broadcast_to and the like)
/// separate such an output from its base. Its elements are evenly spaced, with no negative stride.
enum class Views : std::uint8_t {
  returned,  ///< not computed: a run that makes its outputs returns views
  written,   ///< written into arrays that the caller binds
};

/// Arrays that a run made for its results, in the order of the graph's outputs. Outputs that are
/// plain views share the memory of their input or output, and change when it does.
class Outputs {
 public:
  /// Throws UserError if the graph has no output of that name or index.
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

/// Bindings that were checked once, for repeated calls. Keeps its Arrays alive.
class Bindings {
 public:
  /// Replaces the array or number of `name`, with the checks of Context::bind.
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

/// The state that an Executable runs with: scratch memory, launch records and a CUDA Graph. It
/// serves one run at a time, so take one Context per concurrent run. Calls on different streams
/// wait for one another on the device. Two threads that use it at once are an error (UserError).
/// The destructor waits for its work.
class Context {
 public:
  Context(Context&&) noexcept;
  Context& operator=(Context&&) noexcept;
  ~Context();

  /// Launches the program on `stream`. Sizes of a new size class are planned, compiled and tuned
  /// first (see Executable::prepare). Outputs must not overlap other bound arrays. An output that
  /// is a plain view (Views) may be left unbound; it is written if an array is bound to it. Throws
  /// UserError, before anything is launched, if a binding does not fit the graph.
  ///
  /// If `stream` is being captured (cuStreamBeginCapture), the run becomes a node of the captured
  /// CUDA Graph. The node has its own scratch memory. The graph keeps that memory and the bound
  /// Arrays alive. Throws UserError if the program calls a function that cannot be captured.
  void run(const Stream& stream, BindingList inputs, BindingList outputs);
  void run(const Stream& stream, const Bindings& bindings);
  /// Allocates the outputs, runs, and returns them. Outputs that are plain views (Views) are
  /// returned as views.
  [[nodiscard]] Outputs run(const Stream& stream, BindingList inputs);

  /// The same as run, but as one launch of a CUDA Graph. The graph is built once; later calls patch
  /// the nodes that changed. If `stream` is being captured, this is the same as run.
  void replay(const Stream& stream, BindingList inputs, BindingList outputs);
  void replay(const Stream& stream, const Bindings& bindings);

  /// Checks and keeps bindings for later runs in any Context of this Executable. Throws UserError
  /// if a binding does not fit the graph.
  Bindings bind(BindingList inputs, BindingList outputs) const;

  /// Throws UserError if work that a function has put on the host (OpaqueCall::on_host) has failed. Call
  /// it after the stream is synchronised; otherwise the next run throws.
  void check() const;

  /// Counts of this Context's work so far.
  struct Counters {
    std::int64_t kernel_launches = 0;  ///< by run, one per kernel
    std::int64_t graph_launches = 0;   ///< by replay
    std::int64_t graph_builds = 0;
    std::int64_t patched_nodes = 0;  ///< in graphs that already existed
  };
  Counters counters() const;

 private:
  friend class Executable;
  friend Profile profile(Context& context, const Bindings& bindings, const ProfileOptions& options);
  explicit Context(std::unique_ptr<ContextState> state);
  std::unique_ptr<ContextState> state_;
};

/// An array or number that a call of an Executable binds.
struct CallArgument {
  enum class Kind : std::uint8_t { input, scalar, output };
  Kind kind = Kind::input;
  std::string name;
  DType dtype = f32;
  std::string type;         ///< in the text form: `bf16[rows, 4096]`
  bool is_written = false;  ///< an output, or an input with an update
};

/// A compiled graph: immutable, cheap to copy, shared by threads. It keeps one variant of its
/// kernels for each size class and pointer alignment that it has met.
class Executable {
 public:
  explicit Executable(std::shared_ptr<ExecutableState> state,
                      std::shared_ptr<const Weights> weights = nullptr)
      : state_(std::move(state)), weights_(std::move(weights)) {}

  std::string_view name() const;
  Device device() const;
  /// The inputs and scalars as declared, then the outputs.
  std::vector<CallArgument> arguments() const;
  /// `communicators` has one for each group of the program's collectives. Throws UserError if one is
  /// missing, has another number of ranks than the group, or if the program has no such group. One
  /// of a single rank needs no group, so one program text runs on any number of ranks.
  Context context(std::initializer_list<GroupCommunicator> communicators = {}) const;
  Context context(std::span<const GroupCommunicator> communicators) const;
  /// The same program and kernels, with arrays and numbers for inputs that calls leave unbound: the
  /// weights of a model. A call may still bind them. Keeps the weights that this executable has and
  /// `inputs` does not replace. Throws UserError if a binding does not fit the graph, as
  /// Context::bind does.
  ///
  /// An update of a weight writes into its array, which is a state of the executable. All Contexts
  /// share it, so they must run one after the other, or each must bind an array of its own. The
  /// check refuses Array::read_only() for a weight that the program updates.
  Executable with_weights(BindingList inputs) const;
  /// The array of the weight `name`. Throws UserError if there is none.
  Array weight(std::string_view name) const;
  /// Plans, compiles and tunes for these sizes now instead of at their first run. `views` says
  /// whether the runs will bind arrays to outputs that are plain views. Throws UserError if a size
  /// is unknown, missing or negative.
  void prepare(std::initializer_list<Size> sizes, Views views = Views::returned) const;
  void prepare(std::span<const Size> sizes, Views views = Views::returned) const;
  /// Waits until the background work of Options::never_stall and Options::specialize is done or has
  /// failed (VariantReport::background_problem). This covers all background work of the process
  /// that was queued before the call.
  void await_background() const;
  Report report() const;
  /// Writes the kernels of every size class that was prepared or run to the file `path`, and the
  /// weights with their present contents. Not the kernels of Options::specialize. `sinter::load`
  /// then needs no compiler. The kernels are compiled once more, without the candidates that were
  /// not chosen. Waits for the device if there are weights.
  ///
  /// Throws UserError if there are no kernels yet, if this was itself loaded from a file, or if the
  /// file cannot be written. Throws CompileError if a kernel does not compile, and DriverError if
  /// NVRTC is missing.
  void save(const std::string& path, const SaveOptions& options = {}) const;

  const std::shared_ptr<ExecutableState>& state() const { return state_; }

 private:
  std::shared_ptr<ExecutableState> state_;
  std::shared_ptr<const Weights> weights_;  ///< may be null
};

/// Compiles `graph` for `device`. If all extents are numbers, this happens at once; otherwise for
/// each size class when it is prepared or first run. The graph is copied, so it may be changed or
/// destroyed afterwards. Throws UserError for a graph that cannot be run, CompileError for a kernel
/// that cannot be compiled.
Executable compile(const Graph& graph, Device device, const Options& options = {},
                   const char* file = __builtin_FILE(), int line = __builtin_LINE());

}  // namespace sinter
