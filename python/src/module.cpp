// sinter._core: the public C++ API for Python.
#include "values/bind.h"
#include "namedtuples.h"

NB_MODULE(_core, m) {
  using namespace sinter::python;
  nanobind::set_leak_warnings(false);  // dtypes live as long as the process
  m.doc() = "The C++ library sinter. Import the package sinter instead.";
  m.attr("__version__") = SINTER_VERSION;
  bind_errors(m);
  bind_dtypes(m);
  bind_graph(m);
  bind_tensor(m);
  bind_named_tuples(m);
  bind_elementwise(m);
  bind_ops(m);
  bind_nn(m);
  bind_views(m);
  bind_library_ops(m);
  bind_collectives(m);
  bind_user_ops(m);
  bind_device(m);
  bind_array(m);
  bind_option_structs(m);
  bind_reports(m);
  bind_communicators(m);
  bind_executable(m);
  bind_context(m);
  bind_observe(m);
  bind_quantization(m);
}
