// `sinter ops`: the ops and composites that the text form knows.
#pragma once

namespace sinter::command {

struct OpsArguments {
  bool json = false;
};

void ops(const OpsArguments& arguments);

}  // namespace sinter::command
