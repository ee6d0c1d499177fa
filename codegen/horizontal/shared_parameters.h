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
  /// The parameters of `source`, whose entry is `entry`.
  SharedParameters(const Program& program, Source& source, std::string_view entry, Naming naming)
      : program_(program), source_(source), naming_(naming) {
    names_.take(entry);
  }

  std::string_view index_type = "int";  ///< of extents in the text that is being written

  /// An extent as text; symbols become parameters.
  std::string text(Extent extent);
  /// The text that is passed for one argument of a section, whose own name for it is `name`. The
  /// section's scratch memory begins at the current end of that of the source.
  std::string argument(const Argument& argument, const std::string& name);
  void add_tickets();
  /// The name of the parameter for Source::table.
  std::string table();
  /// The declarations of all parameters. Appends them to the arguments of the source. A table that
  /// fits beside the other parameters is passed by value, so that no launch needs an upload.
  std::vector<std::string> declare();

 private:
  struct Parameter {
    Argument argument;
    std::string name;
    bool is_const = true;     ///< in every section
    bool is_restrict = true;  ///< in every section
  };
  Parameter& parameter(const Argument& argument, const std::string& name);
  void pass_small_table_by_value();

  const Program& program_;
  Source& source_;
  Naming naming_;
  NameSet names_;
  std::vector<Parameter> list_;
};

}  // namespace sinter
