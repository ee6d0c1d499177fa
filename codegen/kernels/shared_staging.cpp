#include "codegen/kernels/shared_staging.h"

#include <fmt/format.h>

#include "ir/support/round_up.h"

namespace sinter {

void SharedStaging::declare(const PassPlan& passes, std::int64_t elements, std::string_view own) {
  const KeptSlots slots = kept_slots(writer_.body, passes);
  std::vector<std::int64_t> starts;
  for (const int bytes : slots.bytes) {
    starts.push_back(writer_.source.shared_bytes);
    writer_.source.shared_bytes += round_up(elements * bytes, 16);
  }
  for (std::size_t i = 0; i < passes.kept.size(); ++i) {
    const int value = passes.kept[i];
    const Node* node = writer_.body.values[static_cast<std::size_t>(value)].node;
    names_.push_back(writer_.name_for(node));
    memory_.push_back(writer_.name_for(node, "_kept"));
    writer_.out.line(
        fmt::format("{0}* const {1} = reinterpret_cast<{0}*>(shared_memory() + {2}) + {3};",
                    writer_.kept_type(value), memory_.back(),
                    starts[static_cast<std::size_t>(slots.slot_of[i])], own));
  }
}

void SharedStaging::write_pass(const PassPlan& passes, int pass, const std::string& place,
                               const std::function<void()>& work) {
  const std::vector<bool>& needed = passes.needed[static_cast<std::size_t>(pass)];
  for (std::size_t i = 0; i < passes.kept.size(); ++i) {
    const auto value = static_cast<std::size_t>(passes.kept[i]);
    if (!needed[value]) continue;
    const bool is_new = passes.first_pass[value] == pass;
    writer_.out.line(fmt::format("{}{} {}{};", is_new ? "" : "const ",
                                 writer_.kept_type(passes.kept[i]), names_[i],
                                 is_new ? "" : fmt::format(" = {}[{}]", memory_[i], place)));
    writer_.set_kept(passes.kept[i], names_[i]);
  }
  work();
  for (std::size_t i = 0; i < passes.kept.size(); ++i)
    if (passes.first_pass[static_cast<std::size_t>(passes.kept[i])] == pass)
      writer_.out.line(fmt::format("{}[{}] = {};", memory_[i], place, names_[i]));
}

}  // namespace sinter
