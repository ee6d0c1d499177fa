// Pointwise kernels: each thread computes `unroll` vectors of results.
#include <fmt/format.h>

#include "codegen/kernels/kernel_kinds.h"
#include "codegen/statements/loads_ahead.h"
#include "codegen/statements/loads_once.h"
#include "codegen/text/traffic_snapshot.h"
#include "compiler/program/op_cost.h"

namespace sinter {

namespace {

/// The last axis as vectors divide it. For CPUs each row begins with a vector, also if no whole
/// vectors fill it: the last one is shorter.
Extent row_of_vectors(const KernelWriter& writer) {
  const Extent row = writer.body.space.extent(writer.body.parallel_axes - 1);
  const int vector = writer.schedule.vector;
  const bool is_padded =
      writer.schedule.is_for_cpu() && !(row.is_number() && row.number() % vector == 0);
  return is_padded ? ceil_div(row, vector) * Extent(vector) : row;
}

/// The iteration space with padded rows.
Extent padded_size(const KernelWriter& writer) {
  const Body& body = writer.body;
  if (body.parallel_axes <= 1 || !writer.schedule.is_for_cpu()) return body.parallel_size();
  Extent size = row_of_vectors(writer);
  for (int axis = 0; axis + 1 < body.parallel_axes; ++axis) size = size * body.space.extent(axis);
  return size;
}

/// Declares the position of the vector that starts at element `first` of the iteration space.
void declare_position(KernelWriter& writer, const std::string& first) {
  const Body& body = writer.body;
  if (body.parallel_axes == 0) return;
  if (body.parallel_axes == 1) {
    writer.axis_names[0] = first;
    return;
  }
  const std::string extent = atomic(writer.text(row_of_vectors(writer)));
  writer.axis_names[body.parallel_axes - 1] =
      writer.declare_index("column", fmt::format("{} % {}", first, extent));
  const std::vector<int> outer = indices_below(body.parallel_axes - 1);
  if (outer.size() == 1)
    writer.axis_names[0] = writer.declare_index("row", fmt::format("{} / {}", first, extent));
  else
    writer.declare_axes(fmt::format("{} / {}", first, extent), outer, "row");
}

/// True if computing takes longer than the memory accesses. Loads then need not be in flight
/// earlier, and longer text would only slow down the compiler.
bool is_busy(const Body& body) {
  constexpr int kMaxInstructions = 64;  // per result element
  int instructions = 0;
  for (const Value& value : body.values)
    if (value.kind == Value::Kind::op) instructions += instructions_of(value.node->op);
  return instructions > kMaxInstructions * static_cast<int>(body.stores.size());
}

}  // namespace

void write_pointwise(KernelWriter& writer) {
  const Schedule& schedule = writer.schedule;
  const Body& body = writer.body;
  const std::string type(writer.index_type());
  const Extent size = padded_size(writer);
  const std::int64_t per_block = std::int64_t{schedule.threads} * schedule.vector * schedule.unroll;
  writer.source.grid = writer.blocks_over(size, per_block);
  writer.vector_axis = body.parallel_axes - 1;

  // With several axes, the extent of the last one is in the text too, so the size is no parameter.
  const std::string size_text =
      body.parallel_axes == 1 ? writer.size_text(size) : writer.text(size);
  // With several axes, the vector width divides the last extent, so no vector crosses a row end.
  const std::int64_t divisor = schedule.is_for_cpu() && size.is_number()
                                   ? size.number()
                                   : divisor_of(size, writer.program.facts);
  const bool may_end = body.parallel_axes == 1 && divisor % schedule.vector != 0;
  const bool is_known = body.parallel_axes == 1 ? writer.is_known(size) : size.is_number();
  const bool may_be_outside = !is_known || size.number() % per_block != 0;
  Sinks sinks;
  sinks.stores = indices_below(static_cast<int>(body.stores.size()));
  const std::vector<bool> all(body.values.size(), true);
  const std::vector<int> axes = indices_below(body.parallel_axes);

  const bool is_padded =
      body.parallel_axes > 1 && row_of_vectors(writer) != body.space.extent(body.parallel_axes - 1);
  const auto declare_tile = [&](const std::string& first, bool is_whole) {
    Tile tile{.count = {}, .accumulator = {}, .index = {}};
    if (is_padded) {
      declare_position(writer, first);
      tile.count = "count";
      writer.declare_index(
          "count",
          fmt::format("minimum({}({}), {} - {})", type, schedule.vector,
                      atomic(writer.text(body.space.extent(body.parallel_axes - 1))),
                      writer.axis_names[body.parallel_axes - 1]));
      return tile;
    }
    if (may_end && !is_whole) {
      tile.count = "count";
      writer.declare_index("count", fmt::format("minimum({0}({1}), {2} - {3})", type,
                                                schedule.vector, atomic(size_text), first));
    }
    declare_position(writer, first);
    return tile;
  };
  const auto one_vector = [&](const std::string& first, bool is_whole) {
    writer.write_tile(all, sinks, declare_tile(first, is_whole));
  };

  const std::string block = writer.block();
  const std::string thread = "static_cast<int>(threadIdx.x)";
  if (schedule.block_limit > 0) {
    writer.declare_block_range(block, size, per_block);
    writer.out.unrolled("u", std::to_string(schedule.unroll), [&] {
      writer.declare_index("first", fmt::format("start + ({} + u * {}) * {}", thread,
                                                schedule.threads, schedule.vector));
      writer.out.block("if (first < end)", [&] { one_vector("first", false); });
    });
    return;
  }
  if (schedule.unroll == 1) {
    const std::string scale = schedule.vector == 1 ? "" : fmt::format("{} * ", schedule.vector);
    const std::string position = fmt::format("{} * {} + {}", block, schedule.threads, thread);
    writer.declare_index("first",
                         scale.empty() ? position : fmt::format("{}({})", scale, position));
    if (may_be_outside) writer.out.line(fmt::format("if (first >= {}) return;", size_text));
    one_vector("first", false);
    return;
  }
  writer.declare_index("start",
                       fmt::format("{} * {} + {} * {}", block, per_block, thread, schedule.vector));
  const int apart = schedule.threads * schedule.vector;
  const std::string unroll = std::to_string(schedule.unroll);
  const auto declare_first = [&] {
    writer.declare_index("first", fmt::format("start + u * {}", apart));
  };
  const auto each = [&](const std::function<void()>& write) {
    writer.out.unrolled("u", unroll, [&] {
      declare_first();
      write();
    });
  };
  const auto if_first_exists = [&](const std::function<void()>& write) {
    writer.out.block(fmt::format("if (first < {})", size_text), write);
  };
  const auto whole_vector = [&] { one_vector("first", true); };
  const auto some_vector = [&] { if_first_exists([&] { one_vector("first", false); }); };
  if (!may_be_outside) return each(whole_vector);
  // In most threads all vectors exist. Their loads need no conditions between them.
  const int last = apart * (schedule.unroll - 1) + (may_end ? schedule.vector - 1 : 0);
  const std::string has_all = fmt::format("if (start + {} < {})", last, size_text);
  if (schedule.is_flat && !is_busy(body)) {
    // Broadcast elements are read at several positions, so the work has only one text. Loads of
    // whole vectors are made ahead of it.
    LoadsAhead ahead(writer, all);
    return ahead.with_arrays(schedule.unroll, [&] {
      writer.out.block(has_all, [&] {
        const TrafficSnapshot same(writer.source);
        each([&] { ahead.write_loads("u", declare_tile("first", true)); });
      });
      writer.out.block("else", [&] {
        each([&] {
          if_first_exists([&] { ahead.write_loads("u", declare_tile("first", false)); });
        });
      });
      each([&] { ahead.with_loads("u", some_vector); });
    });
  }
  if (is_busy(body) || !reads_once(body, all, axes)) return each(some_vector);
  writer.out.block(has_all, [&] {
    const TrafficSnapshot same(writer.source);
    each(whole_vector);
    writer.out.line("return;");
  });
  writer.out.directive("#pragma unroll 1");
  writer.out.block(fmt::format("for (int u = 0; u < {}; ++u)", unroll), [&] {
    declare_first();
    some_vector();
  });
}

}  // namespace sinter
