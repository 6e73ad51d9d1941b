"""Random problems of every awkward kind: does a default fit always end well?

    python benchmarks/stress.py                          the first 500 problems, OrdinalGP
    python benchmarks/stress.py 500 1000                 others
    python benchmarks/stress.py 0 300 --least-squares    LeastSquaresOrdinalGP

Few rows and many levels, repeated rows with contradicting labels, columns that never vary, a
level seen once, units sixteen orders of magnitude apart, and noise from almost none to more
than the signal, both in the data and as the value where learning starts. What goes wrong is
told to stderr as it happens, with the seed that shows it again; the summary goes to stdout.
"""

import argparse
import sys
import time
import traceback
import warnings
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from ordinality import LeastSquaresOrdinalGP, OrdinalGP
from ordinality.kernels import Gaussian


class Case(NamedTuple):
    model: OrdinalGP | LeastSquaresOrdinalGP
    X: np.ndarray  # (n, d)
    y: np.ndarray  # (n,) levels from 0, some perhaps unseen
    new: np.ndarray  # (m, d) rows to predict, among them distant ones


class Outcome(NamedTuple):
    faults: list[str]  # what must never happen
    unsettled: int  # ConvergenceWarnings: what may, rarely
    seconds: float


def draw(seed: int, least_squares: bool = False) -> Case:
    """The problem of this seed: the same rows for both models where the engine allows it."""
    rng = np.random.default_rng(seed)
    inference = str(rng.choice(["ep", "laplace", "variational"], p=[0.85, 0.1, 0.05]))
    link = str(rng.choice(["probit", "logit"], p=[0.92, 0.08]))
    by_quadrature = inference == "variational" or (inference, link) == ("ep", "logit")
    most = (
        30 if by_quadrature and not least_squares else 150
    )  # integrals by quadrature are a hundred times slower
    n_levels, n, d = rng.integers(2, 11), rng.integers(5, most + 1), rng.integers(1, 7)
    X = _features(rng, n, d)
    y = _labels(rng, X, n_levels)
    X = X * _log_uniform(rng, 1e-8, 1e8, d)
    kernel = Gaussian(np.full(d, np.sqrt(d))) if rng.random() < 0.2 else None
    noise = float(_log_uniform(rng, 1e-3, 3.0))
    levels = None if rng.random() < 0.8 else range(y.max() + 2)  # the highest never seen
    if least_squares:
        slope = float(_log_uniform(rng, 0.05, 50.0))
        kernel = None if kernel is None else 1.0 * kernel
        model = LeastSquaresOrdinalGP(kernel, noise=noise, slope=slope, levels=levels)
    else:
        model = OrdinalGP(kernel, inference=inference, link=link, noise=noise, levels=levels)
    far = X[rng.integers(n, size=10)] * _log_uniform(rng, 0.1, 100.0, (10, 1))
    return Case(model, X, y, np.concatenate([X, far]))


def _features(rng, n, d):
    X = rng.normal(size=(n, d))
    if rng.random() < 0.3:
        X = X[rng.integers(n, size=n)]  # a third of the rows are copies
    if rng.random() < 0.2:
        X[:, rng.integers(d)] = rng.choice([0.0, 1.0, 1e6 + 0.1])
    if rng.random() < 0.2:
        X = np.round(X)
    return X


def _labels(rng, X, n_levels):
    """Levels of a wavy function seen through noise; at least two are seen."""
    n, d = X.shape
    f = X[:, 0] + np.sin(X @ rng.normal(size=d))
    f = f + _log_uniform(rng, 1e-3, 3.0) * rng.normal(size=n)
    shares = rng.dirichlet(np.full(n_levels, rng.choice([0.5, 100.0])))  # uneven or even
    y = np.searchsorted(np.cumsum(shares)[:-1], (np.argsort(np.argsort(f)) + 0.5) / n)
    if rng.random() < 0.2:
        y[rng.integers(n)] = y.max() + 1  # a level seen once
    if y.min() == y.max():
        y[0] += 1
    return y - y.min()


