// The registry of opaque functions, and their access to the attributes of a call.
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "ir/record/opaque.h"
#include "ir/shape/host_array.h"
#include "ir/text/lexer.h"
#include "ir/text/print.h"
#include "sinter/error.h"

namespace sinter {

namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<const OpaqueFunction>, std::less<>> functions;
};

/// Never destroyed: other threads may still run calls when the process exits.
Registry& registry() {
  static auto* const registry = new Registry;
  return *registry;
}

using Kind = OpaqueAttribute::Kind;

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::number: return "a number";
    case Kind::text: return "a text";
    case Kind::integers: return "a list of integers";
  }
  return {};
}

/// The attribute `name`; null if it is missing. Throws UserError if it has another type.
const OpaqueAttribute* find_attribute(const OpaqueSizes& call, std::string_view name, Kind kind) {
  for (const OpaqueAttribute& attribute : call.attributes) {
    if (attribute.name != name) continue;
    if (attribute.kind == kind) return &attribute;
    throw UserError(fmt::format("attribute {} is {}, expected {}", name, name_of(attribute.kind),
                                name_of(kind)));
  }
  return nullptr;
}

/// The same, but throws UserError if the attribute is missing.
const OpaqueAttribute& required_attribute(const OpaqueSizes& call, std::string_view name,
                                          Kind kind) {
  if (const OpaqueAttribute* const found = find_attribute(call, name, kind)) return *found;
  throw UserError(fmt::format("the call has no attribute {}; give it one", name));
}

}  // namespace

std::int64_t OpaqueArray::elements() const { return element_count(shape); }

double OpaqueSizes::number(std::string_view name) const {
  return as_real(required_attribute(*this, name, Kind::number).number);
}

std::span<const std::int64_t> OpaqueSizes::integers(std::string_view name) const {
  return required_attribute(*this, name, Kind::integers).integers;
}

std::string_view OpaqueSizes::text(std::string_view name) const {
  return required_attribute(*this, name, Kind::text).text;
}

double OpaqueSizes::number(std::string_view name, double default_value) const {
  const OpaqueAttribute* const found = find_attribute(*this, name, Kind::number);
  return found ? as_real(found->number) : default_value;
}

std::string_view OpaqueSizes::text(std::string_view name, std::string_view default_value) const {
  const OpaqueAttribute* const found = find_attribute(*this, name, Kind::text);
  return found ? std::string_view(found->text) : default_value;
}

void OpaqueCall::on_host(std::function<void()> work) const { add_host_work(std::move(work)); }

void register_opaque(std::string_view name, OpaqueFunction function) {
  if (legal_name(name) != name)
    throw UserError(fmt::format(
        "register_opaque: \"{}\" is not a name that graphs can call; use letters, digits and _",
        printable(name)));
  if (is_library_name(name))
    throw UserError(
        fmt::format("register_opaque {}: this is the name of a library op; use another name", name));
  if (!function.enqueue)
    throw UserError(
        fmt::format("register_opaque {}: enqueue, which puts a call on its stream, is missing; "
                    "give it one",
                    name));
  // If the name is taken, the function is destroyed without the lock: its destructor may register
  // other functions.
  const auto shared = std::make_shared<const OpaqueFunction>(std::move(function));
  bool is_new = false;
  {
    const std::lock_guard lock(registry().mutex);
    is_new = registry().functions.try_emplace(std::string(name), shared).second;
  }
  if (!is_new)
    throw UserError(fmt::format(
        "register_opaque {}: a function of this name is already registered; use another name, or "
        "unregister that function first",
        name));
}

void register_library_function(std::string_view name, OpaqueFunction function) {
  const auto shared = std::make_shared<const OpaqueFunction>(std::move(function));
  const std::lock_guard lock(registry().mutex);
  registry().functions.insert_or_assign(std::string(name), shared);
}

bool unregister_opaque(std::string_view name) {
  if (is_library_name(name)) return false;
  std::shared_ptr<const OpaqueFunction> gone;  // destroyed after the lock is released
  const std::lock_guard lock(registry().mutex);
  const auto found = registry().functions.find(name);
  if (found == registry().functions.end()) return false;
  gone.swap(found->second);
  registry().functions.erase(found);
  return true;
}

std::shared_ptr<const OpaqueFunction> find_opaque(std::string_view name) {
  const std::lock_guard lock(registry().mutex);
  const auto found = registry().functions.find(name);
  return found == registry().functions.end() ? nullptr : found->second;
}

std::string registered_names_text() {
  std::vector<std::string> names;
  const std::lock_guard lock(registry().mutex);
  for (const auto& [name, function] : registry().functions)
    if (!is_library_name(name)) names.push_back(name);
  return names.empty() ? "" : fmt::format(", only {}", fmt::join(names, ", "));
}

std::shared_ptr<const OpaqueFunction> registered_function(const GraphData& graph,
                                                          const Node& node) {
  const std::string_view name = function_of(node);
  if (auto function = find_opaque(name)) return function;
  throw UserError(
      fmt::format("opaque {0}: no function of this name is registered in this process{1}; call "
                  "register_opaque(\"{0}\", …) before the graph is compiled (recorded at {2})",
                  name, registered_names_text(), graph.location_text(&node)));
}

}  // namespace sinter
