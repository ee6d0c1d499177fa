#include "tests/support/fuzz/minimise.h"

#include "compiler/simplify/graph_sweep.h"
#include "ir/record/record.h"
#include "ir/shape/extent.h"
#include "ir/verify/symbol_sizes.h"
#include "ir/verify/verify.h"
#include "sinter/text.h"

#include <algorithm>
#include <compare>
#include <regex>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sinter::test {

namespace {

using Sizes = std::vector<std::pair<std::string, std::int64_t>>;

Sizes sizes_of(const RandomGraph& random) {
  Sizes sizes;
  for (std::size_t i = 0; i < random.symbols.size(); ++i)
    sizes.emplace_back(random.symbols[i], random.sizes[i]);
  return sizes;
}

RandomGraph from_text(const std::string& text, const Sizes& sizes) {
  RandomGraph random{.graph = parse(text), .symbols = {}, .sizes = {}};
  for (const ExtentAtom* symbol : random.graph.data().extents->symbols()) {
    const auto size = std::ranges::find(sizes, symbol->name,
                                        [](const auto& pair) -> std::string { return pair.first; });
    if (size == sizes.end()) throw UserError("there is no size of " + std::string(symbol->name));
    random.symbols.push_back(size->first);
    random.sizes.push_back(size->second);
  }
  verify(random.graph);
  check_sizes(random.graph, random.sizes);
  return random;
}

/// The size of a graph, compared lexicographically: earlier fields weigh more.
struct Measure {
  std::int64_t ops = 0;
  std::size_t results = 0;
  std::size_t inputs = 0;
  std::size_t symbols = 0;
  std::int64_t elements = 0;
  std::int64_t numbers = 0;  // the sum of all numbers in the text
  auto operator<=>(const Measure&) const = default;
};

const std::regex& number_pattern() {
  // Excludes digits in names (n0), reals (0.5, 1e-05), negative numbers and dtypes (f32).
  static const std::regex pattern(R"((^|[\[ (,=*+])(\d{1,9})(?=$|[\] ),;*+]))");
  return pattern;
}

Measure measure(const RandomGraph& random) {
  const GraphData& graph = random.graph.data();
  Measure result{.results = graph.outputs.size() + graph.updates.size(),
                 .inputs = graph.inputs.size(),
                 .symbols = random.symbols.size()};
  for (const Node* node : reachable(graph)) {
    if (!is_source(node->op)) ++result.ops;
    result.elements += evaluate(product(node->shape), random.sizes);
  }
  const std::string text = print(random.graph);
  for (std::sregex_iterator at(text.begin(), text.end(), number_pattern()), end; at != end; ++at)
    result.numbers += std::stoll((*at)[2].str());
  return result;
}

class Minimiser {
 public:
  Minimiser(const RandomGraph& random, const StillFails& fails, int most_tries)
      : best_(normalised(random)), measure_(measure(best_)), fails_(fails), tries_(most_tries) {}

  RandomGraph run() {
    for (bool is_smaller = true; is_smaller && tries_ > 0;) {
      is_smaller = keep_one_result();
      is_smaller |= drop_results();
      is_smaller |= replace_nodes();
      is_smaller |= drop_inputs();
      is_smaller |= fix_symbols();
      is_smaller |= shrink_symbols();
      is_smaller |= shrink_numbers();
    }
    return std::move(best_);
  }

 private:
  /// Replaces the best graph by `text` if that is a valid graph, smaller, and fails. Returns
  /// whether it did.
  bool take(const std::string& text, const Sizes& sizes) {
    if (tries_ <= 0) return false;
    try {
      RandomGraph candidate = from_text(text, sizes);
      const Measure size = measure(candidate);
      if (!(size < measure_)) return false;
      --tries_;
      if (!fails_(candidate)) return false;
      best_ = std::move(candidate);
      measure_ = size;
      return true;
    } catch (const UserError&) {
      return false;  // no user could have written this graph
    }
  }
  bool take(const Graph& graph) { return take(print(graph), sizes_of(best_)); }

  /// Makes one node the only output: the first one that fails.
  bool keep_one_result() {
    for (std::size_t i = 0; i < reachable(best_.graph.data()).size(); ++i) {
      Graph graph = clone(best_.graph);
      const Node* const node = reachable(graph.data())[i];
      graph.data().outputs = {{.name = "y", .node = node}};
      graph.data().updates.clear();
      if (take(graph)) return true;
    }
    return false;
  }

  bool drop_results() {
    bool is_smaller = false;
    for (std::size_t i = best_.graph.data().outputs.size(); i-- > 0;) {
      Graph graph = clone(best_.graph);
      std::vector<OutputInfo>& outputs = graph.data().outputs;
      outputs.erase(outputs.begin() + static_cast<std::ptrdiff_t>(i));
      is_smaller |= take(graph);
    }
    for (std::size_t i = best_.graph.data().updates.size(); i-- > 0;) {
      Graph graph = clone(best_.graph);
      std::vector<UpdateInfo>& updates = graph.data().updates;
      updates.erase(updates.begin() + static_cast<std::ptrdiff_t>(i));
      is_smaller |= take(graph);
    }
    return is_smaller;
  }

  /// Replaces nodes from the results upward, so that whole branches disappear first.
  bool replace_nodes() {
    bool is_smaller = false;
    for (std::size_t i = reachable(best_.graph.data()).size(); i-- > 0;) {
      if (i >= reachable(best_.graph.data()).size()) continue;
      for (std::size_t way = 0; way <= 2 * kMostOperands; ++way)
        if (replace_node(i, way)) {
          is_smaller = true;
          break;
        }
    }
    return is_smaller;
  }

