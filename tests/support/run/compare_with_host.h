// Compares the results of a GPU with those of the host device.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "tests/support/run/run.h"

namespace sinter::test {

/// The outputs, and updated inputs, of `graph` whose values depend on correctly rounded operations
/// only. All devices give them the same bits.
std::set<std::string> exact_results(const Graph& graph);

/// False if SINTER_TEST_UNFUSED is `off`. Kernels of single nodes take half of the compile time of
/// the golden graphs, so one group of virtual GPUs runs them
/// (tests/virtual_gpu/register_tests.cmake).
bool runs_unfused();

/// run_and_check_on(gpu, …). In addition, the exact results must have the bits that the host device
/// gives; any two NaNs are equal, because devices choose the payload.
RunResult run_and_compare_with_host(Device gpu, const Graph& graph, std::vector<Size> sizes = {},
                                    const CheckSettings& settings = {});

/// Fails the running test for each result in `names` whose bits differ between `ours`, of `device`,
/// and `theirs`, of the host device.
void expect_host_bits(std::string_view device, const std::set<std::string>& names,
                      const HostArrays& ours, const HostArrays& theirs);

}  // namespace sinter::test
