// The rewrite rules, one per line.
#include "compiler/simplify/rule.h"
#include "sinter/ops.h"

namespace sinter {

namespace {

RuleTable make_table() {
  RuleTable table;
  Graph& g = table.graph;
  const Tensor x = g.input("x", f32, {}), y = g.input("y", f32, {}), z = g.input("z", f32, {});
  const Tensor p = g.input("p", boolean, {}), q = g.input("q", boolean, {});
  const Tensor yes = full(g, {}, {.kind = Literal::Kind::boolean, .integer = 1}, boolean);
  const Tensor no = full(g, {}, {.kind = Literal::Kind::boolean, .integer = 0}, boolean);
  const Tensor zero = full(g, {}, 0.0, f32);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();

  // clang-format off
  // Some rules are missing because they are wrong for some value: x + 0 changes -0 to +0, 0 - x
  // changes +0 to -0. Also, x * 0 and x - x lose NaN and infinity. A min does not undo a max, or
  // the reverse.
  table.rules = {
      {.name = "double negation",       .from = -(-x),                               .to = x},
      {.name = "times one",             .from = x * 1,                               .to = x},
      {.name = "times minus one",       .from = x * -1,                              .to = -x},
      {.name = "over one",              .from = x / 1,                               .to = x},
      {.name = "over minus one",        .from = x / -1,                              .to = -x},
      {.name = "plus minus zero",       .from = x + -0.0,                            .to = x},
      {.name = "minus zero",            .from = x - 0.0,                             .to = x},
      {.name = "minus zero minus",      .from = -0.0 - x,                            .to = -x,                .when = When::floats},
      {.name = "plus negative",         .from = x + -y,                              .to = x - y},
      {.name = "minus negative",        .from = x - -y,                              .to = x + y},
      {.name = "negative times",        .from = -x * -y,                             .to = x * y},
      {.name = "negative over",         .from = -x / -y,                             .to = x / y},
      {.name = "fma of one",            .from = fma(x, 1, y),                        .to = x + y},
      {.name = "fma of one, swapped",   .from = fma(1, x, y),                        .to = x + y},
      {.name = "fma plus minus zero",   .from = fma(x, y, -0.0),                     .to = x * y},

      // Gradients are already recorded at this point.
      {.name = "stopped gradient",      .from = stop_gradient(x),                    .to = x},
      {.name = "abs of abs",            .from = abs(abs(x)),                         .to = abs(x)},
      {.name = "abs of negative",       .from = abs(-x),                             .to = abs(x),            .when = When::has_sign},
      {.name = "floor of floor",        .from = floor(floor(x)),                     .to = floor(x)},

      {.name = "maximum of same",       .from = maximum(x, x),                       .to = x},
      {.name = "minimum of same",       .from = minimum(x, x),                       .to = x},
      {.name = "maximum with lowest",   .from = maximum(x, -kInfinity),              .to = x},
      {.name = "minimum with highest",  .from = minimum(x, kInfinity),               .to = x},
      {.name = "maximum again",         .from = maximum(maximum(x, y), y),           .to = maximum(x, y)},
      {.name = "maximum again, first",  .from = maximum(maximum(x, y), x),           .to = maximum(x, y)},
      {.name = "minimum again",         .from = minimum(minimum(x, y), y),           .to = minimum(x, y)},
      {.name = "minimum again, first",  .from = minimum(minimum(x, y), x),           .to = minimum(x, y)},

      {.name = "plus zero",             .from = x + 0,                               .to = x,                 .when = When::integers},
      {.name = "zero minus",            .from = 0 - x,                               .to = -x,                .when = When::integers},
      {.name = "times zero",            .from = x * 0,                               .to = zero,              .when = When::integers},
      {.name = "minus itself",          .from = x - x,                               .to = zero,              .when = When::integers},
      {.name = "not less",              .from = logical_not(lt(x, y)),               .to = ge(x, y),          .when = When::integers},
      {.name = "not at most",           .from = logical_not(le(x, y)),               .to = gt(x, y),          .when = When::integers},
      {.name = "not greater",           .from = logical_not(gt(x, y)),               .to = le(x, y),          .when = When::integers},
      {.name = "not at least",          .from = logical_not(ge(x, y)),               .to = lt(x, y),          .when = When::integers},

      {.name = "not equal",             .from = logical_not(eq(x, y)),               .to = ne(x, y)},
      {.name = "not different",         .from = logical_not(ne(x, y)),               .to = eq(x, y)},
      {.name = "double not",            .from = logical_not(logical_not(p)),         .to = p},
      {.name = "and of same",           .from = logical_and(p, p),                   .to = p},
      {.name = "or of same",            .from = logical_or(p, p),                    .to = p},
      {.name = "and true",              .from = logical_and(p, yes),                 .to = p},
      {.name = "and false",             .from = logical_and(p, no),                  .to = no},
      {.name = "or false",              .from = logical_or(p, no),                   .to = p},
      {.name = "or true",               .from = logical_or(p, yes),                  .to = yes},

      {.name = "where true",            .from = where(yes, x, y),                    .to = x},
      {.name = "where false",           .from = where(no, x, y),                     .to = y},
      {.name = "where same",            .from = where(p, x, x),                      .to = x},
      {.name = "where not",             .from = where(logical_not(p), x, y),         .to = where(p, y, x)},
      {.name = "where within",          .from = where(p, where(p, x, y), z),         .to = where(p, x, z)},
      {.name = "where within else",     .from = where(p, x, where(p, y, z)),         .to = where(p, x, z)},
      {.name = "condition as value",    .from = where(p, yes, no),                   .to = p},
      {.name = "condition as opposite", .from = where(p, no, yes),                   .to = logical_not(p)},
      {.name = "and within",            .from = logical_and(logical_and(p, q), q),   .to = logical_and(p, q)},
      {.name = "or within",             .from = logical_or(logical_or(p, q), q),     .to = logical_or(p, q)},
  };
  // clang-format on
  return table;
}

}  // namespace

const RuleTable& rule_table() {
  // Never destroyed: a thread may still plan while the process exits.
  static const auto& table = *new RuleTable(make_table());
  return table;
}

}  // namespace sinter
