"""The models that can be asked for by name, what each costs, and which are tried on a table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import BayesianRidge

from ordinality import estimators
from ordinality._compile import watch
from ordinality.levels import as_labels

__all__ = [
    "BASELINES",
    "COSTS",
    "MODELS",
    "Cost",
    "Frequencies",
    "Model",
    "Size",
    "Skipped",
    "Spent",
    "baselines",
    "candidates",
    "model",
    "named",
    "processor_time",
]


class Size(NamedTuple):
    """Size of a table: rows, columns after encoding, levels."""

    rows: int
    columns: int
    levels: int


class Cost(NamedTuple):
    """Processor seconds of one fold, ``fixed + scale * rows**a * columns**b * levels**c``."""

    fixed: float
    scale: float
    a: float
    b: float
    c: float

    def of_fold(self, size: Size) -> float:
        """Seconds of one fold whose training part has this size.

        Examples
        --------
        >>> Cost(fixed=0.5, scale=1e-6, a=2, b=1, c=0).of_fold(Size(1000, 4, 3))
        4.5
        """
        grown = size.rows**self.a * size.columns**self.b * size.levels**self.c
        return self.fixed + self.scale * grown

    def of_all(self, size: Size, n_folds: int) -> float:
        """Seconds of all folds and of the fit to all rows, for a table of this size.

        Examples
        --------
        >>> Cost(fixed=0.5, scale=1e-6, a=2, b=1, c=0).of_all(Size(1000, 4, 3), 2)
        7.5
        """
        trained = size._replace(rows=max(1, round(size.rows * (1 - 1 / n_folds))))
        return n_folds * self.of_fold(trained) + self.of_fold(size)


# Processor seconds on one core of a machine that was busy, compiled code being there. Measured
# for 3 to 36 columns, 2 to 8 levels and 40 to 4000 rows (Gaussian processes and plsor to 1500).
# A measured fold is missed by a factor of two at most, of svm 2.7; beyond, it is extrapolated.
COSTS = {
    "gp": Cost(0.074, 4.8e-8, 2, 1, 0.25),
    "linear": Cost(0.057, 2.7e-8, 2, 0.93, 0.82),
    "ard": Cost(0.078, 5.2e-8, 2, 0.84, 0.77),
    "laplace": Cost(0.073, 2.6e-8, 2, 1, 0.51),
    "plsor": Cost(0.062, 1.9e-7, 2, 0.71, 0.056),
    "boost": Cost(0.12, 1.9e-5, 1, 1, 0),
    "trees": Cost(0.085, 5.2e-6, 1, 1, 0.13),
    "rankboost": Cost(0.13, 1.3e-5, 1, 1, 0.29),
    "svm": Cost(0.054, 4.5e-9, 2, 1, 0),
    "svm-search": Cost(0.2, 7e-6, 2, 1, 0),  # of 40 and 100 rows only
    "frequencies": Cost(0.0043, 2.9e-8, 1, 1, 0.72),
    "rounded": Cost(0.017, 2.2e-8, 2.7, 0.13, 0),
    "rounded-linear": Cost(0.0068, 2.6e-6, 1, 0.55, 0.11),
}


@dataclass
class Spent:
    """Processor seconds of a block of work, once it has ended."""

    seconds: float = 0.0


@contextmanager
def processor_time() -> Iterator[Spent]:
    """Measure a block in processor seconds of this process. The only clock of the workbench.

    Compiling is left out: it happens once on a machine, and is not the cost of a model.
    """
    spent, began = Spent(), time.process_time()
    with watch(lambda: None) as compiling:
        try:
            yield spent
        finally:
            spent.seconds = time.process_time() - began - compiling.seconds


# ----------------------------------------------------------------
# The models that can be asked for by name, and which of them are tried on a table.
#
# The names are those of the command line. The automatic choice tries as many models as a
# budget of estimated costs allows.


class Model(NamedTuple):
    """A model that can be asked for by name.

    Attributes
    ----------
    name : str
        The name.
    words : str
        What it is, for somebody who does not know the name.
    build : callable
        ``build(levels=..., random_state=...)`` gives an estimator that is not yet fitted.
    cost : Cost
        Estimated processor seconds of a fold.
    """

    name: str
    words: str
    build: Callable[..., Any]
    cost: Cost


class Skipped(NamedTuple):
    """A model that was not assessed, and why."""

    name: str
    words: str
    reason: str


def _gp(**fixed: Any) -> Callable[..., Any]:
    return lambda **given: estimators.OrdinalGP(**fixed, **given)


# In order of preference: where scores cannot tell two apart, the earlier is chosen.
MODELS = {
    name: Model(name, words, build, COSTS[name])
    for name, words, build in (
        ("gp", "Gaussian process, expectation propagation", _gp()),
        ("linear", "Gaussian process with a linear kernel", _gp(kernel="linear")),
        ("ard", "Gaussian process, a length scale per feature", _gp(kernel="ard")),
        ("laplace", "Gaussian process, Laplace", _gp(inference="laplace")),
        (
            "plsor",
            "probabilistic least squares on the ranks",
            lambda **given: estimators.LeastSquaresOrdinalGP(**given),
        ),
        (
            "boost",
            "boosted perceptrons with thresholds",
            lambda **given: estimators.OrdinalBoost(**given),
        ),
        (
            "trees",
            "boosted trees with thresholds",
            lambda **given: estimators.OrdinalBoost(learner="tree", **given),
        ),
        ("rankboost", "RankBoost", lambda **given: estimators.RankBoost(**given)),
        (
            "svm",
            "support vector machine, implicit constraints",
            lambda **given: estimators.OrdinalSVM(**given),
        ),
        (
            "svm-search",
            "support vector machine with price and width searched",
            lambda **given: estimators.OrdinalSVMCV(**given),
        ),
    )
}


# What the automatic choice tries; the others are there for whoever asks for them.
TRIED = ("gp", "linear", "plsor", "boost", "trees", "svm")


class Frequencies(ClassifierMixin, BaseEstimator):
    """The baseline that knows only how frequent each level is.

    Half a row is added to every level, so that none is called impossible.

    Parameters
    ----------
    levels : array-like of shape (K,)
        The labels in order, lowest first.

    Examples
    --------
    >>> baseline = Frequencies(levels=["low", "high"]).fit([[0], [0], [0]], ["low"] * 3)
    >>> baseline.predict_level_proba([[1]])
    array([[0.875, 0.125]])
    """

    def __init__(self, levels: Any) -> None:
        self.levels = levels

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Frequencies:
        """Count the levels; the features are not looked at."""
        labels = as_labels(y)
        weights = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight)
        counts = [weights[labels == level].sum() + 0.5 for level in self.levels]
        share = np.array(counts) / np.sum(counts)
        self.classes_, self.share_ = np.sort(np.asarray(self.levels)), share
        return self

    def predict_level_proba(self, X: Any) -> np.ndarray:
        """The same probabilities for every row, columns in order of level."""
        return np.tile(self.share_, (len(X), 1))


def _rounded(small: bool) -> Callable[..., Any]:
    # Gaussian-process regression, the papers' baseline, where its cube is cheap.
    regressor = None if small else BayesianRidge()
    return lambda levels, random_state=None: estimators.RoundedRegressor(
        regressor, levels=levels
    )


BASELINES = ("frequencies", "rounded")


def baselines(n_rows: int, *, weighted: bool = False) -> list[Model]:
    """What every model is set beside: the frequencies of the levels, and rounded regression.

    Parameters
    ----------
    n_rows : int
        Rows of the table; beyond 500, and where rows have weights, the regression is linear.
    weighted : bool, default=False
        Whether rows have weights.

    Examples
    --------
    >>> [entry.name for entry in baselines(100)]
    ['frequencies', 'rounded']
    """
    small = n_rows <= 500 and not weighted
    kind = "Gaussian-process" if small else "linear"
    return [
        Model(
            "frequencies",
            "the frequencies of the levels",
            lambda levels, random_state=None: Frequencies(levels),
            COSTS["frequencies"],
        ),
        Model(
            "rounded",
            f"{kind} regression on the ranks, rounded",
            _rounded(small),
            COSTS["rounded" if small else "rounded-linear"],
        ),
    ]


def model(name: str) -> Model:
    """The model called `name`; an unknown name is an error that lists the names.

    Examples
    --------
    >>> model("gp").words
    'Gaussian process, expectation propagation'
    """
    if name not in MODELS:
        raise ValueError(
            f"there is no model named {name!r}; the names are {', '.join(MODELS)} and auto."
        )
    return MODELS[name]


def candidates(
    size: Size, n_folds: int, budget: float | None = None
) -> tuple[list[Model], list[Skipped]]:
    """The models that the automatic choice tries, and those it leaves out.

    Models are taken from the cheapest on, as long as their estimated costs add up to no more
    than the budget, so that as many as possible are compared; the cheapest is always taken.
    Only the size of the table counts, so the answer is the same on every machine.

    Parameters
    ----------
    size : Size
        Rows, columns after encoding, levels.
    n_folds : int
        Folds of the cross-validation.
    budget : float, optional
        Seconds of processor time, as estimated; by default there is no limit.

    Examples
    --------
    >>> tried, skipped = candidates(Size(50_000, 10, 5), 5, budget=60.0)
    >>> [entry.name for entry in tried]
    ['trees']
    """
    entries = [MODELS[name] for name in TRIED]
    if budget is None:
        return entries, []
    costs = {entry.name: entry.cost.of_all(size, n_folds) for entry in entries}
    cheapest, *others = sorted(costs, key=lambda name: costs[name])
    names, left = {cheapest}, max(budget - costs[cheapest], 0.0)
    for name in others:
        if costs[name] > left:
            break
        names.add(name)
        left -= costs[name]
    return [entry for entry in entries if entry.name in names], [
        Skipped(
            entry.name,
            entry.words,
            f"it would take about {costs[entry.name]:.0f} s for {size.rows} rows, and "
            f"{left:.0f} s of the budget of {budget:g} s are left",
        )
        for entry in entries
        if entry.name not in names
    ]


def named(names: Sequence[str], n_rows: int, *, weighted: bool = False) -> list[Model]:
    """The models and baselines of these names, each once.

    Examples
    --------
    >>> [entry.name for entry in named(["gp", "rounded", "gp"], 50)]
    ['gp', 'rounded']
    """
    known = {entry.name: entry for entry in baselines(n_rows, weighted=weighted)}
    return [known[name] if name in known else model(name) for name in dict.fromkeys(names)]
