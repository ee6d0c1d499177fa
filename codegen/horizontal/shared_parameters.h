// The parameters of a horizontally fused kernel, which its sections share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codegen/text/names.h"
#include "codegen/text/source.h"
#include "compiler/program/kernel.h"

namespace sinter {

class SharedParameters {
 public:
  SharedParameters(const Program& program, std::string_view entry, Naming naming)
      : program_(program), naming_(naming) {
    names_.take(entry);
  }

  /// An extent as text; symbols become parameters.
  std::string text(Extent extent, std::string_view index_type);
  /// What a section is called with for one of its arguments, which it calls `name`; its scratch
  /// memory begins behind what `source` has already.
  std::string argument(const Argument& argument, const std::string& name, const Source& source,
                       std::string_view index_type);
  void add_tickets();
  /// The name of the table of lists.
  std::string table();
  /// The declarations of all; `source` gets them as arguments.
  std::vector<std::string> declare(Source& source);

 private:
  struct Parameter {
    Argument argument;
    std::string name;
    bool is_const = true;     ///< in every section
    bool is_restrict = true;  ///< in every section
  };
  Parameter& parameter(const Argument& argument, const std::string& name);

  const Program& program_;
  Naming naming_;
  NameSet names_;
  std::vector<Parameter> list_;
};

}  // namespace sinter
