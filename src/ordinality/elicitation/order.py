"""What an answer tells about the order of all items, not only about its own pair.

Items move together: that this tea beat that one says something of other teas. Let utilities be
N(mean, cov), a the pair that is asked, b any pair, whose difference is N(m, v), and p = Phi(z),
z = m / sqrt(v), the probability that the first of b is the better one. The answer y moves m by
``b' cov a`` times the slope of log p(y), and so p; to first order in that move it tells

    (b' cov a)**2 E[slope**2] W_b / 2 nats,    W_b = phi(z)**2 / (v p (1 - p)),

about which of b is the better. W_b is what a move is worth there: much where the order is
open, nothing where it is known. Summed over all b this is ``a' cov L cov a``, L the graph
Laplacian of W: one product of matrices values every question at once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import ndtr

from ..gp.likelihoods import Symmetric
from .gains import answers_of, moments

__all__ = ["exact_slope", "order_bits", "order_gain", "rough_slope", "spread"]

_ITEMS = 1000  # whose joint covariance is worked out
_FAR = 8.0  # standard deviations beyond which an order is known in all digits
_RARE = 1e-12  # answers less likely add nothing, and their quotient would be all rounding
_SAME = 1e-10  # share of the largest variance below which two items are one to the model


def order_gain(
    model: Any, pairs: Any, *, judge: Any = None, random_state: Any = None
) -> np.ndarray:
    """Bits that the answer to each pair is expected to tell about the order of all pairs.

    A sum over all pairs of items, to first order in what is learnt: it compares questions well
    and understates what a single answer tells where little is known.

    Parameters
    ----------
    model : PreferenceGP
        Fitted.
    pairs : array-like of int, shape (m, 2)
        Numbers of the two items of each question.
    judge : label, default=None
        Who is asked, if the model has several; None is one with the median noise.
    random_state : int, Generator or None, default=None
        Draws 1000 items out of more, for which the rest is extrapolated.

    Returns
    -------
    gain : ndarray of shape (m,)

    Examples
    --------
    >>> from ordinality import PreferenceGP
    >>> from ordinality.elicitation import order_gain
    >>> prices = [[0.0], [0.1], [0.2], [0.3], [9.0]]
    >>> model = PreferenceGP(prices).fit([[4, 0]])
    >>> pairs = [[1, 2], [3, 4]]  # two that are alike, and two that stand for more than them
    >>> like, unlike = order_gain(model, pairs)
    >>> bool(like < unlike)
    True
    """
    likelihood = answers_of(model, judge)
    slope = exact_slope(likelihood, *moments(model, pairs)[2:])  # which also checks the pairs
    pairs, n = np.asarray(pairs), len(model.utility()[0])
    drawn = np.arange(n)
    if n > _ITEMS:
        drawn = np.random.default_rng(random_state).choice(n, _ITEMS, replace=False)
    items = np.union1d(drawn, pairs)
    place, witnesses = np.searchsorted(items, pairs), np.searchsorted(items, drawn)
    mean, cov = model.posterior(items)
    reach = spread(mean, cov, place, witnesses)
    share = len(drawn) * (len(drawn) - 1) / (n * (n - 1))
    return order_bits(slope, reach) / share


def order_bits(slope: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """Bits about all orders, from E slope**2 of the answers and how far they are felt."""
    return slope * reach / (2.0 * np.log(2.0))


def spread(
    mean: np.ndarray, cov: np.ndarray, place: np.ndarray, witnesses: Any = slice(None)
) -> np.ndarray:
    """How far answers to pairs are felt: ``a' cov L cov a`` for each row a of ``place``.

    L has the pairs of ``witnesses`` alone, by default of all items.
    """
    across = cov[witnesses]
    felt = across.T @ _laplacian(mean[witnesses], across[:, witnesses]) @ across
    i, j = place.T
    own = np.diagonal(felt)
    return np.maximum(own[i] + own[j] - felt[i, j] - felt[j, i], 0.0)


def _laplacian(mean: np.ndarray, cov: np.ndarray) -> np.ndarray:
    """Of the graph of all pairs, weighted by what a move of their difference is worth."""
    own = np.diagonal(cov)
    variance = own[:, None] + own - 2.0 * cov
    # Two items that are one to the model have no order to learn.
    apart = variance > _SAME * own.max()
    variance = np.where(apart, variance, 1.0)
    z = np.clip((mean[:, None] - mean) / np.sqrt(variance), -_FAR, _FAR)
    p = ndtr(z)
    worth = np.where(apart, np.exp(-(z**2)) / (2.0 * np.pi * variance * p * p.T), 0.0)
    np.fill_diagonal(worth, 0.0)
    return np.diag(worth.sum(axis=1)) - worth


def exact_slope(likelihood: Symmetric, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """E (d log p(y) / d mean)**2 over the answers y to differences ~ N(mean, variance)."""
    K = likelihood.n_levels
    each = np.tile(np.arange(K), len(mean)), np.repeat(mean, K), np.repeat(variance, K)
    jet = likelihood.log_expected(*each)
    return (np.exp(jet.value) * jet.d1**2).reshape(-1, K).sum(axis=1)


def rough_slope(likelihood: Symmetric, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """The same, faster, with normal for logistic noise."""
    if likelihood.link == "logit":  # 1.7: the usual ratio of the widths of the two
        normal = replace(likelihood, noise=1.7 * likelihood.noise, link="probit")
        return rough_slope(normal, mean, variance)
    s = np.sqrt(likelihood.noise**2 + variance)[:, None]
    z = (likelihood.thresholds - mean[:, None]) / s
    density = np.exp(-0.5 * z**2) / (np.sqrt(2.0 * np.pi) * s)
    proba = np.diff(ndtr(z), axis=1, prepend=0.0, append=1.0)
    rate = np.diff(density, axis=1, prepend=0.0, append=0.0)
    return np.sum(rate**2 / np.maximum(proba, _RARE), axis=1)
