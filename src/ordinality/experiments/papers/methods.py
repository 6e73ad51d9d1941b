"""The methods of the tables, each a function of a problem and a seed that gives errors.

Settings are those of the papers where they say them, else this package's defaults. Everything
heavy is imported when a cell is computed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinality.datasets import Split
from ordinality.experiments.papers.problems import Pairs

__all__ = [
    "FOLDS",
    "STEPS",
    "boosted",
    "class_shares",
    "classes_gp",
    "classes_svm",
    "comparisons_default",
    "comparisons_gp",
    "comparisons_svm",
    "folds_of",
    "ordinal_gp",
    "ordinal_svm",
    "pair_shares",
    "plsor",
    "preference_error",
    "rankings_gp",
    "rankings_svm",
    "rounded",
    "searched",
]


Errors = dict[str, Any]


ROUNDS = 2000


# Rounds at which an ensemble's errors are noted: about 20, evenly in their logarithm.
CHECKPOINTS = tuple(int(t) for t in np.unique(np.geomspace(1, ROUNDS, 22).round()))


# ------------------------------------------------------------------------------ ordered labels


def ordinal_gp(split: Split, seed: int, inference: str, **options: Any) -> Errors:
    """Gaussian process for ordinal regression."""
    from ordinality.estimators import OrdinalGP

    model = OrdinalGP(inference=inference, random_state=seed, **options)
    exact = _probable(model, split)
    narrow = _of_probabilities(_narrow_proba(model, split.X_test), model.levels_, split.y_test)
    return exact | {f"{name}_narrow": value for name, value in narrow.items()}


def _narrow_proba(model: Any, X: Any) -> NDArray[Any]:
    """Probabilities by a predictive deviation divided by the square root of two.

    Everything speaks for it that GPOR's tables were computed so: see the notes of their specs.
    """
    mean, variance = model.predict_latent(X)
    likelihood = model.fit_.likelihood
    narrow = replace(likelihood, noise=likelihood.noise / np.sqrt(2.0))
    return np.asarray(narrow.proba(mean, variance / 2.0))


def plsor(split: Split, seed: int, **options: Any) -> Errors:
    """Least-squares ordinal regression by its leave-one-out score."""
    from ordinality.estimators import LeastSquaresOrdinalGP

    return _probable(LeastSquaresOrdinalGP(random_state=seed, **options), split)


def rounded(split: Split, seed: int) -> Errors:
    """Gaussian-process regression on the labels, rounded to the nearest."""
    from ordinality.estimators import RoundedRegressor

    return _probable(RoundedRegressor(), split)


def _probable(model: Any, split: Split) -> Errors:
    """Fit and test a model that has probabilities."""
    model.fit(split.X, split.y)
    proba = model.predict_level_proba(split.X_test)
    scores = _of_probabilities(proba, model.levels_, split.y_test)
    return scores | _errors(model.predict(split.X_test), split.y_test)


def _of_probabilities(proba: NDArray[Any], levels: NDArray[Any], y: NDArray[Any]) -> Errors:
    """Errors of the most probable levels, and scores of the probabilities themselves."""
    from ordinality import metrics

    seen = np.isin(y, levels)  # a level without training rows cannot be predicted
    return {
        **_errors(levels[proba.argmax(axis=1)], y),
        "log_score": metrics.log_score(y[seen], proba[seen], levels=levels),
        "rps": metrics.ranked_probability_score(y[seen], proba[seen], levels=levels),
    }


def _errors(predicted: NDArray[Any], y: NDArray[Any]) -> Errors:
    away = np.abs(predicted - y)
    return {"zero_one": float(np.mean(away > 0)), "mae": float(np.mean(away))}


def ordinal_svm(split: Split, seed: int, constraints: str) -> Errors:
    """Support vector machine, C and kappa by the papers' search; each error by its own best.

    The papers do not say by which error five folds were judged. ``zero_one`` is of the point
    that was best by zero-one error, ``mae`` of the one best by absolute error.
    """
    from ordinality.datasets import standardised
    from ordinality.estimators import OrdinalSVM, OrdinalSVMCV

    split = standardised(split)
    lowest = min(split.y.min(), split.y_test.min())
    y, y_test = split.y - lowest, split.y_test - lowest
    given: dict[str, Any] = {
        "constraints": constraints, "standardize": False, "calibration_folds": None,
        "levels": list(range(int(max(y.max(), y_test.max())) + 1)), "random_state": seed,
    }  # fmt: skip

    def searched(error: str, **grid: Any) -> Any:
        search = OrdinalSVMCV(scoring=error, search_max_iter=STEPS, **grid, **given)
        return search.fit(split.X, y)

    first = searched("zero_one")
    results = first.cv_results_
    # Both errors of every point are known: of the search by absolute error only the fine grid
    # is missing, and not even that where the best coarse point is the same.
    near = _best_point(results, "mae", "coarse")
    if near == _best_point(results, "zero_one", "coarse"):
        C, kappa = _best_point(results, "mae")
        second = OrdinalSVM(C, gamma=kappa / 2, **given).fit(split.X, y)
    else:
        log_C, log_kappa = (round(float(np.log10(value))) for value in near)
        second = searched("mae", log_C=(log_C,) * 2, log_kappa=(log_kappa,) * 2)
        C, kappa = second.C_, 2 * second.gamma_
    return {
        "zero_one": _errors(first.predict(split.X_test), y_test)["zero_one"],
        "mae": _errors(second.predict(split.X_test), y_test)["mae"],
        "C": C,
        "kappa": kappa,
    }


def _best_point(
    results: dict[str, Any], error: str, stage: str | None = None
) -> tuple[float, float]:
    """C and kappa of the least error; of several the least C, then the least kappa."""
    mean = results[f"mean_test_{error}"]
    mean = mean if stage is None else np.where(results["stage"] == stage, mean, np.inf)
    # Sums of the same errors in another order differ in the last digits.
    top = np.flatnonzero(mean <= mean.min() + 1e-12)
    at = top[np.lexsort((results["kappa"][top], results["C"][top]))[0]]
    return float(results["C"][at]), float(results["kappa"][at])


def boosted(
    split: Split,
    seed: int,
    algorithm: Any,
    learner: str,
    rounds: int = ROUNDS,
    updates: int = 200,
) -> Errors:
    """A thresholded ensemble: errors after the last round, and on the way there."""
    from ordinality.boosting.ensemble import boost, rank_boost
    from ordinality.boosting.perceptron import Perceptron, Sigmoid

    trainer = Perceptron(updates) if learner == "perceptron" else Sigmoid(4.0, updates)
    options: dict[str, Any] = {"rounds": rounds, "rng": np.random.default_rng([1, seed])}
    n_levels = int(max(split.y.max(), split.y_test.max())) + 1
    if algorithm == "rank":
        fitted = rank_boost(split.X, split.y, n_levels, trainer, **options)
    else:
        fitted = boost(split.X, split.y, n_levels, trainer, margins=algorithm, **options)
    train = _by_round(fitted, split.X, split.y)
    test = _by_round(fitted, split.X_test, split.y_test)
    return {
        "zero_one": test[0][-1],
        "mae": test[1][-1],
        "train_zero_one": train[0],
        "train_mae": train[1],
        "test_zero_one": test[0],
        "test_mae": test[1],
    }


def _by_round(fitted: Any, X: NDArray[Any], y: NDArray[Any]) -> tuple[list[float], list[float]]:
    """Both errors at the checkpoints and after the last round."""
    from ordinality.levels import rank_from_scores

    wrong, far = [], []
    last = len(fitted.thresholds) - 1
    for t, scores in enumerate(fitted.staged_scores(X), start=1):
        if t in CHECKPOINTS or t == last:
            errors = _errors(rank_from_scores(scores, fitted.thresholds[t]), y)
            wrong.append(round(errors["zero_one"], 6))
            far.append(round(errors["mae"], 6))
    return wrong, far


# ------------------------------------------------------------------------------ comparisons


def comparisons_gp(
    pairs: Pairs, seed: int, inference: str, kernel: str = "gaussian", **options: Any
) -> Errors:
    """Gaussian process of comparisons; ``kernel`` is "gaussian", "ard" or "linear"."""
    from ordinality.estimators import PreferenceGP
    from ordinality.kernels import Gaussian, Linear

    d = pairs.X.shape[1]
    chosen: dict[str, Any] = {
        "gaussian": lambda: Gaussian(np.sqrt(d)),
        "ard": lambda: Gaussian(np.full(d, np.sqrt(d))),
        "linear": Linear,
    }
    X = _scaled(pairs.X)
    model = PreferenceGP(
        X, kernel=chosen[kernel](), item_effects=False, inference=inference, standardize=False,
        **options,
    ).fit(pairs.train)  # fmt: skip
    return _of_pairs(model, pairs)


def comparisons_default(pairs: Pairs, seed: int) -> Errors:
    """`PreferenceGP` as it comes: items have effects of their own beside their features."""
    from ordinality.estimators import PreferenceGP

    return _of_pairs(PreferenceGP(pairs.X).fit(pairs.train), pairs)


def _of_pairs(model: Any, pairs: Pairs) -> Errors:
    """Errors where the first of each test pair is preferred."""
    proba = model.predict_proba(pairs.test)
    return {
        "pair_error": float(np.mean(model.predict(pairs.test) != 1)),
        "log_score": float(-np.mean(np.log(proba[:, 1]))),
    }


def _scaled(X: NDArray[Any]) -> NDArray[Any]:
    """Unit spread around zero, but for indicators of categories, which stay 0 and 1."""
    indicator = np.all((X == 0) | (X == 1), axis=0)
    spread = X.std(axis=0)
    return np.where(indicator, X, (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def comparisons_svm(pairs: Pairs, seed: int, kernel: str = "rbf") -> Errors:
    """Constraint classification of comparisons, C and kappa by the paper's search."""
    from ordinality.estimators import PreferenceSVM

    def machine(C: float, kappa: float | None) -> Any:
        width: dict[str, Any] = {} if kappa is None else {"gamma": kappa / 2}
        return PreferenceSVM(pairs.X, C, kernel, max_iter=STEPS, **width)

    def linear(Cs: NDArray[Any], kappa: float | None) -> NDArray[Any]:
        kept = [pairs.train[folds != fold] for fold in range(FOLDS)]
        left = [pairs.train[folds == fold] for fold in range(FOLDS)]
        both = list(zip(kept, left, strict=True))
        return np.array(
            [np.mean([machine(C, None).fit(a).score(b) for a, b in both]) for C in Cs]
        )

    folds = folds_of(len(pairs.train), seed)
    shares = pair_shares(pairs, seed) if kernel == "rbf" else linear
    C, kappa = searched(shares, with_kappa=kernel == "rbf")
    model = machine(C, kappa).fit(pairs.train)
    found = {"pair_error": float(np.mean(model.predict(pairs.test) != 1)), "C": C}
    return found if kappa is None else {**found, "kappa": kappa}


