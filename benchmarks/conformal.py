"""Prediction sets on 20 data sets: coverage, and size beside MAPIE's scores.

    python benchmarks/conformal.py [--splits 10] [--first 0] [--peer .../python]

Needs the data folder (ORDINALITY_DATA). Each split has half of the rows to learn from (a
multinomial logistic regression), a quarter to calibrate and a quarter to test. `--peer` names a
Python that has MAPIE; it gets the same probabilities (`peer_mapie.py`), and the columns hold
its coverage, mean size, and in brackets the size with gaps filled. `within` counts the splits
whose hits are not below the 0.001 quantile of their Beta-binomial distribution.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import warnings
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy.stats import betabinom
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ordinality import OrdinalConformal
from ordinality.datasets import equal_frequency, load

OWN = (
    "affairs", "automobile", "balance_scale", "car", "era", "esl", "heart_cleveland",
    "housing_satisfaction", "skillcraft", "tae", "wesdr_retinopathy", "winequality_white",
)  # fmt: skip
CUT = (
    "abalone", "auto_mpg", "bank8fm", "boston_housing", "cpu_small", "machine_cpu", "stocks",
    "house_8l",
)  # fmt: skip


def rows(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features, and ranks: the set's own levels, or five of equal frequency."""
    whole = load(f"{'regression' if name in CUT else 'ordinal'}/{name}")
    y = equal_frequency(whole.y, 5) if name in CUT else whole.y
    keep = np.random.default_rng(0).permutation(len(y))[:4000]
    return whole.X[keep], np.unique(y, return_inverse=True)[1][keep]


def fitted(
    X: np.ndarray, y: np.ndarray, number: int, coverage: float, conformity: str = "mass"
):
    """Sets of the test rows, and the probabilities and ranks of calibration and test rows."""
    order = np.random.default_rng(number).permutation(len(y))
    rest, test = np.split(order, [3 * len(y) // 4])
    inner = make_pipeline(
        SimpleImputer(strategy="median"), StandardScaler(), LogisticRegression(max_iter=1000)
    )
    model = OrdinalConformal(
        inner, coverage, method="split", calibration_fraction=1 / 3, random_state=number,
        levels=range(y.max() + 1), conformity=conformity,
    ).fit(X[rest], y[rest])  # fmt: skip
    # The rows that it has set aside, drawn as it draws them.
    rng = np.random.default_rng(np.random.RandomState(number).randint(2**31))
    aside = rest[np.sort(rng.permutation(len(rest))[: round(len(rest) / 3)])]
    assert len(aside) == model.n_calibration_.sum()
    proba = [np.zeros((len(at), y.max() + 1)) for at in (aside, test)]
    for found, at in zip(proba, (aside, test), strict=True):
        found[:, model.estimator_.classes_] = model.estimator_.predict_proba(X[at])
    return model.predict_set(X[test]), (proba[0], y[aside], proba[1], y[test])


def peer(python: str, parts, coverage: float) -> dict:
    names = ("calibration", "y_calibration", "test", "y_test")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npz"
        np.savez(path, coverage=coverage, **dict(zip(names, parts, strict=True)))
        script = str(Path(__file__).with_name("peer_mapie.py"))
        run = subprocess.run([python, script, str(path)], capture_output=True, check=True)
    return json.loads(run.stdout)


def measured(name: str, numbers: range, coverage: float, own: str, python: str | None) -> str:
    """A line of the table."""
    (X, y), splits = rows(name), len(numbers)
    hits, sizes, within, theirs = 0, [], [], []
    n = n_test = 0
    for number in numbers:
        ends, parts = fitted(X, y, number, coverage, own)
        held = (ends[:, 0] <= parts[3]) & (parts[3] <= ends[:, 1])
        hits, n, n_test = hits + held.sum(), len(parts[1]), len(parts[3])
        sizes.append(np.mean(ends[:, 1] - ends[:, 0] + 1))
        k = int(np.ceil((n + 1) * coverage - 1e-9))
        # At least Beta-binomial, given so many calibration rows; ties only add.
        enough = k <= n  # otherwise every set is all levels
        least = betabinom.ppf(0.001, n_test, k, n + 1 - k) if enough else n_test
        within.append(held.sum() >= least)
        if python is not None:
            theirs.append(peer(python, parts, coverage))
    cells = [name, f"{y.max() + 1}", f"{n}", f"{hits / (splits * n_test):.3f}"]
    cells += [f"{sum(within)} of {splits}", f"{np.mean(sizes):.3f}"]
    for score in ("lac", "aps", "top_k") if theirs else ():
        mean = {k: np.mean([one[score][k] for one in theirs]) for k in theirs[0][score]}
        cells.append("{coverage:.3f}, {size:.3f} ({filled:.3f})".format(**mean))
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="number of the first split")
    parser.add_argument("--conformity", default="mass", help="mass or density")
    parser.add_argument("--peer", help="a Python that has MAPIE")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    numbers = range(args.first, args.first + args.splits)
    for coverage in (0.9, 0.8, 0.95):
        theirs = args.peer if coverage == 0.9 else None
        print(f"\nasked for: {coverage}\n")
        print("| data | levels | calibration rows | coverage | within | size |", end="")
        print(" lac | aps | top_k |" if theirs else "")
        print("|---|" + "--:|" * (8 if theirs else 5))
        for name in (*OWN, *CUT):
            print(measured(name, numbers, coverage, args.conformity, theirs), flush=True)


if __name__ == "__main__":
    main()
