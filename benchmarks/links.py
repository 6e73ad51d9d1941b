"""Links of `OrdinalGP`: what an evaluation costs, and where each predicts better.

    python benchmarks/links.py [cost] [pays]

``cost``: processor time of one evaluation of EP's evidence over probit's, and evaluations of a
whole fit; smooth functions of eight features in five levels. ``pays``: log scores on 1000 clean
rows after 200, smooth functions of three features in five levels, five seeds: with normal noise
and some labels moved to the far end, and with Gumbel noise.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from ordinality import OrdinalGP
from ordinality.datasets import smooth_ordinal

LINKS = ("probit", "logit", "cloglog", "loglog", "student")
ROWS, LEVELS, SEEDS = 200, 5, 5


def evaluation_time(model: OrdinalGP, repeats: int) -> float:
    """Least processor time of an evaluation at the fit, from no sites."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        model.log_evidence(eval_gradient=True)
        times.append(time.process_time() - start)
    return min(times)


def cost() -> None:
    """Print the cost of an evaluation of each link."""
    print("   n  link      ms     ratio  evaluations")
    for n in (200, 500, 1000):
        data = smooth_ordinal(n, 5, d=8, noise=0.3, seed=1)
        base = np.nan
        for link in LINKS:
            model = OrdinalGP(link=link, coarse_to_fine=False).fit(data.X, data.y)
            spent = 1e3 * evaluation_time(model, 2000 // n + 3)
            base = spent if link == "probit" else base
            print(f"{n:4d}  {link:8s} {spent:7.1f} {spent / base:6.2f}  {model.n_iter_}")


Draw = Callable[[np.random.Generator, int], np.ndarray]


def problem(
    seed: int, noise: float, draw: Draw, outliers: float
) -> tuple[np.ndarray, np.ndarray]:
    """Rows and levels, the first ``ROWS`` with a share of labels moved to the far end."""
    rng, n = np.random.default_rng(seed), ROWS + 1000
    X = rng.normal(size=(n, 3))
    waves, phase = rng.normal(size=(3, 60)) / 1.5, rng.uniform(0.0, 2.0 * np.pi, 60)
    f = np.sqrt(2.0 / 60) * np.cos(X @ waves + phase) @ rng.normal(size=60)
    z = f + noise * draw(rng, n)
    y = np.digitize(z, np.quantile(z, np.arange(1, LEVELS) / LEVELS))
    far = rng.choice(ROWS, round(outliers * ROWS), replace=False)
    y[far] = np.where(y[far] < LEVELS // 2, LEVELS - 1, 0)
    return X, y


def log_score(link: str, X: np.ndarray, y: np.ndarray) -> float:
    """Of a model of the first rows, on the others."""
    model = OrdinalGP(link=link).fit(X[:ROWS], y[:ROWS])
    proba = model.predict_level_proba(X[ROWS:])
    return float(-np.mean(np.log(proba[np.arange(len(proba)), y[ROWS:]])))


def pays() -> None:
    """Print mean log scores, and their differences from logit with paired standard errors."""

    def normal(rng: np.random.Generator, n: int) -> np.ndarray:
        return rng.normal(size=n)

    def gumbel(rng: np.random.Generator, n: int) -> np.ndarray:
        return np.log(rng.exponential(size=n))

    cases = {
        "Gumbel noise": (("cloglog", "loglog"), 0.5, gumbel, 0.0),
        "10 % outliers": (("student",), 0.15, normal, 0.1),
        "5 % outliers": (("student",), 0.15, normal, 0.05),
        "no outliers": (("student",), 0.15, normal, 0.0),
    }
    for name, (special, *case) in cases.items():
        links = ("probit", "logit", *special)
        problems = [problem(seed, *case) for seed in range(SEEDS)]
        scores = {link: np.array([log_score(link, *p) for p in problems]) for link in links}
        print(name)
        for link, score in scores.items():
            gap = score - scores["logit"]
            error = gap.std(ddof=1) / np.sqrt(SEEDS)
            wins = int(np.sum(gap < 0.0))
            print(
                f"    {link:8s} {score.mean():.3f} {gap.mean():+.3f} +- {error:.3f} {wins}",
                flush=True,
            )


if __name__ == "__main__":
    chosen = sys.argv[1:] or ["cost", "pays"]
    for name in chosen:
        {"cost": cost, "pays": pays}[name]()
