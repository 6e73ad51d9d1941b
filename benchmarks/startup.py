"""What a process pays before and around a fit: imports, compiled code, threads.

    python benchmarks/startup.py

Imports: seconds that `from ordinality import OrdinalGP` adds to `import sklearn.base`. Fits: a
whole new process (start, imports, loading compiled code, fit) over the same fit in a warm
process, for the default and for the direct search; and the warm fit with one and two BLAS
threads. Compiled code is in numba's cache, as after any first use.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

IMPORT = """
import time
began = time.perf_counter()
import sklearn.base
between = time.perf_counter()
from ordinality import OrdinalGP
print(time.perf_counter() - between, between - began)
"""

FIT = """
import sys, time
import numpy as np
from ordinality import OrdinalGP

n, direct, repeats = int(sys.argv[1]), sys.argv[2] == "direct", int(sys.argv[3])
rng = np.random.default_rng(0)
X = rng.normal(size=(n, 8))
hidden = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.normal(size=n)
y = np.digitize(hidden, [-0.8, -0.2, 0.3, 0.9])
seconds = []
for _ in range(repeats):
    began = time.perf_counter()
    model = OrdinalGP(coarse_to_fine=not direct).fit(X, y)
    seconds.append(time.perf_counter() - began)
print(min(seconds[1:] or seconds), model.fit_.path)
"""


def python(code: str, *arguments: object, threads: int | None = None) -> tuple[float, str]:
    """Seconds of a new process and what it printed."""
    environment = dict(os.environ)
    if threads is not None:
        environment["OPENBLAS_NUM_THREADS"] = str(threads)
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True, text=True, check=True, env=environment,
    )  # fmt: skip
    return time.perf_counter() - began, done.stdout.strip()


def main() -> None:
    ours, theirs = min(tuple(map(float, python(IMPORT)[1].split())) for _ in range(5))
    print(f"OrdinalGP: {ours:.3f} s over the {theirs:.3f} s of sklearn.base (bar 0.2)\n")
    print("| n | search | evaluations | cold s | warm s | ratio | warm, 1 thread | 2 threads |")
    print("|---|---|---|---|---|---|---|---|")
    for n in (200, 500, 1000, 2000):
        for search in ("default", "direct"):
            python(FIT, n, search, 1)
            cold = min(python(FIT, n, search, 1)[0] for _ in range(2))
            warm, path = python(FIT, n, search, 3)[1].split(maxsplit=1)
            by_threads = [
                float(python(FIT, n, search, 3, threads=t)[1].split()[0]) for t in (1, 2)
            ]
            print(
                f"| {n} | {search} | {path} | {cold:.2f} | {float(warm):.2f} | "
                f"{cold / float(warm):.2f} | {by_threads[0]:.2f} | {by_threads[1]:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