# ------------------------------------------------------------------------------ labels


def classes_gp(split: Split, seed: int, inference: str = "laplace") -> Errors:
    """Classes by preferences: the class of a row is preferred to every other."""
    from ordinality.estimators import LabelRankingGP

    model = LabelRankingGP(
        graph="multiclass", inference=inference, standardize=False, random_state=seed
    )
    return _of_classes(model.fit(split.X, split.y), split)


def classes_svm(split: Split, seed: int) -> Errors:
    """Constraint classification of classes, C and kappa by the paper's search."""
    from ordinality.estimators import LabelRankingSVM

    C, kappa = searched(class_shares(split, seed), with_kappa=True)
    gamma = (kappa or 1.0) / 2
    model = LabelRankingSVM(C, gamma=gamma, standardize=False, max_iter=STEPS)
    return _of_classes(model.fit(split.X, split.y), split) | {"C": C, "kappa": kappa}


def _of_classes(model: Any, split: Split) -> Errors:
    scores, own = model.scores(split.X_test), np.searchsorted(model.classes_, split.y_test)
    wrong = scores.argmax(axis=1) != own
    error = preference_error(scores, own)
    return {"label_error": float(np.mean(wrong)), "pref_error": error}


def rankings_gp(problem: Split, seed: int, inference: str = "laplace") -> Errors:
    """Ranks of labels by Gaussian processes with a linear kernel, by evidence alone."""
    from ordinality.estimators import LabelRankingGP

    model = LabelRankingGP("linear", inference=inference, hyperprior=None, standardize=False)
    return _of_rankings(model.fit(problem.X, problem.y), problem)


