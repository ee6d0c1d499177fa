"""The interface of a peer, and the reasons for which a case has no time."""

import time


class Missing(Exception):
    """The system cannot do this; the reason is reported."""


class NotRun(Exception):
    """The case would take too much memory or time."""


class Wrong(Exception):
    """A result differs from the formula's."""


class System:
    """A peer. Functions that a peer does not support raise Missing."""

    name = "?"
    version = "?"
    device_name = ""
    unsupported = {}  # dtype: reason
    fuses = False  # True if the system fuses ops that must be separate launches

    def arrays(self, inputs):
        """Device arrays for a list of contents.Input, as a dict by name."""
        raise NotImplementedError

    def function(self, op, case):
        """A function that maps such a dict to a dict of results."""
        raise NotImplementedError

    def to_numpy(self, array):
        raise NotImplementedError

    def synchronize(self):
        raise NotImplementedError

    def try_device(self):
        """Raises an exception if the device no longer works."""

    def elapsed_us(self, work):
        """The time of `work()`. Subclasses use two device events; this version uses the host clock, starts with an
        idle device and includes a wait."""
        self.synchronize()
        start = time.perf_counter()
        work()
        self.synchronize()
        return 1e6 * (time.perf_counter() - start)

    def captured(self, call, calls):
        """A function that launches a CUDA Graph of `calls` calls."""
        raise Missing(f"{self.name} cannot be captured into a CUDA Graph")

    def copy_call(self, case_bytes, sets):
        """A function of the call's index that copies half of the bytes, or None."""
        return None

    def worst_error_on_device(self, op, case, dtypes, arrays, function):
        """The worst error as in checking.worst_error, from a float64 computation by the system; None if it has none."""
        return None

    def free_bytes(self):
        return None

    def l2_bytes(self):
        return 60 << 20

    def release(self):
        """Frees memory after each case."""
