#include "values/location.h"

#include <nanobind/nanobind.h>

#include <string>
#include <unordered_set>

#include "sinter/error.h"

namespace sinter::python {

namespace nb = nanobind;

namespace {

std::string package_folder;
thread_local Location given = {};

/// The same text for the rest of the process. Nodes of graphs refer to it. The GIL guards the set.
const char* interned(std::string_view text) {
  static auto* const texts = new std::unordered_set<std::string>();
  return texts->emplace(text).first->c_str();
}

/// The file of `frame`, valid as long as its code.
std::string_view file_of(PyFrameObject* frame) {
  PyCodeObject* const code = PyFrame_GetCode(frame);
  const nb::object file = nb::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(code), "co_filename"));
  Py_DECREF(code);
  Py_ssize_t size = 0;
  const char* const text = file.is_valid() ? PyUnicode_AsUTF8AndSize(file.ptr(), &size) : nullptr;
  if (!text) {
    PyErr_Clear();
    return "?";
  }
  return {text, static_cast<std::size_t>(size)};
}

nb::object caller_of(PyFrameObject* frame) {
  nb::object back = nb::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(frame), "f_back"));
  if (!back.is_valid()) PyErr_Clear();
  return back;
}

}  // namespace

void set_package_folder(std::string_view folder) { package_folder = folder; }

Location replace_location(std::string_view file, int line) {
  const Location previous = given;
  given = line > 0 ? Location{interned(file), line} : Location{};
  return previous;
}

void fail_here(const std::string& text) {
  const Location place = current_location();
  throw UserError(std::string(place.file) + ":" + std::to_string(place.line) + ": " + text);
}

Location current_location() noexcept {
  if (given.line > 0) return given;
  nb::object frame = nb::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame.is_valid() && !frame.is_none()) {
    auto* const raw = reinterpret_cast<PyFrameObject*>(frame.ptr());
    const std::string_view file = file_of(raw);
    if (package_folder.empty() || !file.starts_with(package_folder))
      return {interned(file), PyFrame_GetLineNumber(raw)};
    frame = caller_of(raw);
  }
  return {"Python", 0};
}

}  // namespace sinter::python
