// Context, Bindings and the results of runs.
#include "context.h"

#include "bind.h"
#include "arrays/call_arguments.h"
#include "arrays/stream_of.h"

#include "sinter/error.h"

namespace sinter::python {

using namespace nanobind::literals;

namespace {

/// Arrays that a run made, by name and by position.
struct OutputsObject {
  std::vector<std::string> names;
  std::vector<ArrayObject> arrays;
};

struct BindingsObject {
  Bindings bindings;
  Device device;
};

/// The stream of a call: `given`, the default stream of a GPU, or the Context's own on a host device.
Stream stream_for(const ContextObject& self, nb::handle given) {
  if (!given.is_none()) return stream_of(given, self.device);
  return self.device.is_host() ? *self.host_stream : Stream::wrap(nullptr, self.device);
}

/// Calls `work` without the GIL. Without a stream of the caller, results on a host device are ready
/// at return.
template <class Work>
void launch(const ContextObject& self, nb::handle given, const Stream& stream, Work work) {
  const bool waits = given.is_none() && self.device.is_host();
  const nb::gil_scoped_release released;
  work();
  if (!waits) return;
  stream.synchronize();
  self.context.check();
}

OutputsObject outputs_of(const ContextObject& self, Outputs results, const Stream& stream) {
  OutputsObject outputs{self.names->outputs, {}};
  for (int i = 0; i < results.size(); ++i) outputs.arrays.push_back({results[i], stream});
  return outputs;
}

nb::object run(ContextObject& self, nb::dict inputs, std::optional<nb::dict> outputs, nb::object given) {
  const Stream stream = stream_for(self, given);
  CallArguments from(self.device, stream.handle());
  from.add(inputs);
  if (!outputs) {
    std::optional<Outputs> results;
    launch(self, given, stream, [&] { results.emplace(self.context.run(stream, from)); });
    return nb::cast(outputs_of(self, *std::move(results), stream));
  }
  CallArguments to(self.device, stream.handle());
  to.add(*outputs);
  launch(self, given, stream, [&] { self.context.run(stream, from, to); });
  return nb::none();
}

void replay(ContextObject& self, nb::dict inputs, nb::dict outputs, nb::object given) {
  const Stream stream = stream_for(self, given);
  CallArguments from(self.device, stream.handle());
  from.add(inputs);
  CallArguments to(self.device, stream.handle());
  to.add(outputs);
  launch(self, given, stream, [&] { self.context.replay(stream, from, to); });
}

void call(ContextObject& self, nb::handle inputs, nb::handle outputs, nb::object given) {
  const Stream stream = stream_for(self, given);
  CallArguments from(self.device, stream.handle());
  from.add(inputs, self.names->inputs, "inputs");
  CallArguments to(self.device, stream.handle());
  to.add(outputs, self.names->outputs, "outputs");
  launch(self, given, stream, [&] { self.context.run(stream, from, to); });
}

BindingsObject bind(const ContextObject& self, nb::dict inputs, nb::dict outputs) {
  CallArguments from(self.device, nullptr);
  from.add(inputs);
  CallArguments to(self.device, nullptr);
  to.add(outputs);
  return {self.context.bind(from, to), self.device};
}

void run_bindings(ContextObject& self, const BindingsObject& bindings, nb::object given, bool as_graph) {
  const Stream stream = stream_for(self, given);
  launch(self, given, stream, [&] {
    if (as_graph)
      self.context.replay(stream, bindings.bindings);
    else
      self.context.run(stream, bindings.bindings);
  });
}

const ArrayObject& output_called(const OutputsObject& self, std::string_view name) {
  for (std::size_t i = 0; i < self.names.size(); ++i)
    if (self.names[i] == name) return self.arrays[i];
  std::string names;
  for (const std::string& each : self.names) names += (names.empty() ? "" : ", ") + each;
  throw nb::key_error(("there is no output " + std::string(name) + "; the outputs are " + names).c_str());
}

void bind_outputs(nb::module_& m) {
  nb::class_<OutputsObject>(m, "Outputs", "Arrays that a run made, by name and by position.")
      .def("__getitem__", &output_called, "name"_a, nb::rv_policy::copy)
      .def("__getitem__",
           [](const OutputsObject& self, std::int64_t index) {
             const auto count = static_cast<std::int64_t>(self.arrays.size());
             const std::int64_t position = index < 0 ? index + count : index;
             if (position < 0 || position >= count) throw nb::index_error("there is no output at this position");
             return self.arrays[static_cast<std::size_t>(position)];
           },
           "index"_a)
      .def("__len__", [](const OutputsObject& self) { return self.arrays.size(); })
      .def("__iter__", [](const OutputsObject& self) { return nb::iter(nb::cast(self.arrays)); })
      .def("keys", [](const OutputsObject& self) { return self.names; })
      .def("values", [](const OutputsObject& self) { return self.arrays; })
      .def("items", [](const OutputsObject& self) {
        nb::list items;
        for (std::size_t i = 0; i < self.names.size(); ++i)
          items.append(nb::make_tuple(self.names[i], self.arrays[i]));
        return items;
      });
}

}  // namespace

void bind_context(nb::module_& m) {
  bind_outputs(m);
  nb::class_<BindingsObject>(m, "Bindings", "Bindings that were checked once, for repeated calls. Keeps its Arrays alive.")
      .def("set",
           [](BindingsObject& self, std::string_view name, nb::object value) {
             if (const std::optional<Literal> number = literal_of(value)) {
               Binding binding(name, 0);
               binding.number = *number;
               return self.bindings.set(binding);
             }
             self.bindings.set(name, array_of_object(value, self.device, nullptr));
           },
           "name"_a, "value"_a, "Replaces the array or number of `name`.");
  nb::class_<ContextObject>(m, "Context", "The state that an Executable runs with. It serves one run at a time.")
      .def("run", &run, "inputs"_a, "outputs"_a.none() = nb::none(), "stream"_a.none() = nb::none(),
           "Launches the program on `stream`. `inputs` and `outputs` are dictionaries of arrays of any library and of "
           "numbers. Without `outputs`, returns new arrays as Outputs. Without `stream`, a GPU uses its default stream, and "
           "results of a host device are ready at return. Raises UserError, before anything is launched, if a binding does "
           "not fit.")
      .def("run", [](ContextObject& self, const BindingsObject& bindings, nb::object stream) { run_bindings(self, bindings, stream, false); },
           "bindings"_a, "stream"_a.none() = nb::none())
      .def("replay", &replay, "inputs"_a, "outputs"_a, "stream"_a.none() = nb::none(),
           "The same as run, but as one launch of a CUDA Graph, which is built once.")
      .def("replay", [](ContextObject& self, const BindingsObject& bindings, nb::object stream) { run_bindings(self, bindings, stream, true); },
           "bindings"_a, "stream"_a.none() = nb::none())
      .def("call", &call, "inputs"_a, "outputs"_a, "stream"_a.none() = nb::none(),
           "The same as run, with lists in the order of Executable.arguments. The arrays are not kept: they must live until "
           "the work on `stream` is done.")
      .def("check", [](const ContextObject& self) { self.context.check(); },
           "Raises UserError if a Python function of an opaque call has failed. Runs without a stream on a host device call "
           "it themselves.")
      .def("bind", &bind, "inputs"_a, "outputs"_a, "Checks and keeps bindings for later runs.")
      .def_prop_ro("counters", [](const ContextObject& self) {
        const Context::Counters counts = self.context.counters();
        nb::dict result;
        result["kernel_launches"] = counts.kernel_launches;
        result["graph_launches"] = counts.graph_launches;
        result["graph_builds"] = counts.graph_builds;
        result["patched_nodes"] = counts.patched_nodes;
        return result;
      }, "Counts of this Context's work so far.");
}

}  // namespace sinter::python