  /// Replaces a node by an operand (`way` 0, 2, …), by a cast of an operand (1, 3, …), or by a new
  /// input (the last `way`).
  bool replace_node(std::size_t at, std::size_t way) {
    Graph graph = clone(best_.graph);
    GraphData& data = graph.data();
    const Node* const node = reachable(data)[at];
    if (is_source(node->op)) return false;
    const Node* other = nullptr;
    if (way < 2 * kMostOperands) {
      if (way / 2 >= node->operands.size()) return false;
      other = node->operand(way / 2);
      if (!std::ranges::equal(other->shape, node->shape)) return false;
      if ((other->dtype == node->dtype) == (way % 2 == 1)) return false;
      if (way % 2) other = cast(Tensor(other, &data), node->dtype).node();
      if (other == node) return false;
    } else {
      std::string name = "m0";
      for (int i = 1; data.find_input(name); ++i) name = fmt::format("m{}", i);
      const std::vector<Extent> shape(node->shape.begin(), node->shape.end());
      other = graph.input(name, node->dtype, shape).node();
    }
    rewrite(data, [&](const Node* old) { return old == node ? other : old; });
    for (OutputInfo& output : data.outputs)
      if (output.node == node) output.node = other;
    return take(without_unneeded_inputs(std::move(graph)));
  }

  /// Removes the inputs that a replacement left unused, if the graph stays valid.
  Graph without_unneeded_inputs(Graph graph) const {
    Graph all = clone(graph);
    const std::vector<const Node*> needed = reachable(graph.data());
    std::erase_if(graph.data().inputs, [&](const InputInfo& input) {
      return !std::ranges::count(needed, input.node) &&
             !std::ranges::count(graph.data().updates, input.node, &UpdateInfo::parameter);
    });
    try {
      from_text(print(graph), sizes_of(best_));
      return graph;
    } catch (const UserError&) {
      return all;  // one of them has a symbol that the text needs
    }
  }

  bool drop_inputs() {
    bool is_smaller = false;
    for (std::size_t i = best_.graph.data().inputs.size(); i-- > 0;) {
      Graph graph = clone(best_.graph);
      const std::vector<const Node*> needed = reachable(graph.data());
      std::vector<InputInfo>& inputs = graph.data().inputs;
      if (std::ranges::count(needed, inputs[i].node)) continue;
      inputs.erase(inputs.begin() + static_cast<std::ptrdiff_t>(i));
      is_smaller |= take(graph);
    }
    return is_smaller;
  }

  bool fix_symbols() {
    bool is_smaller = false;
    for (const auto& [symbol, size] : sizes_of(best_)) {
      const std::regex pattern(fmt::format("\\b{}\\b", symbol));
      is_smaller |= take(std::regex_replace(print(best_.graph), pattern, std::to_string(size)),
                         sizes_of(best_));
    }
    return is_smaller;
  }

  bool shrink_symbols() {
    bool is_smaller = false;
    for (std::size_t i = 0; i < best_.sizes.size(); ++i)
      for (const std::int64_t smaller : smaller_than(best_.sizes[i])) {
        Sizes sizes = sizes_of(best_);
        sizes[i].second = smaller;
        if (!take(print(best_.graph), sizes)) continue;
        is_smaller = true;
        break;
      }
    return is_smaller;
  }

  /// Equal numbers are mostly the same extent, so they shrink together.
  bool shrink_numbers() {
    std::set<std::int64_t> found;
    const std::string text = print(best_.graph);
    for (std::sregex_iterator at(text.begin(), text.end(), number_pattern()), end; at != end; ++at)
      found.insert(std::stoll((*at)[2].str()));
    bool is_smaller = false;
    for (auto number = found.rbegin(); number != found.rend(); ++number)
      for (const std::int64_t smaller : smaller_than(*number))
        if (take(with_number(*number, smaller), sizes_of(best_))) {
          is_smaller = true;
          break;
        }
    return is_smaller;
  }

  std::string with_number(std::int64_t number, std::int64_t other) const {
    const std::string text = print(best_.graph);
    std::string result;
    std::size_t done = 0;
    for (std::sregex_iterator at(text.begin(), text.end(), number_pattern()), end; at != end;
         ++at) {
      if (std::stoll((*at)[2].str()) != number) continue;
      const auto begin = static_cast<std::size_t>(at->position(2));
      result += text.substr(done, begin - done) + std::to_string(other);
      done = begin + static_cast<std::size_t>(at->length(2));
    }
    return result + text.substr(done);
  }

  static std::vector<std::int64_t> smaller_than(std::int64_t number) {
    std::vector<std::int64_t> result;
    for (const std::int64_t smaller :
         {std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, number / 4, number / 2, number - 1})
      if (smaller > 0 && smaller < number) result.push_back(smaller);
    return result;
  }

  static constexpr std::size_t kMostOperands = 3;

  RandomGraph best_;
  Measure measure_;
  const StillFails& fails_;
  int tries_;
};

}  // namespace

RandomGraph normalised(const RandomGraph& random) {
  return from_text(print(random.graph), sizes_of(random));
}

RandomGraph minimise(const RandomGraph& random, const StillFails& fails, int most_tries) {
  return Minimiser(random, fails, most_tries).run();
}

std::string file_text(const RandomGraph& random) {
  std::vector<std::string> sizes;
  for (const auto& [symbol, size] : sizes_of(random))
    sizes.push_back(fmt::format("{} = {}", symbol, size));
  const std::string head =
      sizes.empty() ? "" : fmt::format("// sizes: {}\n", fmt::join(sizes, ", "));
  return head + print(random.graph);
}

}  // namespace sinter::test
