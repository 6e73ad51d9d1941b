"""Calibration: from scores to probabilities by an ordinal link learnt on held-out rows.

A thresholded score predicts a level but no probability. Given scores of held-out rows, the
link is the probit model of one feature,

    P(y <= k | s) = Phi((b_k - s) / w),

so cumulative probabilities are ordered whatever the data. It is the ordinal likelihood of the
Gaussian processes with the score as its latent value, and its derivatives come from there.

For learning, scores are scaled to mean zero and variance one, z, and the latent value
``rho z + noise e`` to ``rho^2 + noise^2 = 1``. The thresholds are then nearly the quantiles of
the levels' frequencies whatever rho is, so the two hardly interact.

A classifier alone fits itself several times more to get such scores. A cross-validation has
them already, so `calibrate_from_folds` learns the links of all folds and of the final model
from one fit a fold. Scores of another model are brought to the scale of the one that is
calibrated by mean and spread on rows that both have seen.

McCullagh (1980), *Regression models for ordinal data*; Platt (1999) for two levels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import ndtri
from sklearn.utils import gen_batches

from .. import levels as _levels
from ..gp.likelihoods import Ordinal
from ..levels import thresholds_to_free
from .base_ordinal import OrdinalClassifier
from .fitting import DistinctRows, FitLog
from .threads import thread_map

__all__ = [
    "OrdinalLink",
    "ScoredClassifier",
    "agreeing",
    "aligned",
    "calibrate_from_folds",
    "fold_splits",
    "held_out",
    "learn_link",
    "level_order",
    "needs_link",
    "out_of_fold",
]


_BATCH = 10_000  # rows at once: the derivatives that come along take 100 bytes a row and level


# Slopes rho / noise per standard deviation of the score. With the least one, scores a thousand
# deviations apart differ by less than 0.0004 in any probability; the greatest tells scores
# apart that differ by a millionth of a deviation.
_LOG_SLOPES = (np.log(1e-6), np.log(1e6))


@dataclass(frozen=True, eq=False)
class OrdinalLink:
    """Level k has probability ``Phi((b[k] - s) / w) - Phi((b[k-1] - s) / w)`` at score s."""

    # thresholds b, shape (K - 1,), on the scale of the scores; its noise is the width w
    likelihood: Ordinal

    @property
    def thresholds(self) -> np.ndarray:
        """Where each level or a lower one has probability one half, shape (K - 1,)."""
        return self.likelihood.thresholds

    @property
    def width(self) -> float:
        """How far scores of one level spread, w."""
        return self.likelihood.noise

    def proba(self, scores: np.ndarray) -> np.ndarray:
        """Probabilities of the levels, shape (n, K); rows sum to one."""
        proba = np.empty((len(scores), self.likelihood.n_levels))
        for batch in gen_batches(len(scores), _BATCH):
            s = scores[batch]
            proba[batch] = self.likelihood.proba(s, np.zeros(len(s)))
        return proba


def agreeing(proba: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """Probabilities under which the predicted ranks are the most probable.

    Tools of scikit-learn assume that prediction and largest probability agree. Where the link
    prefers another level, mostly next to a threshold, the predicted one is raised to the same
    probability before rows are scaled to sum to one again. Over 31 pairs of set and model
    (eight published sets, means of three partitions) this changed the test log score by -0.034
    to +0.004.
    """
    rows, top = np.arange(len(proba)), proba.max(axis=1)
    above = top * (1 + 1e-15)  # this product and the scaling err by 1.1e-16 each: no tie
    raised = np.where(proba.argmax(axis=1) == ranks, proba[rows, ranks], above)
    proba = proba.copy()
    proba[rows, ranks] = raised
    return proba / proba.sum(axis=1, keepdims=True)


def learn_link(
    scores: np.ndarray, y: np.ndarray, n_levels: int, weights: np.ndarray | None = None
) -> OrdinalLink:
    """Link of the largest penalised likelihood.

    One pseudo-row keeps the link finite. Its score is not known and its level is each of the K
    in equal parts, so that uninformative scores give the frequencies
    ``(n_k + 1 / K) / (n + 1)`` and a level never seen keeps a small one. It also adds
    ``log(noise)``, where n rows of a normal regression give ``-n log(noise)`` and noise^2 is
    the share of the variance that is not explained: minus infinity for scores that would
    explain everything.
    """
    weights = np.ones(len(y)) if weights is None else weights
    known = np.isfinite(scores)
    # Rows without a score count for the frequencies alone, like the pseudo-row.
    blank = np.bincount(y[~known], weights[~known], n_levels) + 1.0 / n_levels
    s, y, weights = scores[known], y[known], weights[known]
    centre, spread = _moments(s, weights)
    z = (s - centre) / spread
    frequencies = blank + np.bincount(y, weights, n_levels)
    start = _start(z, y, weights, frequencies / frequencies.sum())
    reach = 10.0 + np.max(np.abs(z), initial=0.0)  # Phi(-10) is less than any frequency
    gap = np.log(1e-10 * reach), np.log(2.0 * reach)  # narrower gaps are lost in rounding
    # Without informative scores the slope is zero, which a search approaches only slowly.
    slopes = _LOG_SLOPES if np.any(z) else _LOG_SLOPES[:1] * 2
    box = [slopes, (-reach, reach), *[gap] * (n_levels - 2)]
    found = minimize(
        _minus_objective, start, (z, y, weights, blank), "L-BFGS-B", jac=True, bounds=box,
        options={"maxiter": 500, "ftol": 1e-13, "gtol": 1e-8},
    )  # fmt: skip
    rho, unit = _unit(found.x)
    return OrdinalLink(
        Ordinal(centre + spread / rho * unit.thresholds, float(spread / rho * unit.noise))
    )


def aligned(
    scores: np.ndarray, own: np.ndarray, other: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Scores of one model on the scale of another, by mean and spread on rows both have seen.

    A model of fewer rows fits them better, and its scores spread wider. Of 40 pairs of set and
    model (eight published sets, means of four partitions) aligning improved the test log score
    of the link in 34 and worsened it in 3; the median change was -0.007.
    """
    centre, spread = _moments(own, weights)
    new_centre, new_spread = _moments(other, weights)
    return new_centre + new_spread / spread * (scores - centre)


