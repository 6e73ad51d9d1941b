"""Learning from label preferences, and what is known of labels at new inputs.

The label functions are independent under the prior and dependent under the posterior: what
was said of two labels at one input ties them together everywhere. So the probability that one
label is preferred to another takes the posterior cross-covariance of the two,

    Cov[f*] = k** I - (I x k*)' G (I x k*),

with G over contrasts or over observations, whichever form the posterior was found in.

Chu & Ghahramani (2005, ICML), eqs. 17 to 19 and 26.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .design import Design
from .evidence import Problem
from .forms import DensePosterior, prior_of
from .inference import Approximation
from .labels import ContrastsPosterior, Labels
from .stars import StarsPosterior

__all__ = ["LabelPredictor", "LabelProblem"]


@dataclass(frozen=True)
class LabelProblem(Problem):
    """A problem whose subsets hold some of the inputs with all that was said about them.

    A share of the observations would see almost all of the inputs, and cost as much.
    """

    def subset(self, index: np.ndarray) -> Problem:
        """All observations of as large a share of the inputs as ``index`` is of theirs."""
        design = self.design
        assert isinstance(design, Labels)
        count = min(design.n, 1 + design.n * len(index) // len(design))
        # A fixed shuffle: the rows of a table may lie in an order, and subsets are nested.
        some = np.random.default_rng(0).permutation(design.n)[:count]
        return super().subset(np.flatnonzero(np.isin(design.at, some)))


@dataclass(frozen=True)
class _Piece:
    """Rows of G that belong to one contrast, or to one label; and what each looks at."""

    place: np.ndarray
    at: np.ndarray  # inputs
    sign: np.ndarray


@dataclass(frozen=True)
class LabelPredictor:
    """Posterior moments of the L labels from covariances with the n inputs learnt from."""

    beta: np.ndarray  # (n, L), K^-1 E[f]
    G: np.ndarray
    pieces: tuple[_Piece, ...]
    basis: np.ndarray  # (L, pieces)

    @classmethod
    def of(cls, design: Design, K: np.ndarray, a: Approximation) -> LabelPredictor:
        """From a settled approximation."""
        assert isinstance(design, Labels)
        posterior = prior_of(design, K, a.tau).given(a.tau).inverted()
        beta = design.by_input(a.alpha)
        if isinstance(posterior, ContrastsPosterior | StarsPosterior):
            n, basis = design.n, posterior.basis
            i, ones = np.arange(n), np.ones(n)
            pieces = tuple(_Piece(k * n + i, i, ones) for k in range(basis.shape[1]))
            return cls(beta, posterior.explained(), pieces, basis)
        assert isinstance(posterior, DensePosterior)
        zero, signs = np.zeros(len(design)), design.signs
        # The factor lives in working memory, which the next fit will use again.
        G = -2.0 * posterior.factor.evidence_gradient(zero, zero)
        touched = [np.flatnonzero(column) for column in signs.T]
        pieces = tuple(_Piece(e, design.at[e], signs[e, k]) for k, e in enumerate(touched))
        return cls(beta, G, pieces, np.eye(design.L))

    def mean(self, cross: np.ndarray) -> np.ndarray:
        """Means of the labels from prior covariances ``cross`` (b, n); shape (b, L)."""
        return cross @ self.beta

    def explained(self, cross: np.ndarray) -> np.ndarray:
        """By how much the covariance of the labels lies below the prior's; (b, L, L)."""
        p = len(self.pieces)
        out = np.empty((len(cross), p, p))
        views = [cross[:, piece.at] * piece.sign for piece in self.pieces]
        for j, one in enumerate(self.pieces):
            for k in range(j, p):
                G = self.G[np.ix_(one.place, self.pieces[k].place)]
                out[:, j, k] = out[:, k, j] = np.einsum("ij,ij->i", views[j] @ G, views[k])
        return self.basis @ out @ self.basis.T

    def differences(
        self, cross: np.ndarray, prior: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of the difference of every two labels at each input.

        Parameters
        ----------
        cross : ndarray of shape (b, n)
            Prior covariances with the inputs learnt from.
        prior : ndarray of shape (b,)
            Prior variances of one label.

        Returns
        -------
        mean, variance : ndarray of shape (b, L, L)
            Entry (a, c) is of label a less label c.
        """
        f, known = self.mean(cross), self.explained(cross)
        own = np.diagonal(known, axis1=1, axis2=2)
        L = f.shape[1]
        start = (
            2.0 * prior[:, None, None] * (1.0 - np.eye(L))
        )  # none between a label and itself
        variance = start - own[:, :, None] - own[:, None, :] + 2.0 * known
        return f[:, :, None] - f[:, None, :], np.maximum(variance, 0.0)
