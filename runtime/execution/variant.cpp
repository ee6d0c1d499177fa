#include "runtime/execution/variant.h"

namespace sinter {

bool serves(const Variant& variant, const VariantNeed& need) {
  return variant.alignment == need.alignment &&
         variant.unwritten_outputs == need.unwritten_outputs &&
         holds(variant.program, need.symbols);
}

std::shared_ptr<Variant> with_lower_alignment(
    std::span<const std::shared_ptr<const Variant>> variants, const VariantNeed& need) {
  const Variant* best = nullptr;
  for (const std::shared_ptr<const Variant>& variant : variants) {
    const bool will_do = variant->unwritten_outputs == need.unwritten_outputs &&
                         need.alignment % variant->alignment == 0 &&
                         holds(variant->program, need.symbols);
    if (will_do && (!best || variant->alignment > best->alignment)) best = variant.get();
  }
  if (!best) return nullptr;
  auto copy = std::make_shared<Variant>(*best);
  copy->alignment = copy->report.alignment = need.alignment;
  return copy;
}

}  // namespace sinter
