#include "codegen/horizontal/shared_parameters.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/text/expression.h"
#include "compiler/target/gpu_constants.h"

namespace sinter {

SharedParameters::Parameter& SharedParameters::parameter(const Argument& argument,
                                                         const std::string& name) {
  const auto is_same = [&](const Parameter& known) {
    return known.argument.kind == argument.kind && known.argument.index == argument.index &&
           known.argument.extent == argument.extent;
  };
  const auto known = std::ranges::find_if(list_, is_same);
  if (known != list_.end()) return *known;
  const bool is_reserved =
      argument.kind == Argument::Kind::tickets || argument.kind == Argument::Kind::workspace;
  list_.push_back({.argument = argument, .name = is_reserved ? name : names_.take(name)});
  return list_.back();
}

std::string SharedParameters::text(Extent extent) {
  const IndexWriter writer{
      .c_type = index_type,
      .axis = {},
      .symbol =
          [&](const ExtentAtom& atom) {
            const Extent symbol = program_.graph->data().extents->symbol(atom.name);
            return parameter({.kind = Argument::Kind::extent,
                              .index = 0,
                              .extent = symbol,
                              .c_type = fmt::format("const {}", index_type)},
                             naming_ == Naming::anonymous ? "extent" : std::string(atom.name))
                .name;
          },
      .indirect = {}};
  return writer.text(extent);
}

std::string SharedParameters::argument(const Argument& argument, const std::string& name) {
  if (argument.kind == Argument::Kind::extent && argument.extent.is_number())
    return text(argument.extent);
  Parameter& known = parameter(argument, name);
  known.is_const = known.is_const && argument.c_type.starts_with("const ");
  known.is_restrict = known.is_restrict && argument.c_type.ends_with("__restrict__");
  known.argument.loads.add(argument.loads);
  known.argument.stores.add(argument.stores);
  if (argument.kind == Argument::Kind::extent && argument.c_type.find("long") != std::string::npos)
    known.argument.c_type = argument.c_type;
  // A copy, because `text` may add parameters and invalidate `known`.
  const std::string of_all = known.name;
  const auto part = [&](const Extent& offset) {
    return offset.is(0) ? of_all : fmt::format("{} + {}", of_all, text(offset));
  };
  if (argument.kind == Argument::Kind::workspace) return part(source_.workspace_bytes);
  if (argument.kind == Argument::Kind::tickets) return part(source_.tickets);
  return of_all;
}

void SharedParameters::add_tickets() {
  Parameter& tickets = parameter(
      {.kind = Argument::Kind::tickets, .index = 0, .extent = 0, .c_type = "unsigned*"}, "tickets");
  tickets.is_const = tickets.is_restrict = false;
}

std::string SharedParameters::table() {
  return parameter(
             {.kind = Argument::Kind::table, .c_type = "const unsigned long long* __restrict__"},
             "table")
      .name;
}

void SharedParameters::pass_small_table_by_value() {
  constexpr std::size_t kSlotBytes = 8;  // no other parameter has more bytes or a larger alignment
  const std::size_t slots = list_.size() - 1 + source_.table.size();
  if (source_.table.empty() || slots * kSlotBytes > kMaxParameterBytes) return;
  Argument& argument = std::ranges::find(list_, Argument::Kind::table, [](const Parameter& one) {
                         return one.argument.kind;
                       })->argument;
  argument.kind = Argument::Kind::table_values;
  argument.c_type = fmt::format("const __grid_constant__ TableValues<{}>", source_.table.size());
}

std::vector<std::string> SharedParameters::declare() {
  pass_small_table_by_value();
  std::vector<std::string> declarations;
  for (Parameter& parameter : list_) {
    Argument& argument = parameter.argument;
    if (argument.kind == Argument::Kind::buffer) {
      const DType dtype = program_.buffers[static_cast<std::size_t>(argument.index)].dtype;
      argument.c_type =
          fmt::format("{}{}*{}", parameter.is_const ? "const " : "", info(dtype).c_name,
                      parameter.is_restrict ? " __restrict__" : "");
    }
    declarations.push_back(fmt::format("{} {}", argument.c_type, parameter.name));
    source_.arguments.push_back(argument);
  }
  return declarations;
}

}  // namespace sinter
