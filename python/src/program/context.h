// The Python objects of Executable and Context.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "values/casters.h"

namespace sinter::python {

/// The names of a program's arguments, in the order of Executable::arguments.
struct ArgumentNames {
  std::vector<std::string> inputs;  ///< and scalars
  std::vector<std::string> outputs;
};

struct ContextObject {
  Context context;
  Device device;
  std::optional<Stream> host_stream;  ///< of a host device, for calls without a stream
  std::shared_ptr<const ArgumentNames> names;
};

struct ExecutableObject {
  Executable executable;
  std::shared_ptr<const ArgumentNames> names;
};

ExecutableObject executable_object(Executable executable);

}  // namespace sinter::python
