"""Thresholded ensembles: ORBoost with all or with left and right margins, and RankBoost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import ndtri
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import levels as _levels
from ..boosting import ensemble as _ensemble
from ..boosting.ensemble import Ensemble, boost, rank_boost
from ..boosting.learners import Trainer
from . import boost_learners
from .boost_learners import trainer, tree_depth
from .calibration import ScoredClassifier, fold_splits, held_out
from .fitting import (
    DistinctRows,
    FitLog,
    Scaling,
    atomic,
    check_choices,
    check_positive,
    check_weights,
    check_whole,
    rows_of,
)
from .threads import one_pool, thread_map

__all__ = ["BoundTerms", "OrdinalBoost", "RankBoost", "ThresholdedEnsemble"]

_DEEPEST = 12  # of a tree: its sums over bins take 4 kB a leaf
_ROUNDS, _MOST_TREES = 200, 1000  # for "auto": as in the paper; at most
_TREE_RATE = 0.3  # for "auto"; see docs/thresholded-ensembles.md
_HELD = 0.15  # share of the rows that choose the rounds where there are no calibration folds
_UNJUDGED = 100  # rounds at most, where there are too few rows to leave any out
_KINDS = ("classification", "boundary", "absolute")


class BoundTerms(NamedTuple):
    """What of Theorems 1 and 2 of Lin & Li (2006) can be computed; see ``bound_terms``."""

    absolute_error: float  # E_A at the margin, Theorem 1
    boundary_error: float  # E_B at the margin, Theorem 2
    classification_error: float  # E_C at the margin; Corollary 1 has it twice
    absolute_complexity: float  # inside O() of Theorem 1: K times the next
    boundary_complexity: float  # inside O() of Theorem 2 and of Corollary 1
    d_hat: int  # VC dimension of the learners, and K - 1
    n: int  # rows


class ThresholdedEnsemble(ScoredClassifier):
    """A weighted vote of confidence functions, cut into levels by ordered thresholds.

    Subclasses say which function runs the rounds (`_algorithm`), the two values of the
    parameter that it takes besides (`_choices`: one for the absolute error, then one for the
    classification error), and how many terms a loss has (`_log_terms`).
    """

    _algorithm: ClassVar[Callable[..., Ensemble]]
    _choices: ClassVar[dict[str, tuple[str, str]]]
    _rng: np.random.Generator  # as the rounds left it
    learners_: list[Any]

    learner: Any
    n_estimators: Any
    learning_rate: Any
    steepness: float
    max_depth: Any
    updates: int
    max_bins: int | None
    standardize: bool
    early_stopping: Any
    validation_fraction: Any
    patience: int
    tol: Any
    warm_start: bool
    random_state: Any

    @atomic
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the confidence functions, their weights and the thresholds.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Finite numbers.
        y : array-like of shape (n,)
            Labels: integers, strings, booleans, an ordered Categorical or Enum.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows: 2 counts as two copies of a row, 0 as none.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._check_parameters()
        before: Ensemble | None = getattr(self, "ensemble_", None) if self.warm_start else None
        X, checked = validate_data(
            self, X, y, dtype=np.float64, y_numeric=False, reset=before is None
        )
        log = FitLog(self)
        weights = check_weights(sample_weight, len(X))
        kept = np.flatnonzero(weights > 0)
        labels = rows_of(y, checked, kept)
        if before is not None:
            self._check_same_levels(labels, checked)
        rows = DistinctRows.of(X[kept], self._learn_levels(labels, checked), weights[kept])
        if before is None:
            # Cuts are the same whatever the scale, and are easier to read in the user's units.
            cuts = isinstance(self.learner, str) and self.learner in ("stump", "tree")
            scaled = self.standardize and not cuts
            self._scaling = Scaling.of(rows.X, rows.weights) if scaled else None
        if self._scaling is not None:
            rows = replace(rows, X=self._scaling(rows.X))
        depth = tree_depth(len(rows)) if self.max_depth == "auto" else self.max_depth
        learner = trainer(
            self.learner, len(rows), self.steepness, depth, self.updates, self.max_bins
        )
        factors = self._class_factors(rows.y, rows.weights)
        costs = replace(rows, weights=rows.weights * factors[rows.y])
        if before is None:
            seed = 0 if self.random_state is None else self.random_state
            self._seed = int(check_random_state(seed).randint(2**31))
        with one_pool(len(rows)):
            most, judged = self._most_rounds(), None
            folds: dict[int, Ensemble] = {}
            if self._stops() and self.validation_fraction is None:
                most, judged, folds = self._choose_rounds(rows, costs, learner, log)
            self._grow(rows, costs, learner, before, log, most, judged)
            self._calibrate(rows, costs, learner, folds)
        self._learn_decision(lambda: self._level_proba(X[kept]))
        return self

    def predict_latent(self, X: Any) -> np.ndarray:
        """The vote, ``H(x) = sum_t weights_[t] learners_[t](x)``, which the thresholds cut.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows to predict.

        Returns
        -------
        scores : ndarray of shape (n,)
            On the scale of ``thresholds_``.
        """
        X = self._checked(X)
        return self.ensemble_.score(X)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Levels whose thresholds enclose the score, after each round.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows to predict.

        Yields
        ------
        y : ndarray of shape (n,)
            Predicted labels.
        """
        for scores, thresholds in self._stages(X):
            yield self._order.decode(_levels.rank_from_scores(scores, thresholds))

    def staged_predict_latent(self, X: Any) -> Iterator[np.ndarray]:
        """The vote after each round; the last is that of `predict_latent`.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows to predict.

        Yields
        ------
        scores : ndarray of shape (n,)
            On the scale of the thresholds of that round.
        """
        for scores, _ in self._stages(X):
            yield scores

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """What `decision_function` gives, after each round.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows to predict.

        Yields
        ------
        scores : ndarray of shape (n,) or (n, K)
            As `decision_function` has them.
        """
        for scores, thresholds in self._stages(X):
            yield self._decision(scores, thresholds)

    def margins_of(self, X: Any, y: Any, *, normalized: bool = False) -> np.ndarray:
        """How far each row lies on the right side of each threshold (Definition 1).

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows to predict.
        y : array-like of shape (n,)
            Labels.
        normalized : bool, default=False
            Divide by ``sum |weights_| + sum |thresholds_|``, so that margins of different
            ensembles can be compared: all lie between -1 and 1.

        Returns
        -------
        margins : ndarray of shape (n, K - 1)
            Negative where the vote is on the wrong side.
        """
        return self._margins(X, y, normalized)[0]

    def margin_error(
        self,
        X: Any,
        y: Any,
        delta: float = 0.0,
        kind: str = "classification",
        *,
        sample_weight: Any = None,
    ) -> float:
        """Share of errors when a normalised margin of at most `delta` counts as one.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows to predict.
        y : array-like of shape (n,)
            Labels.
        delta : float, default=0.0
            Margin asked for; zero gives the plain errors.
        kind : {"classification", "boundary", "absolute"}, default="classification"
            Whether one of the two thresholds next to the label is too near (E_C); which share
            of them is (E_B); how many of all thresholds are (E_A).
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.

        Returns
        -------
        error : float
            ``E_C / 2 <= E_B <= E_C``.
        """
        if kind not in _KINDS:
            raise ValueError(f"kind={kind!r} is not known; choose one of {list(_KINDS)}.")
        rho, ranks = self._margins(X, y, normalized=True)
        weights = check_weights(sample_weight, len(rho))
        return _ensemble.margin_error(rho, ranks, delta, kind, weights)  # type: ignore[arg-type]

    def bound_terms(
        self,
        X: Any,
        y: Any,
        delta: float,
        *,
        confidence: float = 0.05,
        vc_dimension: int | None = None,
    ) -> BoundTerms:
        """The terms of the large-margin bounds (Theorems 1 and 2) that can be computed.

        The expected error is at most the error at a margin on the training rows plus a
        constant times a complexity. **The constant is not known**, so the terms say nothing
        about a single number; they compare ensembles, margins and sample sizes.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Training rows.
        y : array-like of shape (n,)
            Their labels.
        delta : float
            Margin, above zero: a larger one means more errors and less complexity.
        confidence : float, default=0.05
            Probability with which the bound may fail.
        vc_dimension : int, default=None
            Of the set of learners. None: d + 1 for perceptrons (and for sigmoids, whose own
            theorem asks for another dimension), an upper bound for stumps and trees; must be
            stated for learners of scikit-learn.

        Returns
        -------
        BoundTerms
            Errors at the margin, complexities (infinite unless n exceeds ``d_hat``), d_hat, n.
        """
        if not 0 < confidence < 1:
            raise ValueError(f"confidence={confidence!r} must lie between 0 and 1.")
        if not 0 < delta < np.inf:
            raise ValueError(f"delta={delta!r} must be a number above zero.")
        rho, ranks = self._margins(X, y, normalized=True)
        if vc_dimension is None:
            leaves = self.learners_[0].leaf.size if self._trees() else 1
            vc_dimension = boost_learners.vc_dimension(
                self.learner, self.n_features_in_, int(np.log2(leaves))
            )
        n, K = len(rho), len(self.levels_)
        d_hat = int(vc_dimension) + K - 1
        complexity = np.inf
        if n > d_hat:
            capacity = d_hat * np.log(n / d_hat) ** 2 / delta**2
            complexity = float(np.sqrt((capacity + np.log(1 / confidence)) / n))
        return BoundTerms(
            _ensemble.margin_error(rho, ranks, delta, "absolute"),
            _ensemble.margin_error(rho, ranks, delta, "boundary"),
            _ensemble.margin_error(rho, ranks, delta, "classification"),
            K * complexity, complexity, d_hat, n,
        )  # fmt: skip

    def _boost(
        self,
        rows: DistinctRows,
        learner: Trainer,
        rounds: int,
        rng: np.random.Generator,
        start: Ensemble | None = None,
        watch: Callable[..., bool] | None = None,
    ) -> Ensemble:
        own = {name: getattr(self, name) for name in self._choices}
        return self._algorithm(
            rows.X, rows.y, len(self.levels_), learner, rounds=rounds, rate=self._rate(),
            weights=rows.weights, rng=rng, start=start, watch=watch, **own,
        )  # fmt: skip

    def _trees(self) -> bool:
        return isinstance(self.learner, str) and self.learner == "tree"

    def _stops(self) -> bool:
        """Whether rows that are not learnt from choose the number of rounds."""
        if self.early_stopping != "auto":
            return bool(self.early_stopping)
        return self.validation_fraction is not None or (self._trees() and not self.warm_start)

    def _most_rounds(self) -> int:
        if self.n_estimators != "auto":
            return int(self.n_estimators)
        return _MOST_TREES if self._trees() and self._stops() else _ROUNDS

    def _rate(self) -> float:
        if self.learning_rate != "auto":
            return float(self.learning_rate)
        return _TREE_RATE if self._trees() else 1.0

    def _absolute(self) -> bool:
        """Whether the absolute error is aimed at, and not the classification error."""
        ((name, (absolute, _)),) = self._choices.items()
        return bool(getattr(self, name) == absolute)

    def _log_terms(self, first: float, total: float) -> float:
        """Logarithm of the divisor that makes losses means, by the first log loss or weight."""
        raise NotImplementedError

    def _check_parameters(self) -> None:
        flags = (True, False)
        check_choices(self, standardize=flags, warm_start=flags, **self._choices)
        check_choices(self, early_stopping=("auto", *flags))
        check_positive(self, "steepness", *_stated(self, "learning_rate"))
        least = dict.fromkeys(_stated(self, "n_estimators", "max_depth"), 1)
        check_whole(self, **least, updates=1, patience=1)
        if self.max_depth != "auto" and self.max_depth > _DEEPEST:
            raise ValueError(f"max_depth={self.max_depth} is too deep; {_DEEPEST} is the most.")
        if self.calibration_folds is not None:
            check_whole(self, calibration_folds=2)
        if self.max_bins is not None:
            check_whole(self, max_bins=2)
            if self.max_bins > 256:
                raise ValueError(f"max_bins={self.max_bins} is too many; 256 is the most.")
        if not (isinstance(self.tol, Real) and 0 <= float(self.tol) < np.inf):
            raise ValueError(f"tol={self.tol!r} must be a number, zero or more.")
        fraction = self.validation_fraction
        if fraction is not None and not (
            isinstance(fraction, Real) and 0 < float(fraction) < 1
        ):
            raise ValueError(
                f"validation_fraction={fraction!r} must lie between 0 and 1, or be None."
            )
        if fraction is not None and self.early_stopping is False:
            raise ValueError(
                f"validation_fraction={fraction!r} holds out rows for early stopping, but "
                "early_stopping=False; leave one of them out."
            )
        if self.warm_start:
            self._check_warm_start()
        self._check_decision()

    def _check_warm_start(self) -> None:
        """Refuse to continue with early stopping, or with fewer rounds than there are."""
        if self._stops() or hasattr(self, "validation_score_"):
            raise ValueError(
                "warm_start cannot continue a fit with early stopping; leave "
                "early_stopping and validation_fraction out, or warm_start."
            )
        ensemble, wanted = getattr(self, "ensemble_", None), self._most_rounds()
        if ensemble is not None and wanted < len(ensemble.alphas):
            raise ValueError(
                f"n_estimators={wanted}, but the model to continue has "
                f"{len(ensemble.alphas)}; ask for at least as many, or set warm_start=False."
            )

    def _check_same_levels(self, labels: Any, given: Any) -> None:
        found = self._resolve(labels, given).levels
        if not np.array_equal(found, self.levels_):
            raise ValueError(
                f"the labels have the levels {found.tolist()}, but the model to continue "
                f"has {self.levels_.tolist()}; state them with `levels`, or set "
                "warm_start=False."
            )

    def _generator(self, purpose: int) -> np.random.Generator:
        return np.random.default_rng([self._seed, purpose])

    def _checked(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return X if self._scaling is None else self._scaling(X)

    def _grow(
        self,
        rows: DistinctRows,
        costs: DistinctRows,
        learner: Trainer,
        before: Ensemble | None,
        log: FitLog,
        most: int,
        judged: np.ndarray | None,
    ) -> None:
        """Run the rounds on rows weighted by class too, and keep what they gave."""
        rng = self._generator(0) if before is None else deepcopy(self._rng)
        watch = None
        if self.validation_fraction is not None:
            held = held_out(rows, float(self.validation_fraction), self._generator(1))
            if not len(held):
                raise ValueError(
                    f"validation_fraction={self.validation_fraction} of {rows.groups[-1] + 1} "
                    "distinct rows holds out none: every level keeps one row to learn from. "
                    "Leave it out, or give more rows."
                )
            judge = partial(_error, absolute=self._absolute())
            watch = _Watch(rows.take(held), judge, self.patience, self.tol)
            costs = costs.take(np.setdiff1d(np.arange(len(rows)), held))
        done = 0 if before is None else len(before.alphas)
        total = float(costs.weights.sum())
        hook = self._callback(log, before, total, watch, most) if log.wanted else watch
        found = self._boost(costs, learner, most - done, rng, before, hook)
        self._rng, self.n_iter_ = rng, len(found.alphas)
        if watch is not None:
            judged = -np.array(watch.errors)
            found = found.first(int(np.argmax(judged)) + 1)
        if judged is not None:
            self.validation_score_, self.n_iter_ = judged, len(judged)
        elif hasattr(self, "validation_score_"):
            del self.validation_score_  # of an earlier fit
        self.ensemble_, self.n_estimators_ = found, len(found.alphas)
        self.learners_, self.weights_ = list(found.learners), found.alphas
        self.thresholds_ = found.thresholds[-1]
        log_terms = self._log_terms(float(found.log_losses[0]), total)
        self.train_loss_ = np.exp(found.log_losses - log_terms)
        kept, loss = len(found.alphas), self.train_loss_[-1]
        log.stage("%d rounds, %d kept: loss %.6g", self.n_iter_, kept, loss)
        self.feature_importances_ = found.relevance(self.n_features_in_)

    def _callback(
        self,
        log: FitLog,
        before: Ensemble | None,
        total: float,
        watch: _Watch | None,
        most: int,
    ) -> Callable[..., bool]:
        """What is called after each round: early stopping, and a message."""
        done = 0 if before is None else len(before.alphas)

        def callback(*round: Any) -> bool:
            over, losses = watch is not None and watch(*round), round[-1]
            first = losses[0] if before is None else float(before.log_losses[0])
            loss = np.exp(losses[-1] - self._log_terms(first, total))
            held = "" if watch is None else f", error of held-out rows {watch.errors[-1]:.4g}"
            at = done + len(losses) - 1
            log.step("round %d of %d: loss %.6g%s", at, most, loss, held)
            return over

        return callback

    def _choose_rounds(
        self, rows: DistinctRows, costs: DistinctRows, learner: Trainer, log: FitLog
    ) -> tuple[int, np.ndarray | None, dict[int, Ensemble]]:
        """Best number of rounds, score after each, and the folds' ensembles by first test row.

        The folds are those of the calibration, which then needs no further fits. Without
        calibration some rows are held out once.
        """
        if self.calibration_folds is None:
            held = held_out(rows, _HELD, self._generator(1))
            splits = [(np.setdiff1d(np.arange(len(rows)), held), held)] if len(held) else []
        else:
            folds = int(self.calibration_folds)
            splits = fold_splits(rows.y, folds, self._generator(3), rows.groups)
        most = self._most_rounds()
        if not splits:
            return min(most, _UNJUDGED), None, {}
        judge = partial(_uncertainty, latent=_normal_scores(rows, len(self.levels_)))
        tick = log.counter("fold to choose the rounds", len(splits))

        def run(split: tuple[np.ndarray, np.ndarray]) -> tuple[Ensemble, list[float]]:
            train, test = split
            watch = _Watch(rows.take(test), judge, self.patience, self.tol, stretched=True)
            rng = self._generator(2)
            found = self._boost(costs.take(train), learner, most, rng, watch=watch)
            tick(1)
            return found, watch.errors

        runs = thread_map(self.n_jobs)(run, splits)
        shortest = min(len(errors) for _, errors in runs)
        sizes = [rows.weights[test].sum() for _, test in splits]
        judged = -np.average([errors[:shortest] for _, errors in runs], axis=0, weights=sizes)
        rounds = int(np.argmax(judged)) + 1
        log.stage("best after %d of %d rounds on rows left out", rounds, shortest)
        kept = zip(splits, runs, strict=True)
        return rounds, judged, {int(test[0]): run[0].first(rounds) for (_, test), run in kept}

    def _calibrate(
        self,
        rows: DistinctRows,
        costs: DistinctRows,
        learner: Trainer,
        folds: dict[int, Ensemble],
    ) -> None:
        def fit_score(train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            part = costs.take(train)
            fold = folds.get(int(test[0]))  # the splits are those that chose the rounds
            if fold is None:
                fold = self._boost(part, learner, self.n_estimators_, self._generator(2))
            return fold.score(part.X), fold.score(rows.X[test])

        whole = partial(self.ensemble_.score, rows.X)
        self._learn_link(rows, whole, fit_score, self._generator(3))

    def _stages(self, X: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        X = self._checked(X)
        staged = self.ensemble_.staged_scores(X)
        yield from zip(staged, self.ensemble_.thresholds[1:], strict=True)

    def _margins(self, X: Any, y: Any, normalized: bool) -> tuple[np.ndarray, np.ndarray]:
        """Margins (n, K - 1) and ranks (n,)."""
        scores = self.predict_latent(X)
        check_consistent_length(scores, y)
        ranks = self._order.encode(y)
        rho = _ensemble.margins(scores, self.thresholds_, ranks)
        if normalized:
            rho /= _ensemble.normaliser(self.ensemble_.alphas, self.thresholds_) or 1.0
        return rho, ranks


class OrdinalBoost(ThresholdedEnsemble):
    """Boosting for ordered labels: a vote of simple functions, cut by thresholds (ORBoost).

    Each round adds the function that best follows the negative gradient of an exponential loss
    over margins, weights it by the step that lowers the loss most, and moves the thresholds to
    their optimum. Probabilities come from a link calibrated on held-out rows.

    Parameters
    ----------
    margins : {"all", "left-right"}, default="all"
        Which thresholds a row must keep away from: all of them (bounds the absolute error), or
        the two next to its label (bounds the classification error).
    learner : {"perceptron", "sigmoid", "stump", "tree"} or classifier, default="perceptron"
        Functions that vote: halfspaces learnt by random coordinate descent; the same with
        smooth edges, the best on the paper's benchmarks; one cut on one feature; small trees;
        or any scikit-learn classifier that takes sample weights, whose predictions are votes
        of +1 and -1.
    n_estimators : int or "auto", default="auto"
        Rounds; at most so many with ``early_stopping``. "auto": 200, and 1000 for trees with
        early stopping.
    learning_rate : float or "auto", default="auto"
        Share of each step that is taken. "auto": 0.3 for trees, 1 for others, as in the paper.
    steepness : float, default=4.0
        Steepness of sigmoids.
    max_depth : int or "auto", default="auto"
        Cuts on the way to a leaf of a tree, at most 12. "auto": 3 below 1000 distinct rows, 4
        below 3000, 5 below 10,000, 6 from there on.
    updates : int, default=200
        Line searches for each perceptron or sigmoid.
    max_bins : int, default=None
        For stumps and trees: most bins of equal frequency between which they cut, 2 to 256.
        None: stumps try every cut up to 50,000 distinct rows and 256 bins above, trees use
        256.
    standardize : bool, default=True
        Whether features are shifted and scaled to unit spread first; stumps and trees do
        without.
    calibration_folds : int or None, default=5
        Parts in which rows are left out in turn to calibrate probabilities; each costs one
        more fit. None: no probabilities, and `predict_proba` does not exist.
    early_stopping : bool or "auto", default="auto"
        Whether rows left out choose the number of rounds: those of the calibration folds, which
        costs no further fit, or 15 % of each level if ``calibration_folds`` is None. The round
        is kept at which their scores tell most of their levels, and the final model is learnt
        from all rows. "auto": for trees, unless ``warm_start`` is set.
    validation_fraction : float, default=None
        Share of each level held out to stop early in another way: these rows are not learnt
        from, and the round with their least error (absolute for ``margins="all"``, else
        classification) is kept.
    patience : int, default=50
        Rounds without improvement after which early stopping ends the rounds; without
        ``validation_fraction`` also as many as led to the best.
    tol : float, default=1e-4
        Smallest gain that counts as an improvement: of the error, or of the log score in nats.
    warm_start : bool, default=False
        Whether `fit` adds rounds to the model there is, up to ``n_estimators``; on the same
        data the result is that of one long run. Scaling and seeds of the first fit are kept,
        probabilities are calibrated anew.
    decision : {"mode", "median", "mean", "quadratic_kappa"} or array, default="mode"
        How `predict` chooses a level: the one whose thresholds enclose the score, which is also
        the most probable; the median or the rounded mean of the probabilities; or the level of
        least expected cost, where entry (i, j) is the cost of predicting level j when level i
        is true. All but the first need ``calibration_folds``.
        "quadratic_kappa" stretches the rounded mean for the largest quadratic kappa, as the
        rows of `fit` tell.
    class_weight : dict, "balanced" or None, default=None
        Weights of labels, ``{label: weight}``, by which the weights of their rows are
        multiplied in learning; "balanced" gives every level the same total weight.
        Probabilities are calibrated without them.
    levels : array-like of shape (K,), default=None
        The labels in order, lowest first. None: the order `y` carries, else sorted.
    random_state : int, RandomState or None, default=None
        Chooses directions, folds and held-out rows; None is a fixed seed, so equal calls give
        equal models.
    n_jobs : int, default=None
        The folds of the calibration run in this many threads.
    verbose : int, default=0
        1 writes the stages of a long fit to stderr, 2 every step. The logger "ordinality" gets
        them in any case, as INFO and DEBUG.

    Attributes
    ----------
    levels_ : ndarray of shape (K,)
        Labels in order. ``classes_`` holds the same, sorted.
    thresholds_ : ndarray of shape (K - 1,)
        Ascending, on the scale of the vote.
    weights_ : ndarray of shape (T,)
        Weight of each function in the vote; some may be negative.
    learners_ : list of T functions
        Each maps scaled features (n, d) to votes (n,) in [-1, 1].
    n_estimators_ : int
        Functions kept, T.
    n_iter_ : int
        Rounds run or judged; more than ``n_estimators_`` if early stopping went back.
    train_loss_ : ndarray of shape (T + 1,)
        Mean exponential loss of the rows learnt from, before the first round and after each.
    validation_score_ : ndarray of shape (n_iter_,)
        After each round, what the scores of left-out rows tell of their levels, in nats:
        ``-log(1 - rho**2) / 2``, rho the correlation of scores and normal scores of the levels.
        With ``validation_fraction`` minus the error of the held-out rows. Only with early
        stopping.
    feature_importances_ : ndarray of shape (d,)
        Share of each feature in the vote; zeros if a scikit-learn classifier does not tell.
    link_ : OrdinalLink or None
        Turns votes into probabilities; has ``thresholds``, ``width`` and ``proba``.
    ensemble_ : Ensemble
        All of the above, with the thresholds after each round.

    See Also
    --------
    RankBoost : Orders the rows first and finds thresholds afterwards.

    Notes
    -----
    A fit does not depend on the order of the rows, and a weight of two equals the row twice.
    Rows that agree in all features share a fold of the calibration. Where the link prefers
    another level than the one whose thresholds enclose the score, `predict_proba` raises the
    latter to the same probability; ``link_.proba(predict_latent(X))`` is not adjusted.

    References
    ----------
    Lin & Li (2006), "Large-margin thresholded ensembles for ordinal regression: theory and
    practice", ALT 2006, LNCS 4264.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality import OrdinalBoost
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(200, 2))
    >>> y = np.array(["low", "mid", "high"])[np.digitize(np.hypot(*X.T), [0.5, 0.9])]
    >>> model = OrdinalBoost(n_estimators=50, levels=["low", "mid", "high"]).fit(X, y)
    >>> model.predict([[0.1, 0.1], [-0.6, 0.4], [0.9, -0.9]])
    array(['low', 'mid', 'high'], dtype='<U4')
    >>> bool(np.all(np.diff(model.train_loss_) <= 0))
    True
    """

    _algorithm = staticmethod(boost)
    _choices: ClassVar = {"margins": ("all", "left-right")}

    def __init__(
        self,
        margins: str = "all",
        *,
        learner: Any = "perceptron",
        n_estimators: Any = "auto",
        learning_rate: Any = "auto",
        steepness: float = 4.0,
        max_depth: Any = "auto",
        updates: int = 200,
        max_bins: int | None = None,
        standardize: bool = True,
        calibration_folds: int | None = 5,
        early_stopping: Any = "auto",
        validation_fraction: float | None = None,
        patience: int = 50,
        tol: float = 1e-4,
        warm_start: bool = False,
        decision: Any = "mode",
        class_weight: Any = None,
        levels: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.margins = margins
        self.learner = learner
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.steepness = steepness
        self.max_depth = max_depth
        self.updates = updates
        self.max_bins = max_bins
        self.standardize = standardize
        self.calibration_folds = calibration_folds
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.tol = tol
        self.warm_start = warm_start
        self.decision = decision
        self.class_weight = class_weight
        self.levels = levels
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _log_terms(self, first: float, total: float) -> float:
        return float(np.log(total))


class RankBoost(ThresholdedEnsemble):
    """Boosting that orders pairs of rows, with thresholds found by counting (RankBoost-AE).

    Each round adds the function that best orders pairs of rows of different level, weighted by
    how badly each pair is ordered so far. Thresholds with the least error on the training rows
    cut the finished vote; they do not influence which functions are chosen. In the paper it
    predicts worse than `OrdinalBoost`; use it for comparison, or where the order of rows is
    wanted (`predict_latent`).

    Parameters
    ----------
    thresholding : {"absolute", "zero-one"}, default="absolute"
        Error of the training rows that the thresholds minimise; also the one that early
        stopping watches.
    learner : {"perceptron", "sigmoid", "stump", "tree"} or classifier, default="perceptron"
        Functions that vote: halfspaces learnt by random coordinate descent; the same with
        smooth edges, the best on the paper's benchmarks; one cut on one feature; small trees;
        or any scikit-learn classifier that takes sample weights, whose predictions are votes
        of +1 and -1.
    n_estimators : int or "auto", default="auto"
        Rounds; at most so many with ``early_stopping``. "auto": 200, and 1000 for trees with
        early stopping.
    learning_rate : float or "auto", default="auto"
        Share of each step that is taken. "auto": 0.3 for trees, 1 for others, as in the paper.
    steepness : float, default=4.0
        Steepness of sigmoids.
    max_depth : int or "auto", default="auto"
        Cuts on the way to a leaf of a tree, at most 12. "auto": 3 below 1000 distinct rows, 4
        below 3000, 5 below 10,000, 6 from there on.
    updates : int, default=200
        Line searches for each perceptron or sigmoid.
    max_bins : int, default=None
        For stumps and trees: most bins of equal frequency between which they cut, 2 to 256.
        None: stumps try every cut up to 50,000 distinct rows and 256 bins above, trees use
        256.
    standardize : bool, default=True
        Whether features are shifted and scaled to unit spread first; stumps and trees do
        without.
    calibration_folds : int or None, default=5
        Parts in which rows are left out in turn to calibrate probabilities; each costs one
        more fit. None: no probabilities, and `predict_proba` does not exist.
    early_stopping : bool or "auto", default="auto"
        Whether rows left out choose the number of rounds: those of the calibration folds, which
        costs no further fit, or 15 % of each level if ``calibration_folds`` is None. The round
        is kept at which their scores tell most of their levels, and the final model is learnt
        from all rows. "auto": for trees, unless ``warm_start`` is set.
    validation_fraction : float, default=None
        Share of each level held out to stop early in another way: these rows are not learnt
        from, and the round with their least error, by what ``thresholding`` names, is kept.
    patience : int, default=50
        Rounds without improvement after which early stopping ends the rounds; without
        ``validation_fraction`` also as many as led to the best.
    tol : float, default=1e-4
        Smallest gain that counts as an improvement: of the error, or of the log score in nats.
    warm_start : bool, default=False
        Whether `fit` adds rounds to the model there is, up to ``n_estimators``; on the same
        data the result is that of one long run. Scaling and seeds of the first fit are kept,
        probabilities are calibrated anew.
    decision : {"mode", "median", "mean", "quadratic_kappa"} or array, default="mode"
        How `predict` chooses a level: the one whose thresholds enclose the score, which is also
        the most probable; the median or the rounded mean of the probabilities; or the level of
        least expected cost, where entry (i, j) is the cost of predicting level j when level i
        is true. All but the first need ``calibration_folds``.
        "quadratic_kappa" stretches the rounded mean for the largest quadratic kappa, as the
        rows of `fit` tell.
    class_weight : dict, "balanced" or None, default=None
        Weights of labels, ``{label: weight}``, by which the weights of their rows are
        multiplied in learning; "balanced" gives every level the same total weight.
        Probabilities are calibrated without them.
    levels : array-like of shape (K,), default=None
        The labels in order, lowest first. None: the order `y` carries, else sorted.
    random_state : int, RandomState or None, default=None
        Chooses directions, folds and held-out rows; None is a fixed seed, so equal calls give
        equal models.
    n_jobs : int, default=None
        The folds of the calibration run in this many threads.
    verbose : int, default=0
        1 writes the stages of a long fit to stderr, 2 every step. The logger "ordinality" gets
        them in any case, as INFO and DEBUG.

    Attributes
    ----------
    levels_ : ndarray of shape (K,)
        Labels in order. ``classes_`` holds the same, sorted.
    thresholds_ : ndarray of shape (K - 1,)
        Ascending, on the scale of the vote.
    weights_ : ndarray of shape (T,)
        Weight of each function in the vote; some may be negative.
    learners_ : list of T functions
        Each maps scaled features (n, d) to votes (n,) in [-1, 1].
    n_estimators_ : int
        Functions kept, T.
    n_iter_ : int
        Rounds run or judged; more than ``n_estimators_`` if early stopping went back.
    train_loss_ : ndarray of shape (T + 1,)
        Mean exponential loss over pairs of rows of different level; one before the first
        round.
    validation_score_ : ndarray of shape (n_iter_,)
        After each round, what the scores of left-out rows tell of their levels, in nats:
        ``-log(1 - rho**2) / 2``, rho the correlation of scores and normal scores of the levels.
        With ``validation_fraction`` minus the error of the held-out rows. Only with early
        stopping.
    feature_importances_ : ndarray of shape (d,)
        Share of each feature in the vote; zeros if a scikit-learn classifier does not tell.
    link_ : OrdinalLink or None
        Turns votes into probabilities; has ``thresholds``, ``width`` and ``proba``.
    ensemble_ : Ensemble
        All of the above, with the thresholds after each round.

    References
    ----------
    Freund, Iyer, Schapire & Singer (2003), "An efficient boosting algorithm for combining
    preferences", JMLR 4; Lin & Li (2006), section 4.1.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality import RankBoost
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(200, 2))
    >>> y = np.digitize(np.hypot(*X.T), [0.5, 0.9])
    >>> model = RankBoost(learner="sigmoid", n_estimators=50).fit(X, y)
    >>> model.predict([[0.1, 0.1], [-0.6, 0.4], [0.9, -0.9]])
    array([0, 1, 2])
    """

    _algorithm = staticmethod(rank_boost)
    _choices: ClassVar = {"thresholding": ("absolute", "zero-one")}

    def __init__(
        self,
        thresholding: str = "absolute",
        *,
        learner: Any = "perceptron",
        n_estimators: Any = "auto",
        learning_rate: Any = "auto",
        steepness: float = 4.0,
        max_depth: Any = "auto",
        updates: int = 200,
        max_bins: int | None = None,
        standardize: bool = True,
        calibration_folds: int | None = 5,
        early_stopping: Any = "auto",
        validation_fraction: float | None = None,
        patience: int = 50,
        tol: float = 1e-4,
        warm_start: bool = False,
        decision: Any = "mode",
        class_weight: Any = None,
        levels: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.thresholding = thresholding
        self.learner = learner
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.steepness = steepness
        self.max_depth = max_depth
        self.updates = updates
        self.max_bins = max_bins
        self.standardize = standardize
        self.calibration_folds = calibration_folds
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.tol = tol
        self.warm_start = warm_start
        self.decision = decision
        self.class_weight = class_weight
        self.levels = levels
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _log_terms(self, first: float, total: float) -> float:
        return first  # all pairs weigh one before the first round


def _stated(estimator: Any, *names: str) -> list[str]:
    """Those of the parameters that are not "auto"."""
    values = {name: getattr(estimator, name) for name in names}
    return [
        k for k, value in values.items() if not (isinstance(value, str) and value == "auto")
    ]


@dataclass(eq=False)
class _Watch:
    """Judges rows left out after each round; true when it found no better for long enough."""

    rows: DistinctRows
    judge: Callable[[np.ndarray, np.ndarray, DistinctRows], float]  # of scores and thresholds
    patience: int
    tol: float
    # Waits for as many rounds as led to the best, too: the round that is best for all folds
    # together may come long after that of one, and rounds that are slow to gain, slow to lose.
    stretched: bool = False
    errors: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._scores = np.zeros(len(self.rows))
        self._best, self._since = np.inf, 0

    def __call__(
        self, learner: Any, alpha: float, thresholds: np.ndarray, log_losses: list[float]
    ) -> bool:
        self._scores += alpha * learner(self.rows.X)
        self.errors.append(self.judge(self._scores, thresholds, self.rows))
        self._since += 1
        if self.errors[-1] < self._best - self.tol:
            self._best, self._since = self.errors[-1], 0
        before = len(self.errors) - self._since
        return self._since >= max(self.patience, before if self.stretched else 0)


def _error(
    scores: np.ndarray, thresholds: np.ndarray, rows: DistinctRows, absolute: bool
) -> float:
    """Absolute or classification error of the levels predicted."""
    away = np.abs(_levels.rank_from_scores(scores, thresholds) - rows.y)
    return float(np.average(away if absolute else away > 0, weights=rows.weights))


def _uncertainty(
    scores: np.ndarray, _: np.ndarray, rows: DistinctRows, latent: np.ndarray
) -> float:
    """Log of the spread that is left in a row's latent value when its score is known.

    With the correlation rho of the two that is ``log(1 - rho^2) / 2``: if both are normal, the
    log score of the link up to a constant. It is cheap enough for every round, which a link is
    not, and needs no common scale of the folds. A pseudo-row keeps it finite, as with the link.
    """
    w = rows.weights / rows.weights.sum()
    s, v = scores - w @ scores, latent[rows.y] - w @ latent[rows.y]
    product = max(float(w @ (s * v)), 0.0) ** 2
    if product == 0.0:
        return 0.0
    share = product / float((w @ s**2) * (w @ v**2))
    m = float(rows.weights.sum())
    return 0.5 * float(np.log1p(-min(share, 1.0) * m / (m + 1.0)))


def _normal_scores(rows: DistinctRows, n_levels: int) -> np.ndarray:
    """Normal quantile of the middle of each level's share of the rows, shape (K,)."""
    shares = np.bincount(rows.y, rows.weights, n_levels) / rows.weights.sum()
    # A level without rows at an end has its middle at zero or one; no row asks for its value.
    return ndtri(np.clip(np.cumsum(shares) - 0.5 * shares, 0.0, 1.0))
