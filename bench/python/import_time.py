#!/usr/bin/env python3
"""Measures the time of `import sinter`: new processes with and without it, in turn.

Prints the median, the fastest and the slowest time that the import adds, in milliseconds. The exit code is 1 if
the median is above 50 ms. The first runs, which read files from disk, are not counted.
"""
import argparse
import statistics
import subprocess
import sys
import time

MOST_MS = 50
WARM_UP = 3


def milliseconds(program: str) -> float:
    """The time of one process."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True)
    return 1e3 * (time.perf_counter() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="?", type=int, default=30, help="runs of each; 30 by default")
    runs = parser.parse_args().runs
    added = [milliseconds("import sinter") - milliseconds("pass") for _ in range(WARM_UP + runs)][WARM_UP:]
    median = statistics.median(added)
    print(f"import sinter: {median:.1f} ms (from {min(added):.1f} to {max(added):.1f}), {runs} runs, "
          f"Python {sys.version.split()[0]}")
    sys.exit(median > MOST_MS)


main()
