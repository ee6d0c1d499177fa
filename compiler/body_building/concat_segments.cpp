// Stores results that are concats segment by segment. A padded array is stored by the kernel that
// computes the unpadded value. Shifted copies of an array are stored by the thread that loads the
// element. Levels of a recurrence are stored by the thread that computes all of them.
#include <algorithm>

#include "compiler/body/body_request.h"
#include "compiler/body_building/body_builder.h"
#include "ir/graph/operand_index.h"

namespace sinter {

namespace {

/// Maximum number of stores for a segment of numbers that is longer than its neighbour.
constexpr std::int64_t kMaxRepeats = 4;

bool is_free_number(const Node& node) { return is_free(node) && node.op != Op::iota; }

class SpaceFinder {
 public:
  explicit SpaceFinder(const BodyRequest& request) : request_(request) {}

  std::vector<const Node*> find() {
    for (const StoreRequest& store : request_.stores) {
      size_ = product(store.node->shape);
      visit(*store.node);
    }
    return std::move(found_);
  }

 private:
  /// Maximum number of candidate spaces, because building a body takes time.
  static constexpr std::size_t kMaxSpaces = 2;

  bool is_inside(const Node& node) const {
    return std::ranges::binary_search(request_.nodes, node.id, {}, &Node::id);
  }

  void visit(const Node& node) {
    if (found_.size() == kMaxSpaces || !seen_.insert(&node).second) return;
    if (has_all_of_operand(node)) return visit(*node.operand(0));
    if (node.op != Op::concat || !is_inside(node)) return;
    for (const Node* operand : node.operands) {
      visit(*operand);
      const Node* base = operand;
      while (is_view(*base)) base = base->operand(0);
      if (base->op != Op::concat && !is_free(*base)) add(*base);
    }
  }

  void add(const Node& node) {
    const auto has_its_shape = [&](const Node* known) {
      return std::ranges::equal(known->shape, node.shape);
    };
    if (found_.size() < kMaxSpaces && provably_less(product(node.shape), size_) &&
        std::ranges::none_of(found_, has_its_shape))
      found_.push_back(&node);
  }

