// Returns the message of the exception that a call throws, so that tests can compare it.
#pragma once

#include <concepts>
#include <string>

#include "sinter/error.h"

namespace sinter::test {

/// The message of the `Failure` that `call` throws; "(nothing thrown)" if it throws nothing.
template <class Failure = UserError>
std::string error_of(std::invocable auto call) {
  try {
    call();
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "(nothing thrown)";
}

}  // namespace sinter::test
