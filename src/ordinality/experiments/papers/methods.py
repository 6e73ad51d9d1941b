"""The methods of the tables, each a function of a problem and a seed that gives errors.

Settings are those of the papers where they say them, else this package's defaults. Everything
heavy is imported when a cell is computed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinality.datasets import Split
from ordinality.experiments.papers.problems import Pairs

__all__ = [
    "boosted",
    "classes_gp",
    "classes_svm",
    "comparisons_default",
    "comparisons_gp",
    "comparisons_svm",
    "ordinal_gp",
    "ordinal_svm",
    "plsor",
    "rankings_gp",
    "rankings_svm",
    "rounded",
]

# What the papers have in place of the defaults of `OrdinalGP`.
PAPER: dict[str, Any] = {"kernel": "gaussian", "link": "probit"}

Errors = dict[str, Any]
Numbers = NDArray[np.int64]

STEPS = 30_000  # of a support vector fit in a search: what is not done by then is scored as is
ROUNDS = 2000
# Rounds at which an ensemble's errors are noted: about 20, evenly in their logarithm.
CHECKPOINTS = tuple(int(t) for t in np.unique(np.geomspace(1, ROUNDS, 22).round()))

# ------------------------------------------------------------------------------ ordered labels


def ordinal_gp(split: Split, seed: int, inference: str, **options: Any) -> Errors:
    """Gaussian process for ordinal regression."""
    from ordinality.estimators import OrdinalGP

    model = OrdinalGP(**PAPER, inference=inference, random_state=seed, **options)
    exact = _probable(model, split)
    narrow = _of_probabilities(_narrow_proba(model, split.X_test), model.levels_, split.y_test)
    return exact | {f"{name}_narrow": value for name, value in narrow.items()}


def _narrow_proba(model: Any, X: Any) -> NDArray[Any]:
    """Probabilities by a predictive deviation divided by the square root of two.

    GPOR's tables were almost certainly computed so: see the notes of their specs.
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
    # Equal means may be summed in another order and then differ by rounding, a few 1e-16 times
    # the largest error. Others differ by 1 / (5 n (n + 1)) at least, n rows being in a fold.
    tied = mean.min() + 1e-12  # between the two for n up to 400,000
    top = np.flatnonzero(mean <= tied)
    at = top[np.lexsort((results["kappa"][top], results["C"][top]))[0]]
    return float(results["C"][at]), float(results["kappa"][at])


def boosted(
    split: Split, seed: int, algorithm: str, learner: str, rounds: int = ROUNDS
) -> Errors:
    """A thresholded ensemble: errors after the last round, and on the way there."""
    from ordinality.estimators import OrdinalBoost, RankBoost

    levels = range(int(max(split.y.max(), split.y_test.max())) + 1)
    given: dict[str, Any] = {
        "learner": learner, "n_estimators": rounds, "standardize": False,
        "calibration_folds": None, "levels": list(levels), "random_state": seed,
    }  # fmt: skip
    model = RankBoost(**given) if algorithm == "rank" else OrdinalBoost(algorithm, **given)
    model.fit(split.X, split.y)
    train = _by_round(model, split.X, split.y)
    test = _by_round(model, split.X_test, split.y_test)
    return {
        "zero_one": test[0][-1],
        "mae": test[1][-1],
        "train_zero_one": train[0],
        "train_mae": train[1],
        "test_zero_one": test[0],
        "test_mae": test[1],
    }


def _by_round(model: Any, X: NDArray[Any], y: NDArray[Any]) -> tuple[list[float], list[float]]:
    """Both errors at the checkpoints and after the last round."""
    wrong, far = [], []
    for t, predicted in enumerate(model.staged_predict(X), start=1):
        if t in CHECKPOINTS or t == model.n_estimators_:
            errors = _errors(predicted, y)
            wrong.append(round(errors["zero_one"], 6))
            far.append(round(errors["mae"], 6))
    return wrong, far


# ------------------------------------------------------------------------------ comparisons


def comparisons_gp(
    pairs: Pairs, seed: int, inference: str, kernel: str = "gaussian", **options: Any
) -> Errors:
    """Gaussian process of comparisons; ``kernel`` is "gaussian", "ard" or "linear"."""
    from ordinality.estimators import PreferenceGP

    model = PreferenceGP(
        _scaled(pairs.X), kernel=kernel, item_effects=False, inference=inference,
        standardize=False, **options,
    ).fit(pairs.train)  # fmt: skip
    return _of_pairs(model, pairs)


def comparisons_default(pairs: Pairs, seed: int) -> Errors:
    """Items with effects of their own beside their features, as `PreferenceGP` has them."""
    from ordinality.estimators import PreferenceGP

    return _of_pairs(PreferenceGP(pairs.X, kernel="gaussian").fit(pairs.train), pairs)


def _of_pairs(model: Any, pairs: Pairs) -> Errors:
    """Errors where the first of each test pair is preferred."""
    proba = model.predict_proba(pairs.test)
    return {
        "pair_error": _wrong(model, pairs),
        "log_score": float(-np.mean(np.log(proba[:, 1]))),
    }


