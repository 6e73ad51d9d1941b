"""Information gain about the ranking: what one answer tells about the order of all items.

Utilities are correlated, so that an answer about two items tells something about others. Let
utilities be N(mean, cov), a the pair that is asked, b any pair, whose difference is N(m, v),
and p = Phi(z), z = m / sqrt(v), the probability that the first of b is the better one. The
answer y moves m by ``b' cov a`` times the slope of log p(y), and so p; to first order in that
move it tells

    (b' cov a)**2 E[slope**2] W_b / 2 nats,    W_b = phi(z)**2 / (v p (1 - p)),

about which of b is the better. W_b is large where the order of b is open, and zero where it is
known. E[slope**2] is the Fisher information of the answer. Summed over all b this is
``a' cov L cov a``, L the graph Laplacian of W: one product of matrices values every question.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtr

from ..gp.likelihoods import Symmetric
from .gains import answer_likelihood, difference_variance, moments, with_normal_noise

__all__ = ["fisher_information", "laplacian_form", "order_gain", "rough_fisher_information"]

_ITEMS = 1000  # whose joint covariance is computed
_FAR = 8.0  # standard deviations beyond which an order is known in all digits
_RARE = 1e-12  # answers less likely add nothing, and their quotient is only rounding
# Share of the largest variance below which two items are the same to the model: the covariance
# of 1000 items is rounded to some 1000 eps = 2e-13 of it, and a difference adds four entries.
_SAME = 1e-10


def order_gain(
    model: Any, pairs: Any, *, judge: Any = None, random_state: Any = None
) -> np.ndarray:
    """Expected information of the answer to each pair about the order of all pairs, in bits.

    A sum over all pairs of items, to first order in what is learnt: it compares questions well,
    but understates what a single answer tells where little is known.

    Parameters
    ----------
    model : PreferenceGP
        Fitted.
    pairs : array-like of int, shape (m, 2)
        The two items of each question, by number.
    judge : label, default=None
        Who is asked, if the model has several; None is one with the median noise.
    random_state : int, Generator or None, default=None
        Draws 1000 items out of more; the sum is extrapolated from their pairs.

    Returns
    -------
    gain : ndarray of shape (m,)
        Bits, 0 or more.

    Examples
    --------
    >>> from ordinality import PreferenceGP
    >>> from ordinality.elicitation import order_gain
    >>> prices = [[0.0], [0.1], [0.2], [0.3], [9.0]]
    >>> model = PreferenceGP(prices).fit([[4, 0]])
    >>> pairs = [[1, 2], [3, 4]]  # two similar items; two that are correlated with others
    >>> like, unlike = order_gain(model, pairs)
    >>> bool(like < unlike)
    True
    """
    likelihood = answer_likelihood(model, judge)
    fisher = fisher_information(likelihood, *moments(model, pairs)[2:])  # checks the pairs too
    pairs, n = np.asarray(pairs), len(model.utility()[0])
    drawn = np.arange(n)
    if n > _ITEMS:
        drawn = np.random.default_rng(random_state).choice(n, _ITEMS, replace=False)
    items = np.union1d(drawn, pairs)
    place, among = np.searchsorted(items, pairs), np.searchsorted(items, drawn)
    mean, cov = model.posterior(items)
    form = laplacian_form(mean, cov, place, among)
    share = len(drawn) * (len(drawn) - 1) / (n * (n - 1))
    return fisher * form / (2.0 * np.log(2.0)) / share


def laplacian_form(
    mean: np.ndarray, cov: np.ndarray, place: np.ndarray, among: Any = slice(None)
) -> np.ndarray:
    """``a' cov L cov a`` for each pair a of ``place``; L has the pairs of ``among`` alone."""
    across = cov[among]
    product = across.T @ _laplacian(mean[among], across[:, among]) @ across
    return difference_variance(product, *place.T)


def _laplacian(mean: np.ndarray, cov: np.ndarray) -> np.ndarray:
    """Graph Laplacian of all pairs, with weights W."""
    own = np.diagonal(cov)
    variance = own[:, None] + own - 2.0 * cov
    # Two items that are the same to the model have no order to learn.
    apart = variance > _SAME * own.max()
    variance = np.where(apart, variance, 1.0)
    z = np.clip((mean[:, None] - mean) / np.sqrt(variance), -_FAR, _FAR)
    p = ndtr(z)
    W = np.where(apart, np.exp(-(z**2)) / (2.0 * np.pi * variance * p * p.T), 0.0)
    np.fill_diagonal(W, 0.0)
    return np.diag(W.sum(axis=1)) - W


def fisher_information(
    likelihood: Symmetric, mean: np.ndarray, variance: np.ndarray
) -> np.ndarray:
    """E (d log p(y) / d mean)**2 over the answers y to differences ~ N(mean, variance)."""
    K = likelihood.n_levels
    each = np.tile(np.arange(K), len(mean)), np.repeat(mean, K), np.repeat(variance, K)
    jet = likelihood.log_expected(*each)
    return (np.exp(jet.value) * jet.d1**2).reshape(-1, K).sum(axis=1)


def rough_fisher_information(
    likelihood: Symmetric, mean: np.ndarray, variance: np.ndarray
) -> np.ndarray:
    """The same, faster, with normal for logistic noise."""
    likelihood = with_normal_noise(likelihood)
    s = np.sqrt(likelihood.noise**2 + variance)[:, None]
    z = (likelihood.thresholds - mean[:, None]) / s
    density = np.exp(-0.5 * z**2) / (np.sqrt(2.0 * np.pi) * s)
    proba = np.diff(ndtr(z), axis=1, prepend=0.0, append=1.0)
    rate = np.diff(density, axis=1, prepend=0.0, append=0.0)
    return np.sum(rate**2 / np.maximum(proba, _RARE), axis=1)
