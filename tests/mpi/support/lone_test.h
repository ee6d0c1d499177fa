// Tests that need ranks of their own. CMakeLists.txt reads their declarations.
#pragma once

#include <gtest/gtest.h>

/// A test that runs alone in its ranks. Other tests share theirs. `ranks` is a line for CMake:
///
///     RANKS <count> [DYING <rank>…] [ABANDONED] [INIT single|none]
///
/// The DYING ranks do not report that they passed. ABANDONED ranks end without MPI_Finalize. INIT
/// tells how the test initialises MPI, if not with MPI_THREAD_MULTIPLE.
#define LONE_TEST(suite, name, ranks) TEST(suite, name)
