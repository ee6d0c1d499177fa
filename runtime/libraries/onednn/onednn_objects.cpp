#include "runtime/libraries/onednn/onednn_objects.h"

#include <vector>

namespace sinter {

using namespace dnnl;

OneDnnLayout OneDnnLayout::with_strides(const OneDnn& library, Lengths extents, Lengths strides) {
  OneDnnLayout layout(library);
  const Table& table = library.table;
  const int rank = static_cast<int>(extents.size());
  if (library.major == 2) {
    layout.storage_ = std::make_unique<dnnl_memory_desc_storage>();
    library.check(table.dnnl_memory_desc_init_by_strides(layout.storage_.get(), rank,
                                                         extents.data(), dnnl_f32, strides.data()),
                  "dnnl_memory_desc_init_by_strides");
    return layout;
  }
  library.check(table.dnnl_memory_desc_create_with_strides(
                    layout.handle_.place(), rank, extents.data(), dnnl_f32, strides.data()),
                "dnnl_memory_desc_create_with_strides");
  return layout;
}

OneDnnLayout OneDnnLayout::any(const OneDnn& library, Lengths extents) {
  OneDnnLayout layout(library);
  const Table& table = library.table;
  const int rank = static_cast<int>(extents.size());
  if (library.major == 2) {
    layout.storage_ = std::make_unique<dnnl_memory_desc_storage>();
    library.check(table.dnnl_memory_desc_init_by_tag(layout.storage_.get(), rank, extents.data(),
                                                     dnnl_f32, dnnl_format_tag_any),
                  "dnnl_memory_desc_init_by_tag");
    return layout;
  }
  library.check(table.dnnl_memory_desc_create_with_tag(layout.handle_.place(), rank, extents.data(),
                                                       dnnl_f32, dnnl_format_tag_any),
                "dnnl_memory_desc_create_with_tag");
  return layout;
}

OneDnnAttributes onednn_attributes(const OneDnn& library) {
  OneDnnAttributes attributes(library);
  const Table& table = library.table;
  library.check(table.dnnl_primitive_attr_create(attributes.place()), "dnnl_primitive_attr_create");
  library.check(
      table.dnnl_primitive_attr_set_scratchpad_mode(attributes.get(), dnnl_scratchpad_mode_user),
      "dnnl_primitive_attr_set_scratchpad_mode");
  library.check(
      table.dnnl_primitive_attr_set_fpmath_mode(attributes.get(), dnnl_fpmath_mode_strict),
      "dnnl_primitive_attr_set_fpmath_mode");
  return attributes;
}

OneDnnOperation::OneDnnOperation(const OneDnn& library, OneDnnDescription description)
    : library_(&library), description_(std::move(description)), primitive_(library) {
  if (!description_) return;
  library.check(library.table.dnnl_primitive_create(primitive_.place(), description_.get()),
                "dnnl_primitive_create");
}

dnnl_any_memory_desc_t OneDnnOperation::layout(dnnl_query_t argument) const {
  return library_->table.dnnl_primitive_desc_query_md(description_.get(), argument, 0);
}

std::int64_t OneDnnOperation::scratchpad_bytes() const {
  const dnnl_any_memory_desc_t scratchpad = layout(dnnl_query_scratchpad_md);
  if (!scratchpad) return 0;
  return static_cast<std::int64_t>(library_->table.dnnl_memory_desc_get_size(scratchpad));
}

std::string OneDnnOperation::implementation() const {
  const char* name = "";
  library_->check(library_->table.dnnl_primitive_desc_query(
                      description_.get(), dnnl_query_impl_info_str, 0, static_cast<void*>(&name)),
                  "dnnl_primitive_desc_query");
  return name;
}

void OneDnnOperation::run(std::span<const Argument> arguments, void* scratchpad) const {
  const Table& table = library_->table;
  std::vector<OneDnnMemory> memories;
  std::vector<dnnl_exec_arg_t> all;
  const auto add = [&](int number, dnnl_any_memory_desc_t layout, void* data) {
    OneDnnMemory& memory = memories.emplace_back(*library_);
    library_->check(table.dnnl_memory_create(memory.place(), layout, library_->engine, data),
                    "dnnl_memory_create");
    all.push_back({.arg = number, .memory = memory.get()});
  };
  for (const Argument& argument : arguments) add(argument.number, argument.layout, argument.data);
  if (scratchpad && scratchpad_bytes() > 0)
    add(DNNL_ARG_SCRATCHPAD, layout(dnnl_query_scratchpad_md), scratchpad);
  OneDnnStream stream(*library_);
  library_->check(
      table.dnnl_stream_create(stream.place(), library_->engine, dnnl_stream_default_flags),
      "dnnl_stream_create");
  library_->check(table.dnnl_primitive_execute(primitive_.get(), stream.get(),
                                               static_cast<int>(all.size()), all.data()),
                  "dnnl_primitive_execute");
}

OneDnnOperation onednn_reorder(const OneDnn& library, dnnl_any_memory_desc_t from,
                               dnnl_any_memory_desc_t to) {
  const OneDnnAttributes attributes = onednn_attributes(library);
  OneDnnDescription description(library);
  library.check(
      library.table.dnnl_reorder_primitive_desc_create(description.place(), from, library.engine,
                                                       to, library.engine, attributes.get()),
      "dnnl_reorder_primitive_desc_create");
  return {library, std::move(description)};
}

}  // namespace sinter
