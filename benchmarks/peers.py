"""A whole default fit of `OrdinalGP` against the Gaussian-process ordinal models of others.

    python benchmarks/peers.py
    python benchmarks/peers.py --rows 200 500 --only ordinality,probit

Every method fits the same rows, in a process of its own and in the environment it asks for,
which is made under ``benchmarks/.envs`` the first time. Finished rows are kept in
``benchmarks/results/peers.jsonl``: a run that was stopped goes on where it was. The table goes
to stdout, the talk to stderr.

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
from pathlib import Path

import numpy as np
from problems import Problem, smooth_ordinal

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "peers.jsonl"
OURS = "ordinality"
KEY = ("method", "version", "n", "levels", "seed", "threads")
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

    @property
    def version(self) -> str:
        return self.packages[0].partition("==")[2] if self.packages else our_version()

    def python(self) -> str:
        """The interpreter to run the worker with, its environment made if need be."""
        if not self.packages:
            return sys.executable
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
    done = {} if args.fresh else finished(args.limit)
    rows = []
    for levels in args.levels:
        for n in args.rows:
            problem = smooth_ordinal(n, levels, seed=args.seed)
            for method in args.only:
                key = (method, METHODS[method].version, n, levels, args.seed, args.threads)
                row = done.get(key) or measure(key, problem, args.limit)
                rows.append(row)
    print(table(rows))


def measure(key: tuple, problem: Problem, limit: float) -> dict:
    """Fit one method to one problem; the row is kept at once, unless the worker failed."""
    row = dict(zip(KEY, key, strict=True)) | {"floor": problem.floor}
    python = METHODS[row["method"]].python()
    say("{method} {version}, {n} rows, {levels} levels ...".format(**row), end=" ")
    try:
        row |= run(python, row["method"], problem, limit)
    except subprocess.TimeoutExpired:
        row |= {"over": limit}
    except subprocess.CalledProcessError as failure:
        say("failed:\n" + "\n".join(failure.stderr.splitlines()[-5:]))
        return row
    say(f"{shown(row, 'seconds')} s, NLPL {shown(row, 'nlpl')}")
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("a") as file:
        file.write(json.dumps(row) + "\n")
    return row


def run(python: str, method: str, problem: Problem, limit: float) -> dict:
    """What the method's worker reports of `problem`."""
    spec, env = METHODS[method], dict(os.environ)
    if spec.packages:
        env.pop("PYTHONPATH", None)  # theirs is a world of its own
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "problem.npz"), Path(folder, "result.json")
        np.savez(source, **problem._asdict())
        subprocess.run(
            [python, HERE / spec.worker, method, source, target],
            check=True, timeout=limit, env=env | {"PEER_STARTED": repr(time.time())},
            capture_output=True, text=True,
        )  # fmt: skip
        return json.loads(target.read_text())


def finished(limit: float) -> dict[tuple, dict]:
    """The last row of each key so far; one stopped by a shorter limit is tried again."""
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    rows = (json.loads(line) for line in lines)
    return {
        tuple(row[part] for part in KEY): row for row in rows if row.get("over", limit) >= limit
    }


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


def say(text: str, end: str = "\n") -> None:
    print(text, end=end, file=sys.stderr, flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add: Callable = parser.add_argument
    add("--only", type=methods, default=list(METHODS), help="methods, with commas between")
    add("--rows", type=int, nargs="+", default=[200, 500, 1000, 2000], help="training rows")
    add("--levels", type=int, nargs="+", default=[5, 10])
    add("--seed", type=int, default=0, help="of the data")
    add("--threads", type=int, default=2, help="cores for every method")
    add("--limit", type=float, default=600.0, help="seconds for one worker, all told")
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
