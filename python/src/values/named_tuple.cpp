#include "values/named_tuple.h"

#include <map>
#include <string>

namespace sinter::python {

namespace {

std::map<std::string, nb::object, std::less<>>& types() {
  static auto* const table = new std::map<std::string, nb::object, std::less<>>();
  return *table;
}

}  // namespace

void define_named_tuple(nb::module_& m, const char* name, const char* fields, const char* doc) {
  using namespace nb::literals;
  nb::object type =
      nb::module_::import_("collections").attr("namedtuple")(name, fields, "module"_a = m.attr("__name__"));
  type.attr("__doc__") = doc;
  m.attr(name) = type;
  types()[name] = std::move(type);
}

nb::handle named_tuple_type(const char* name) { return types().at(name); }

}  // namespace sinter::python
