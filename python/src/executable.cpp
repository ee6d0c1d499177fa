// compile, Executable and load.
#include "bind.h"
#include "arrays/call_arguments.h"
#include "context.h"
#include "option_arguments.h"

#include "sinter/saved.h"

namespace sinter::python {

using namespace nanobind::literals;

namespace {

ContextObject context_of(const ExecutableObject& self, std::span<const GroupCommunicator> communicators) {
  const Device device = self.executable.device();
  return {self.executable.context(communicators), device,
          device.is_host() ? std::optional(device.stream()) : std::nullopt, self.names};
}

ExecutableObject compiled(const GraphObject& graph, std::optional<Device> device, std::optional<Options> base,
                          nb::kwargs keywords) {
  const Options options = options_of("compile", base, keywords);
  const Location place = current_location();
  const nb::gil_scoped_release released;
  return executable_object(compile(graph, device ? *device : default_device(), options, place.file, place.line));
}

ExecutableObject loaded(const std::string& path, std::optional<Device> device, bool compiles_missing, nb::kwargs keywords) {
  const LoadOptions options{.compiles_missing = compiles_missing, .options = options_of("load", std::nullopt, keywords)};
  const Location place = current_location();
  const nb::gil_scoped_release released;
  return executable_object(load(path, device ? *device : default_device(), options, place.file, place.line));
}

std::string source_of(const ExecutableObject& self) {
  std::string text;
  for (const KernelReport& kernel : self.executable.report().kernels) text += (text.empty() ? "" : "\n") + kernel.source;
  return text;
}

void bind_arguments(nb::module_& m) {
  nb::class_<CallArgument>(m, "CallArgument", "An input, a scalar or an output of a program.")
      .def_ro("name", &CallArgument::name)
      .def_prop_ro("kind", [](const CallArgument& self) {
        return self.kind == CallArgument::Kind::input ? "input" : self.kind == CallArgument::Kind::scalar ? "scalar" : "output";
      }, "`input`, `scalar` or `output`.")
      .def_ro("dtype", &CallArgument::dtype)
      .def_ro("type", &CallArgument::type, "The type in the text form: `bf16[rows, 4096]`.")
      .def_ro("is_written", &CallArgument::is_written)
      .def("__repr__", [](const CallArgument& self) { return self.name + ": " + self.type; });
}

}  // namespace

ExecutableObject executable_object(Executable executable) {
  auto names = std::make_shared<ArgumentNames>();
  for (const CallArgument& argument : executable.arguments())
    (argument.kind == CallArgument::Kind::output ? names->outputs : names->inputs).push_back(argument.name);
  return {std::move(executable), std::move(names)};
}

void bind_executable(nb::module_& m) {
  bind_arguments(m);
  nb::class_<ExecutableObject>(m, "Executable", nb::dynamic_attr(),
                               "A compiled graph: immutable, shared by threads. It keeps one variant of its kernels for each "
                               "size class and pointer alignment that it has met.")
      .def_prop_ro("name", [](const ExecutableObject& self) { return self.executable.name(); })
      .def_prop_ro("device", [](const ExecutableObject& self) { return self.executable.device(); })
      .def_prop_ro("arguments", [](const ExecutableObject& self) { return self.executable.arguments(); },
                   "The inputs and scalars as declared, then the outputs.")
      .def("context",
           [](const ExecutableObject& self, nb::dict communicators) {
             std::vector<GroupCommunicator> list;
             for (const auto& [group, communicator] : communicators)
               list.push_back({nb::cast<std::string_view>(group), nb::cast<Communicator>(communicator)});
             return context_of(self, list);
           },
           "communicators"_a = nb::dict(),
           "The state for one run at a time. `communicators` has one for each group of the program's collectives.")
      .def("with_weights",
           [](const ExecutableObject& self, nb::dict inputs) {
             CallArguments weights(self.executable.device(), nullptr);
             weights.add(inputs);
             return ExecutableObject{self.executable.with_weights(weights), self.names};
           },
           "inputs"_a, "The same program, with arrays and numbers for inputs that calls leave unbound.")
      .def("weight", [](const ExecutableObject& self, std::string_view name) { return ArrayObject{self.executable.weight(name)}; },
           "name"_a, "The array of the weight `name`. Raises UserError if there is none.")
      .def("prepare",
           [](const ExecutableObject& self, nb::dict sizes, Views views) {
             const std::vector<Size> list = sizes_of(sizes);
             const nb::gil_scoped_release released;
             self.executable.prepare(list, views);
           },
           "sizes"_a, "views"_a = "returned", "Plans, compiles and tunes for these sizes of symbols now.")
      .def("await_background", [](const ExecutableObject& self) { self.executable.await_background(); },
           nb::call_guard<nb::gil_scoped_release>(), "Waits for the background work of never_stall and specialize.")
      .def("report", [](const ExecutableObject& self) { return self.executable.report(); },
           "The kernels, with their schedules, costs and reasons.")
      .def("source", &source_of, "The emitted functions of the latest variant, without the prelude.")
      .def("save",
           [](const ExecutableObject& self, const std::string& path, std::vector<std::string> archs,
              std::vector<std::string> tuned_elsewhere) {
             const nb::gil_scoped_release released;
             self.executable.save(path, {.archs = std::move(archs), .tuned_elsewhere = std::move(tuned_elsewhere)});
           },
           "path"_a, nb::kw_only(), "archs"_a = nb::make_tuple(), "tuned_elsewhere"_a = nb::make_tuple(),
           "Writes the kernels of every size class that was prepared or run to the file `path`. `archs` has architectures "
           "(`sm_90`), GPUs (`h100_pcie`), or `host`. Raises UserError if there are no kernels or the file cannot be written.")
      .def("__repr__", [](const ExecutableObject& self) {
        return "<sinter.Executable " + std::string(self.executable.name()) + " on " + std::string(self.executable.device().name()) + ">";
      });
  m.def("compile", &compiled, "graph"_a, "device"_a.none() = nb::none(), "options"_a.none() = nb::none(), "keywords"_a,
        "Compiles `graph` for `device` (None: the default device). Keywords are fields of Options and replace those of "
        "`options`. Raises UserError for a graph that cannot be run, CompileError for a kernel that cannot be compiled.");
  m.def("load", &loaded, "path"_a, "device"_a.none() = nb::none(), nb::kw_only(), "compiles_missing"_a = false, "keywords"_a,
        "Loads the executable that Executable.save wrote. Needs only the driver, and plans nothing. Load only trusted files: a "
        "file contains code.");
  m.def("options_from_environment", &options_from_environment, "options"_a = Options(),
        "`options` with the environment variables applied that are set.");
}

}  // namespace sinter::python
