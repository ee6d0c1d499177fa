#include "compiler/passes/pass.h"

#include "compiler/program/print_program.h"
#include "ir/support/elapsed.h"
#include "ir/verify/verify.h"
#include "sinter/error.h"
#include "sinter/text.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

namespace sinter {

namespace {

/// Calls `step`. Prefixes the message of an InternalError with `where`.
void with_context(std::string_view where, const std::function<void()>& step) {
  try {
    step();
  } catch (const InternalError& error) {
    throw InternalError(fmt::format("{}: {}", where, error.what()));
  }
}

bool contains(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

Passes::Passes(const PlanOptions& options, std::span<const std::string_view> names,
               std::span<const std::string_view> needed)
    : options_(options) {
  for (const std::string& name : options.skip) {
    if (!contains(names, name))
      throw UserError(fmt::format("skip: there is no pass {}; the passes are {}", name,
                                  fmt::join(names, ", ")));
    if (contains(needed, name))
      throw UserError(
          fmt::format("skip: {} cannot be left out, because all later passes need it", name));
  }
}

bool Passes::is_skipped(std::string_view name) const {
  return std::ranges::find(options_.skip, name) != options_.skip.end();
}

void Passes::time(std::string_view name, const std::function<void()>& pass) const {
  const auto begin = std::chrono::steady_clock::now();
  with_context(fmt::format("failed in {}", name), pass);
  if (options_.timed) options_.timed(name, milliseconds_since(begin));
}

void Passes::check(std::string_view name, const GraphData& graph) {
  if (!options_.verify) return;
  const std::size_t first = verified_ == &graph ? verified_nodes_ : 0;
  with_context(fmt::format("failed after {}", name), [&] { verify_from(graph, first); });
  mark_verified(graph);
}

void Passes::mark_verified(const GraphData& graph) {
  verified_ = &graph;
  verified_nodes_ = graph.nodes.size();
}

void Passes::run(std::string_view name, Graph& graph, const std::function<void()>& pass) {
  if (is_skipped(name)) return;
  time(name, pass);
  check(name, graph.data());
  if (options_.dump) options_.dump(name, print(graph));
}

void Passes::run(std::string_view name, Program& program, const std::function<void()>& pass) {
  time(name, pass);
  ensure(program.graph != nullptr, "a program has no graph");
  check(name, program.graph->data());
  if (options_.dump) options_.dump(name, print(program));
}

}  // namespace sinter
