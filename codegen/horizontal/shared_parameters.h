// The parameters of a horizontally fused kernel. Equal arguments of its sections are one parameter.
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
  /// The text that is passed for one argument of a section, whose own name for it is `name`. The
  /// section's scratch memory begins at the current end of that of `source`.
  std::string argument(const Argument& argument, const std::string& name, const Source& source,
                       std::string_view index_type);
  void add_tickets();
  /// The name of the parameter for Source::table.
  std::string table();
  /// The declarations of all parameters. Appends them to the arguments of `source`.
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
