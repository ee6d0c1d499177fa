#include "runtime/collectives/check_call.h"

#include <fmt/format.h>

#include "ir/collectives/collective_node.h"
#include "sinter/error.h"

namespace sinter {

namespace {

template <class... Values>
void refuse_unless(bool condition, fmt::format_string<const Values&...> text,
                   const Values&... values) {
  if (!condition) throw UserError(fmt::format(text, values...) + "; save the program again");
}

bool has_reduction_attribute(Collective kind) {
  return kind == Collective::all_reduce || kind == Collective::reduce_scatter;
}

/// True if a collective of `input` elements per rank has a result of `output` elements.
bool are_possible(Collective kind, std::int64_t input, std::int64_t output, std::int64_t ranks) {
  const auto is_whole_of = [&](std::int64_t whole, std::int64_t part) {
    return whole % ranks == 0 && whole / ranks == part;
  };
  switch (kind) {
    case Collective::all_gather: return is_whole_of(output, input);
    case Collective::reduce_scatter: return is_whole_of(input, output);
    case Collective::all_to_all: return input == output && input % ranks == 0;
    default: return input == output;
  }
}

void check_attributes(Collective kind, const OpaqueSizes& sizes, std::int64_t ranks) {
  if (has_reduction_attribute(kind)) {
    const std::string_view text = sizes.text("reduction");
    const std::optional<RankReduction> reduction = rank_reduction(text);
    refuse_unless(reduction && *reduction != RankReduction::mean, "there is no reduction {}", text);
  }
  if (has_reduction_attribute(kind) || kind == Collective::reduce_to) {
    const DType dtype = sizes.inputs[0].dtype;
    refuse_unless(can_reduce_over_ranks(dtype), "no communicator reduces {}", name(dtype));
  }
  if (kind == Collective::broadcast || kind == Collective::reduce_to) {
    const double root = sizes.number("root");
    refuse_unless(root >= 0 && root < static_cast<double>(ranks), "there is no rank {} of {}", root, ranks);
  }
  if (kind == Collective::send_receive) {
    const std::span<const std::int64_t> pairs = sizes.integers("pairs");
    refuse_unless(pairs.size() % 2 == 0, "its pairs are {} numbers", pairs.size());
    for (const std::int64_t rank : pairs)
      refuse_unless(rank >= 0 && rank < ranks, "there is no rank {} of {}", rank, ranks);
  }
}

}  // namespace

void check_description(Collective kind, const OpaqueSizes& sizes) {
  constexpr double kMostRanks = 1 << 20;
  refuse_unless(sizes.inputs.size() == 1 && sizes.outputs.size() == 1 && !sizes.inputs[0].is_number,
          "it has {} operands and {} results; it must have one array of each", sizes.inputs.size(),
          sizes.outputs.size());
  const OpaqueArray& input = sizes.inputs[0];
  const OpaqueArray& output = sizes.outputs[0];
  const double number = sizes.number("ranks");
  refuse_unless(number >= 1 && number <= kMostRanks, "its group has {} ranks", number);
  const auto ranks = static_cast<std::int64_t>(number);
  refuse_unless(input.dtype == output.dtype, "its operand is {} and its result {}", name(input.dtype),
          name(output.dtype));
  refuse_unless(are_possible(kind, input.elements(), output.elements(), ranks),
          "its operand has {} elements and its result {}, which {} ranks cannot have",
          input.elements(), output.elements(), ranks);
  check_attributes(kind, sizes, ranks);
  if (const CommunicatorEngine* const engine = sizes.communicator)
    refuse_unless(engine->size() == ranks, "group {} has {} ranks, but its communicator has {}",
            sizes.text("group"), ranks, engine->size());
}

}  // namespace sinter
