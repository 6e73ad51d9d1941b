"""What classifiers that cut a score by thresholds share: predictions and probabilities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import levels as _levels
from ._link import OrdinalLink, agreeing, aligned, learn_link, out_of_fold
from ._ordinal import SometimesProbabilistic
from ._progress import FitLog
from ._rows import Rows
from ._threads import thread_map

__all__ = ["ScoredClassifier"]


class ScoredClassifier(SometimesProbabilistic):
    """An ordinal classifier with a score and thresholds, and perhaps a link for probabilities.

    Subclasses have `predict_score`, and in ``fit`` set ``thresholds_`` and call `_learn_link`.
    """

    calibration_folds: int | None
    n_jobs: int | None
    verbose: int
    thresholds_: np.ndarray
    link_: OrdinalLink | None

    def predict(self, X: Any) -> np.ndarray:
        """Level between whose thresholds the score falls.

        By score alone: the probabilities, which are calibrated apart, have no part in it.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        y : ndarray of shape (n,)
        """
        ranks = _levels.rank_from_scores(self.predict_score(X), self.thresholds_)
        return self._order.decode(ranks)

    def predict_score(self, X: Any) -> np.ndarray:
        """The score that the thresholds cut."""
        raise NotImplementedError

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores as scikit-learn expects them; see `predict_score` for the score itself.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        scores : ndarray of shape (n,) or (n, K)
            For each class (in the order of ``classes_``) how far the score lies inside its
            interval, negative outside: the smaller of the two margins that a row of that class
            would have. Largest for the class predicted. With two levels the score beyond the
            threshold, positive for ``classes_[1]``.
        """
        return self._decision(self.predict_score(X), self.thresholds_)

    def _decision(self, scores: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        edges = np.concatenate([[-np.inf], thresholds, [np.inf]])
        inside = np.minimum(scores[:, None] - edges[:-1], edges[1:] - scores[:, None])
        # A score on a threshold belongs to the level below, and must be seen to.
        ranks = _levels.rank_from_scores(scores, thresholds)
        others = ranks[:, None] != np.arange(len(edges) - 1)
        inside = np.where(others, np.minimum(inside, -np.finfo(float).tiny), inside)
        inside = inside[:, self._order.columns]
        return 0.5 * (inside[:, 1] - inside[:, 0]) if inside.shape[1] == 2 else inside

    def _has_proba(self) -> bool:
        return getattr(self, "link_", self.calibration_folds) is not None

    def _level_proba(self, X: Any) -> np.ndarray:
        scores = self.predict_score(X)
        assert self.link_ is not None  # or `available_if` had not let anybody in
        ranks = _levels.rank_from_scores(scores, self.thresholds_)
        return agreeing(self.link_.proba(scores), ranks)

    def _learn_link(
        self,
        rows: Rows,
        whole: Callable[[], np.ndarray],
        fit_score: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]],
        rng: np.random.Generator,
    ) -> None:
        """Learn the link on scores of rows left out, brought to the scale of the whole model.

        ``fit_score(train, test)`` gives the scores of both by a model of the training rows;
        ``whole()`` those of all rows by the model of all.
        """
        self.link_ = None
        if self.calibration_folds is None:
            return
        all_scores, folds = whole(), int(self.calibration_folds)
        log = FitLog(self)
        tick = log.counter("calibration fold", folds)

        def scaled(train: np.ndarray, test: np.ndarray) -> np.ndarray:
            own, new = fit_score(train, test)
            tick(1)
            return aligned(new, own, all_scores[train], rows.weights[train])

        scores = out_of_fold(
            scaled, rows.y, folds, rng,
            groups=rows.groups, mapper=thread_map(self.n_jobs),
        )  # fmt: skip
        self.link_ = learn_link(scores, rows.y, len(self.levels_), rows.weights)
        log.stage("probabilities calibrated on %d folds", folds)
