"""A whole default fit of `OrdinalGP` against the Gaussian-process ordinal models of others.

    python benchmarks/peers.py
    python benchmarks/peers.py --rows 200 500 --only ordinality,probit

Every method fits the same rows, in a process of its own and in the environment it asks for,
which is made under ``benchmarks/.envs`` the first time. Finished rows are kept: a run that was
stopped goes on where it was. The table goes to stdout, progress to stderr.

Seconds are counted three times, for every method alike: the fit without what it spent on
compiling and loading code; the first fit of a new process, with all of that; and the process
from its start to the end of that fit, imports included.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from bench import benchmark, compute, rows, say

from ordinality import experiments
from ordinality.datasets import SmoothProblem, smooth_ordinal

HERE = Path(__file__).parent
OURS = "ordinality"
COLUMNS = ("seconds", "cpu_seconds", "seconds_with_compiling", "seconds_of_process", "nlpl")

PROBIT = (
    "probit==0.0.2",
    "jax==0.10.2",  # it leaves the choice of jax to its user
    "jaxopt==0.8.5",
)
GPFLOW = (
    "gpflow==2.11.2",
    "tensorflow==2.19.1",  # the ordinal likelihood is not a number under 2.21
    "tensorflow-probability==0.25.0",  # made for that one, as is the next
    "tf-keras==2.19.0",
)


@dataclass(frozen=True)
class Method:
    """A worker script, and the packages its environment holds; none: this very Python."""

    worker: str
    packages: tuple[str, ...] = ()
    interpreter: str = ""  # one that has the packages; none: that of an environment made here

    @property
    def version(self) -> str:
        if not self.packages:
            return our_version()
        name, _, pinned = self.packages[0].partition("==")
        if not self.interpreter:
            return pinned
        ask = f"from importlib.metadata import version; print(version({name!r}))"
        found = subprocess.run([self.interpreter, "-c", ask], check=True, capture_output=True)
        return found.stdout.decode().strip()

    def python(self) -> str:
        """The interpreter to run the worker with, its environment made if need be."""
        if self.interpreter or not self.packages:
            return self.interpreter or sys.executable
        folder = HERE / ".envs" / self.packages[0].partition("==")[0]
        python, receipt = folder / "bin" / "python", folder / "packages.txt"
        wanted = "\n".join(self.packages)
        if not receipt.exists() or receipt.read_text() != wanted:
            say(f"making the environment {folder.name} ...")
            subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
            subprocess.run([python, "-m", "pip", "install", "-qq", *self.packages], check=True)
            receipt.write_text(wanted)  # last: an interrupted installation is made anew
        return str(python)


METHODS = {
    OURS: Method("peer_ordinality.py"),
    "probit": Method("peer_probit.py", PROBIT),
    "gpflow-vgp": Method("peer_gpflow.py", GPFLOW),
    "gpflow-vgp-natgrad": Method("peer_gpflow.py", GPFLOW),
    "gpflow-svgp": Method("peer_gpflow.py", GPFLOW),
}


def main() -> None:
    args = arguments()
    hold_to(args.threads)
    warn_if_busy()
    sizes = [f"{n} rows, {levels} levels" for levels in args.levels for n in args.rows]
    spec = benchmark(
        "peers", "A default fit of OrdinalGP beside the models of others",
        sets=tuple(sizes), partitions=args.seed + 1, problem=drawn, metrics=COLUMNS,
        methods=tuple(
            experiments.Method(name, name, partial(measured, name=name, limit=args.limit),
                               {"version": METHODS[name].version, "threads": args.threads})
            for name in args.only
        ),
    )  # fmt: skip
    cells = list(spec.cells(partitions=[args.seed + 1]))
    compute(spec, cells, retry=True, fresh=args.fresh)
    # What a shorter limit has stopped is tried again.
    stopped = [r for r in rows(spec, cells) if r.get("over", args.limit) < args.limit]
    again = {(r["set"], r["method"]) for r in stopped}
    compute(spec, [c for c in cells if (c.set, c.method) in again], fresh=True)
    print(table(rows(spec, cells)))


def drawn(size: str, number: int) -> SmoothProblem:
    """The problem of a size such as "200 rows, 5 levels"; seeds are counted from 0."""
    n, _, levels, _ = size.split()
    problem = smooth_ordinal(int(n), int(levels), seed=number - 1)
    # The peers take levels from 0.
    return problem._replace(y=problem.y - 1, y_test=problem.y_test - 1)


def measured(
    problem: SmoothProblem, seed: int, name: str, limit: float, version: str, threads: int
) -> dict:
    """Fit one method to one problem, in a process of its own."""
    row = {"n": len(problem.y), "levels": int(problem.y_test.max()) + 1, "floor": problem.floor}
    try:
        return row | worked(METHODS[name], name, problem, limit)
    except subprocess.TimeoutExpired:
        return row | {"over": limit}


def worked(method: Method, name: str, problem, limit: float | None = None) -> dict:
    """What the method's worker reports of a problem."""
    env, python = dict(os.environ), method.python()
    if method.packages:
        env.pop("PYTHONPATH", None)  # nothing of ours in their environment
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "problem.npz"), Path(folder, "result.json")
        np.savez(source, **problem._asdict())
        try:
            subprocess.run(
                [python, HERE / method.worker, name, source, target],
                check=True, timeout=limit, env=env | {"PEER_STARTED": repr(time.time())},
                capture_output=True, text=True,
            )  # fmt: skip
        except subprocess.CalledProcessError as failure:
            raise RuntimeError("\n".join(failure.stderr.splitlines()[-5:])) from failure
        return json.loads(target.read_text())


