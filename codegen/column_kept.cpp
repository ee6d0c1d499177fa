#include "codegen/column_kept.h"

#include <fmt/format.h>

#include "compiler/column_pieces.h"

namespace sinter {

KeptColumns::KeptColumns(KernelWriter& writer, const Tree& tree)
    : writer_(writer),
      tree_(tree),
      passes_(writer.schedule.resident ? plan_column_passes(writer.body)
                                       : plan_passes(writer.body)) {}

int KeptColumns::threads_side_by_side() const {
  return writer_.schedule.threads / writer_.schedule.threads_per_row;
}

void KeptColumns::declare() {
  const KeptSlots slots = kept_slots(writer_.body, passes_);
  const std::int64_t elements = kept_rows(tree_) * columns_of(writer_.schedule);
  std::vector<std::int64_t> starts;
  for (const int bytes : slots.bytes) {
    starts.push_back(writer_.source.shared_bytes);
    writer_.source.shared_bytes += (elements * bytes + 15) / 16 * 16;
  }
  for (std::size_t i = 0; i < passes_.kept.size(); ++i) {
    const int value = passes_.kept[i];
    const Node* node = writer_.body.values[static_cast<std::size_t>(value)].node;
    names_.push_back(writer_.name_for(node));
    memory_.push_back(writer_.name_for(node, "_kept"));
    writer_.out.line(fmt::format(
        "{0}* const {1} = reinterpret_cast<{0}*>(shared_memory() + {2}) + Shape::column();",
        writer_.kept_type(value), memory_.back(),
        starts[static_cast<std::size_t>(slots.slot_of[i])]));
  }
}

std::vector<int> KeptColumns::kept_by(int pass) const {
  std::vector<int> result;
  for (const int value : passes_.kept)
    if (passes_.first_pass[static_cast<std::size_t>(value)] == pass) result.push_back(value);
  return result;
}

std::string KeptColumns::place(std::size_t kept, const std::string& chunk) const {
  return fmt::format("{}[(within * {} + {}) * {}]", memory_[kept],
                     tree_.parts * tree_.chunks_per_part, chunk, threads_side_by_side());
}

void KeptColumns::write_before(int pass, const std::string& chunk) {
  const std::vector<bool>& needed = passes_.needed[static_cast<std::size_t>(pass)];
  for (std::size_t i = 0; i < passes_.kept.size(); ++i) {
    const auto value = static_cast<std::size_t>(passes_.kept[i]);
    if (!needed[value]) continue;
    const bool is_new = passes_.first_pass[value] == pass;
    writer_.out.line(fmt::format("{}{} {}{};", is_new ? "" : "const ",
                                 writer_.kept_type(passes_.kept[i]), names_[i],
                                 is_new ? "" : " = " + place(i, chunk)));
    writer_.set_kept(passes_.kept[i], names_[i]);
  }
}

void KeptColumns::write_after(int pass, const std::string& chunk) {
  for (std::size_t i = 0; i < passes_.kept.size(); ++i)
    if (passes_.first_pass[static_cast<std::size_t>(passes_.kept[i])] == pass)
      writer_.out.line(fmt::format("{} = {};", place(i, chunk), names_[i]));
}

}  // namespace sinter
