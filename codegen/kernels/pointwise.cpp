// Pointwise kernels: each thread computes `unroll` vectors of results.
#include <fmt/format.h>

#include "codegen/kernels/kernel_kinds.h"
#include "codegen/kernels/vector_positions.h"
#include "codegen/statements/loads_ahead.h"
#include "codegen/statements/loads_once.h"
#include "codegen/text/traffic_snapshot.h"
#include "compiler/program/op_cost.h"

namespace sinter {

namespace {

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
  const std::int64_t per_block = std::int64_t{schedule.threads} * schedule.vector * schedule.unroll;
  writer.vector_axis = body.parallel_axes - 1;

  const VectorPositions positions(writer);
  writer.source.grid = writer.blocks_over(positions.size(), per_block);
  const std::string& size_text = positions.size_text();
  const bool may_be_outside = positions.may_be_outside(per_block);
  Sinks sinks;
  sinks.stores = indices_below(static_cast<int>(body.stores.size()));
  const std::vector<bool> all(body.values.size(), true);
  const std::vector<int> axes = indices_below(body.parallel_axes);

  const auto one_vector = [&](const std::string& first, bool is_whole) {
    writer.write_tile(all, sinks, positions.declare_tile(first, is_whole));
  };

  const std::string block = writer.block();
  const std::string thread = "static_cast<int>(threadIdx.x)";
  if (schedule.block_limit > 0) {
    writer.declare_block_range(block, positions.size(), per_block);
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
  const int last = apart * (schedule.unroll - 1) + (positions.may_end() ? schedule.vector - 1 : 0);
  const std::string has_all = fmt::format("if (start + {} < {})", last, size_text);
  if (schedule.is_flat && !is_busy(body)) {
    // Broadcast elements are read at several positions, so the work has only one text. Loads of
    // whole vectors are made ahead of it.
    LoadsAhead ahead(writer, all);
    return ahead.with_arrays(schedule.unroll, [&] {
      writer.out.block(has_all, [&] {
        const TrafficSnapshot same(writer.source);
        each([&] { ahead.write_loads("u", positions.declare_tile("first", true)); });
      });
      writer.out.block("else", [&] {
        each([&] {
          if_first_exists([&] { ahead.write_loads("u", positions.declare_tile("first", false)); });
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
