// explain, profile, counters and tuning files.
#include "bind.h"
#include "arrays/call_arguments.h"
#include "context.h"
#include "option_arguments.h"

#include "sinter/counters.h"
#include "sinter/explain.h"
#include "sinter/profile.h"
#include "sinter/tuning.h"
#include "arrays/stream_of.h"

namespace sinter::python {

using namespace nanobind::literals;

namespace {

Explanation explained(const GraphObject& graph, nb::dict sizes, std::optional<Device> device, std::optional<Options> base,
                      nb::kwargs keywords) {
  const Options options = options_of("explain", base, keywords);
  const std::vector<Size> list = sizes_of(sizes);
  const nb::gil_scoped_release released;
  return device ? explain(graph, list, *device, options) : explain(graph, std::span<const Size>(list), options);
}

Profile profiled(ContextObject& context, nb::dict inputs, nb::dict outputs, int repeats, nb::object stream) {
  ProfileOptions options{.repeats = repeats};
  if (!stream.is_none()) options.stream = stream_of(stream, context.device);
  void* const handle = options.stream ? options.stream->handle() : nullptr;
  CallArguments from(context.device, handle);
  from.add(inputs);
  CallArguments to(context.device, handle);
  to.add(outputs);
  const nb::gil_scoped_release released;
  return profile(context.context, from, to, options);
}

}  // namespace

void bind_observe(nb::module_& m) {
  nb::class_<DiskCounters::Reason>(m, "DiskReason", "A reason of misses and failed stores of the disk cache.")
      .def_ro("text", &DiskCounters::Reason::text)
      .def_ro("count", &DiskCounters::Reason::count);
  m.def("explain", &explained, "graph"_a, "sizes"_a = nb::dict(), "device"_a.none() = nb::none(),
        "options"_a.none() = nb::none(), "keywords"_a,
        "Plans and emits `graph` for these sizes of symbols, and compiles every kernel if NVRTC is available. Needs no GPU. "
        "With `device`, explains the plan that compile makes for it. Keywords are fields of Options.");
  m.def("profile", &profiled, "context"_a, "inputs"_a, "outputs"_a, nb::kw_only(), "repeats"_a = 15,
        "stream"_a.none() = nb::none(),
        "Times the kernels of a program one by one, beside a device copy of as many bytes.");
  m.def("counters", [](std::optional<Options> options) { return counters(options.value_or(Options())); },
        "options"_a.none() = nb::none(), "A snapshot of the statistics of the process.");
  m.def("export_tuning", &export_tuning, "device"_a, "path"_a, nb::call_guard<nb::gil_scoped_release>(),
        "Writes the measurements of kernels on `device` to the file `path`.");
  m.def("import_tuning", &import_tuning, "device"_a, "path"_a, nb::call_guard<nb::gil_scoped_release>(),
        "Imports the measurements of a tuning file. Returns the number of its kernels.");
}

}  // namespace sinter::python
