"""How much is measured: bench/README.md has it in words."""

import dataclasses
import statistics
import time

MOST_KERNELS = 4096  # in a graph; all of this as bench/suite/graph_size.h has it
GRAPH_US = 2000  # a graph is to take about as long
KERNEL_US = 2
BYTES_PER_US = 4e6
LONGEST_CALL_US = 250_000  # what takes longer is not measured


def sets_of(op, case, l2_bytes=60 << 20):
    """So many sets of arrays that none is in L2 when its turn comes, but no more than calls may be in a graph."""
    most = max(MOST_KERNELS // op["kernels"], 2)
    return min(max(3 * l2_bytes // case["bytes"] + 1, 2), most)


def calls_of(op, case, sets):
    """Calls in a graph, each set as often as every other."""
    wanted = max(4, int(GRAPH_US / (KERNEL_US * op["kernels"] + case["bytes"] / BYTES_PER_US)))
    return -(-wanted // sets) * sets


@dataclasses.dataclass
class Effort:
    """How often a call is made that takes so long, from rest to rest. What is slow is called less often, so
    that it does not take the time of other cases."""

    call_us: float

    def calls(self, milliseconds, least, most):
        return int(min(max(1e3 * milliseconds / self.call_us, least), most))

    def in_graph(self, calls, sets):
        """At most so many as the rule for all systems says, and a multiple of the sets."""
        return -(-self.calls(100, 4, calls) // sets) * sets

    def in_stream(self):
        return self.calls(20, 3, 50)

    def one_by_one(self):
        return self.calls(100, 5, 200)

    def together(self):
        return self.calls(200, 5, 1000)


def repeats():
    """Numbers of repeats, of which the first is not counted: ten, or four and as many as half a second has."""
    start = time.perf_counter()
    for repeat in range(10):
        if repeat > 3 and time.perf_counter() - start > 0.5:
            return
        yield repeat


def quartiles(times):
    if not times:
        return None
    ordered = sorted(times)
    if len(ordered) == 1:
        return {"lower": ordered[0], "median": ordered[0], "upper": ordered[0]}
    lower, median, upper = statistics.quantiles(ordered, n=4, method="inclusive")
    return {"lower": lower, "median": median, "upper": upper}
