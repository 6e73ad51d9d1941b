"""Catalogue of models: their names, their estimated costs, and which are tried on a table.

The names are those of the command line. The automatic choice tries as many models as a budget
of estimated costs allows. The estimate depends on the size of the table alone, so the same
models are tried on every machine.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import BayesianRidge, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ordinality import estimators
from ordinality._compile import watch
from ordinality.levels import as_labels
from ordinality.tables.encoding import regression_encoder

__all__ = [
    "BASELINES",
    "COSTS",
    "MODELS",
    "Cost",
    "Frequencies",
    "Model",
    "ProcessorTime",
    "Size",
    "Skipped",
    "baselines",
    "candidates",
    "model",
    "models_by_name",
    "processor_time",
]


class Model(NamedTuple):
    """A model that can be selected by name.

    Parameters
    ----------
    name : str
        The name.
    description : str
        What it is, for a reader who does not know the name.
    build : callable
        ``build(levels=..., random_state=...)`` returns an estimator that is not fitted.
    cost : Cost
        Estimated processor seconds of a fold.
    by_blocks : bool, default=False
        Whether it can be fitted to rows that are read block by block.
    encode : callable, optional
        Turns the encoder of a table into the one that the model needs, if that is another.

    Examples
    --------
    >>> from ordinality.workbench import model
    >>> model("plsor").build(levels=[1, 2, 3], random_state=0)
    LeastSquaresOrdinalGP(levels=[1, 2, 3], random_state=0)
    """

    name: str
    description: str
    build: Callable[..., Any]
    cost: Cost
    by_blocks: bool = False
    encode: Callable[[Any], Any] | None = None


class Skipped(NamedTuple):
    """A model that was not assessed, and why.

    Parameters
    ----------
    name : str
        Name of the model.
    description : str
        What it is.
    reason : str
        Why it was not assessed.

    Examples
    --------
    >>> from ordinality.workbench import Skipped
    >>> Skipped("gp", "Gaussian process", "estimated at 90 s").reason
    'estimated at 90 s'
    """

    name: str
    description: str
    reason: str


class Size(NamedTuple):
    """Size of a table: rows, columns after encoding, levels."""

    rows: int
    columns: int
    levels: int


class Cost(NamedTuple):
    """Processor seconds of one fold, ``fixed + scale * rows**a * columns**b * levels**c``.

    Above 2000 rows it is ``beyond``, if there is one: there Gaussian processes begin to use
    inducing points.
    """

    fixed: float
    scale: float
    a: float
    b: float
    c: float
    beyond: Any = None  # a Cost

    def of_fold(self, size: Size) -> float:
        """Seconds of one fold whose training part has this size."""
        if self.beyond is not None and size.rows > 2000:
            return float(self.beyond.of_fold(size))
        grown = size.rows**self.a * size.columns**self.b * size.levels**self.c
        return self.fixed + self.scale * grown

    def rows_within(self, seconds: float | None, size: Size) -> int:
        """How many of the rows can be fitted to in these seconds."""
        if seconds is None or self.of_fold(size) <= seconds:
            return size.rows
        low, high = 1, size.rows  # the first is cheap enough, the second is not
        while high - low > 1:
            middle = (low + high) // 2
            fits = self.of_fold(size._replace(rows=middle)) <= seconds
            low, high = (middle, high) if fits else (low, middle)
        return low

    def of_folds(self, size: Size, n_folds: int) -> float:
        """Seconds of all folds, for a table of this size."""
        trained = size._replace(rows=max(1, round(size.rows * (1 - 1 / n_folds))))
        return n_folds * self.of_fold(trained)


# Processor seconds on one core of a machine under load, without compilation. Measured for
# 3 to 36 columns, 2 to 8 levels and 40 to 4000 rows (Gaussian processes and plsor to 1500) by
# benchmarks/model_costs.py. The curve is within a factor of two of every measured fold (svm:
# 2.7); larger tables are extrapolated. gp, trees, mlr and forest were also measured for 16,000
# rows and 10 columns, gp with inducing points for 3000 and 8000 too: within a factor of 1.7.
# The other models with inducing points for 3000 to 60,000 rows, up to four times too much.
# class-trees, also for 10 levels: within 1.6; up to three times too much for 16,000 rows.
COSTS = {
    "gp": Cost(0.11, 8e-7, 2, 0.071, 0.96, Cost(7.2, 2.3e-4, 1, 0.2, 0)),
    "linear": Cost(0.023, 1.4e-6, 1, 1, 0.53),
    "ard": Cost(0.078, 5.2e-8, 2, 0.84, 0.77, Cost(3.2, 5e-5, 1, 1, 0)),
    "laplace": Cost(0.073, 2.6e-8, 2, 1, 0.51, Cost(1.3, 4.6e-5, 1, 1, 0)),
    "plsor": Cost(0.062, 1.9e-7, 2, 0.71, 0.056, Cost(7.5, 4.2e-5, 1, 1, 0)),
    "boost": Cost(0.12, 1.9e-5, 1, 1, 0),
    "trees": Cost(0.047, 4e-5, 1.1, 0.6, 0.11),
    "mlr": Cost(0.086, 2.7e-7, 1.2, 1, 1),
    "forest": Cost(0.22, 2e-5, 1.1, 0.65, 0.43),
    "class-trees": Cost(0.05, 2.1e-5, 1, 0.9, 0.4),
    "boost-trees": Cost(0.055, 5.6e-6, 1, 1, 0.45),
    "rankboost": Cost(0.13, 1.3e-5, 1, 1, 0.29),
    "svm": Cost(0.054, 4.5e-9, 2, 1, 0),
    "svm-search": Cost(0.2, 7e-6, 2, 1, 0),  # measured for 40 and 100 rows only
    "frequencies": Cost(0.0043, 2.9e-8, 1, 1, 0.72),
    "rounded": Cost(0.017, 2.2e-8, 2.7, 0.13, 0),
    "rounded-linear": Cost(0.0068, 2.6e-6, 1, 0.55, 0.11),
}


def _gp(**fixed: Any) -> Callable[..., Any]:
    return lambda **given: estimators.OrdinalGP(**fixed, **given)


def _regression(*, random_state: Any = None, **given: Any) -> Any:
    return estimators.OrdinalRegression(penalty="auto", **given)


def _trees(*, random_state: Any = None, **given: Any) -> Any:
    if _has_lightgbm():
        return estimators.OrdinalTrees(random_state=random_state, **given)
    return estimators.OrdinalBoost(learner="tree", random_state=random_state, **given)


def _class_trees(**given: Any) -> Any:
    return estimators.OrdinalTrees(loss="multinomial", **given)


# Classifiers of scikit-learn know no order. A stack of one of them does, raises probabilities
# of zero, and can be stored in a model file.


def _multinomial(*, random_state: Any = None, **given: Any) -> Any:
    # Much and little shrinkage of coefficients of standardised columns, averaged as inner folds
    # advise. On 13 tables of at most 400 rows the out-of-fold log score is 0.928 on average,
    # with a third member 0.927, with the best single C of five 0.965.
    members = [
        (name, make_pipeline(StandardScaler(), LogisticRegression(C=C, max_iter=1000)))
        for name, C in (("shrunk", 0.05), ("free", 2.0))
    ]
    return estimators.OrdinalStack(members, cv=3, random_state=random_state, **given)


def _forest(*, random_state: Any = None, **given: Any) -> Any:
    # Leaves of three rows: of 1, 2, 3 and 5, the best log score out of fold on the same tables.
    # The limit of leaves is for model files: without it, one of 100,000 rows has some 200 MB.
    trees = RandomForestClassifier(
        100, min_samples_leaf=3, max_leaf_nodes=1000, random_state=random_state
    )
    return estimators.OrdinalStack([("forest", trees)], random_state=random_state, **given)


def _has_lightgbm() -> bool:
    return importlib.util.find_spec("lightgbm") is not None


BY_BLOCKS = ("gp", "ard", "laplace")

ENCODED = {"linear": regression_encoder}

# In order of preference: of two whose scores differ within noise, the earlier is selected.
MODELS = {
    name: Model(name, description, build, COSTS[name], name in BY_BLOCKS, ENCODED.get(name))
    for name, description, build in (
        ("gp", "Gaussian process, expectation propagation", _gp()),
        ("linear", "cumulative link model (proportional odds)", _regression),
        ("mlr", "multinomial logistic regression", _multinomial),
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
            "gradient-boosted trees, cumulative loss"
            if _has_lightgbm()
            else "boosted trees with thresholds",
            _trees,
        ),
        (
            "boost-trees",
            "boosted trees with thresholds",
            lambda **given: estimators.OrdinalBoost(learner="tree", **given),
        ),
        ("class-trees", "gradient-boosted trees, multinomial loss", _class_trees),
        ("forest", "random forest", _forest),
        ("rankboost", "RankBoost", lambda **given: estimators.RankBoost(**given)),
        (
            "svm",
            "support vector machine, implicit constraints",
            lambda **given: estimators.OrdinalSVM(**given),
        ),
        (
            "svm-search",
            "support vector machine, C and kernel width by grid search",
            lambda **given: estimators.OrdinalSVMCV(**given),
        ),
    )
}

# The automatic choice tries these; the others are tried only by name. Without LightGBM, trees
# are boosted trees with thresholds already.
TRIED = (
    "gp", "linear", "mlr", "trees", "forest",
    *(["boost-trees", "class-trees"] if _has_lightgbm() else []),
)  # fmt: skip

# Below, the ranked probability score of the stack rises a little with class-trees (by .0002 to
# .0013 on esl, tae, heart, linear, affairs, smooth-200; of seven tables only automobile gains).
FROM_ROWS = {"class-trees": 500}

# These are added after the others: where time is short, other boosted trees stand for them, and
# nothing for gp.
LAST = {"class-trees": 1, "forest": 2}

BASELINES = ("frequencies", "rounded")


def model(name: str) -> Model:
    """Look a model up by its name.

    Parameters
    ----------
    name : str
        A key of `MODELS`; any other is an error that lists the names.

    Returns
    -------
    Model
        The model.

    Examples
    --------
    >>> from ordinality.workbench import model
    >>> model("gp").description
    'Gaussian process, expectation propagation'
    """
    if name not in MODELS:
        raise ValueError(
            f"there is no model named {name!r}; the names are {', '.join(MODELS)} and auto."
        )
    return MODELS[name]


def baselines(n_rows: int, *, weighted: bool = False) -> list[Model]:
    """The baselines: the frequencies of the levels, and rounded regression on the ranks.

    Parameters
    ----------
    n_rows : int
        Rows of the table. The regression is a Gaussian process for at most 500 rows, else
        linear.
    weighted : bool, default=False
        Whether rows have weights; then the regression is linear too.

    Returns
    -------
    list of Model
        The two, in the order of `BASELINES`.

    Examples
    --------
    >>> from ordinality.workbench import baselines
    >>> [entry.name for entry in baselines(100)]
    ['frequencies', 'rounded']
    """
    small = n_rows <= 500 and not weighted  # a Gaussian process costs the cube of the rows
    kind = "Gaussian-process" if small else "linear"
    regressor = None if small else BayesianRidge()
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
            lambda levels, random_state=None: estimators.RoundedRegressor(
                regressor, levels=levels
            ),
            COSTS["rounded" if small else "rounded-linear"],
        ),
    ]


class Frequencies(ClassifierMixin, BaseEstimator):
    """Baseline that predicts the frequencies of the levels, whatever the features are."""

    def __init__(self, levels: Any) -> None:
        self.levels = levels

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Frequencies:
        """Count the levels."""
        labels = as_labels(y)
        weights = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight)
        # Half a row more for each level (Jeffreys' prior), so that none has probability zero.
        counts = [weights[labels == level].sum() + 0.5 for level in self.levels]
        share = np.array(counts) / np.sum(counts)
        self.classes_, self.share_ = np.sort(np.asarray(self.levels)), share
        return self

    def predict_level_proba(self, X: Any) -> np.ndarray:
        """The same probabilities for every row, columns in order of level."""
        return np.tile(self.share_, (len(X), 1))


def models_by_name(names: Sequence[str], n_rows: int, *, weighted: bool = False) -> list[Model]:
    """The models and baselines of these names, without duplicates."""
    known = {entry.name: entry for entry in baselines(n_rows, weighted=weighted)}
    return [known[name] if name in known else model(name) for name in dict.fromkeys(names)]


def candidates(
    size: Size, n_folds: int, budget: float | None = None
) -> tuple[list[Model], list[Skipped]]:
    """The models that the automatic choice tries, in order of preference, and those it skips.

    Models are added from the cheapest on, as long as their estimated costs add up to no more
    than the budget, so that as many as possible are compared; the cheapest is always tried.
    Models for which there are too few rows are not named among those skipped.
    """
    entries = [MODELS[name] for name in TRIED if size.rows >= FROM_ROWS.get(name, 0)]
    if budget is None:
        return entries, []
    costs = {entry.name: entry.cost.of_folds(size, n_folds) for entry in entries}
    cheapest, *others = sorted(costs, key=lambda name: (LAST.get(name, 0), costs[name]))
    names, left = {cheapest}, max(budget - costs[cheapest], 0.0)
    for name in others:
        if costs[name] > left:
            break
        names.add(name)
        left -= costs[name]
    return [entry for entry in entries if entry.name in names], [
        Skipped(
            entry.name,
            entry.description,
            f"estimated at {costs[entry.name]:.0f} s for {size.rows:,} rows, with {left:.0f} s "
            f"left of the budget of {budget:g} s",
        )
        for entry in entries
        if entry.name not in names
    ]


@dataclass
class ProcessorTime:
    """Processor seconds of a block of code, once it has ended."""

    seconds: float = 0.0


@contextmanager
def processor_time() -> Iterator[ProcessorTime]:
    """Measure a block in processor seconds of this process, without compilation.

    Code is compiled once on a machine; that is not part of the cost of a model.
    """
    spent, began = ProcessorTime(), time.process_time()
    with watch(lambda: None) as compiling:
        try:
            yield spent
        finally:
            spent.seconds = time.process_time() - began - compiling.seconds
