"""A peer: what it must do to be measured. Its functions that it lacks throw Missing."""

import time


class Missing(Exception):
    """A system cannot do this, for a reason that is reported."""


class NotRun(Exception):
    """It would take too much memory or time."""


class Wrong(Exception):
    """A result is not what the formula says."""


class System:
    """One of the peers. Functions that it lacks throw Missing."""

    name = "?"
    version = "?"
    device_name = ""
    unsupported = {}  # dtype: why not
    fuses = False  # what is to be several launches becomes one

    def arrays(self, inputs):
        """Device arrays of contents.Inputs, as a dict."""
        raise NotImplementedError

    def function(self, op, case):
        """A function of such a dict to a dict of results."""
        raise NotImplementedError

    def to_numpy(self, array):
        raise NotImplementedError

    def synchronize(self):
        raise NotImplementedError

    def try_device(self):
        """Throws once the device no longer works."""

    def elapsed_us(self, work):
        """Of `work()`, between two events of the device; here by the clock of the host, from rest."""
        self.synchronize()
        start = time.perf_counter()
        work()
        self.synchronize()
        return 1e6 * (time.perf_counter() - start)

    def captured(self, call, calls):
        """A function that launches a CUDA Graph of so many calls."""
        raise Missing(f"{self.name} cannot be captured into a CUDA Graph")

    def copy_call(self, case_bytes, sets):
        """A function of the number of a call that copies half of the bytes, or None."""
        return None

    def judged_on_device(self, op, case, dtypes, arrays, function):
        """As worst_error, by a float64 computation of the system's own; None where it has none."""
        return None

    def free_bytes(self):
        return None

    def l2_bytes(self):
        return 60 << 20

    def release(self):
        """After each case."""
