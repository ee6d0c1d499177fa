// Finds the position that stores each result of a body.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compiler/body/body_request.h"
#include "compiler/body_building/body_builder.h"
#include "ir/graph/operand_index.h"

namespace sinter {

namespace {

/// True for ops whose element at a position depends only on their operands' elements there.
bool keeps_positions(const Node& node) {
  return is_elementwise(node.op) || node.op == Op::custom || node.op == Op::cast ||
         node.op == Op::bitcast;
}

bool has_shape_of(const Node* operand, const Node& node) {
  return std::ranges::equal(operand->shape, node.shape);
}

}  // namespace

bool BodyBuilder::scatter_same_arrays() const {
  const auto arrays_of = [&](const Node* source) {
    DenseSet<const Node*> seen;
    std::vector<const Node*> arrays, pending = {source};
    while (!pending.empty()) {
      const Node* node = pending.back();
      pending.pop_back();
      if (is_free(*node) || !seen.insert(node).second) continue;
      const bool is_computed =
          is_view(*node) || std::ranges::find(request_.nodes, node) != request_.nodes.end();
      if (!is_computed) arrays.push_back(node);
      if (is_computed) pending.insert(pending.end(), node->operands.begin(), node->operands.end());
    }
    std::ranges::sort(arrays);
    return arrays;
  };
  const std::vector<const Node*> first = arrays_of(scatters_[0]->operand(2));
  return std::ranges::all_of(
      scatters_, [&](const Node* other) { return arrays_of(other->operand(2)) == first; });
}

void BodyBuilder::add_scatter() {
  const Index at[] = {body_.space.axis(0), body_.space.axis(1)};
  const Index k = body_.space.axis(2);
  const Index from[] = {k, at[1]};
  std::vector<BodyScatter> scatters;
  const bool share_loads = scatter_same_arrays();
  for (const Node* node : scatters_) {
    // Each scatter reads its indices and loads its operands separately, or all of them at once.
    if (!share_loads || scatters.empty()) {
      known_.clear();
      segments_read_.clear();
    }
    BodyScatter scatter{.node = node};
    scatter.base = evaluate(*node->operand(0), at);
    scatter.index = evaluate(*node->operand(1), {&k, 1});
    scatter.source = evaluate(*node->operand(2), from);
    scatter.result = add({.kind = Value::Kind::scattered, .node = node, .dtype = node->dtype});
    sites_[node].push_back({.node = node, .position = {at[0], at[1]}, .value = scatter.result});
    scatters.push_back(scatter);
  }
  body_.scatter = scatters.front();
  body_.more_scatters.assign(scatters.begin() + 1, scatters.end());
  body_.stores.resize(request_.stores.size());
  for (std::size_t index = 0; index < request_.stores.size(); ++index) {
    const Node& node = *request_.stores[index].node;
    if (product(node.shape) == rows_) {
      if (!store_at_known_site(index, true)) add_store(index);
    } else if (!store_at_known_site(index)) {
      throw Refusal{fmt::format("{} has {} elements, the rows of {} have {}", names_(&node),
                                to_string(product(node.shape)), names_(scatter_),
                                to_string(rows_))};
    }
  }
  if (stores_only_scatter(body_) || may_sum_in_results(body_)) return;
  const Extent row_bytes = bytes_of_rows(body_);
  if (!row_bytes.is_number() || row_bytes.number() > kMaxScatteredBytes)
    throw Refusal{fmt::format("a row of {}, {} bytes, is too long to keep for its consumers",
                              names_(scatter_), to_string(row_bytes))};
}

void BodyBuilder::add_stores() {
  body_.stores.resize(request_.stores.size() * static_cast<std::size_t>(concat_split_.segments));
  std::vector<std::size_t> plain, reordered, others;
  plain.reserve(request_.stores.size());
  for (std::size_t index = 0; index < request_.stores.size(); ++index) {
    const Node& node = *request_.stores[index].node;
    const bool has_own = has_own_position(node);
    const bool is_plain = has_own && !reorders_elements(node);
    if (!is_plain) record_sites_of(node);
    (is_plain ? plain : has_own ? reordered : others).push_back(index);
  }
  const auto add = [&](std::size_t index) {
    for (int segment = 0; segment < concat_split_.segments; ++segment) {
      enter(segment);
      if (!is_stored(index)) add_store(index);
    }
  };
  if (space_node_ && !is_stored_by_request(*space_node_)) {
    record_sites_of(*space_node_);
    evaluate(*space_node_, position_of(Number::row, space_node_->shape));
  }
  std::ranges::for_each(plain, add);
  // The inputs of a result may be available only after another result is stored, or after the rows
  // are reduced. The rows may be reduced for this result alone.
  bool has_all_reduced = !primary_;
  // A reordered result reuses values at positions where other results already load them.
  for (const std::size_t index : reordered) {
    if (store_at_known_site(index, true)) continue;
    if (!std::exchange(has_all_reduced, true)) {
      reduce_rows();
      if (store_at_known_site(index, true)) continue;
    }
    may_store_transposed_ |= body_.has_reduced_axis;
    add(index);
  }
  while (!others.empty()) {
    auto found =
        std::ranges::find_if(others, [&](std::size_t index) { return store_at_known_site(index); });
    if (found == others.end() && has_all_reduced)
      found =
          std::ranges::find_if(others, [&](std::size_t index) { return store_in_segments(index); });
    if (found != others.end())
      others.erase(found);
    else if (!std::exchange(has_all_reduced, true))
      reduce_rows();
    else
      refuse_shape(*request_.stores[others.front()].node);
  }
  std::erase_if(body_.stores, [](const BodyStore& store) { return store.node == nullptr; });
}

void BodyBuilder::reduce_rows() {
  for (int segment = 0; segment < concat_split_.segments; ++segment) {
    enter(segment);
    if (is_scan(primary_->op)) evaluate(*primary_, position_of(Number::element, primary_->shape));
    for (const Node* node : request_.nodes)
      if (is_reduction(node->op) && product(node->shape) == rows_ &&
          reduced_extent(*node) == reduced_extent(*primary_))
        evaluate(*node, position_of(Number::row, node->shape));
  }
}

bool BodyBuilder::is_stored_by_request(const Node& node) const {
  return std::ranges::find(request_.stores, &node, &StoreRequest::node) != request_.stores.end();
}

bool BodyBuilder::is_stored(std::size_t index) const {
  const BodyStore& first = body_.stores[index];
  return segment_ > 0 && first.node && first.elements == product(first.node->shape);
}

void BodyBuilder::add_store(std::size_t index) {
  const StoreRequest& request = request_.stores[index];
  const Node* node = request.node;
  const Extent size = product(node->shape);
  const int there = store_position(*node);
  const int number = evaluate(*node, there);
  const Value& value = body_.values[static_cast<std::size_t>(number)];
  const std::span<const Index> at = positions_.at(there);
  BodyStore store{.node = node,
                  .request = static_cast<int>(index),
                  .elements = floor_div(size, Extent(concat_split_.segments)),
                  .value = number,
                  .position = {at.begin(), at.end()},
                  .at = request.strides.empty()
                            ? positions_.offset_in(body_.space, there, node->shape)
                            : positions_.address_in(body_.space, there, request.strides),
                  .varies = counts_elements(size),
                  .stage = value.stage,
                  .is_final = value.is_final,
                  .aligned = request.aligned};
  store.of_columns =
      store.is_final && size == body_.reduced_size() && !store.varies && is_of_columns(*node);
  if (store.is_final && !store.of_columns && !size.is(1))
    throw Refusal{
        fmt::format("{} needs a result of all rows, which is available only after the "
                    "kernel ends",
                    names_(node))};
  if (!store.varies && !store.of_columns && value.varies)
    throw Refusal{fmt::format("{} has one element per row but varies within it", names_(node))};
  const bool has_one_position = store.is_final || store.varies || size == rows_;
  if (has_one_position)
    store_of(index) = std::move(store);
  else if (!store_at(index, {.node = node, .position = std::move(store.position), .value = number}))
    throw Refusal{fmt::format("{} is one number, computed once per row", names_(node))};
}

bool BodyBuilder::counts_elements(Extent size) const {
  if (!body_.has_reduced_axis) return false;
  const bool has_rows_as_elements = is_scan(primary_->op) || size != rows_;
  return size == rows_ * body_.reduced_size() && has_rows_as_elements;
}

bool BodyBuilder::has_own_position(const Node& node) const {
  const Extent size = product(node.shape);
  return counts_elements(size) || size == rows_ || size.is(1) ||
         (size == body_.reduced_size() && is_of_columns(node));
}

int BodyBuilder::store_position(const Node& node) {
  if (has_all_of_operand(node) && !defines_space(node)) {
    const Node* from = node.operand(0);
    const std::span<const Index> at = positions_.at(store_position(*from));
    const Site site = {.node = from, .position = {at.begin(), at.end()}};
    return positions_.of(invert_view(body_.space, node, site)->position);
  }
  const Extent size = product(node.shape);
  if (counts_elements(size)) return position_of(Number::element, node.shape);
  if (has_columns_ && size == body_.reduced_size() && is_of_columns(node))
    return position_of(Number::column, node.shape);
  if (size == rows_) return position_of(Number::row, node.shape);
  if (size.is(1)) return positions_.of(std::vector<Index>(node.shape.size()));
  refuse_shape(node);
}

int BodyBuilder::position_of(Number number, std::span<const Extent> shape) {
  const auto [known, is_new] =
      positions_of_numbers_.try_emplace({static_cast<int>(number), positions_.shape(shape)}, -1);
  if (is_new) {
    const Index index = number == Number::row       ? row_
                        : number == Number::element ? element_
                                                    : body_.space.axis(body_.parallel_axes);
    known->second = positions_.of(body_.space.delinearize(index, shape));
  }
  return known->second;
}

bool BodyBuilder::defines_space(const Node& node) const {
  return !body_.has_reduced_axis && &node == space_node_;
}

bool BodyBuilder::may_reorder() const {
  const auto is_reordering = [](const Node* node) {
    return node->op == Op::permute || node->op == Op::flip || node->op == Op::reshape ||
           node->op == Op::take;
  };
  const auto reads_reordering = [&](const Node* node) {
    return is_reordering(node) || std::ranges::any_of(node->operands, is_reordering);
  };
  return std::ranges::any_of(request_.nodes, reads_reordering) ||
         std::ranges::any_of(request_.stores, reads_reordering, &StoreRequest::node);
}

bool BodyBuilder::reorders_elements(const Node& node) const {
  if (!may_reorder_elements_) return false;
  if (body_.has_reduced_axis && !counts_elements(product(node.shape))) return false;
  DenseSet<const Node*> seen;
  std::vector<const Node*> pending = {&node};
  while (!pending.empty()) {
    const Node* at = pending.back();
    pending.pop_back();
    if (defines_space(*at) || !seen.insert(at).second) continue;
    if (at->op == Op::permute || at->op == Op::flip || rotated_by(*at)) return true;
    if (at->op == Op::reshape) pending.push_back(at->operand(0));
    // In a kernel of rows, values computed from reordered values are reordered too.
    if (!body_.has_reduced_axis || !keeps_positions(*at) || !inside_.contains(at)) continue;
    for (const Node* operand : at->operands)
      if (has_shape_of(operand, *at)) pending.push_back(operand);
  }
  return false;
}

// --- results of other shapes --------------------------------------------------------------------

void BodyBuilder::record_sites_of(const Node& node) {
  if (!recorded_nodes_.insert(&node).second) return;
  if (rearranges(node)) record_sites_of(*node.operand(0));
  if (node.op == Op::concat)
    for (const Node* operand : node.operands) record_sites_of(*operand);
  if (!keeps_positions(node)) return;
  for (const Node* operand : node.operands)
    if (has_shape_of(operand, node)) record_sites_of(*operand);
}

void BodyBuilder::find_sites(const Node& node, DenseSet<const Node*>& seen,
                             std::vector<Site>& result) {
  if (!seen.insert(&node).second) return;
  if (const auto known = sites_.find(&node); known != sites_.end())
    result.insert(result.end(), known->second.begin(), known->second.end());
  std::vector<Site> sites;
  if (rearranges(node)) find_sites(*node.operand(0), seen, sites);
  if (keeps_positions(node))
    for (const Node* operand : node.operands)
      if (has_shape_of(operand, node)) find_sites(*operand, seen, sites);
  const auto add = [&](Site own, const Site& from) {
    own.node = &node;
    own.value = -1;
    own.source = std::make_shared<const Site>(from);
    result.push_back(std::move(own));
  };
  for (const Site& site : sites) {
    // A value computed from copies would be computed once per copy.
    if (!rearranges(node)) {
      if (site.copies == 1) add(site, site);
    } else if (std::vector<Site> copies = repeated(node, site); !copies.empty()) {
      for (Site& copy : copies) add(std::move(copy), site);
    } else if (std::optional<Site> own = invert_view(body_.space, node, site)) {
      add(std::move(*own), site);
      if (std::optional<Site> in_whole = invert_slice(body_.space, node, site))
        add(std::move(*in_whole), site);
    }
  }
}

int BodyBuilder::value_at(const Site& site) {
  if (site.value >= 0) return site.value;
  const int from = value_at(*site.source);
  conditions_ = site.conditions;
  int value = from;
  // A view has the value of its operand. Evaluating it at its own position would read elsewhere,
  // because that position ignores the site's conditions.
  if (rearranges(*site.node))
    known_.try_emplace(key_of(*site.node, positions_.of(site.position)), value);
  else
    value = evaluate(*site.node, site.position);
  conditions_.clear();
  return value;
}

bool BodyBuilder::store_at_known_site(std::size_t index, bool always) {
  DenseSet<const Node*> seen;
  std::vector<Site> sites;
  enter(0);
  find_sites(*request_.stores[index].node, seen, sites);
  const auto has_all = [&](const Site& site) {
    return site.copies == 1 && store_at(index, site, always);
  };
  if (std::ranges::any_of(sites, has_all)) return true;
  if (concat_split_.segments == 1) return !always && store_copies(index, sites);
  for (int segment = 0; segment < concat_split_.segments; ++segment) {
    enter(segment);
    const auto has_segment = [&](const Site& site) {
      return store_segment_at(index, site, always);
    };
    if (std::ranges::none_of(sites, has_segment)) return false;
  }
  return true;
}

bool BodyBuilder::store_copies(std::size_t index, std::span<const Site> sites) {
  for (std::size_t first = 0; first < sites.size(); ++first) {
    const auto copies = static_cast<std::size_t>(sites[first].copies);
    if (copies == 1 || sites[first].copy > 0 || first + copies > sites.size()) continue;
    const std::span<const Site> all = sites.subspan(first, copies);
    const bool is_complete = std::ranges::all_of(all, [&](const Site& site) {
      return site.complete_site == all[0].complete_site &&
             site.copy == static_cast<int>(&site - all.data());
    });
    if (!is_complete || !store_at(index, all[0])) continue;
    store_of(index).is_segment = true;
    for (const Site& site : all.subspan(1)) {
      BodyStore before = std::exchange(store_of(index), {});
      if (!store_at(index, site)) refuse_shape(*request_.stores[index].node);
      store_of(index).is_segment = true;
      body_.stores.push_back(std::exchange(store_of(index), std::move(before)));
    }
    return true;
  }
  return false;
}

bool BodyBuilder::store_at(std::size_t index, const Site& site, bool always) {
  const Node& node = *request_.stores[index].node;
  std::optional<StoreMapping> mapping = map_store(body_, is_of_elements(site), site, node.shape);
  if (!mapping || (always && !fits_everywhere(index, *mapping))) return false;
  store_of(index) = mapped_store(index, site, std::move(*mapping),
                                 floor_div(product(node.shape), Extent(site.copies)));
  return true;
}

bool BodyBuilder::store_segment_at(std::size_t index, const Site& site, bool always) {
  if (site.complete_site) return false;
  const Node& node = *request_.stores[index].node;
  for (std::size_t axis = 0; axis < site.position.size(); ++axis) {
    const std::optional<Extent> extent =
        divide_exactly(node.shape[axis], Extent(concat_split_.segments));
    if (!extent) continue;
    std::vector<Extent> shape(node.shape.begin(), node.shape.end());
    shape[axis] = *extent;
    const Extent begin = *extent * Extent(segment_);
    Site within = site;
    within.position[axis] =
        body_.space.add(within.position[axis], constant_index(Extent(0) - begin));
    std::optional<StoreMapping> mapping = map_store(body_, is_of_elements(site), within, shape);
    if (!mapping || (always && !fits_everywhere(index, *mapping))) continue;
    mapping->position[axis] = body_.space.add(mapping->position[axis], constant_index(begin));
    store_of(index) = mapped_store(index, site, std::move(*mapping), product(shape));
    return true;
  }
  return false;
}

bool BodyBuilder::fits_everywhere(std::size_t index, const StoreMapping& mapping) {
  if (!mapping.conditions.empty()) return false;
  const StoreRequest& request = request_.stores[index];
  // Views have this layout in any kernel, and other kernels read scattered rows in this layout.
  if (!body_.has_reduced_axis || is_view(*request.node)) return true;
  const Index at = address(body_.space, mapping.position, strides_of(request));
  if (follows_loads(body_, at)) return true;
  if (transposed_stores_ == TransposedStores::separate_kernel || body_.parallel_axes == 0 ||
      !has_unit_stride(at, body_.parallel_axes - 1))
    return false;
  stores_transposed_ = true;
  return true;
}

BodyStore BodyBuilder::mapped_store(std::size_t index, const Site& site, StoreMapping mapping,
                                    Extent elements) {
  const StoreRequest& request = request_.stores[index];
  const bool of_elements = is_of_elements(site);
  const int number = value_at(site);
  const Value& value = body_.values[static_cast<std::size_t>(number)];
  if (value.is_final || (value.varies && !of_elements)) refuse_shape(*request.node);
  body_.at_least_one.insert(body_.at_least_one.end(), mapping.at_least_one.begin(),
                            mapping.at_least_one.end());
  return {.node = request.node,
          .request = static_cast<int>(index),
          .elements = elements,
          .value = number,
          .position = mapping.position,
          .at = address(body_.space, mapping.position, strides_of(request)),
          .conditions = std::move(mapping.conditions),
          .varies = of_elements,
          .stage = value.stage,
          .aligned = request.aligned};
}

bool BodyBuilder::is_of_elements(const Site& site) const {
  return body_.has_reduced_axis && varies(site);
}

bool BodyBuilder::varies(const Site& site) const {
  if (body_.scan) return true;
  if (site.value >= 0 && body_.values[static_cast<std::size_t>(site.value)].varies) return true;
  return (site.source && varies(*site.source)) ||
         std::ranges::any_of(site.position, [&](const Index& at) { return varies(at); }) ||
         std::ranges::any_of(site.conditions,
                             [&](const Condition& condition) { return varies(condition.at); });
}

void BodyBuilder::refuse_shape(const Node& node) const {
  throw Refusal{fmt::format("{} has {} elements, the kernel has {} rows of {}", names_(&node),
                            to_string(product(node.shape)), to_string(rows_),
                            to_string(body_.reduced_size()))};
}

}  // namespace sinter
