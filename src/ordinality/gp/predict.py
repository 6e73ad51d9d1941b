"""Prediction: latent values at new inputs, and which of several alternatives is chosen.

With ``K^-1 E[g] = beta`` and ``K^-1 - K^-1 Cov[g] K^-1 = G``, whatever the observations saw,

    E[g*] = k*' beta,    Cov[g*, g*'] = k** - k*' G k*

(`LatentPredictor`). Label functions are independent under the prior and dependent under the
posterior: a comparison of two labels at one input ties them together everywhere. So the
probability that one label is preferred to another needs their posterior cross-covariance,

    Cov[f*] = k** I - (I x k*)' G (I x k*),

with G over contrasts, labels or observations, by the form of the posterior (`LabelPredictor`).
With inducing points, k* are covariances with these, whitened (`InducingLabelPredictor`).

`choice_probabilities` is the probability that each of several jointly normal utilities, each
perceived through noise, is the largest. With normal noise label a is the largest if L - 1
normal differences are positive. One after another is conditioned on those before it: the
factors Phi(.) of that are exact, and what they are averaged over has L - 2 dimensions, none
for two labels. Differences are logistic if the noise of each label has Gumbel's distribution;
then the label is chosen with probability softmax(f / c), Luce's rule, averaged over f.

Chu & Ghahramani (2005, ICML), eqs. 17 to 19 and 26, without the inverse of a singular matrix;
Genz (1992), "Numerical computation of multivariate normal probabilities"; Yellott (1977), "The
relationship between Luce's choice axiom, Thurstone's theory of comparative judgment, and the
double exponential distribution".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.linalg import blas, lapack
from scipy.special import ndtr, ndtri, softmax
from scipy.stats import qmc

from .._compile import loop
from .design import Combinations, Design, Labels
from .factorised import ItemBelief
from .likelihoods import Ordinal
from .posterior.choose import prior_of
from .posterior.contrasts import ContrastsPosterior, contrast_basis
from .posterior.inducing import Basis, InducingPredictor
from .posterior.observations import ObservationsPosterior
from .posterior.one_vs_rest import OneVsRestPosterior
from .posterior.precision import mirrored
from .site_loop import Approximation
from .stream import Belief

__all__ = [
    "Coefficients",
    "InducingLabelPredictor",
    "ItemPredictor",
    "LabelPredictor",
    "LatentPredictor",
    "choice_probabilities",
]

# Points to average over, and as many mirror images. On covariances that were meant to be hard,
# errors with normal noise were up to 0.0006 for ten labels and 0.0001 for three; by Luce's
# rule, where no factor is exact, up to 0.005.
_POINTS, _LUCE_POINTS = 128, 1024
_TINY = 1e-300  # stands for a probability of zero, which has no quantile; a normal number


@dataclass(frozen=True)
class LatentPredictor:
    """Posterior moments from covariances with the n latent values that were learnt from."""

    beta: np.ndarray  # (n,)
    G: np.ndarray  # (n, n)

    @classmethod
    def of(
        cls, design: Combinations, K: np.ndarray, approximation: Approximation
    ) -> LatentPredictor:
        """From the sites of an approximation."""
        tau = approximation.tau
        posterior = prior_of(design, K, tau).given(tau).inverted()
        zero = np.zeros(len(design))
        G = -2.0 * posterior.evidence_gradient(zero, zero)
        return cls(design.gather(approximation.alpha), G)

    def parted(self, n: int, variance: float) -> tuple[LatentPredictor, Coefficients]:
        """From n latent values, and the posterior of the coefficients that follow them.

        The coefficients are independent before any answer, each with this ``variance``.
        """
        beta, G = self.beta, self.G
        cov = variance * np.eye(len(beta) - n) - variance**2 * G[n:, n:]
        known = Coefficients(variance * beta[n:], cov, -variance * G[:n, n:])
        return LatentPredictor(beta[:n], G[:n, :n].copy()), known

    def mean(self, cross: np.ndarray) -> np.ndarray:
        """Means from prior covariances ``cross``, shape (q, n)."""
        return cross @ self.beta

    def variance(self, cross: np.ndarray, prior: np.ndarray) -> np.ndarray:
        """Variances from prior variances, shape (q,)."""
        explained = np.einsum("ij,ij->i", cross @ self.G, cross)
        return np.maximum(prior - explained, 0.0)

    def differences(
        self, cross: np.ndarray, place: np.ndarray, prior: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of differences between the new values ``place``, shape (m, 2).

        ``cross`` is (q, n) as for `mean`; ``prior`` are the variances of differences, (m,).
        """
        mean, half = self.mean(cross), cross @ self.G  # once a value, however many pairs it has
        explained = np.empty(len(place))
        _explained(half, cross, np.ascontiguousarray(place), explained)
        return mean[place[:, 0]] - mean[place[:, 1]], np.maximum(prior - explained, 0.0)

    def covariance(self, cross: np.ndarray, prior: np.ndarray) -> np.ndarray:
        """Covariances from prior covariances, shape (q, q)."""
        return prior - cross @ self.G @ cross.T


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Posterior of c coefficients that observations see beside latent values."""

    mean: np.ndarray  # (c,)
    cov: np.ndarray  # (c, c)
    link: np.ndarray  # (n, c), maps prior covariances with the latent values to posterior ones

    def __len__(self) -> int:
        return len(self.mean)

    def scaled(self, factor: np.ndarray) -> Coefficients:
        """The posterior of each coefficient times a factor, shape (c,)."""
        cov = self.cov * np.multiply.outer(factor, factor)
        return Coefficients(factor * self.mean, cov, self.link * factor)


@dataclass(frozen=True, eq=False)
class _ItemView:
    """What an `ItemPredictor` says of some items."""

    mean: np.ndarray  # (q,)
    half: np.ndarray  # (q, M), products of which are covariances of what the points say
    rest: np.ndarray  # (q,), variances of the rests
    number: np.ndarray  # (q,), of the items; -1 for new ones, all different


@dataclass(frozen=True, eq=False)
class ItemPredictor:
    """Posterior moments of items by inducing values and a rest of each item.

    Methods are those of `LatentPredictor`, with a `view` for covariances.
    """

    points: InducingPredictor
    precision: np.ndarray  # (n,), what was said of each rest
    potential: np.ndarray  # (n,)

    def belief(self, basis: Basis, which: np.ndarray) -> ItemBelief:
        """What was said, of some of the items."""
        b = Belief.of(basis, self.points)
        return ItemBelief(basis, b.gram, b.shift, self.precision[which], self.potential[which])

    def with_more(self, n: int) -> ItemPredictor:
        """The predictor of n items, of the last of which nothing was said."""
        none = np.zeros(n - len(self.precision))
        each = (np.append(known, none) for known in (self.precision, self.potential))
        return ItemPredictor(self.points, *each)

    def after(self, which: np.ndarray, belief: ItemBelief) -> ItemPredictor:
        """The predictor with another belief, about some of the items."""
        precision, potential = self.precision.copy(), self.potential.copy()
        precision[which], potential[which] = belief.precision, belief.potential
        return ItemPredictor(belief.predictor(), precision, potential)

    def view(self, cross: np.ndarray, prior: np.ndarray, number: np.ndarray) -> _ItemView:
        """From prior covariances with the points (q, M), variances and numbers, -1 if new."""
        half = blas.dtrsm(1.0, self.points.lower, cross.T, lower=1)
        mean = self.points.mean @ half
        own = np.maximum(prior - np.einsum("ij,ij->j", half, half), 0.0)
        half = blas.dtrsm(1.0, self.points.factor, half, trans_a=1, overwrite_b=1)
        known = number >= 0
        rest = own / (1.0 + own * np.where(known, self.precision[number], 0.0))
        mean += rest * np.where(known, self.potential[number], 0.0)
        return _ItemView(mean, half.T, rest, number)

    def mean(self, view: _ItemView) -> np.ndarray:
        """Means, shape (q,)."""
        return view.mean

    def variance(self, view: _ItemView, prior: np.ndarray) -> np.ndarray:
        """Variances, shape (q,)."""
        return np.einsum("ij,ij->i", view.half, view.half) + view.rest

    def differences(
        self, view: _ItemView, place: np.ndarray, prior: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of differences between the values ``place``, shape (m, 2)."""
        variance, half = np.empty(len(place)), np.ascontiguousarray(view.half)
        _explained(half, half, np.ascontiguousarray(place), variance)
        left, right = place.T
        return view.mean[left] - view.mean[right], variance + view.rest[place].sum(axis=1)

    def covariance(self, view: _ItemView, prior: np.ndarray) -> np.ndarray:
        """Covariances, shape (q, q)."""
        found, number = view.half @ view.half.T, view.number
        same = np.equal.outer(number, number) & (number >= 0)[:, None]
        np.fill_diagonal(same, True)
        return np.add(found, view.rest, out=found, where=same)


