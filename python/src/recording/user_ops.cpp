// custom_op, opaque calls, and the Python functions behind them.
#include "values/bind.h"
#include "values/casters.h"
#include "recording/opaque_arrays.h"

#include <memory>
#include <string>
#include <unordered_map>

#include "sinter/custom_op.h"
#include "sinter/error.h"
#include "sinter/opaque.h"

namespace sinter::python {

using namespace nanobind::literals;

namespace {

/// A Python object that threads without the GIL may copy and release.
std::shared_ptr<nb::object> shared(nb::object object) {
  return {new nb::object(std::move(object)), [](nb::object* held) {
            if (!Py_IsInitialized()) return;  // the process ends
            const nb::gil_scoped_acquire acquired;
            delete held;
          }};
}

/// Calls `work` with the GIL. A Python exception becomes a UserError with its text, because it must not
/// leave the GIL.
template <class Work>
auto with_python(Work work) {
  const nb::gil_scoped_acquire acquired;
  try {
    return work();
  } catch (nb::python_error& error) {
    throw UserError(error.what());
  }
}

CustomOptions custom_options(nb::object oracle, int ulp, nb::object vjp) {
  CustomOptions options{.ulp = ulp};
  if (!oracle.is_none())
    options.oracle = [function = shared(oracle)](std::span<const long double> operands) {
      return with_python([&] {
        nb::list numbers;
        for (const long double operand : operands) numbers.append(nb::float_(static_cast<double>(operand)));
        return static_cast<long double>(nb::cast<double>((*function)(*numbers)));
      });
    };
  if (!vjp.is_none())
    options.vjp = [function = shared(vjp)](std::span<const Tensor> operands, Tensor y, Tensor g) {
      return with_python([&] {
        const nb::object results = (*function)(std::vector<Tensor>(operands.begin(), operands.end()), y, g);
        std::vector<Tensor> cotangents;
        for (nb::handle each : nb::iter(results)) cotangents.push_back(each.is_none() ? Tensor() : nb::cast<Tensor>(each));
        return cotangents;
      });
    };
  return options;
}

Tensor custom(std::string_view name, std::string_view source, std::span<const Operand> operands, nb::object oracle, int ulp,
              nb::object vjp) {
  const Location place = current_location();
  return custom_op(name, source, operands, custom_options(oracle, ulp, vjp), place.file, place.line);
}

std::vector<OpaqueAttribute> attributes_of(const nb::dict& attributes) {
  std::vector<OpaqueAttribute> result;
  for (const auto& [key, value] : attributes) {
    const auto name = nb::cast<std::string_view>(key);
    if (PyUnicode_Check(value.ptr()))
      result.emplace_back(name, nb::cast<std::string_view>(value));
    else if (const std::optional<Literal> number = literal_of(value))
      result.emplace_back(name, *number);
    else
      result.emplace_back(name, nb::cast<std::vector<std::int64_t>>(value));
  }
  return result;
}

OpaqueType type_of(nb::handle pair) {
  nb::detail::make_caster<DType> dtype;
  nb::detail::make_caster<Extents> shape;
  const bool is_pair = PyTuple_Check(pair.ptr()) && PyTuple_Size(pair.ptr()) == 2 &&
                       dtype.from_python(PyTuple_GetItem(pair.ptr(), 0), 0, nullptr) &&
                       shape.from_python(PyTuple_GetItem(pair.ptr(), 1), 0, nullptr);
  if (!is_pair)
    fail_here(std::string("opaque: the result ") + nb::repr(pair).c_str() +
              " is no tuple of dtype and shape; pass one such as (sinter.f32, [rows, 4])");
  return {.dtype = dtype.value, .shape = shape.items};
}

/// The function that runs a Python callable for a call. On a host device it runs when the stream reaches
/// it, so the operands are complete. On a GPU it runs at once, and puts work on `call.stream`.
OpaqueFunction opaque_function(nb::object enqueue, nb::object workspace, bool can_capture, std::int64_t version) {
  OpaqueFunction function{.can_capture = can_capture, .version = version};
  function.enqueue = [callable = shared(enqueue)](const OpaqueCall& call) {
    if (!call.is_host_device) {
      with_python([&] { (*callable)(nb::cast(OpaqueCallObject(call))); });
      return 0;
    }
    call.on_host([callable, held = std::make_shared<OpaqueCallObject>(call)] {
      with_python([&] { (*callable)(nb::cast(*held)); });
    });
    return 0;
  };
  if (!workspace.is_none())
    function.workspace = [callable = shared(workspace)](const OpaqueSizes& sizes) {
      return with_python([&] { return nb::cast<std::int64_t>((*callable)(nb::cast(OpaqueCallObject(sizes)))); });
    };
  return function;
}

/// The name under which a Python callable is registered: one per callable and process.
std::string name_of(nb::handle function) {
  if (PyUnicode_Check(function.ptr())) return nb::cast<std::string>(function);
  if (!PyCallable_Check(function.ptr()))
    fail_here(std::string("opaque: ") + nb::repr(function).c_str() +
              " is neither the name of a registered function nor a callable; pass one of them");
  static auto* const names = new std::unordered_map<PyObject*, std::string>();
  std::string& name = (*names)[function.ptr()];
  if (!name.empty()) return name;
  name = "python_function_" + std::to_string(names->size());
  // Registered functions stay for the process, so the key stays valid.
  register_opaque(name, opaque_function(nb::borrow(function), nb::none(), false, 0));
  return name;
}

nb::object opaque_call(nb::object function, std::span<const Operand> operands, nb::object result, nb::dict attributes) {
  const Location place = current_location();
  const bool is_single = PyTuple_Check(result.ptr()) != 0;
  std::vector<OpaqueType> types;
  if (is_single)
    types.push_back(type_of(result));
  else
    for (nb::handle each : nb::iter(result)) types.push_back(type_of(each));
  const std::string name = name_of(function);
  const std::vector<Tensor> results = opaque_results(name, operands, types, attributes_of(attributes), place.file, place.line);
  return is_single ? nb::cast(results.front()) : nb::cast(results);
}

}  // namespace

void bind_user_ops(nb::module_& m) {
  bind_opaque_arrays(m);
  m.def("custom_op", &custom, "name"_a, "source"_a, "operands"_a, nb::kw_only(), "oracle"_a.none() = nb::none(), "ulp"_a = 0,
        "vjp"_a.none() = nb::none(),
        "Applies the C++ function `source` to each element of the operands, which broadcast. It fuses like an elementwise op. "
        "`oracle(*numbers)` gives the exact result. `vjp(operands, y, g)` returns the cotangents of the operands, None for 0.");
  m.def("opaque", &opaque_call, "function"_a, "operands"_a, "result"_a, "attributes"_a = nb::dict(),
        "Calls a function between fused kernels: a registered name, or a Python callable that takes an OpaqueCall. `result` is "
        "a tuple of dtype and shape, or a list of them; the same number of Tensors returns. Functions must be pure.");
  m.def("register_opaque",
        [](std::string_view name, nb::object enqueue, nb::object workspace, bool can_capture, std::int64_t version) {
          register_opaque(name, opaque_function(enqueue, workspace, can_capture, version));
        },
        "name"_a, "enqueue"_a, nb::kw_only(), "workspace"_a.none() = nb::none(), "can_capture"_a = false, "version"_a = 0,
        "Registers `enqueue(call)` for the whole process. On a GPU it puts work on call.stream; on a host device it runs when "
        "the operands are complete. `workspace(call)` returns bytes. Raises UserError if the name is taken.");
  m.def("unregister_opaque", &unregister_opaque, "name"_a, "Removes the function. Returns False if there is none.");
}

}  // namespace sinter::python
