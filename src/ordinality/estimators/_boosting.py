"""What the thresholded ensembles share: learning in rounds, scores, probabilities."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import levels as _levels
from ..boosting.ensemble import Ensemble
from ..boosting.learners import Trainer
from ._atomic import atomic
from ._learners import check_learner, trainer
from ._margins import MarginMixin
from ._progress import FitLog
from ._rows import Rows
from ._scaling import Scaling
from ._scored import ScoredClassifier
from ._stopping import Watch, first_rounds, held_out
from ._threads import one_pool
from ._validation import check_choices, check_positive, check_weights, check_whole, rows_of

__all__ = ["ThresholdedEnsemble"]

_DEEPEST = 12  # of a tree: its sums over bins take 4 kB a leaf


class ThresholdedEnsemble(MarginMixin, ScoredClassifier):
    """A weighted vote of confidence functions, cut into levels by ordered thresholds.

    Subclasses say how to boost (`_boost`), by which error held-out rows are judged
    (`_absolute`), and how many terms a loss has (`_log_terms`).
    """

    learner: Any
    n_estimators: int
    gamma: float
    depth: int
    updates: int
    bins: int | None
    standardize: bool
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
        """
        self._check_parameters()
        before = self._earlier()
        X, checked = validate_data(
            self, X, y, dtype=np.float64, y_numeric=False, reset=before is None
        )
        weights = check_weights(sample_weight, len(X))
        kept = np.flatnonzero(weights > 0)
        labels = rows_of(y, checked, kept)
        if before is not None:
            self._check_same_levels(labels, checked)
        rows = Rows.of(X[kept], self._learn_levels(labels, checked), weights[kept])
        if before is None:
            self._begin(rows)
        rows = replace(rows, X=self._scaled(rows.X))
        coach = trainer(
            self.learner, len(rows), self.gamma, self.depth, self.updates, self.bins
        )
        with one_pool(len(rows)):
            self._grow(rows, coach, before)
            self._calibrate(rows, coach)
        return self

    def predict_score(self, X: Any) -> np.ndarray:
        """The vote, ``H(x) = sum_t weights_[t] learners_[t](x)``, which the thresholds cut.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        scores : ndarray of shape (n,)
            On the scale of ``thresholds_``.
        """
        X = self._checked(X)
        return self.ensemble_.score(X)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Predictions after each round; the last are those of `predict`.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Yields
        ------
        y : ndarray of shape (n,)
        """
        for scores, thresholds in self._stages(X):
            yield self._order.decode(_levels.rank_from_scores(scores, thresholds))

    def staged_predict_score(self, X: Any) -> Iterator[np.ndarray]:
        """The vote after each round; the last is that of `predict_score`.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Yields
        ------
        scores : ndarray of shape (n,)
        """
        for scores, _ in self._stages(X):
            yield scores

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """What `decision_function` gives, after each round.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Yields
        ------
        scores : ndarray of shape (n,) or (n, K)
        """
        for scores, thresholds in self._stages(X):
            yield self._decision(scores, thresholds)

    # What subclasses say.

    def _boost(
        self,
        rows: Rows,
        coach: Trainer,
        rounds: int,
        rng: np.random.Generator,
        start: Ensemble | None = None,
        watch: Callable[..., bool] | None = None,
    ) -> Ensemble:
        raise NotImplementedError

    def _absolute(self) -> bool:
        """Whether the absolute error is aimed at, and not the classification error."""
        raise NotImplementedError

    def _log_terms(self, first: float, total: float) -> float:
        """Logarithm of the divisor that makes losses means, by the first log loss or weight."""
        raise NotImplementedError

    # The rest is the same for all.

    def _check_parameters(self) -> None:
        check_learner(self.learner)
        check_choices(self, standardize=(True, False), warm_start=(True, False))
        check_positive(self, "gamma")
        check_whole(self, n_estimators=1, depth=1, updates=1, patience=1)
        if self.depth > _DEEPEST:
            raise ValueError(f"depth={self.depth} is too deep; {_DEEPEST} is the most.")
        if self.calibration_folds is not None:
            check_whole(self, calibration_folds=2)
        if self.bins is not None:
            check_whole(self, bins=2)
            if self.bins > 256:
                raise ValueError(f"bins={self.bins} is too many; 256 is the most.")
        if not (isinstance(self.tol, Real) and 0 <= float(self.tol) < np.inf):
            raise ValueError(f"tol={self.tol!r} must be a number, zero or more.")
        fraction = self.validation_fraction
        if fraction is not None and not (
            isinstance(fraction, Real) and 0 < float(fraction) < 1
        ):
            raise ValueError(
                f"validation_fraction={fraction!r} must lie between 0 and 1, or be None."
            )

    def _earlier(self) -> Ensemble | None:
        """The ensemble to go on from."""
        if not self.warm_start:
            return None
        if self.validation_fraction is not None or hasattr(self, "validation_score_"):
            raise ValueError(
                "warm_start cannot go on from a run that was stopped early; leave "
                "validation_fraction or warm_start out."
            )
        ensemble = getattr(self, "ensemble_", None)
        if ensemble is not None and self.n_estimators < len(ensemble.alphas):
            raise ValueError(
                f"n_estimators={self.n_estimators}, but the model to go on from has "
                f"{len(ensemble.alphas)}; ask for at least as many, or set warm_start=False."
            )
        return ensemble

    def _check_same_levels(self, labels: Any, given: Any) -> None:
        found = self._resolve(labels, given).levels
        if not np.array_equal(found, self.levels_):
            raise ValueError(
                f"the labels have the levels {found.tolist()}, but the model to go on from "
                f"has {self.levels_.tolist()}; state them with `levels`, or set "
                "warm_start=False."
            )

    def _begin(self, rows: Rows) -> None:
        """What a warm start keeps from the first fit: seeds, and the scale of the features."""
        seed = 0 if self.random_state is None else self.random_state
        self._seed = int(check_random_state(seed).randint(2**31))
        self._rng = self._generator(0)
        # Cuts are the same whatever the scale, and are easier to read in the user's units.
        scaled = self.standardize and self.learner not in ("stump", "tree")
        self._scaling = Scaling.of(rows.X, rows.weights) if scaled else None

    def _generator(self, purpose: int) -> np.random.Generator:
        return np.random.default_rng([self._seed, purpose])

    def _scaled(self, X: np.ndarray) -> np.ndarray:
        return X if self._scaling is None else self._scaling(X)

    def _checked(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return self._scaled(validate_data(self, X, dtype=np.float64, reset=False))

    def _grow(self, rows: Rows, coach: Trainer, before: Ensemble | None) -> None:
        """Run the rounds and keep what they gave."""
        rng, watch = deepcopy(self._rng), None
        if self.validation_fraction is not None:
            held = held_out(rows, float(self.validation_fraction), self._generator(1))
            watch = Watch(rows.take(held), self._absolute(), self.patience, self.tol)
            rows = rows.take(np.setdiff1d(np.arange(len(rows)), held))
        done = 0 if before is None else len(before.alphas)
        log, total = FitLog(self), float(rows.weights.sum())
        hook = self._told(log, before, total, watch) if log.wanted else watch
        found = self._boost(rows, coach, self.n_estimators - done, rng, before, hook)
        self._rng, self.n_iter_ = rng, len(found.alphas)
        if watch is not None:
            self.validation_score_ = -np.array(watch.errors)
            found = first_rounds(found, int(np.argmin(watch.errors)) + 1)
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

    def _told(
        self, log: FitLog, before: Ensemble | None, total: float, watch: Watch | None
    ) -> Callable[..., bool]:
        """What is called after each round: a message, and then what was to be called anyway."""
        done = 0 if before is None else len(before.alphas)

        def told(*round: Any) -> bool:
            over, losses = watch is not None and watch(*round), round[-1]
            first = losses[0] if before is None else float(before.log_losses[0])
            loss = np.exp(losses[-1] - self._log_terms(first, total))
            held = "" if watch is None else f", error of held-out rows {watch.errors[-1]:.4g}"
            at = done + len(losses) - 1
            log.step("round %d of %d: loss %.6g%s", at, self.n_estimators, loss, held)
            return over

        return told

    def _calibrate(self, rows: Rows, coach: Trainer) -> None:
        def fit_score(train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            part = rows.take(train)
            fold = self._boost(part, coach, self.n_estimators_, self._generator(2))
            return fold.score(part.X), fold.score(rows.X[test])

        whole = lambda: self.ensemble_.score(rows.X)  # noqa: E731
        self._learn_link(rows, whole, fit_score, self._generator(3))

    def _stages(self, X: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        X = self._checked(X)
        staged = self.ensemble_.staged_scores(X)
        yield from zip(staged, self.ensemble_.thresholds[1:], strict=True)