def _scaled(X: NDArray[Any]) -> NDArray[Any]:
    """Unit spread around zero, except for indicators of categories, which stay 0 and 1."""
    indicator = np.all((X == 0) | (X == 1), axis=0)
    spread = X.std(axis=0)
    return np.where(indicator, X, (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def comparisons_svm(pairs: Pairs, seed: int, kernel: str = "rbf") -> Errors:
    """Constraint classification of comparisons, C and kappa by the paper's search."""
    from sklearn.preprocessing import StandardScaler

    from ordinality.estimators import PreferenceSVM, PreferenceSVMCV

    search = PreferenceSVMCV(kernel=kernel, cv=_folds(len(pairs.train), seed), max_iter=STEPS)
    if kernel == "rbf":
        # Points of the search are often equally good up to the last digits of the kernel, so
        # that rows depend on how features are scaled for it.
        search.set_params(items=StandardScaler().fit_transform(pairs.X), standardize=False)
    else:
        search.set_params(items=pairs.X)
    found = _found(search.fit(pairs.train))
    width: dict[str, Any] = {"gamma": found["kappa"] / 2} if kernel == "rbf" else {}
    model = PreferenceSVM(pairs.X, found["C"], kernel, max_iter=STEPS, **width)
    return {"pair_error": _wrong(model.fit(pairs.train), pairs), **found}


def _wrong(model: Any, pairs: Pairs) -> float:
    """Share of the test pairs whose second item is predicted to be preferred."""
    return float(np.mean(model.predict(pairs.test) != 1))


# ------------------------------------------------------------------------------ labels


def classes_gp(split: Split, seed: int, inference: str = "laplace") -> Errors:
    """Classes by preferences: the class of a row is preferred to every other."""
    from ordinality.estimators import LabelRankingGP

    model = LabelRankingGP(
        "gaussian", graph="multiclass", inference=inference, standardize=False,
        random_state=seed,
    )  # fmt: skip
    return _of_classes(model.fit(split.X, split.y), split)


def classes_svm(split: Split, seed: int) -> Errors:
    """Constraint classification of classes, C and kappa by the paper's search."""
    from ordinality.estimators import LabelRankingSVM, LabelRankingSVMCV

    given: dict[str, Any] = {"standardize": False, "max_iter": STEPS}
    search = LabelRankingSVMCV(cv=_folds(len(split.y), seed), **given).fit(split.X, split.y)
    found = _found(search)
    model = LabelRankingSVM(found["C"], gamma=found["kappa"] / 2, **given)
    return _of_classes(model.fit(split.X, split.y), split) | found


def _of_classes(model: Any, split: Split) -> Errors:
    scores, own = model.scores(split.X_test), np.searchsorted(model.classes_, split.y_test)
    wrong = scores.argmax(axis=1) != own
    return {"label_error": float(np.mean(wrong)), "pref_error": _preference_error(scores, own)}


def _preference_error(scores: NDArray[Any], own: Numbers) -> float:
    """Share of the other classes that score as high as the true one."""
    true = np.take_along_axis(scores, own[:, None], axis=1)
    return float((np.sum(scores >= true, axis=1) - 1).mean() / (scores.shape[1] - 1))


def rankings_gp(problem: Split, seed: int, inference: str = "laplace") -> Errors:
    """Ranks of labels by Gaussian processes with a linear kernel, by evidence alone."""
    from ordinality.estimators import LabelRankingGP

    model = LabelRankingGP("linear", inference=inference, hyperprior=None, standardize=False)
    return _of_rankings(model.fit(problem.X, problem.y), problem)


def rankings_svm(problem: Split, seed: int, C: float | None = None) -> Errors:
    """Constraint classification of rankings with a linear kernel; without C, by search."""
    from ordinality.estimators import LabelRankingSVM, LabelRankingSVMCV

    given: dict[str, Any] = {"kernel": "linear", "standardize": False, "max_iter": 200_000}
    if C is None:
        search = LabelRankingSVMCV(search_max_iter=200_000, **given)
        C = _found(search.fit(problem.X, problem.y))["C"]
    model = LabelRankingSVM(C, **given).fit(problem.X, problem.y)
    return _of_rankings(model, problem) | {"C": C}


def _of_rankings(model: Any, problem: Split) -> Errors:
    truth = problem.y_test
    L = truth.shape[1]
    gaps = np.sum((model.predict(problem.X_test) - truth) ** 2, axis=1)
    return {
        "right": model.score(problem.X_test, truth),
        "spearman": float(np.mean(1 - 6 * gaps / (L * (L**2 - 1)))),
    }


def _found(search: Any) -> dict[str, float]:
    """C and kappa of a search, each as the power of ten of one number.

    NumPy rounds a few powers otherwise in arrays, and a linear machine of large C is so badly
    conditioned that the last digit of C moves its errors.
    """
    chosen = {"C": search.C_}
    if search.kernel == "rbf":
        chosen["kappa"] = 2 * search.gamma_
    results, found = search.cv_results_, {}
    for name, value in chosen.items():
        fine = np.unique(results[name][results["stage"] == "fine"])  # nine around the coarse
        step = 0.2 * (np.searchsorted(fine, value) - 4)
        found[name] = float(10.0 ** (np.log10(fine[4]) + step))
    return found


def _folds(n: int, seed: int) -> list[tuple[Numbers, Numbers]]:
    """Training and test rows of five folds of equal sizes, drawn at random."""
    fold = np.random.default_rng([5, seed]).permutation(n) % 5
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(5)]
