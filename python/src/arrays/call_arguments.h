// Bindings of Context::run, from Python dictionaries and sequences.
#pragma once

#include <deque>
#include <string>

#include "casters.h"
#include "arrays/foreign_array.h"

namespace sinter::python {

/// Arrays and numbers with their names. The names belong to the caller.
class CallArguments {
 public:
  CallArguments(const Device& device, void* stream) : device_(device), stream_(stream) {}

  /// Adds the entries of a dictionary, which must outlive this.
  void add(const nb::dict& values);
  /// Adds the items of a tuple or list under `names`, for the duration of one call. Throws UserError if
  /// their numbers differ; `what` is for the message.
  void add(nb::handle values, const std::vector<std::string>& names, std::string_view what);

  operator BindingList() const { return BindingList(bindings_); }  // NOLINT: a list of bindings

 private:
  void add_one(std::string_view name, nb::handle value, bool is_borrowed);

  Device device_;
  void* stream_;
  std::deque<Array> arrays_;  // bindings refer to them
  std::vector<Binding> bindings_;
};

}  // namespace sinter::python