def rankings_svm(problem: Split, seed: int, C: float | None = None) -> Errors:
    """Constraint classification of rankings with a linear kernel; without C, by search."""
    from sklearn.model_selection import cross_val_score

    from ordinality.estimators import LabelRankingSVM

    def machine(C: float) -> Any:
        return LabelRankingSVM(C, "linear", standardize=False, max_iter=200_000)

    def shares(Cs: NDArray[Any], kappa: float | None) -> NDArray[Any]:
        of_folds = [cross_val_score(machine(C), problem.X, problem.y, cv=5) for C in Cs]
        return np.mean(of_folds, axis=1)

    chosen = C if C is not None else searched(shares, with_kappa=False)[0]
    model = machine(chosen).fit(problem.X, problem.y)
    return _of_rankings(model, problem) | {"C": chosen}


def _of_rankings(model: Any, problem: Split) -> Errors:
    truth = problem.y_test
    L = truth.shape[1]
    gaps = np.sum((model.predict(problem.X_test) - truth) ** 2, axis=1)
    return {
        "right": model.score(problem.X_test, truth),
        "spearman": float(np.mean(1 - 6 * gaps / (L * (L**2 - 1)))),
    }


# ----------------------------------------------------------------
# The papers' search for C and kappa of constraint classification, fold by fold.
#
# Chu & Ghahramani (2005, ICML) tried whole powers of ten and then steps of 0.2 of the
# logarithm around the best, 130 points of five folds each. Distances are computed once for all
# of them, the kernel once for each kappa, and every fit starts from that of the next smaller
# C.