def _moments(s: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Mean and standard deviation; one for scores that are all alike, or none."""
    if not len(s):
        return 0.0, 1.0
    centre = float(np.average(s, weights=weights))
    spread = float(np.sqrt(np.average((s - centre) ** 2, weights=weights)))
    # Below this the scores are constant up to the rounding of their mean.
    floor = 10 * np.finfo(float).eps * abs(centre) * np.sqrt(len(s))
    return centre, spread if spread > floor else 1.0


def _start(
    z: np.ndarray, y: np.ndarray, weights: np.ndarray, frequencies: np.ndarray
) -> np.ndarray:
    """Quantiles of the frequencies, and the correlation of scores and ranks for rho."""
    rho = 0.5
    if len(z):
        mean, spread = _moments(y.astype(np.float64), weights)
        rho = float(np.average(z * (y - mean) / spread, weights=weights))
    rho = min(max(rho, 0.1), 0.95)
    quantiles = ndtri(np.cumsum(frequencies)[:-1])
    return np.concatenate([[np.log(rho / np.sqrt(1 - rho**2))], thresholds_to_free(quantiles)])


def _unit(theta: np.ndarray) -> tuple[float, Ordinal]:
    """Weight of the score, and the likelihood of a latent value of variance one."""
    slope = np.exp(theta[0])
    noise = 1.0 / np.hypot(1.0, slope)
    template = Ordinal(np.arange(len(theta) - 1, dtype=float))
    return slope * noise, template.with_theta(np.append(np.log(noise), theta[1:]))


def _minus_objective(
    theta: np.ndarray, z: np.ndarray, y: np.ndarray, weights: np.ndarray, blank: np.ndarray
) -> tuple[float, np.ndarray]:
    """Minus the penalised log-likelihood, and its gradient in ``[log slope, free thresholds]``.

    Divided by the number of rows, so that the first step of the optimiser does not grow with
    it. With rho^2 + noise^2 = 1, d rho / d log slope = rho noise^2 and d log noise = -rho^2.
    """
    rho, unit = _unit(theta)
    jet = unit.point(y, rho * z)
    pulled = unit.pull(y, jet, weights)
    slope = rho * unit.noise**2 * (weights * jet.d1) @ z - rho**2 * (pulled[0] + 1.0)
    # A score that is not known is normal, so with the noise the variance is one.
    whole, levels = Ordinal(unit.thresholds), np.arange(len(blank))
    unseen = whole.point(levels, np.zeros(len(blank)))
    value = weights @ jet.value + blank @ unseen.value + np.log(unit.noise)
    moved = pulled[1:] + whole.pull(levels, unseen, blank)[1:]
    total = weights.sum() + blank.sum()
    return -float(value) / total, -np.append(slope, moved) / total


def out_of_fold(
    fit_score: Callable[[np.ndarray, np.ndarray], np.ndarray],
    y: np.ndarray,
    n_folds: int,
    rng: np.random.Generator,
    *,
    groups: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Score of every row by a model that has not seen it."""
    splits = fold_splits(y, n_folds, rng, groups)
    scores = np.full(len(y), np.nan)
    found = thread_map(n_jobs)(lambda split: fit_score(*split), splits)
    for (_, test), s in zip(splits, found, strict=True):
        scores[test] = s
    return scores


def fold_splits(
    y: np.ndarray, n_folds: int, rng: np.random.Generator, groups: np.ndarray | None = None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Training and test rows of each fold that leaves two levels to learn from."""
    groups = np.arange(len(y)) if groups is None else groups
    order = level_order(y, groups, rng)
    fold_of = np.empty(len(order), dtype=np.int64)
    fold_of[order] = np.arange(len(order)) % n_folds
    folds = fold_of[groups]
    splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(n_folds)]
    return [(a, b) for a, b in splits if len(b) and len(np.unique(y[a])) > 1]


def level_order(y: np.ndarray, groups: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Groups of rows by the level of their first row, shuffled within each level.

    Every m-th entry of the result is then a stratified sample.
    """
    first = np.unique(groups, return_index=True)[1]
    return np.lexsort((rng.random(len(first)), y[first]))


def held_out(rows: DistinctRows, fraction: float, rng: np.random.Generator) -> np.ndarray:
    """Indices of a share of the rows of each level; every level keeps one to learn from.

    Rows that agree in all features are held out together or not at all.
    """
    order = level_order(rows.y, rows.groups, rng)
    first = np.unique(rows.groups, return_index=True)[1]
    order = order[np.append(False, np.diff(rows.y[first][order]) == 0)]
    steps = np.ceil(fraction * np.arange(len(order) + 1))  # one at least
    return np.flatnonzero(np.isin(rows.groups, order[np.diff(steps) > 0]))


class ScoredClassifier(OrdinalClassifier):
    """An ordinal classifier with a score and thresholds, and perhaps a link for probabilities.

    Subclasses have `predict_latent`, and in ``fit`` set ``thresholds_`` and call `_learn_link`.
    The probabilities are such that the most probable level is the one whose thresholds enclose
    the score, so ``decision="mode"`` needs no link.
    """

    calibration_folds: int | None
    n_jobs: int | None
    verbose: int
    thresholds_: np.ndarray
    link_: OrdinalLink | None

    def predict(self, X: Any) -> np.ndarray:
        """Level whose thresholds enclose the score, or another ``decision`` by probabilities.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows to predict.

        Returns
        -------
        y : ndarray of shape (n,)
            Predicted labels.
        """
        if not (isinstance(self.decision, str) and self.decision == "mode"):
            return super().predict(X)
        ranks = _levels.rank_from_scores(self.predict_latent(X), self.thresholds_)
        return self._order.decode(ranks)

    def predict_latent(self, X: Any) -> np.ndarray:
        """The score that the thresholds cut."""
        raise NotImplementedError

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores as scikit-learn expects them; see `predict_latent` for the score itself.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows to predict.

        Returns
        -------
        scores : ndarray of shape (n,) or (n, K)
            For each class (in the order of ``classes_``) how far the score lies inside its
            interval, negative outside: the smaller of the two margins that a row of that class
            would have. Largest for the class that ``decision="mode"`` predicts. With two levels
            the score minus the threshold, positive for ``classes_[1]``.
        """
        return self._decision(self.predict_latent(X), self.thresholds_)

    def _decision(self, scores: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        edges = np.concatenate([[-np.inf], thresholds, [np.inf]])
        inside = np.minimum(scores[:, None] - edges[:-1], edges[1:] - scores[:, None])
        # A score on a threshold belongs to the level below, and must be seen to.
        ranks = _levels.rank_from_scores(scores, thresholds)
        others = ranks[:, None] != np.arange(len(edges) - 1)
        inside = np.where(others, np.minimum(inside, -np.finfo(float).tiny), inside)
        inside = inside[:, self._order.columns]
        return 0.5 * (inside[:, 1] - inside[:, 0]) if inside.shape[1] == 2 else inside

    def _check_decision(self) -> None:
        super()._check_decision()
        if self.calibration_folds is None and np.any(np.asarray(self.decision) != "mode"):
            raise ValueError(
                f"decision={self.decision!r} needs probabilities; set calibration_folds, or "
                "use decision='mode'."
            )

    def _has_proba(self) -> bool:
        return getattr(self, "link_", self.calibration_folds) is not None

    def _level_proba(self, X: Any) -> np.ndarray:
        scores = self.predict_latent(X)
        assert self.link_ is not None  # `available_if` hides this method otherwise
        ranks = _levels.rank_from_scores(scores, self.thresholds_)
        return agreeing(self.link_.proba(scores), ranks)

    def _learn_link(
        self,
        rows: DistinctRows,
        whole: Callable[[], np.ndarray],
        fit_score: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]],
        rng: np.random.Generator,
    ) -> None:
        """Learn the link on scores of held-out rows, on the scale of the model of all rows.

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

        scores = out_of_fold(scaled, rows.y, folds, rng, groups=rows.groups, n_jobs=self.n_jobs)
        self.link_ = learn_link(scores, rows.y, len(self.levels_), rows.weights)
        log.stage("probabilities calibrated on %d folds", folds)


def needs_link(estimator: Any) -> bool:
    """Whether a fit of `estimator` would end with calibration folds of its own."""
    return isinstance(estimator, ScoredClassifier) and estimator.calibration_folds is not None


def calibrate_from_folds(
    model: ScoredClassifier,
    own: np.ndarray,
    fold_scores: np.ndarray,
    splits: Sequence[tuple[np.ndarray, np.ndarray]],
    y: Any,
    sample_weight: np.ndarray | None = None,
    *,
    fold: int | None = None,
) -> None:
    """Give a fitted model its link, from the scores of a cross-validation."""
    weights = np.ones(len(own)) if sample_weight is None else sample_weight
    left_out = np.zeros(len(own), dtype=bool)
    if fold is not None:
        left_out[splits[fold][1]] = True
    scores = np.full(len(own), np.nan)
    for k, (train, test) in enumerate(splits):
        if k != fold:
            both = train[~left_out[train] & (weights[train] > 0)]
            s = fold_scores[k]
            scores[test] = aligned(s[test], s[both], own[both], weights[both])
    used = np.flatnonzero(~left_out & (weights > 0))
    order = model._order
    ranks = order.encode(np.asarray(y)[used])
    model.link_ = learn_link(scores[used], ranks, order.n_levels, weights[used])
