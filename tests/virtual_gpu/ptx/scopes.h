// Scopes: the names that the blocks of a function declare, and their identities.
#pragma once

#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tests/virtual_gpu/ptx/lexer.h"
#include "tests/virtual_gpu/ptx/module.h"

namespace sinter::virtual_gpu::ptx {

/// The scopes of one function. Block 0 is its body with its parameters; names there keep their
/// text. Names of nested blocks get the number of the block, see Function. A declaration hides
/// those of outer blocks from its own place on, a label in its whole block.
class Scopes {
 public:
  /// New names are stored in the module.
  explicit Scopes(Module& module);

  /// Begins a nested block. The token is its `{`.
  void open(const Token& token);
  /// Ends the current nested block. False if it is the body of the function.
  bool close();
  bool is_nested() const { return current_ != 0; }

  /// Declares a name and returns its identity. Throws PtxError if the block has it already.
  std::string_view declare(std::string_view name, const Token& token);
  std::string_view declare_label(std::string_view name, const Token& token);
  /// The identity of a used register or variable; the name itself if no nested block declares it.
  std::string_view identity(std::string_view use) const;
  /// Replaces a used name by its identity, now or, if it may be a label, in bind_labels(). The
  /// reference must stay valid until then.
  void bind(std::string_view& use);
  /// Binds the labels that come behind their use.
  void bind_labels();

 private:
  struct Name {
    std::string_view identity;
    bool is_label = false;
  };
  struct Block {
    std::size_t parent = 0;
    std::unordered_map<std::string_view, Name> names = {};
  };
  struct Use {
    std::string_view* name;
    std::size_t block;
  };

  /// The innermost declaration in the block or around it; null if only block 0 can have it.
  const Name* find(std::string_view name, std::size_t block) const;
  std::string_view add(std::string_view name, const Token& token, bool is_label);

  Module& module_;
  std::vector<Block> blocks_;
  std::size_t current_ = 0;
  std::size_t depth_ = 0;
  std::vector<Use> uses_;
};

}  // namespace sinter::virtual_gpu::ptx
