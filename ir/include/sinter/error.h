// The exceptions of sinter: one class for each of four kinds of failure, and the check for bugs.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace sinter {

/// The base class of sinter's exceptions.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A mistake of the caller. The message says what is wrong and where, the actual values, and what
/// to do.
class UserError : public Error {
 public:
  using Error::Error;
};

/// A kernel did not compile. The message holds the numbered source and the compiler's log.
class CompileError : public Error {
 public:
  using Error::Error;
};

/// A call of the driver or the compiler library failed, or a library is missing or too old.
class DriverError : public Error {
 public:
  /// `code` is the result code of the library, or 0 if there is none.
  explicit DriverError(const std::string& message, int code = 0) : Error(message), code_(code) {}
  int code() const { return code_; }

 private:
  int code_;
};

/// A bug in sinter, detected before it can cause a wrong result.
class InternalError : public Error {
 public:
  using Error::Error;
};

/// Throws InternalError with `what` and the location of the call unless `condition` holds. Active
/// in all builds.
inline void ensure(bool condition, std::string_view what, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
  if (condition) [[likely]]
    return;
  throw InternalError("sinter bug: " + std::string(what) + " (" + file + ":" +
                      std::to_string(line) + "); please report it with the graph");
}

}  // namespace sinter
