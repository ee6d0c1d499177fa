// The parts of the module, in the order in which it defines them.
#pragma once

#include <nanobind/nanobind.h>

namespace sinter::python {

void bind_errors(nanobind::module_& m);
void bind_dtypes(nanobind::module_& m);
void bind_graph(nanobind::module_& m);
void bind_tensor(nanobind::module_& m);
void bind_elementwise(nanobind::module_& m);  // generated, as the five below
void bind_ops(nanobind::module_& m);
void bind_nn(nanobind::module_& m);
void bind_views(nanobind::module_& m);
void bind_library_ops(nanobind::module_& m);
void bind_collectives(nanobind::module_& m);
void bind_user_ops(nanobind::module_& m);
void bind_device(nanobind::module_& m);
void bind_array(nanobind::module_& m);
void bind_option_structs(nanobind::module_& m);  // generated
void bind_reports(nanobind::module_& m);         // generated
void bind_communicators(nanobind::module_& m);
void bind_executable(nanobind::module_& m);
void bind_context(nanobind::module_& m);
void bind_observe(nanobind::module_& m);
void bind_quantization(nanobind::module_& m);

}  // namespace sinter::python