STEPS = 30_000  # of a support vector fit in a search: what is not done by then is judged as is


FOLDS = 5


Floats = NDArray[np.float64]


Shares = Callable[[Floats, float | None], Floats]  # of what is right, for rising C and a kappa


def searched(shares: Shares, *, with_kappa: bool) -> tuple[float, float | None]:
    """The best C and kappa: whole powers of ten, then steps of 0.2 around the best.

    Of equally good points the smallest C is taken, then the smallest kappa.
    """
    log_C, log_kappa = np.arange(-2.0, 5.0), np.arange(-3.0, 4.0) if with_kappa else None
    C, kappa = _best(shares, log_C, log_kappa)
    fine = 0.2 * np.arange(-4, 5)
    return _best(shares, np.log10(C) + fine, None if kappa is None else np.log10(kappa) + fine)


def _best(
    shares: Shares, log_C: Floats, log_kappa: Floats | None
) -> tuple[float, float | None]:
    kappas = [None] if log_kappa is None else [float(10.0**k) for k in log_kappa]
    found = np.column_stack([shares(10.0**log_C, kappa) for kappa in kappas])
    # Sums of the same shares in another order differ in the last digits.
    c, k = np.unravel_index(np.argmax(np.round(found, 12)), found.shape)
    return float(10.0 ** log_C[c]), kappas[k]


def folds_of(n: int, seed: int) -> NDArray[np.int64]:
    """The fold of each of n, at random and of equal sizes."""
    return np.random.default_rng([5, seed]).permutation(n) % FOLDS


