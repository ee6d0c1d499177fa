// A driver table whose calls do nothing: what is left of a call's time is our own work.
#pragma once

#include "runtime/driver.h"

namespace sinter::test {

/// The table. Memory gets addresses that are never touched.
const Driver& null_driver();

}  // namespace sinter::test