  const BodyRequest& request_;
  Extent size_;
  DenseSet<const Node*> seen_;
  std::vector<const Node*> found_;
};

}  // namespace

std::vector<const Node*> candidate_spaces(const BodyRequest& request) {
  return SpaceFinder(request).find();
}

bool BodyBuilder::find_segments(const Node& node, std::vector<SegmentStore>& result) {
  if (find_whole_segment(node, result)) return true;
  if (has_all_of_operand(node)) {
    const std::size_t first = result.size();
    if (!find_segments(*node.operand(0), result)) return false;
    for (std::size_t i = first; i < result.size(); ++i) {
      const Site inner = {.node = node.operand(0), .position = result[i].mapping.position};
      const std::optional<Site> outer = invert_view(body_.space, node, inner);
      if (!outer) return false;
      result[i].mapping.position = outer->position;
    }
    return true;
  }
  return node.op == Op::concat && inside_.contains(&node) && find_operands(node, result);
}

bool BodyBuilder::find_whole_segment(const Node& node, std::vector<SegmentStore>& result) {
  const auto is_there = [&] {
    DenseSet<const Node*> seen;
    std::vector<Site> sites;
    find_sites(node, seen, sites);
    for (Site& site : sites) {
      if (site.copies > 1) continue;  // the site has only one of several copies
      if (std::optional<StoreMapping> mapping =
              map_store(body_, is_of_elements(site), site, node.shape)) {
        result.push_back({.of = &node,
                          .site = std::move(site),
                          .mapping = std::move(*mapping),
                          .elements = product(node.shape)});
        return true;
      }
    }
    return false;
  };
  if (is_free_number(node)) return false;
  if (is_there()) return true;
  // With reductions, only values that they make available are used. An unrelated segment would keep
  // the kernel that computes it from storing it in place.
  const bool may_be_made = !primary_ && node.op != Op::concat && !is_view(node) &&
                           inside_.contains(&node) && has_own_position(node) &&
                           !product(node.shape).is(1) && !reorders_elements(node);
  if (!may_be_made) return false;
  record_sites_of(node);
  evaluate(node, store_position(node));
  return is_there();
}

bool BodyBuilder::find_operands(const Node& concat, std::vector<SegmentStore>& result) {
  struct Number {
    const Node* node;
    Extent begin;
  };
  const auto axis = static_cast<std::size_t>(attribute(concat, "axis").integer);
  std::vector<Number> numbers;
  std::optional<SegmentStore> neighbour;
  Extent begin = 0;
  for (const Node* operand : concat.operands) {
    const std::size_t first = result.size();
    if (is_free_number(*operand))
      numbers.push_back({.node = operand, .begin = begin});
    else if (!find_segments(*operand, result))
      return false;
    if (result.size() > first && result[first].of == operand) neighbour = result[first];
    for (std::size_t i = first; i < result.size(); ++i) {
      Index& at = result[i].mapping.position[axis];
      at = body_.space.add(at, constant_index(begin));
    }
    begin = begin + operand->shape[axis];
  }
  return std::ranges::all_of(numbers, [&](const Number& number) {
    return neighbour && add_numbers(*number.node, *neighbour, axis, number.begin, result);
  });
}

bool BodyBuilder::add_numbers(const Node& number, const SegmentStore& neighbour, std::size_t axis,
                              Extent begin, std::vector<SegmentStore>& result) {
  if (neighbour.site.complete_site) return false;
  const Extent extent = number.shape[axis];
  const Extent step = neighbour.of->shape[axis];
  const bool fits = provably_nonnegative(step - extent);
  if (!fits && !(extent.is_number() && step.is_number() && step.number() > 0)) return false;
  const std::int64_t repeats = fits ? 1 : ceil_div(extent, step.number()).number();
  if (repeats > kMaxRepeats) return false;
  for (std::int64_t i = 0; i < repeats; ++i) {
    const Extent from = step * Extent(i);
    const Extent count = i + 1 < repeats ? step : extent - from;
    Site site = neighbour.site;
    site.node = &number;
    site.value = -1;
    site.source = nullptr;
    site.conditions.push_back(
        {.at = body_.space.without_bounds(site.position[axis]), .begin = 0, .end = count});
    std::vector<Extent> shape(number.shape.begin(), number.shape.end());
    shape[axis] = count;
    std::optional<StoreMapping> mapping =
        map_store(body_, is_of_elements(neighbour.site), site, shape);
    if (!mapping) return false;
    Index& at = mapping->position[axis];
    at = body_.space.add(at, constant_index(begin + from));
    result.push_back({.of = &number,
                      .site = neighbour.site,
                      .mapping = std::move(*mapping),
                      .elements = product(shape)});
  }
  return true;
}

bool BodyBuilder::store_in_segments(std::size_t index) {
  if (concat_split_.segments > 1) return false;
  const StoreRequest& request = request_.stores[index];
  enter(0);
  std::vector<SegmentStore> segments;
  if (!find_segments(*request.node, segments)) return false;
  // In a kernel of rows, segments that are contiguous across rows are left to a separate kernel
  // with tiles.
  const auto is_contiguous_across = [&](const SegmentStore& segment) {
    return is_of_elements(segment.site) &&
           !follows_loads(body_,
                          address(body_.space, segment.mapping.position, strides_of(request)));
  };
  if (std::ranges::any_of(segments, is_contiguous_across)) return false;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    SegmentStore& segment = segments[i];
    BodyStore store =
        mapped_store(index, segment.site, std::move(segment.mapping), segment.elements);
    // Numbers are stored at the positions of their neighbour.
    if (is_free_number(*segment.of)) store.value = evaluate(*segment.of, segment.site.position);
    store.is_segment = true;
    if (i == 0)
      body_.stores[index] = std::move(store);
    else
      body_.stores.push_back(std::move(store));
  }
  return true;
}

}  // namespace sinter
