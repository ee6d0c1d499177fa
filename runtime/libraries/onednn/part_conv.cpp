#include "runtime/libraries/onednn/part_conv.h"

#include <algorithm>
#include <array>

namespace sinter {

namespace {

using namespace dnnl;

using LengthVector = std::vector<std::int64_t>;

/// Appends those of the last `axes` axes.
void append_spatial(LengthVector& lengths, const ConvProblem::Sizes& sizes, int axes) {
  lengths.insert(lengths.end(), sizes.end() - axes, sizes.end());
}

LengthVector spatial_lengths(const ConvProblem::Sizes& sizes, int axes) {
  LengthVector lengths;
  append_spatial(lengths, sizes, axes);
  return lengths;
}

LengthVector extents_of(ConvRole role, const ConvProblem& part) {
  LengthVector extents;
  switch (role) {
    case ConvRole::x: extents = {part.images, part.channels}; break;
    case ConvRole::y: extents = {part.images, part.filters}; break;
    case ConvRole::w: extents = {part.filters_per_group(), part.channels_per_group()}; break;
  }
  if (role == ConvRole::w && part.groups > 1) extents.insert(extents.begin(), part.groups);
  append_spatial(extents,
                 role == ConvRole::x   ? part.size
                 : role == ConvRole::y ? part.result_size
                                       : part.filter_size,
                 part.axes);
  return extents;
}

/// Strides of an array's part in memory: those of the whole array.
LengthVector memory_strides(ConvRole role, const ConvParts& parts) {
  LengthVector of_whole = extents_of(role, parts.whole);
  const std::size_t rank = extents_of(role, parts.part).size();  // the same for all bands
  if (of_whole.size() > rank) of_whole.erase(of_whole.begin());  // a part of one group
  LengthVector strides(rank, 1);
  for (std::size_t i = rank - 1; i-- > 0;) strides[i] = strides[i + 1] * of_whole[i + 1];
  return strides;
}

struct ConvLayouts {
  OneDnnLayout x, w, y;
};

/// Strides, dilations and padding as oneDNN counts them.
struct ConvWindow {
  explicit ConvWindow(const ConvProblem& part)
      : strides(spatial_lengths(part.strides, part.axes)),
        dilations(spatial_lengths(part.dilations, part.axes)),
        begin(spatial_lengths(part.padding_begin, part.axes)),
        end(spatial_lengths(part.padding_end, part.axes)) {
    for (std::int64_t& dilation : dilations) --dilation;
  }
  LengthVector strides, dilations, begin, end;
};

/// True if no primitive supports the convolution, which is no failure.
bool is_unsupported(const OneDnn& library, dnnl_status_t status, const char* call) {
  if (status == dnnl_unimplemented) return true;
  library.check(status, call);
  return false;
}

/// Calls the function of `kind` with the arguments that both versions of oneDNN have in common.
dnnl_status_t call_with(ConvKind kind, const ConvLayouts& layouts, const ConvWindow& window,
                        auto forward, auto data_gradient, auto weight_gradient) {
  const auto [x, w, y] = std::array{layouts.x.get(), layouts.w.get(), layouts.y.get()};
  const std::int64_t *const strides = window.strides.data(),
                            *const dilations = window.dilations.data(),
                            *const begin = window.begin.data(), *const end = window.end.data();
  switch (kind) {
    case ConvKind::forward: break;
    case ConvKind::data_gradient:
      return data_gradient(dnnl_convolution_direct, x, w, y, strides, dilations, begin, end);
    case ConvKind::weight_gradient:
      return weight_gradient(dnnl_convolution_direct, x, w, nullptr, y, strides, dilations, begin,
                             end);
  }
  return forward(dnnl_forward_training, dnnl_convolution_direct, x, w, nullptr, y, strides,
                 dilations, begin, end);
}

OneDnnDescription describe2(const OneDnn& library, ConvKind kind, const ConvLayouts& layouts,
                            const ConvWindow& window, const OneDnnDescription& forward) {
  const Table& table = library.table;
  const auto operation = std::make_unique<dnnl_convolution_desc_storage>();
  const auto of = [&](auto init) {
    return [&operation, init](auto... arguments) { return init(operation.get(), arguments...); };
  };
  OneDnnDescription description(library);
  dnnl_status_t status =
      call_with(kind, layouts, window, of(table.dnnl_dilated_convolution_forward_desc_init),
                of(table.dnnl_dilated_convolution_backward_data_desc_init),
                of(table.dnnl_dilated_convolution_backward_weights_desc_init));
  if (is_unsupported(library, status, "dnnl_dilated_convolution_desc_init")) return description;
  const OneDnnAttributes attributes = onednn_attributes(library);
  status = table.dnnl_primitive_desc_create(description.place(), operation.get(), attributes.get(),
                                            library.engine, forward.get());
  is_unsupported(library, status, "dnnl_primitive_desc_create");
  return description;
}

OneDnnDescription describe3(const OneDnn& library, ConvKind kind, const ConvLayouts& layouts,
                            const ConvWindow& window, const OneDnnDescription& forward) {
  const Table& table = library.table;
  const OneDnnAttributes attributes = onednn_attributes(library);
  OneDnnDescription description(library);
  const auto of = [&](auto create, auto... hint) {
    return [&, create, hint...](auto... arguments) {
      return create(description.place(), library.engine, arguments..., hint..., attributes.get());
    };
  };
  const dnnl_status_t status =
      call_with(kind, layouts, window, of(table.dnnl_convolution_forward_primitive_desc_create),
                of(table.dnnl_convolution_backward_data_primitive_desc_create, forward.get()),
                of(table.dnnl_convolution_backward_weights_primitive_desc_create, forward.get()));
  is_unsupported(library, status, "dnnl_convolution_primitive_desc_create");
  return description;
}

/// How a kind names its arrays.
struct RoleNames {
  dnnl_query_t layout;
  int argument;
};

RoleNames role_names(ConvRole role, ConvKind kind) {
  switch (role) {
    case ConvRole::x:
      if (kind == ConvKind::data_gradient) return {dnnl_query_diff_src_md, DNNL_ARG_DIFF_SRC};
      return {dnnl_query_src_md, DNNL_ARG_SRC};
    case ConvRole::w:
      if (kind == ConvKind::weight_gradient)
        return {dnnl_query_diff_weights_md, DNNL_ARG_DIFF_WEIGHTS};
      return {dnnl_query_weights_md, DNNL_ARG_WEIGHTS};
    case ConvRole::y: break;
  }
  if (kind == ConvKind::forward) return {dnnl_query_dst_md, DNNL_ARG_DST};
  return {dnnl_query_diff_dst_md, DNNL_ARG_DIFF_DST};
}

}  // namespace

OneDnnDescription PartConv::describe(const ConvProblem& part) const {
  const auto any = [&](ConvRole role) {
    return OneDnnLayout::any(library_, extents_of(role, part));
  };
  const ConvLayouts layouts{any(ConvRole::x), any(ConvRole::w), any(ConvRole::y)};
  const ConvWindow window(part);
  const auto describe = library_.major == 2 ? describe2 : describe3;
  OneDnnDescription forward =
      describe(library_, ConvKind::forward, layouts, window, OneDnnDescription(library_));
  if (part.kind == ConvKind::forward || !forward) return forward;
  return describe(library_, part.kind, layouts, window, forward);
}

bool PartConv::prepare(const ConvParts& parts, const ConvProblem& part) {
  const ConvKind kind = part.kind;
  operation_ = OneDnnOperation(library_, describe(part));
  // Reference implementations are slower than products.
  if (!operation_) return false;
  const std::string name = operation_.implementation();
  if (name.starts_with("ref") || name.ends_with(":ref")) return false;
  scratchpad_bytes_ = operation_.scratchpad_bytes();
  for (const ConvRole role : kConvRoles) {
    const RoleNames names = role_names(role, kind);
    PartArray array{.in_memory = OneDnnLayout::with_strides(library_, extents_of(role, part),
                                                            memory_strides(role, parts)),
                    .in_primitive = operation_.layout(names.layout),
                    .argument = names.argument,
                    .bytes = 0,
                    .copy = OneDnnOperation(library_)};
    const auto bytes =
        static_cast<std::int64_t>(library_.table.dnnl_memory_desc_get_size(array.in_primitive));
    if (role == result_role(kind)) result_bytes_ = bytes;
    if (!library_.table.dnnl_memory_desc_equal(array.in_memory.get(), array.in_primitive)) {
      array.bytes = bytes;
      array.copy = role == result_role(kind)
                       ? onednn_reorder(library_, array.in_primitive, array.in_memory.get())
                       : onednn_reorder(library_, array.in_memory.get(), array.in_primitive);
      scratchpad_bytes_ = std::max(scratchpad_bytes_, array.copy.scratchpad_bytes());
    }
    arrays_.push_back(std::move(array));
  }
  return true;
}

bool PartConv::has_layout_of(const PartConv& other, ConvRole role) const {
  return library_.table.dnnl_memory_desc_equal(array(role).in_primitive,
                                               other.array(role).in_primitive) != 0;
}

void PartConv::import_part(ConvRole role, const float* memory, void* part, void* scratchpad) const {
  const PartArray& array = this->array(role);
  array.copy.run(
      std::array<OneDnnOperation::Argument, 2>{
          {{DNNL_ARG_SRC, array.in_memory.get(), const_cast<float*>(memory)},
           {DNNL_ARG_DST, array.in_primitive, part}}},
      scratchpad);
}

void PartConv::export_part(ConvRole role, void* part, float* memory, void* scratchpad) const {
  const PartArray& array = this->array(role);
  array.copy.run(
      std::array<OneDnnOperation::Argument, 2>{{{DNNL_ARG_SRC, array.in_primitive, part},
                                                {DNNL_ARG_DST, array.in_memory.get(), memory}}},
      scratchpad);
}

void PartConv::run(void* x, void* w, void* y, void* scratchpad) const {
  std::array<OneDnnOperation::Argument, 3> arguments;
  for (const ConvRole role : kConvRoles) {
    const PartArray& array = this->array(role);
    arguments[static_cast<std::size_t>(role)] = {array.argument, array.in_primitive,
                                                 role == ConvRole::x   ? x
                                                 : role == ConvRole::w ? w
                                                                       : y};
  }
  operation_.run(arguments, scratchpad);
}

}  // namespace sinter
