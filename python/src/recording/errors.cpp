// sinter's exceptions as Python exceptions.
#include "values/bind.h"

#include "sinter/error.h"

namespace nb = nanobind;

namespace sinter::python {

void bind_errors(nb::module_& m) {
  // A translator that is registered later is tried first, so the base class comes first.
  const nb::exception<Error> base(m, "Error");
  base.attr("__doc__") = "The base class of sinter's exceptions.";
  const nb::exception<UserError> user(m, "UserError", nb::make_tuple(base, nb::handle(PyExc_ValueError)));
  user.attr("__doc__") = "A mistake of the caller. The message says what is wrong and where, the values, and what to do.";
  const nb::exception<CompileError> compile(m, "CompileError", base);
  compile.attr("__doc__") = "A kernel did not compile. The message holds the numbered source and the compiler's log.";
  const nb::exception<DriverError> driver(m, "DriverError", base);
  driver.attr("__doc__") = "A call of the driver or the compiler library failed, or a library is missing.";
  const nb::exception<InternalError> internal(m, "InternalError", base);
  internal.attr("__doc__") = "A bug in sinter, detected before it can cause a wrong result.";
}

}  // namespace sinter::python
