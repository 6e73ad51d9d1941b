"""Margins of thresholded ensembles, and what the large-margin bounds make of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_consistent_length

from .. import levels as _levels
from ..boosting import ensemble as _margins
from ..boosting.ensemble import Ensemble
from . import _learners
from ._validation import check_weights

__all__ = ["BoundTerms", "MarginMixin"]

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


class MarginMixin:
    """Margins, margin errors and bounds of a fitted `ThresholdedEnsemble`."""

    learner: Any
    depth: int
    ensemble_: Ensemble
    levels_: np.ndarray
    thresholds_: np.ndarray
    n_features_in_: int
    _order: _levels.Order

    def margins_of(self, X: Any, y: Any, *, normalized: bool = False) -> np.ndarray:
        """How far each row lies on the right side of each threshold (Definition 1).

        Parameters
        ----------
        X : array-like of shape (n, d)
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
        y : array-like of shape (n,)
            Labels.
        delta : float, default=0.0
            Margin asked for; zero gives the plain errors.
        kind : {"classification", "boundary", "absolute"}, default="classification"
            Whether one of the two thresholds next to the label is too near (E_C); which share
            of them is (E_B); how many of all thresholds are (E_A).
        sample_weight : array-like of shape (n,), default=None

        Returns
        -------
        error : float
            ``E_C / 2 <= E_B <= E_C``.
        """
        if kind not in _KINDS:
            raise ValueError(f"kind={kind!r} is not known; choose one of {list(_KINDS)}.")
        rho, ranks = self._margins(X, y, normalized=True)
        weights = check_weights(sample_weight, len(rho))
        return _margins.margin_error(rho, ranks, delta, kind, weights)  # type: ignore[arg-type]

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
            vc_dimension = _learners.vc_dimension(self.learner, self.n_features_in_, self.depth)
        n, K = len(rho), len(self.levels_)
        d_hat = int(vc_dimension) + K - 1
        complexity = np.inf
        if n > d_hat:
            capacity = d_hat * np.log(n / d_hat) ** 2 / delta**2
            complexity = float(np.sqrt((capacity + np.log(1 / confidence)) / n))
        return BoundTerms(
            _margins.margin_error(rho, ranks, delta, "absolute"),
            _margins.margin_error(rho, ranks, delta, "boundary"),
            _margins.margin_error(rho, ranks, delta, "classification"),
            K * complexity, complexity, d_hat, n,
        )  # fmt: skip

    def _margins(self, X: Any, y: Any, normalized: bool) -> tuple[np.ndarray, np.ndarray]:
        """Margins (n, K - 1) and ranks (n,)."""
        scores = self.predict_score(X)
        check_consistent_length(scores, y)
        ranks = self._order.encode(y)
        rho = _margins.margins(scores, self.thresholds_, ranks)
        if normalized:
            rho /= _margins.normaliser(self.ensemble_.alphas, self.thresholds_) or 1.0
        return rho, ranks

    def predict_score(self, X: Any) -> np.ndarray:
        raise NotImplementedError
