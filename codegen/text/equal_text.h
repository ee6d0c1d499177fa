// Text that is written twice for the same work.
#pragma once

#include <utility>

#include "codegen/text/source.h"

namespace sinter {

/// What is written while there is one is written again behind it, and its bytes are counted there.
class EqualText {
 public:
  explicit EqualText(Source& source)
      : source_(source), traffic_(source.traffic), read_of_(source.read_of) {}
  ~EqualText() {
    source_.traffic = traffic_;
    source_.read_of = std::move(read_of_);
  }
  EqualText(const EqualText&) = delete;
  EqualText& operator=(const EqualText&) = delete;

 private:
  Source& source_;
  decltype(Source::traffic) traffic_;
  decltype(Source::read_of) read_of_;
};

}  // namespace sinter