def pair_shares(pairs: Pairs, seed: int) -> Shares:
    """Comparisons of items with a Gaussian kernel: shares of left-out pairs told rightly."""
    from sklearn.metrics.pairwise import euclidean_distances
    from sklearn.preprocessing import StandardScaler

    seen, places = np.unique(pairs.train, return_inverse=True)
    first, second = places.reshape(-1, 2).T
    X = StandardScaler().fit(pairs.X).transform(pairs.X[seen])
    squares = euclidean_distances(X, squared=True)
    folds = folds_of(len(first), seed)

    def shares(Cs: Floats, kappa: float | None) -> Floats:
        K = np.exp(-0.5 * (kappa or 1.0) * squares)
        K = K[first] - K[second]
        K = K[:, first] - K[:, second]
        return np.mean([_right(K, folds == fold, Cs) for fold in range(FOLDS)], axis=0)

    return shares


def _right(K: Floats, left: NDArray[np.bool_], Cs: Floats) -> list[float]:
    """Shares of the left-out pairs whose score is positive, given the kernel of all pairs."""
    across = K[np.ix_(left, ~left)]
    rising = _rising(K[np.ix_(~left, ~left)], Cs)
    return [float(np.mean(across @ alpha > 0)) for alpha in rising]


def class_shares(split: Split, seed: int) -> Shares:
    """Classes with a Gaussian kernel: shares of held-out preferences predicted correctly."""
    from sklearn.metrics.pairwise import euclidean_distances

    folds, parts = folds_of(len(split.y), seed), []
    for fold in range(FOLDS):
        kept, left = split.X[folds != fold], split.X[folds == fold]
        squares = euclidean_distances(np.vstack([kept, left]), kept, squared=True)
        parts.append((squares, split.y[folds != fold], split.y[folds == fold]))

    def shares(Cs: Floats, kappa: float | None) -> Floats:
        gamma = 0.5 * (kappa or 1.0)
        right = [_told(np.exp(-gamma * squares), y, z, Cs) for squares, y, z in parts]
        return np.mean(right, axis=0)

    return shares


def _told(K: Floats, y: NDArray[Any], left: NDArray[Any], Cs: Floats) -> list[float]:
    """Shares told rightly of left-out rows, which come last in the kernel's rows."""
    classes, own = np.unique(y, return_inverse=True)
    n, L = len(y), len(classes)
    every = np.eye(L)
    # A row's own class is preferred to each of the others: L - 1 edges, (n (L - 1), L).
    signs = (every[own][:, None] - every)[own[:, None] != np.arange(L)]
    edges = np.repeat(np.repeat(K[:n], L - 1, axis=0), L - 1, axis=1)
    edges *= signs @ signs.T
    truth, found = np.searchsorted(classes, left), []
    for alpha in _rising(edges, Cs):
        weights = (alpha[:, None] * signs).reshape(n, L - 1, L).sum(axis=1)
        found.append(1.0 - preference_error(K[n:] @ weights, truth))
    return found


def preference_error(scores: Floats, own: NDArray[np.int64]) -> float:
    """Share of the other classes that score as high as the true one."""
    true = np.take_along_axis(scores, own[:, None], axis=1)
    return float((np.sum(scores >= true, axis=1) - 1).mean() / (scores.shape[1] - 1))


def _rising(K: Floats, Cs: Floats) -> Iterator[Floats]:
    """Multipliers of comparisons at rising prices, each fit starting from the last."""
    from sklearn.exceptions import ConvergenceWarning

    from ordinality.svm.kernel_rows import KernelRows
    from ordinality.svm.solver import solve
    from ordinality.svm.terms import comparisons

    rows, found = KernelRows.of_matrix(K), None
    for C in Cs:
        found = solve(comparisons(np.full(len(K), C)), rows, start=found, max_steps=STEPS)
        if not found.report.converged:
            warnings.warn(
                f"at C = {C:.3g} a fit of the search stopped after {STEPS} steps with "
                f"comparisons still off by {found.report.violation:.1e}.",
                ConvergenceWarning,
                stacklevel=2,
            )
        yield found.alpha