def table(rows: list[dict]) -> str:
    """Markdown: a line for each row, its seconds also as a multiple of ours."""
    ours = {(r["n"], r["levels"]): r.get("seconds") for r in rows if r["method"] == OURS}
    lines = [
        "| n | K | method | fit, s | processor, s | first fit, s | process, s | NLPL | "
        "times ours |",
        "|--:|--:|:--|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        base, own = ours.get((row["n"], row["levels"])), row.get("seconds")
        ratio = f"{own / base:.3g}" if own and base else ""
        cells = [row["n"], row["levels"], f"{row['method']} {row['version']}"]
        cells += [shown(row, field) for field in COLUMNS] + [ratio]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    floors = {row["levels"]: row["floor"] for row in rows}
    known = ", ".join(f"{floor:.4f} for K = {levels}" for levels, floor in floors.items())
    return "\n".join([*lines, "", f"NLPL of one who knows the function: {known}."])


def shown(row: dict, field: str) -> str:
    if field in row:
        return f"{row[field]:.4f}" if field == "nlpl" else f"{row[field]:.2f}"
    if field == "nlpl" or (field == "seconds_of_process" and "seconds" in row):
        return ""  # rows kept before that column was there
    return f"> {row['over']:g}" if "over" in row else "failed"


def hold_to(threads: int) -> None:
    """Let every process started from here use this many cores and no more."""
    for library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
        os.environ[f"{library}_NUM_THREADS"] = str(threads)
    for pool in ("INTRAOP", "INTEROP"):
        os.environ[f"TF_NUM_{pool}_THREADS"] = str(threads)
    if hasattr(os, "sched_setaffinity"):  # XLA heeds none of these, only what it may run on
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def warn_if_busy() -> None:
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    if load > 0.5:
        say(
            f"The machine is busy: {load:.1f} processes ran over the last minute, and these "
            "seconds will be too many. Run it again with --fresh when it is quiet."
        )


def our_version() -> str:
    from ordinality import __version__

    return __version__


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add: Callable = parser.add_argument
    add("--only", type=methods, default=list(METHODS), help="methods, with commas between")
    add("--rows", type=int, nargs="+", default=[200, 500, 1000, 2000], help="training rows")
    add("--levels", type=int, nargs="+", default=[5, 10])
    add("--seed", type=int, default=0, help="of the data")
    add("--threads", type=int, default=2, help="cores for every method")
    add("--limit", type=float, default=600.0, help="seconds for one worker in all")
    add("--fresh", action="store_true", help="measure again what is already in the results")
    return parser.parse_args()


def methods(text: str) -> list[str]:
    names = text.split(",")
    if unknown := set(names) - set(METHODS):
        raise argparse.ArgumentTypeError(
            f"{sorted(unknown)} not known; choose from {', '.join(METHODS)}"
        )
    return names


if __name__ == "__main__":
    main()
