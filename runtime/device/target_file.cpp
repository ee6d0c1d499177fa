#include "runtime/device/target_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <vector>

#include "compiler/target/measured_constants.h"
#include "runtime/device/nearest_target.h"
#include "runtime/support/atomic_file.h"
#include "runtime/support/json_tree.h"
#include "sinter/error.h"

namespace sinter {

namespace {

class TargetFile {
 public:
  TargetFile(std::string_view text, const std::string& name) : name_(name) {
    std::optional<JsonTree> tree = parse_json(text);
    if (!tree || !tree->is(JsonTree::Kind::object)) fail("it is not a JSON object");
    tree_ = std::move(*tree);
    if (const std::string schema = string_at("schema"); schema != kTargetFileSchema)
      fail(fmt::format("its schema is \"{}\", not \"{}\"", schema, kTargetFileSchema));
  }

  /// Throws UserError unless the file describes the GPU of `target`.
  void check_gpu(const Target& target) const {
    const std::string gpu = string_at("gpu"), arch = string_at("arch");
    if (gpu == target.name && arch == target.arch) return;
    const NearestTarget nearest = nearest_target(gpu, arch);
    if (nearest.is_named && nearest.target->name == target.name && arch == target.arch) return;
    throw UserError(
        fmt::format("options.target_file: {} has the constants of {} ({}), but the plan is for {} "
                    "({}); run measure_gpu constants there, or leave the option empty",
                    name_, gpu, arch, target.name, target.arch));
  }

  void apply(Target& target) const {
    const auto found = tree_.members.find("constants");
    if (found == tree_.members.end() || !found->second.is(JsonTree::Kind::object))
      fail("it has no object \"constants\"");
    for (const auto& [name, value] : found->second.members) apply(target, name, value);
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw UserError(
        fmt::format("options.target_file: {} is no target file: {}; measure_gpu constants --json "
                    "FILE writes one",
                    name_, problem));
  }

  std::string string_at(const std::string& key) const {
    const auto found = tree_.members.find(key);
    if (found == tree_.members.end() || !found->second.is(JsonTree::Kind::string))
      fail(fmt::format("it has no text \"{}\"", key));
    return found->second.string;
  }

  void apply(Target& target, const std::string& name, const JsonTree& value) const {
    const MeasuredConstant* const constant = find_measured_constant(name);
    if (!constant) {
      std::vector<std::string_view> known;
      for (const MeasuredConstant& one : measured_constants()) known.push_back(one.name);
      fail(fmt::format("there is no constant \"{}\"; known are {}", name, fmt::join(known, ", ")));
    }
    if (!value.is(JsonTree::Kind::number) && !value.is(JsonTree::Kind::integer))
      fail(fmt::format("\"{}\" is not a number", name));
    if (!(value.number >= constant->low && value.number <= constant->high))
      fail(fmt::format("\"{}\" is {:g} {}, outside of {:g} to {:g}", name, value.number,
                       constant->unit, constant->low, constant->high));
    constant->set(target, value.number);
  }

  const std::string& name_;
  JsonTree tree_;
};

}  // namespace

Target with_constants(Target target, std::string_view text, const std::string& name) {
  const TargetFile file(text, name);
  file.check_gpu(target);
  file.apply(target);
  return target;
}

Target with_target_file(const Target& target, const std::string& path) {
  if (path.empty() || target.is_cpu) return target;
  const FileContents file = read_whole_file(path);
  if (file.error != 0)
    throw UserError(
        fmt::format("options.target_file: {} cannot be read: {}", path, std::strerror(file.error)));
  return with_constants(
      target, {reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()}, path);
}

}  // namespace sinter