def _log_uniform(rng, low, high, size=None):
    return np.exp(rng.uniform(np.log(low), np.log(high), size))


def run(case: Case) -> Outcome:
    """Fit, predict, and name everything that is not as it must be."""
    begun = time.perf_counter()
    # Threads of BLAS only wait for each other on matrices this small.
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(1, "blas"):
        warnings.simplefilter("always")
        try:
            faults = _faults(case.model.fit(case.X, case.y), case.new)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            faults = [f"{type(error).__name__} in {where.name}: {error}"]
    unsettled = [w for w in caught if issubclass(w.category, ConvergenceWarning)]
    # Noise far below the gaps is what Laplace cannot do: that it says so is no fault.
    told = [w for w in caught if "Laplace's evidence" in str(w.message)]
    known = [*unsettled, *told]
    faults += [f"{w.category.__name__}: {w.message}" for w in caught if w not in known]
    return Outcome(faults, len(unsettled), time.perf_counter() - begun)


def _faults(model, new):
    mean, variance = model.predict_latent(new)
    numbers = {
        "probabilities": model.predict_level_proba(new),
        "leave-one-out": model.loo_proba_,
        "latent mean": mean,
        "latent variance": variance,
        "thresholds": model.thresholds_,
        "kernel": model.kernel_.theta,
        "noise": model.noise_,
        "criterion": _criterion(model),
    }
    faults = [f"{name} not finite" for name, x in numbers.items() if not np.all(np.isfinite(x))]
    for name in ("probabilities", "leave-one-out"):
        proba = numbers[name]
        if np.any(proba < 0) or np.any(np.abs(proba.sum(axis=1) - 1) > 1e-12):
            faults.append(f"{name} do not sum to one")
    if np.any(np.diff(model.thresholds_) <= 0):
        faults.append(f"thresholds do not increase: {model.thresholds_}")
    added = model.noise_**2 if isinstance(model, LeastSquaresOrdinalGP) else 0.0
    if np.any(variance < added):
        faults.append("latent variance below zero")
    if np.any(variance > (model.kernel_.diag(model._scaling(new)) + added) * (1 + 1e-9)):
        faults.append("latent variance above the prior's")
    if _criterion(model) > 0:
        faults.append(f"log probability above zero: {_criterion(model)}")
    return faults


def _criterion(model):
    least_squares = isinstance(model, LeastSquaresOrdinalGP)
    return model.loo_log_score_ if least_squares else model.log_evidence_


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Fit random problems and count what goes wrong."
    )
    parser.add_argument("first", type=int, nargs="?", default=0)
    parser.add_argument("end", type=int, nargs="?", default=500)
    parser.add_argument("--least-squares", action="store_true")
    options = parser.parse_args()
    outcomes = {}
    for seed in range(options.first, options.end):
        case = draw(seed, options.least_squares)
        outcomes[seed] = outcome = run(case)
        if outcome.faults or outcome.unsettled:
            print(f"{seed}: {case.model}, {len(case.y)} rows", file=sys.stderr)
            for fault in outcome.faults or ["not settled"]:
                print(f"    {fault}", file=sys.stderr, flush=True)
    report(outcomes)


def report(outcomes: dict[int, Outcome]) -> None:
    n = len(outcomes)
    faulty = [seed for seed, outcome in outcomes.items() if outcome.faults]
    unsettled = [seed for seed, outcome in outcomes.items() if outcome.unsettled]
    seconds = np.array([outcome.seconds for outcome in outcomes.values()])
    slowest = max(outcomes, key=lambda seed: outcomes[seed].seconds)
    print(f"{n} problems in {seconds.sum():.0f} s; median {1e3 * np.median(seconds):.0f} ms")
    print(f"slowest: {seconds.max():.1f} s, seed {slowest}")
    print(f"faulty: {len(faulty)} {faulty}")
    print(f"not settled: {len(unsettled)} ({len(unsettled) / n:.2%}) {unsettled}")


if __name__ == "__main__":
    main()
