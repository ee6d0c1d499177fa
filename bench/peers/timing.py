"""The numbers of sets, calls and repeats; bench/README.md describes the rules."""

import dataclasses
import statistics
import time

MAX_KERNELS = 4096  # in a graph; bench/suite/graph_size.h has the same four constants
GRAPH_US = 2000  # the intended duration of a graph
KERNEL_US = 2
BYTES_PER_US = 4e6
MAX_CALL_US = 250_000  # slower cases are not measured


def sets_of(op, case, l2_bytes=60 << 20):
    """The number of sets of arrays that calls use in turn, so that no set is in L2 when it is used again. At most as
    many as calls fit into a graph."""
    most = max(MAX_KERNELS // op["kernels"], 2)
    return min(max(3 * l2_bytes // case["bytes"] + 1, 2), most)


def calls_of(op, case, sets):
    """The number of calls in a graph, a multiple of `sets`."""
    wanted = max(4, int(GRAPH_US / (KERNEL_US * op["kernels"] + case["bytes"] / BYTES_PER_US)))
    return -(-wanted // sets) * sets


@dataclasses.dataclass
class CallCounts:
    """The numbers of calls for a call that takes `call_us` on an idle device. Slow calls are made less often, so that
    they do not exhaust the time budget."""

    call_us: float

    def calls(self, milliseconds, least, most):
        return int(min(max(1e3 * milliseconds / self.call_us, least), most))

    def in_graph(self, calls, sets):
        """At most `calls`, the number by the rule for all systems, rounded up to a multiple of the sets."""
        return -(-self.calls(100, 4, calls) // sets) * sets

    def in_stream(self):
        return self.calls(20, 3, 50)

    def one_by_one(self):
        return self.calls(100, 5, 200)

    def together(self):
        return self.calls(200, 5, 1000)


def repeats():
    """Indices of repeats, the first of which is not counted: ten, or at least four if they take half a second."""
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
