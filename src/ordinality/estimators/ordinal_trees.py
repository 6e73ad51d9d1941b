"""Gradient-boosted trees for ordered labels, on LightGBM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_array, check_random_state, gen_batches
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import levels as _levels
from ..boosting.cumulative_trees import MultinomialTrees, Settings, grow
from .base_ordinal import OrdinalClassifier
from .calibration import held_out
from .fitting import (
    DistinctRows,
    FitLog,
    atomic,
    check_choices,
    check_labels,
    check_positive,
    check_weights,
    check_whole,
    checked_data,
    rows_of,
)
from .threads import thread_map

__all__ = ["OrdinalTrees"]

_FLAGS = ("auto", True, False)
_LOSSES = ("cumulative", "multinomial")
_ENOUGH = 1000  # distinct rows, for "auto"
_UNJUDGED = 100  # rounds at most, where there are too few rows to hold any out
# Copies of a row may be on both sides, as new rows may equal old ones. If more than this share
# of the rows have a copy, they look like a resampled or repeated table: copies then stay
# together, or a model that only remembers rows would be found the best.
_COPIES = 1 / 3
_MOST_LEVELS = 1000  # more are numbers, not levels
_MOST_POOLED = 50  # levels, for "auto": the pool has a booster for each threshold
_OF_TEXT = "name a column of text in `categorical`, or make it a category of a data frame"
_NUMBERS: Any = {"dtype": np.float64, "ensure_all_finite": "allow-nan", "text": _OF_TEXT}
_BATCH = 10_000  # rows predicted at once
_FETCHED = 4000  # rows of a Dask collection, at most, that are fetched and learnt here


class OrdinalTrees(OrdinalClassifier):
    """Gradient-boosted trees with a cumulative logit loss, grown by LightGBM.

    Trees are summed to a score that ordered thresholds cut into levels. Missing values need no
    imputation and categorical columns no encoding; effects can be constrained to rise or fall;
    it takes millions of rows. Held-out rows choose the number of trees, and whether
    rows get a noise of their own and effects that differ between thresholds; what was chosen
    is then learnt from all rows. Needs the extra ``trees``.

    Parameters
    ----------
    n_estimators : int, default=2000
        Rounds, at most; held-out rows stop earlier.
    loss : {"cumulative", "multinomial"}, default="cumulative"
        "cumulative": one score, cut by thresholds. "multinomial": a score for each level, K
        trees a round, where the order tells little, as in labels that follow from a rule of
        categories; without ``scale``, ``nonparallel``, ``monotone`` and `predict_latent`.
    learning_rate : float, default=0.05
        Share of each tree that is added.
    num_leaves : int, default=None
        Leaves of a tree, at most. None: 31, and 15 below 1000 rows.
    min_child_samples : int, default=None
        Distinct rows in a leaf, at least. None: 20, and a tenth of the rows below 200.
    reg_lambda : float, default=0.0
        Ridge penalty on the values of leaves.
    subsample : float, default=1.0
        Share of the rows, drawn anew for each tree.
    colsample_bytree : float, default=1.0
        Share of the columns, drawn anew for each tree.
    scale : "auto" or bool, default="auto"
        Whether a second score models the log of the noise of a row. "auto": from 1000 rows on,
        if it improves the log score of held-out rows; never with ``monotone``, which it breaks.
    nonparallel : "auto" or bool, default="auto"
        Whether the probabilities are pooled with those of K - 1 binary models of "above level
        k", for effects that differ between thresholds; two to three times the cost. "auto":
        from 1000 rows on, up to 50 levels. Held-out rows choose the weight of the pool in
        either case.
    monotone : array-like of shape (d,) or dict, default=None
        Sign for each column, or ``{column: sign}``: 1 if the probability of "above level k" may
        only rise with it, whatever k, -1 if it may only fall, 0 for no constraint.
    categorical : "auto", None or list of columns, default="auto"
        Columns, by name or number, that are split into sets of categories. "auto": unordered
        pandas categories and polars Categoricals. Ordered pandas categories and polars Enums
        are split in their order, unless they are listed.
    validation_fraction : float or None, default=0.15
        Share of each level held out to choose by. None: ``n_estimators`` rounds, and the
        refinements only where they are set to True.
    patience : int, default=50
        Rounds without improvement after which the held-out rows stop a model.
    decision : {"mode", "median", "mean", "quadratic_kappa"} or array, default="mode"
        How `predict` chooses a level: the most probable one; the median or the rounded mean; or
        the one of least expected cost, where entry (i, j) is the cost of predicting level j
        when level i is true.
        "quadratic_kappa" stretches the rounded mean for the largest quadratic kappa, as the
        rows of `fit` tell.
    class_weight : dict, "balanced" or None, default=None
        Weights of labels, ``{label: weight}``, by which the weights of their rows are
        multiplied; "balanced" gives every level the same total weight.
    levels : array-like of shape (K,), default=None
        The labels in order, lowest first. None: the order `y` carries, else sorted.
    random_state : int, RandomState or None, default=None
        Chooses the rows held out and those drawn; None is a fixed seed, so equal calls give
        equal models.
    n_jobs : int, default=None
        Threads. None: one; -1: one for each core. The model does not depend on it.
    verbose : int, default=0
        1 writes the stages of a long fit to stderr, 2 every step. The logger "ordinality" gets
        them in any case, as INFO and DEBUG.

    Attributes
    ----------
    levels_ : ndarray of shape (K,)
        Labels in order. ``classes_`` holds the same, sorted.
    thresholds_ : ndarray of shape (K - 1,)
        Ascending, on the scale of `predict_latent`. Those around a level without rows are equal
        or infinite. Not with ``loss="multinomial"``.
    n_estimators_ : int
        Rounds kept.
    scale_ : bool
        Whether there is a score for the noise.
    pool_weight_ : float
        Weight of the cumulative model in the pool; 1 without one.
    floor_ : float
        Share of the levels' frequencies that is mixed in, so that no probability is zero.
    feature_importances_ : ndarray of shape (d,)
        Share of each column in the gains of all splits of the score, or of all scores.
    validation_score_ : ndarray of shape (n_rounds,)
        Mean log-probability of the held-out rows after each round of the score.
    column_categories_ : list of length d
        Categories of each column, None for a column of numbers.
    trees_ : CumulativeTrees or MultinomialTrees
        The trees as arrays, which predict without LightGBM.

    See Also
    --------
    OrdinalBoost : Boosting with margins, as in the paper on thresholded ensembles.
    OrdinalGP : Gaussian processes, mostly better below a thousand rows.

    Notes
    -----
    A fit does not depend on the order of the rows. Copies of a row may be held out one by one,
    as new rows may be copies of old ones; if more than a third of the rows have a copy, copies
    are held out together, and then a weight of two equals the row twice. A category that was
    not seen in `fit` is treated as missing; where a column had no missing value in `fit`, a
    missing one follows the larger part of the rows at each split.

    References
    ----------
    McCullagh (1980), "Regression models for ordinal data", JRSS B 42; Ke et al. (2017),
    "LightGBM: a highly efficient gradient boosting decision tree", NeurIPS 30.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality import OrdinalTrees
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
    >>> y = np.array(["low", "mid", "high"])[np.digitize(np.hypot(*X.T), [0.5, 0.9])]
    >>> model = OrdinalTrees(levels=["low", "mid", "high"]).fit(X, y)
    >>> model.predict([[0.1, 0.1], [-0.6, 0.4], [0.9, -0.9]])
    array(['low', 'mid', 'high'], dtype='<U4')
    """

    thresholds_: np.ndarray  # (K - 1,), only with loss="cumulative"

    def __init__(
        self,
        n_estimators: int = 2000,
        *,
        loss: str = "cumulative",
        learning_rate: float = 0.05,
        num_leaves: int | None = None,
        min_child_samples: int | None = None,
        reg_lambda: Any = 0.0,
        subsample: Any = 1.0,
        colsample_bytree: Any = 1.0,
        scale: Any = "auto",
        nonparallel: Any = "auto",
        monotone: Any = None,
        categorical: Any = "auto",
        validation_fraction: Any = 0.15,
        patience: int = 50,
        decision: Any = "mode",
        class_weight: Any = None,
        levels: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.loss = loss
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.min_child_samples = min_child_samples
        self.reg_lambda = reg_lambda
        self.subsample = subsample
        self.colsample_bytree = colsample_bytree
        self.scale = scale
        self.nonparallel = nonparallel
        self.monotone = monotone
        self.categorical = categorical
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.decision = decision
        self.class_weight = class_weight
        self.levels = levels
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @atomic
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn trees, thresholds and what held-out rows decide.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Numbers, perhaps missing (NaN); columns of categories may hold text. Or a Dask
            array or data frame: then `y` and the weights are Dask collections too, and the
            workers of the current client learn, without ``scale`` and ``nonparallel``.
        y : array-like of shape (n,)
            Labels: integers, strings, booleans, an ordered Categorical or Enum.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows: 2 counts as two copies of a row, 0 as none.

        Returns
        -------
        self : OrdinalTrees
            The fitted estimator.
        """
        _require_lightgbm()
        self._check_parameters()
        if type(X).__module__.startswith("dask."):
            return self._fit_partitions(X, y, sample_weight)
        log = FitLog(self)
        Z, sets = self._learn_columns(X)
        checked = check_labels(y, len(Z))
        weights = check_weights(sample_weight, len(Z))
        kept = np.flatnonzero(weights > 0)
        ranks = self._learn_levels(rows_of(y, checked, kept), checked)
        if len(self.levels_) > _MOST_LEVELS:
            raise ValueError(
                f"y has {len(self.levels_)} levels, but at most {_MOST_LEVELS} can be "
                "modelled; join levels, for instance with numpy.digitize."
            )
        rows = DistinctRows.of(Z[kept], ranks, weights[kept])
        factors = self._class_factors(rows.y, rows.weights)
        rows = replace(rows, weights=rows.weights * factors[rows.y])
        seed = self._seed()
        held = self._held(rows, seed)
        settings = self._settings(len(rows), bool(np.any(held)), sets, seed)
        found = grow(rows.X, rows.y, len(self.levels_), rows.weights, held, settings, log)
        self._keep(found)
        self._learn_decision(lambda: self._by_batches(self.trees_.proba, Z[kept]))
        return self

    @available_if(lambda self: self._has_latent())
    def predict_latent(self, X: Any) -> np.ndarray:
        """Sum of the trees, which the thresholds cut. Not with ``loss="multinomial"``.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows to predict.

        Returns
        -------
        scores : ndarray of shape (n,)
            On the scale of ``thresholds_``.
        """
        check_is_fitted(self)
        return self._by_batches(self.trees_.location.score, self._numbers(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _has_latent(self) -> bool:
        """Whether one score is cut by thresholds, as fitted or else as asked for."""
        trees = getattr(self, "trees_", None)
        if trees is None:
            return self.loss != "multinomial"
        return not isinstance(trees, MultinomialTrees)

    def _level_proba(self, X: Any) -> np.ndarray:
        return self._by_batches(self.trees_.proba, self._numbers(X))

    def _by_batches(self, function: Any, Z: np.ndarray) -> np.ndarray:
        batches = gen_batches(len(Z), _BATCH)
        found = thread_map(self.n_jobs)(lambda batch: function(Z[batch]), batches)
        return np.concatenate(list(found))

    def _fit_partitions(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Fit to Dask collections, on the workers of the current client."""
        from ..distributed.boosted_trees import check_workers, grow_partitions
        from ..distributed.partitions import PartitionedRows, encoded, sampled, summarised

        self._check_partitioned()
        Z, sets = self._learn_partitioned_columns(X)
        rows = PartitionedRows.from_collections(Z, y, sample_weight, missing=True)
        check_workers(rows.client)
        rows = rows.persist()
        found = summarised(rows)
        constant = not np.any(found.spread)  # LightGBM refuses rows that are all alike
        if found.rows <= _FETCHED or constant:
            given = (None if v is None else v.compute() for v in (X, y, sample_weight))
            return self.fit(*given)
        log = FitLog(self)
        log.stage("%d rows, %d labels", found.rows, len(found.labels))
        ranks = self._learn_levels(found.typed_labels, found.labels)
        factors, d = self._class_factors(ranks, found.totals), self.n_features_in_
        rows = encoded(rows, self._order, np.zeros(d), np.ones(d), factors).persist()
        totals = np.bincount(ranks, found.totals, len(self.levels_)) * factors
        settings = self._settings(found.rows, True, sets, self._seed())
        share = self.validation_fraction
        share = None if share is None else float(share)
        self._keep(grow_partitions(rows, totals, share, settings, log))
        some = np.full(len(totals), min(1.0, _FETCHED / found.rows))
        self._learn_decision(lambda: self.trees_.proba(sampled(rows, some, self._seed())[0]))
        return self

    def _seed(self) -> int:
        seed = 0 if self.random_state is None else self.random_state
        return int(check_random_state(seed).randint(2**31))

    def _check_partitioned(self) -> None:
        if self.loss == "multinomial":
            raise ValueError(
                "loss='multinomial' needs all rows in one process, and X is a Dask collection; "
                "set loss to 'cumulative', or pass the rows in memory."
            )
        for name in ("scale", "nonparallel"):
            if getattr(self, name) is True:
                raise ValueError(
                    f"{name}=True needs all rows in one process, and X is a Dask collection; "
                    f"set {name} to 'auto' or False, or pass the rows in memory."
                )

    def _check_parameters(self) -> None:
        check_choices(self, loss=_LOSSES, scale=_FLAGS, nonparallel=_FLAGS)
        check_positive(self, "learning_rate")
        check_whole(self, n_estimators=1, patience=1)
        if self.num_leaves is not None:
            check_whole(self, num_leaves=2)
        if self.min_child_samples is not None:
            check_whole(self, min_child_samples=1)
        if not (isinstance(self.reg_lambda, Real) and 0 <= float(self.reg_lambda) < np.inf):
            raise ValueError(f"reg_lambda={self.reg_lambda!r} must be a number, zero or more.")
        for name in ("subsample", "colsample_bytree"):
            value = getattr(self, name)
            if not (isinstance(value, Real) and 0 < float(value) <= 1):
                raise ValueError(f"{name}={value!r} must be above 0 and at most 1.")
        share = self.validation_fraction
        if share is not None and not (isinstance(share, Real) and 0 < float(share) < 1):
            raise ValueError(
                f"validation_fraction={share!r} must lie between 0 and 1, or be None."
            )
        if self.scale is True and self.monotone is not None:
            raise ValueError(
                "scale=True cannot keep `monotone`, because a noise that depends on a column "
                "moves the outer levels both ways; set scale to 'auto' or False, or leave "
                "monotone out."
            )
        if self.loss == "multinomial":
            self._check_multinomial()
        self._check_decision()

    def _check_multinomial(self) -> None:
        if self.monotone is not None:
            raise ValueError(
                "loss='multinomial' cannot keep `monotone`, because each level has a score of "
                "its own; set loss to 'cumulative', or leave monotone out."
            )
        for name in ("scale", "nonparallel"):
            if getattr(self, name) is True:
                raise ValueError(
                    f"{name}=True is a refinement of the cumulative loss; set loss to "
                    f"'cumulative', or {name} to 'auto' or False."
                )

    def _held(self, rows: DistinctRows, seed: int) -> np.ndarray:
        """Share of each row's weight to choose by; every level keeps rows to learn from."""
        if self.validation_fraction is None:
            return np.zeros(len(rows))
        copies = rows.copies
        together = np.sum(copies[copies > 1]) > _COPIES * copies.sum()
        copies = np.ones_like(copies) if together else copies
        units = np.repeat(np.arange(len(rows)), copies)
        each = rows.take(units)
        if not together:
            each = replace(each, groups=np.arange(len(units)))
        held = held_out(each, float(self.validation_fraction), np.random.default_rng(seed))
        # A level may occur only in copies of rows that lead another level.
        lost = ~np.isin(each.y, np.delete(each.y, held))
        held = held[~np.isin(each.groups[held], each.groups[lost])]
        return np.bincount(units[held], minlength=len(rows)) / copies

    def _settings(self, n: int, judged: bool, sets: tuple[int, ...], seed: int) -> Settings:
        """Parameters of LightGBM, and what is tried at this number of rows."""
        few_leaves, least = (15 if n < 1000 else 31), min(20, max(1, n // 10))
        parameters = {
            "learning_rate": float(self.learning_rate),
            "num_leaves": int(self.num_leaves or few_leaves),
            "min_data_in_leaf": int(self.min_child_samples or least),
            "lambda_l2": float(self.reg_lambda),
            "bagging_fraction": float(self.subsample),
            "bagging_freq": int(self.subsample < 1),
            "feature_fraction": float(self.colsample_bytree),
            "seed": seed,
            "num_threads": effective_n_jobs(self.n_jobs),
            "deterministic": True,  # with the next: the same trees by any number of threads
            "force_row_wise": True,
            "feature_pre_filter": False,  # with the next: LightGBM refuses a table without
            "min_data_in_bin": 1,  # a column that it keeps
            "verbosity": -1,
        }
        signs, multinomial = self._signs(sets), self.loss == "multinomial"
        enough = judged and n >= _ENOUGH and not multinomial
        if any(signs):
            parameters["monotone_constraints"] = signs
        rounds = int(self.n_estimators)
        if self.validation_fraction is not None and not judged:
            rounds = min(rounds, _UNJUDGED)
        return Settings(
            rounds, int(self.patience),
            _wanted(self.scale, enough and not any(signs)),
            _wanted(self.nonparallel, enough and len(self.levels_) <= _MOST_POOLED),
            sets, parameters, multinomial,
        )  # fmt: skip

    def _keep(self, found: Any) -> None:
        """Assign what was learnt."""
        trees = found.trees
        self.n_estimators_, self.validation_score_ = found.rounds, found.history
        self.floor_, self.trees_ = trees.floor, trees
        if hasattr(self, "thresholds_"):
            del self.thresholds_  # of an earlier fit
        if isinstance(trees, MultinomialTrees):
            self.scale_, self.pool_weight_ = False, 1.0
        else:
            edges = np.concatenate([[-np.inf], trees.thresholds, [np.inf]])
            ranks = np.arange(len(self.levels_) - 1)
            self.thresholds_ = edges[np.searchsorted(trees.seen, ranks, side="right")]
            self.scale_, self.pool_weight_ = trees.log_scale is not None, trees.share
        self.feature_importances_ = found.gains / (found.gains.sum() or 1.0)

    # ---------------------------------------------------------------- columns

    def _learn_columns(self, X: Any) -> tuple[np.ndarray, tuple[int, ...]]:
        """The rows as numbers, and the columns whose categories are split into sets."""
        frame, asked = _frame(X), self.categorical
        typed = {} if frame is None or asked is None else _typed(frame)
        automatic = asked is None or (isinstance(asked, str) and asked == "auto")
        if automatic and not typed:
            Z = checked_data(self, X, **_NUMBERS)
            self.column_categories_: list[Any] = [None] * self.n_features_in_
            return Z, ()
        X = X if frame is not None else _objects(X)
        validate_data(self, X, skip_check_array=True)
        sets = [j for j, order in typed.items() if order is None]
        if not automatic:
            sets = [
                self._place(column, "categorical") for column in _as_list(asked, "categorical")
            ]
        self.column_categories_ = [None] * self.n_features_in_
        for j in {*sets, *typed}:
            order = None if j in sets else typed[j]
            self.column_categories_[j] = _labels(X, frame, j) if order is None else order
        return self._numbers(X), tuple(sorted(set(sets)))

    def _learn_partitioned_columns(self, X: Any) -> tuple[Any, tuple[int, ...]]:
        """A Dask collection of numbers, and the columns whose categories form sets."""
        frame = _frame(getattr(X, "_meta", None)) if hasattr(X, "columns") else None
        sample: Any = np.zeros((1, X.shape[-1])) if frame is None else frame.to_native()
        validate_data(self, sample, skip_check_array=True)
        self.column_categories_ = [None] * self.n_features_in_
        asked, typed = self.categorical, {} if frame is None else _typed(frame)
        if asked is None:
            typed = {}
        sets = [j for j, order in typed.items() if order is None]
        if not (asked is None or (isinstance(asked, str) and asked == "auto")):
            sets = [
                self._place(column, "categorical") for column in _as_list(asked, "categorical")
            ]
        for j in {*sets, *typed}:
            known = j in typed and X[X.columns[j]].cat.known
            if not known:
                column = X.columns[j] if frame is not None else j
                raise ValueError(
                    f"the categories of column {column!r} are not known before its partitions "
                    "are read; make it a category of a Dask data frame with known categories, "
                    f"for instance with X.categorize(columns=[{column!r}])."
                )
            labels = _levels.as_labels(sample.iloc[:, j].cat.categories.tolist(), f"column {j}")
            self.column_categories_[j] = np.unique(labels) if j in sets else typed[j]
        return self._coded_partitions(X, sample), tuple(sorted(set(sets)))

    def _coded_partitions(self, X: Any, sample: Any) -> Any:
        """A Dask frame with categories as numbers; other collections as they are."""
        if all(labels is None for labels in self.column_categories_):
            return X
        return X.map_partitions(
            _coded_frame, self.column_categories_, meta=sample.astype(np.float64)
        )

    def _numbers(self, X: Any) -> np.ndarray:
        """The rows as numbers, categories by their places and unknown ones as missing."""
        if all(labels is None for labels in self.column_categories_):
            return checked_data(self, X, reset=False, **_NUMBERS)
        frame = _frame(X)
        X = X if frame is not None else _objects(X)
        validate_data(self, X, skip_check_array=True, reset=False)
        columns = []
        for j, labels in enumerate(self.column_categories_):
            values = X[:, j] if frame is None else frame[frame.columns[j]].to_numpy()
            try:
                columns.append(
                    np.asarray(values, dtype=np.float64) if labels is None
                    else _codes(values, labels)
                )  # fmt: skip
            except ValueError as error:
                column = j if frame is None else frame.columns[j]
                raise ValueError(f"{error}, in column {column!r}; {_OF_TEXT}.") from None
        return check_array(np.column_stack(columns), ensure_all_finite="allow-nan")

    def _place(self, column: Any, parameter: str) -> int:
        """Number of a column, given by number or name."""
        names = getattr(self, "feature_names_in_", None)
        whole = isinstance(column, Integral) and not isinstance(column, bool)
        if whole and 0 <= int(column) < self.n_features_in_:
            return int(column)
        if isinstance(column, str) and names is not None and column in names:
            return int(np.flatnonzero(names == column)[0])
        known = f"columns 0 to {self.n_features_in_ - 1}" if names is None else names.tolist()
        raise ValueError(
            f"{parameter} names {column!r}, which is not a column of X; there are {known}."
        )

    def _signs(self, sets: Sequence[int]) -> list[int]:
        """Sign of each column's effect, 0 for any."""
        signs, given = [0] * self.n_features_in_, self.monotone
        if given is None:
            return signs
        if isinstance(given, dict):
            pairs = [(self._place(column, "monotone"), sign) for column, sign in given.items()]
        else:
            pairs = list(enumerate(_as_list(given, "monotone")))
            if len(pairs) != len(signs):
                raise ValueError(
                    f"monotone lists {len(pairs)} signs, but X has {len(signs)} columns; list "
                    "one for each, or pass a dict of those you constrain."
                )
        for j, sign in pairs:
            if isinstance(sign, bool) or sign not in (-1, 0, 1):
                raise ValueError(f"monotone holds {sign!r}; a sign is -1, 0 or 1.")
            if sign and j in sets:
                raise ValueError(
                    f"monotone constrains column {j}, whose categories have no order; leave it "
                    "out, or make it an ordered category."
                )
            signs[j] = int(sign)
        return signs


def _require_lightgbm() -> None:
    try:
        import lightgbm  # noqa: F401
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(
            "OrdinalTrees needs LightGBM, which is not installed; run: "
            "pip install 'ordinality[trees]'.",
            name=missing.name,
        ) from missing


def _wanted(flag: Any, enough: bool) -> bool | None:
    """A refinement's flag: None if held-out rows decide."""
    if isinstance(flag, str):
        return None if enough else False
    return bool(flag)


def _frame(X: Any) -> Any:
    """A data frame as narwhals sees it; None for anything else."""
    import narwhals as nw

    found = nw.from_native(X, eager_only=True, pass_through=True)
    return found if isinstance(found, nw.DataFrame) else None


def _typed(frame: Any) -> dict[int, np.ndarray | None]:
    """Columns of categories, with their order where they have one."""
    import narwhals as nw

    found: dict[int, np.ndarray | None] = {}
    for j, dtype in enumerate(frame.schema.values()):
        if isinstance(dtype, nw.Enum):
            found[j] = _levels.as_labels(list(dtype.categories), f"column {j}")
        elif isinstance(dtype, nw.Categorical):
            found[j] = None
    return found


def _objects(X: Any) -> np.ndarray:
    """A table that is no frame, its values as they are."""
    dtype = None if isinstance(X, np.ndarray) else object
    return check_array(X, dtype=dtype, ensure_all_finite=False)


def _labels(X: Any, frame: Any, j: int) -> np.ndarray:
    """Categories that a column holds, sorted."""
    if frame is not None:
        values = frame[frame.columns[j]].drop_nulls().to_list()
    else:
        values = [value for value in X[:, j].tolist() if value is not None]
    values = [value for value in values if value == value]
    return np.unique(_levels.as_labels(values, f"column {j}")) if values else np.empty(0)


def _codes(values: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Place of each value among the labels; missing if it is none of them."""
    places = {label: float(code) for code, label in enumerate(labels.tolist())}
    return np.array([places.get(value, np.nan) for value in values.tolist()])


def _coded_frame(X: Any, categories: list[Any]) -> Any:
    """A pandas frame with the places of categories, missing where there is none."""
    columns = {
        name: X[name] if labels is None else _codes(X[name].to_numpy(), labels)
        for name, labels in zip(X.columns, categories, strict=True)
    }
    return type(X)(columns, index=X.index).astype(np.float64)


def _as_list(given: Any, parameter: str) -> list[Any]:
    """Entries of a list, a tuple or an array."""
    if not isinstance(given, (list, tuple, np.ndarray)):
        raise ValueError(f"{parameter}={given!r} is not understood; pass a list.")
    return list(given)
