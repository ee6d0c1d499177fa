// What sinter throws: four kinds of failure that never mix, and the check that raises ours.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace sinter {

/// The base of everything sinter throws.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The caller's mistake: says what, where, the values, and what to do.
class UserError : public Error {
 public:
  using Error::Error;
};

/// A kernel that did not compile: holds the numbered source and the compiler's log.
class CompileError : public Error {
 public:
  using Error::Error;
};

/// A driver or compiler library call that failed, or a library that is missing or too old.
class DriverError : public Error {
 public:
  /// `code` is the library's own result code, 0 where there is none.
  explicit DriverError(const std::string& message, int code = 0) : Error(message), code_(code) {}
  int code() const { return code_; }

 private:
  int code_;
};

/// A bug in sinter, stopped before it becomes a wrong number.
class InternalError : public Error {
 public:
  using Error::Error;
};

/// Throws InternalError with `what` and the place of the call unless `condition` holds. Always on.
inline void ensure(bool condition, std::string_view what, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
  if (condition) [[likely]]
    return;
  throw InternalError("sinter bug: " + std::string(what) + " (" + file + ":" +
                      std::to_string(line) + "); please report it with the graph");
}

}  // namespace sinter
