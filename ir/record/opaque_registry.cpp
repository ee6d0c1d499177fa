// The functions that opaque calls name, and what they ask of a call.
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

/// Never destroyed: others may still run calls when the process ends.
Registry& registry() {
  static auto* const registry = new Registry;
  return *registry;
}

const OpaqueAttribute* find_attribute(const OpaqueSizes& call, std::string_view name,
                                      bool is_text) {
  for (const OpaqueAttribute& attribute : call.attributes) {
    if (attribute.name != name) continue;
    if (attribute.is_text == is_text) return &attribute;
    throw UserError(fmt::format("attribute {} is {}, expected {}", name,
                                attribute.is_text ? "a text" : "a number",
                                is_text ? "a text" : "a number"));
  }
  return nullptr;
}

[[noreturn]] void fail_missing(std::string_view name) {
  throw UserError(fmt::format("the call has no attribute {}; give it one", name));
}

}  // namespace

std::int64_t OpaqueArray::elements() const { return element_count(shape); }

double OpaqueSizes::number(std::string_view name) const {
  const OpaqueAttribute* const found = find_attribute(*this, name, /*is_text=*/false);
  return found ? as_real(found->number) : (fail_missing(name), 0);
}

std::string_view OpaqueSizes::text(std::string_view name) const {
  const OpaqueAttribute* const found = find_attribute(*this, name, /*is_text=*/true);
  return found ? std::string_view(found->text) : (fail_missing(name), std::string_view());
}

double OpaqueSizes::number(std::string_view name, double otherwise) const {
  const OpaqueAttribute* const found = find_attribute(*this, name, /*is_text=*/false);
  return found ? as_real(found->number) : otherwise;
}

std::string_view OpaqueSizes::text(std::string_view name, std::string_view otherwise) const {
  const OpaqueAttribute* const found = find_attribute(*this, name, /*is_text=*/true);
  return found ? std::string_view(found->text) : otherwise;
}

void OpaqueCall::on_host(std::function<void()> work) const { add_host_work(std::move(work)); }

void register_opaque(std::string_view name, OpaqueFunction function) {
  if (legal_name(name) != name)
    throw UserError(fmt::format(
        "register_opaque: \"{}\" is no name that graphs can call; take letters, digits and _",
        printable(name)));
  if (!function.enqueue)
    throw UserError(
        fmt::format("register_opaque {}: there is no enqueue, which puts a call on its stream; "
                    "give it one",
                    name));
  // With nothing locked it may go: what it holds may register others.
  const auto shared = std::make_shared<const OpaqueFunction>(std::move(function));
  bool is_new = false;
  {
    const std::lock_guard lock(registry().mutex);
    is_new = registry().functions.try_emplace(std::string(name), shared).second;
  }
  if (!is_new)
    throw UserError(fmt::format(
        "register_opaque {}: a function of this name is registered already; take another name, or "
        "unregister that one first",
        name));
}

bool unregister_opaque(std::string_view name) {
  std::shared_ptr<const OpaqueFunction> gone;  // what it holds goes with nothing locked
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

std::vector<std::string> registered_names() {
  std::vector<std::string> names;
  const std::lock_guard lock(registry().mutex);
  for (const auto& [name, function] : registry().functions) names.push_back(name);
  return names;
}

std::shared_ptr<const OpaqueFunction> registered_function(const GraphData& graph,
                                                          const Node& node) {
  const std::string_view name = function_of(node);
  if (auto function = find_opaque(name)) return function;
  const std::vector<std::string> known = registered_names();
  throw UserError(
      fmt::format("opaque {0}: no function of this name is registered in this process{1}; call "
                  "register_opaque(\"{0}\", …) before the graph is compiled (recorded at {2})",
                  name, known.empty() ? "" : fmt::format(", only {}", fmt::join(known, ", ")),
                  graph.place(&node)));
}

}  // namespace sinter
