#include "values/describe.h"

#include <string>

namespace sinter::python {

namespace nb = nanobind;

nb::str describe(nb::handle object, std::initializer_list<const char*> fields) {
  constexpr std::size_t kLongest = 60;
  std::string text = std::string(nb::str(object.type().attr("__name__")).c_str()) + "(";
  bool first = true;
  for (const char* field : fields) {
    const nb::object value = nb::getattr(object, field);
    if (PyObject_IsTrue(value.ptr()) != 1) {
      PyErr_Clear();
      continue;
    }
    std::string shown = nb::repr(value).c_str();
    if (shown.size() > kLongest) {
      std::size_t end = kLongest;  // not inside of a UTF-8 character
      while (end > 0 && (static_cast<unsigned char>(shown[end]) & 0xc0) == 0x80) --end;
      shown = shown.substr(0, end) + "…";
    }
    text += std::string(first ? "" : ", ") + field + "=" + shown;
    first = false;
  }
  return nb::str((text + ")").c_str());
}

}  // namespace sinter::python
