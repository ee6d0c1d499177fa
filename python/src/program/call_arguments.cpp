#include "program/call_arguments.h"

#include "sinter/error.h"

namespace sinter::python {

void CallArguments::add_one(std::string_view name, nb::handle value, bool is_borrowed) {
  if (const std::optional<Literal> number = literal_of(value)) {
    Binding& binding = bindings_.emplace_back(name, 0);
    binding.number = *number;
    return;
  }
  if (PyLong_Check(value.ptr()))
    fail_here(std::string("the number ") + nb::str(value).c_str() + " for " + std::string(name) +
              " does not fit in 64 bits; pass a smaller one");
  arrays_.push_back(is_borrowed ? borrowed_array(value, device_, stream_) : array_of_object(value, device_, stream_));
  bindings_.emplace_back(name, arrays_.back());
}

void CallArguments::add(const nb::dict& values) {
  for (const auto& [name, value] : values) add_one(nb::cast<std::string_view>(name), value, false);
}

void CallArguments::add(nb::handle values, const std::vector<std::string>& names, std::string_view what) {
  const auto count = static_cast<std::size_t>(nb::len(values));
  if (count != names.size())
    fail_here("the program has " + std::to_string(names.size()) + " " + std::string(what) + ", and the call passes " +
              std::to_string(count) + "; pass those of Executable.arguments");
  bindings_.reserve(names.size());
  for (std::size_t i = 0; i < count; ++i) {
    const nb::object value = values[i];
    add_one(names[i], value, true);
  }
}

}  // namespace sinter::python
