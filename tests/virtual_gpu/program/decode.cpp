#include "tests/virtual_gpu/program/decode.h"

#include <cstring>

#include "tests/virtual_gpu/program/draft.h"
#include "tests/virtual_gpu/ptx/error.h"

namespace sinter::virtual_gpu {

namespace {

/// Special registers of 32 bits, by PTX ISA manual, chapter "Special Registers". %clock and the
/// like are decoded apart, since their values change.
constexpr std::string_view kSpecialRegisters[] = {"%tid.x",
                                                  "%tid.y",
                                                  "%tid.z",
                                                  "%ntid.x",
                                                  "%ntid.y",
                                                  "%ntid.z",
                                                  "%ctaid.x",
                                                  "%ctaid.y",
                                                  "%ctaid.z",
                                                  "%nctaid.x",
                                                  "%nctaid.y",
                                                  "%nctaid.z",
                                                  "%laneid",
                                                  "%warpid",
                                                  "%nwarpid",
                                                  "%smid",
                                                  "%nsmid",
                                                  "%lanemask_eq",
                                                  "%lanemask_le",
                                                  "%lanemask_lt",
                                                  "%lanemask_ge",
                                                  "%lanemask_gt",
                                                  "%cluster_ctarank",
                                                  "%cluster_nctarank",
                                                  "%cluster_ctaid.x",
                                                  "%cluster_ctaid.y",
                                                  "%cluster_ctaid.z",
                                                  "%cluster_nctaid.x",
                                                  "%cluster_nctaid.y",
                                                  "%cluster_nctaid.z",
                                                  "%clusterid.x",
                                                  "%clusterid.y",
                                                  "%clusterid.z",
                                                  "%nclusterid.x",
                                                  "%nclusterid.y",
                                                  "%nclusterid.z",
                                                  "%dynamic_smem_size",
                                                  "%total_smem_size"};

void place_parameters(Kernel& kernel, const ptx::Function& function) {
  for (const ptx::Variable& parameter : function.parameters) {
    const auto alignment = static_cast<std::size_t>(parameter.alignment);
    const std::size_t offset = (kernel.parameter_bytes + alignment - 1) / alignment * alignment;
    const auto bytes = static_cast<std::size_t>(parameter.size());
    kernel.parameters.push_back({.offset = offset, .bytes = bytes});
    kernel.parameter_bytes = offset + bytes;
  }
}

std::array<int, 3> directive(const ptx::Function& function, std::string_view name) {
  std::array<int, 3> result = {0, 0, 0};
  const auto found = function.directives.find(name);
  if (found == function.directives.end()) return result;
  for (std::size_t i = 0; i < 3; ++i) result[i] = i < found->second.size() ? found->second[i] : 1;
  return result;
}

Kernel decode_kernel(const ptx::Module& module, const ptx::Function& function,
                     const AddressOf& address_of) {
  DraftKernel draft;
  Kernel& kernel = draft.kernel;
  kernel.name = function.name;
  kernel.max_threads = directive(function, "maxntid");
  kernel.required_threads = directive(function, "reqntid");
  kernel.required_cluster = directive(function, "reqnctapercluster");
  kernel.min_blocks_per_sm = directive(function, "minnctapersm")[0];
  place_parameters(kernel, function);
  append_function(draft, module, function, address_of);
  order_blocks(draft);
  allocate_registers(draft);
  for (const Draft& one : draft.drafts) {
    kernel.operations.push_back(one.operation);
    kernel.classes.push_back(one.kind);
  }
  return std::move(kernel);
}

}  // namespace

Details& DraftKernel::new_details(Draft& draft) {
  draft.details = kernel.details.emplace_back(std::make_unique<Details>()).get();
  draft.operation.details = draft.details;
  return *draft.details;
}

Slot DraftKernel::constant(Width width, std::uint64_t bits) {
  if (width == Width::word) bits = static_cast<std::uint32_t>(bits);
  if (width == Width::predicate) bits = bits != 0 ? kAllLanes : 0;
  const auto [found, is_new] = constants.try_emplace({width, bits}, 0);
  if (!is_new) return found->second;
  const std::size_t offset = kernel.constants.size();
  const std::size_t bytes = width == Width::double_word ? 8 : 4;
  // Predicates are a mask, which fills a whole cell so that all constants stay aligned.
  kernel.constants.resize(offset + kLanes * bytes);
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    std::memcpy(kernel.constants.data() + offset + lane * bytes, &bits, bytes);
  return found->second = ~static_cast<Slot>(offset);
}

Slot DraftKernel::special_register(std::string_view name, int line) {
  const auto known = special.find(name);
  if (known != special.end()) return known->second;
  for (const std::string_view one : kSpecialRegisters) {
    if (one != name) continue;
    const Slot slot = static_cast<Slot>(kernel.register_bytes);
    kernel.register_bytes += kLanes * 4;
    kernel.special_registers.push_back({.name = one, .slot = slot});
    return special[one] = slot;
  }
  throw PtxError(line, "special register " + std::string(name) + " is not known");
}

std::shared_ptr<const Program> decode(ptx::Module module, const AddressOf& address_of) {
  auto program = std::make_shared<Program>();
  program->module = std::move(module);
  for (const ptx::Function& function : program->module.functions)
    if (function.is_entry)
      program->kernels.push_back(decode_kernel(program->module, function, address_of));
  return program;
}

std::string_view line_of(const ptx::Module& module, int line) {
  std::string_view rest = *module.text;
  for (int i = 1; i < line; ++i) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return {};
    rest.remove_prefix(end + 1);
  }
  rest = rest.substr(0, rest.find('\n'));
  const std::size_t first = rest.find_first_not_of(" \t");
  return first == std::string_view::npos ? std::string_view() : rest.substr(first);
}

}  // namespace sinter::virtual_gpu