@loop
def _explained(half, cross, place, total):
    for k in range(len(place)):
        i, j = place[k, 0], place[k, 1]
        total[k] = 0.0
        for a in range(cross.shape[1]):
            total[k] += (half[i, a] - half[j, a]) * (cross[i, a] - cross[j, a])


@dataclass(frozen=True)
class _Piece:
    """Rows of G that belong to one contrast, or to one label."""

    place: np.ndarray  # which rows
    at: np.ndarray  # their inputs
    sign: np.ndarray  # of the label in what they see


@dataclass(frozen=True)
class LabelPredictor:
    """Posterior moments of the L labels from covariances with the n inputs learnt from."""

    beta: np.ndarray  # (n, L), K^-1 E[f]
    G: np.ndarray
    pieces: tuple[_Piece, ...]
    basis: np.ndarray  # (L, pieces)

    @classmethod
    def of(cls, design: Design, K: np.ndarray, a: Approximation) -> LabelPredictor:
        """From the sites of an approximation."""
        assert isinstance(design, Labels)
        posterior = prior_of(design, K, a.tau).given(a.tau).inverted()
        beta = design.by_input(a.alpha)
        if isinstance(posterior, ContrastsPosterior | OneVsRestPosterior):
            basis = posterior.basis
            pieces = _contrast_pieces(design.n, basis.shape[1])
            return cls(beta, posterior.explained(), pieces, basis)
        assert isinstance(posterior, ObservationsPosterior)
        zero, signs = np.zeros(len(design)), design.signs
        # A new array: the memory of the factor is used again by the next fit.
        G = -2.0 * posterior.factor.evidence_gradient(zero, zero)
        touched = [np.flatnonzero(column) for column in signs.T]
        pieces = tuple(_Piece(e, design.at[e], signs[e, k]) for k, e in enumerate(touched))
        return cls(beta, G, pieces, np.eye(design.L))

    def mean(self, cross: np.ndarray) -> np.ndarray:
        """Means of the labels from prior covariances ``cross`` (b, n); shape (b, L)."""
        return cross @ self.beta

    def explained(self, cross: np.ndarray) -> np.ndarray:
        """Prior less posterior covariance of the labels, (b, L, L)."""
        p = len(self.pieces)
        out = np.empty((len(cross), p, p))
        views = [cross[:, piece.at] * piece.sign for piece in self.pieces]
        for j, one in enumerate(self.pieces):
            for k in range(j, p):
                G = self.G[np.ix_(one.place, self.pieces[k].place)]
                out[:, j, k] = out[:, k, j] = np.einsum("ij,ij->i", views[j] @ G, views[k])
        return self.basis @ out @ self.basis.T

    def explained_jointly(self, cross: np.ndarray) -> np.ndarray:
        """The same between rows, (b, L, b, L)."""
        views = [cross[:, piece.at] * piece.sign for piece in self.pieces]
        b, p = len(cross), len(self.pieces)
        out = np.empty((b, p, b, p))
        for j, one in enumerate(self.pieces):
            for k in range(j, p):
                G = self.G[np.ix_(one.place, self.pieces[k].place)]
                out[:, j, :, k] = views[j] @ G @ views[k].T
                out[:, k, :, j] = out[:, j, :, k].T
        return np.einsum("aj,xjyk,ck->xayc", self.basis, out, self.basis, optimize=True)

    def differences(
        self, cross: np.ndarray, prior: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of label a less label c, (b, L, L), from ``prior`` of one, (b,)."""
        f, known = self.mean(cross), self.explained(cross)
        own = np.diagonal(known, axis1=1, axis2=2)
        L = f.shape[1]
        between = 2.0 * prior[:, None, None] * (1.0 - np.eye(L))  # none with itself
        variance = between - own[:, :, None] - own[:, None, :] + 2.0 * known
        return f[:, :, None] - f[:, None, :], np.maximum(variance, 0.0)


@dataclass(frozen=True)
class InducingLabelPredictor(LabelPredictor):
    """Posterior moments of the labels from covariances with M inducing points.

    ``beta`` and ``G`` are those of whitened values: there G is between zero and one.
    """

    lower: np.ndarray  # (M, M), L

    @classmethod
    def of_values(cls, values: InducingPredictor, L: int) -> InducingLabelPredictor:
        """From the posterior of the values of the contrasts of L labels."""
        M, H = len(values.lower), contrast_basis(L)
        G = -mirrored(lapack.dpotri(values.factor)[0])
        G[np.diag_indices_from(G)] += 1.0
        beta = (H @ values.mean.reshape(L - 1, M)).T
        return cls(beta, G, _contrast_pieces(M, L - 1), H, values.lower)

    def mean(self, cross: np.ndarray) -> np.ndarray:
        return super().mean(self._whitened(cross))

    def explained(self, cross: np.ndarray) -> np.ndarray:
        return super().explained(self._whitened(cross))

    def explained_jointly(self, cross: np.ndarray) -> np.ndarray:
        return super().explained_jointly(self._whitened(cross))

    def _whitened(self, cross: np.ndarray) -> np.ndarray:
        return blas.dtrsm(1.0, self.lower, cross.T, lower=1).T


def _contrast_pieces(n: int, q: int) -> tuple[_Piece, ...]:
    """Rows of a G that holds q contrasts of n inputs, one after another."""
    i, ones = np.arange(n), np.ones(n)
    return tuple(_Piece(k * n + i, i, ones) for k in range(q))


def choice_probabilities(
    mean: np.ndarray, covariance: np.ndarray, noise: Ordinal
) -> np.ndarray:
    """Probability that each of several utilities is perceived as the largest, (b, L).

    From their mean (b, L) and covariance (b, L, L); ``noise`` is the likelihood of a difference
    of two.
    """
    L = mean.shape[1]
    if noise.link == "logit":
        return _by_luce(mean, covariance, noise.noise)
    # Noise c of a difference is c / sqrt(2) of each of the two.
    perceived = covariance + 0.5 * noise.noise**2 * np.eye(L)
    total = np.empty(mean.shape)
    for a in range(L):
        above = np.delete(np.eye(L)[a] - np.eye(L), a, axis=0)  # a less each of the others
        total[:, a] = _all_positive(mean @ above.T, above @ perceived @ above.T)
    return total / total.sum(axis=1, keepdims=True)


def _by_luce(mean: np.ndarray, covariance: np.ndarray, scale: float) -> np.ndarray:
    """Mean of ``softmax(f / scale)``."""
    values, axes = np.linalg.eigh(covariance)
    e = ndtri(_points(mean.shape[1], _LUCE_POINTS))
    spread = axes * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    each = zip(mean, spread, strict=True)  # one by one, to save memory
    return np.array([softmax((m + e @ A.T) / scale, axis=1).mean(axis=0) for m, A in each])


def _all_positive(mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Probability that all p entries of a normal vector are positive, for b of them."""
    b, p = mean.shape
    covariance = _definite(covariance)
    sd = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    # The least likely to be positive first: then little of the product varies by point.
    order = np.argsort(mean / sd, axis=1, kind="stable")
    rows = np.arange(b)[:, None]
    mean = mean[rows, order]
    root = np.linalg.cholesky(covariance[rows[:, :, None], order[:, :, None], order[:, None]])
    share = _points(p - 1)
    product = np.ones((b, len(share)))
    z = np.empty((b, p - 1, len(share)))
    for j in range(p):
        # Entry j is positive where its own standard normal stays below this.
        here = root[:, j, None, :j] @ z[:, :j]
        limit = (mean[:, j, None] - here[:, 0]) / root[:, j, j, None]
        below = ndtr(limit)
        product *= below
        if j < p - 1:
            z[:, j] = ndtri(np.maximum(share[:, j] * below, _TINY))
    return product.mean(axis=1)


def _definite(covariance: np.ndarray) -> np.ndarray:
    """The same covariances, with eigenvalues that are rounding alone lifted.

    A posterior covariance is a prior less what was explained. Where next to nothing is left and
    the noise is small, the difference has eigenvalues of either sign and no meaning.
    """
    try:
        np.linalg.cholesky(covariance)
        return covariance
    except np.linalg.LinAlgError:
        values, axes = np.linalg.eigh(covariance)
    p = covariance.shape[-1]
    # From here on the factor exists: Higham (2002), theorem 10.7.
    least = (
        (p + 1) ** 2 * np.finfo(float).eps * np.maximum(values[:, -1:], np.finfo(float).tiny)
    )
    lifted = (axes * np.maximum(values, least)[:, None, :]) @ np.swapaxes(axes, 1, 2)
    return np.where((values < least).any(axis=1)[:, None, None], lifted, covariance)


@lru_cache
def _points(p: int, count: int = _POINTS) -> np.ndarray:
    """Scrambled Sobol points in the cube of p dimensions, the same for every input."""
    if p == 0:
        return np.zeros((1, 0))
    points = qmc.Sobol(p, seed=0).random(count)
    both = np.concatenate([points, 1.0 - points])
    # An end of the cube has no quantile.
    return np.clip(both, 1e-12, 1.0 - 1e-12)  # others are multiples of 2**-30, about 1e-9
