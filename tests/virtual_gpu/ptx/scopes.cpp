// The names that the blocks of a function declare.
#include "tests/virtual_gpu/ptx/scopes.h"

#include <memory>
#include <string>

namespace sinter::virtual_gpu::ptx {
namespace {

/// A limit of the interpreter: the search for a name visits each enclosing block.
constexpr std::size_t kDeepestBlock = 64;

}  // namespace

Scopes::Scopes(Module& module) : module_(module), blocks_(1) {}

void Scopes::open(const Token& token) {
  if (++depth_ > kDeepestBlock) fail(token, "the blocks nest too deeply");
  blocks_.push_back({.parent = current_});
  current_ = blocks_.size() - 1;
}

bool Scopes::close() {
  if (!is_nested()) return false;
  current_ = blocks_[current_].parent;
  --depth_;
  return true;
}

std::string_view Scopes::declare(std::string_view name, const Token& token) {
  return add(name, token, false);
}

std::string_view Scopes::declare_label(std::string_view name, const Token& token) {
  return add(name, token, true);
}

std::string_view Scopes::add(std::string_view name, const Token& token, bool is_label) {
  const auto [place, is_new] =
      blocks_[current_].names.try_emplace(name, Name{.identity = name, .is_label = is_label});
  if (!is_new) fail(token, "the block declares " + std::string(name.substr(0, 80)) + " twice");
  if (is_nested()) {
    module_.made_names.push_back(
        std::make_unique<const std::string>(std::string(name) + "#" + std::to_string(current_)));
    place->second.identity = *module_.made_names.back();
  }
  return place->second.identity;
}

const Scopes::Name* Scopes::find(std::string_view name, std::size_t block) const {
  for (; block != 0; block = blocks_[block].parent) {
    const auto found = blocks_[block].names.find(name);
    if (found != blocks_[block].names.end()) return &found->second;
  }
  return nullptr;
}

std::string_view Scopes::identity(std::string_view use) const {
  const Name* const found = find(use, current_);
  return found ? found->identity : use;
}

void Scopes::bind(std::string_view& use) {
  if (!is_nested() || use.empty() || use == "_") return;
  if (const Name* const found = find(use, current_)) {
    use = found->identity;
  } else if (use.front() != '%') {
    uses_.push_back({.name = &use, .block = current_});
  }
}

void Scopes::bind_labels() {
  for (const Use& use : uses_) {
    const Name* const found = find(*use.name, use.block);
    if (found && found->is_label) *use.name = found->identity;
  }
  uses_.clear();
}

}  // namespace sinter::virtual_gpu::ptx
