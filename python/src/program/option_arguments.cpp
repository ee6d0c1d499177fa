#include "program/option_arguments.h"

#include "sinter/error.h"

namespace sinter::python {

namespace {

[[noreturn]] void fail(std::string_view function, const std::string& text) {
  fail_here(std::string(function) + ": " + text);
}

std::string field_names(nb::handle type) {
  return nb::cast<std::string>(nb::str(", ").attr("join")(type.attr("fields")));
}

void set_field(std::string_view function, nb::handle options, nb::handle name, nb::handle value) {
  const auto field = nb::cast<std::string>(name);
  if (!nb::cast<bool>(options.type().attr("fields").attr("__contains__")(name)))
    fail(function, "there is no option " + field + "; the options are " + field_names(options.type()));
  try {
    if (field == "cache" && PyUnicode_Check(value.ptr()))
      options.attr("cache").attr("mode") = value;
    else
      options.attr(name) = value;
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;
    fail(function, "option " + field + " cannot be " + nb::repr(value).c_str() + "; its default is " +
                       nb::repr(nb::cast(Options()).attr(name)).c_str());
  }
}

}  // namespace

Options options_of(std::string_view function, const std::optional<Options>& base, const nb::kwargs& keywords) {
  if (keywords.size() == 0) return base.value_or(Options());
  const nb::object options = nb::cast(base.value_or(Options()));
  for (const auto& [name, value] : keywords) set_field(function, options, name, value);
  return nb::cast<Options>(options);
}

}  // namespace sinter::python
