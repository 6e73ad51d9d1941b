"""Acquisition functions of a comparison: information gain, expected best, uncertainty, order.

With the difference of two utilities ``d ~ N(mean, variance)`` and an answer y to it,

    information   H[E p(y | d)] - E H[p(y | d)] in bits: what the answer tells about d;
    best          E max(f_left, f_right): utility of the better item, if it were chosen;
    uncertainty   variance of the answer, times the share of it that is not noise;
    order         what the answer tells about the order of all items, in bits.

Utilities are correlated, so that an answer about two items tells something about others. Let
utilities be N(mean, cov), a the pair that is asked, b any pair, whose difference is N(m, v),
and p = Phi(z), z = m / sqrt(v), the probability that the first of b is the better one. The
answer y moves m by ``b' cov a`` times the slope of log p(y), and so p; to first order in that
move it tells

    (b' cov a)**2 E[slope**2] W_b / 2 nats,    W_b = phi(z)**2 / (v p (1 - p)),

about which of b is the better. W_b is large where the order of b is open, and zero where it is
known. E[slope**2] is the Fisher information of the answer. Summed over all b this is
``a' cov L cov a``, L the graph Laplacian of W: one product of matrices values every question.

For the best k in place of the order, b is an item against the border of the k-th and the next:
z is its distance from there, and L is diagonal.

The ratio of signal to noise is not known either (`Snapshot`). Values are averages over ratios,
plus what the answer tells through the ratio: it moves the weight w_g of ratio g by
``w_g (p_g(y) / p(y) - 1)``, and so every p. Without that term no question would be asked that
tells a judge from a coin.

Houlsby, Huszár, Ghahramani & Lengyel (2011), "Bayesian active learning for classification and
preference learning"; Lin, Astudillo, Frazier & Bakshy (2022) for the second.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import entr, expit, ndtr
from sklearn.utils.validation import check_is_fitted

from ..estimators.snapshot import PointPosteriors, Snapshot
from ..gp.likelihoods import Symmetric

__all__ = [
    "OfAnswer", "answer_likelihood", "answer_uncertainty", "believed", "best_of_two",
    "closed_gain", "difference_variance", "exact_gain", "expected_best", "expected_max",
    "fisher_information", "information_gain", "information_of", "numbers_of", "order_gain",
    "order_of",
    "points_of", "rough_fisher_information", "rough_gain", "seen_by", "top_of", "uncertainty",
    "with_normal_noise",
]  # fmt: skip

_C2 = np.pi * np.log(2.0) / 2.0  # of a Gaussian with the height and curvature of the entropy
_HERMITE = {count: np.polynomial.hermite_e.hermegauss(count) for count in (6, 32)}
_NARROW = 0.7  # standard deviation over noise up to which 32 Hermite nodes reach 1e-13
# The entropy of an answer is below 1e-16 so far beyond the last threshold, in units of noise.
_REACH = {"probit": 9.0, "logit": 42.0}
_ROWS = 4096  # pairs at once: their values at all nodes stay in the cache
_PAIRS = 500  # pairs whose items' joint covariance is computed at once
_ITEMS = 1000  # whose joint covariance is computed
_DENSE = 2000  # items up to which covariances at every ratio are kept: 32 MB a ratio
_FAR = 8.0  # standard deviations beyond which an order is known in all digits
_RARE = 1e-12  # answers less likely add nothing, and their quotient is only rounding
# Share of the largest variance below which two items are the same to the model: the covariance
# of 1000 items is rounded to some 1000 eps = 2e-13 of it, and a difference adds four entries.
_SAME = 1e-10
_SURE = 1e-3  # p (1 - p) below which an order is as good as known: no quotient grows beyond
_LIGHT = 1e-4  # weight of a ratio below which its order is left out of the value of questions
# The same for what is told through the ratio: of an order that is known but for the small
# chance of a coin, the second-order value would be far too large.
_UNLIKELY = 5e-3


def information_gain(
    model: Any, pairs: Any, *, method: str = "exact", judge: Any = None
) -> np.ndarray:
    """Expected information of the answer to each pair about the utilities, in bits.

    Parameters
    ----------
    model : PreferenceGP
        Fitted.
    pairs : array-like of int, shape (m, 2)
        The two items of each question, by number.
    method : {"exact", "closed"}, default="exact"
        By quadrature, to rounding; or in closed form, with an error of up to 0.003 bits, for
        normal noise and answers without ties or grades.
    judge : label, default=None
        Who is asked, if the model has several; None is one with the median noise.

    Returns
    -------
    gain : ndarray of shape (m,)
        Bits, 0 or more.

    Examples
    --------
    >>> from ordinality import PreferenceGP
    >>> from ordinality.elicitation import information_gain
    >>> model = PreferenceGP(5).fit([[0, 1], [0, 2], [1, 2], [0, 1], [0, 2]])
    >>> known, open_ = information_gain(model, [[0, 2], [3, 4]])
    >>> bool(known < open_)  # of items 3 and 4 nothing is known yet
    True
    """
    model = believed(model)
    likelihood = answer_likelihood(model, judge)
    if method not in ("exact", "closed"):
        raise ValueError(f"method is {method!r}; it must be 'exact' or 'closed'.")
    if method == "closed" and not (likelihood.n_levels == 2 and likelihood.link == "probit"):
        raise ValueError(
            "the closed form is for normal noise and two answers, but the model has "
            f"{likelihood.n_levels} answers and link={likelihood.link!r}; use method='exact'."
        )
    gain = exact_gain if method == "exact" else closed_gain
    return _by_batches(model, pairs, lambda *known: information_of(gain, likelihood, *known))


def expected_best(model: Any, pairs: Any) -> np.ndarray:
    """Expected utility of the better of the two items of each pair.

    To ask where it is largest is to look for the best item, not for the whole order.

    Parameters
    ----------
    model : PreferenceGP
        Fitted.
    pairs : array-like of int, shape (m, 2)
        The two items of each question, by number.

    Returns
    -------
    utility : ndarray of shape (m,)
        In units of the model's utilities.

    Examples
    --------
    >>> from ordinality import PreferenceGP
    >>> from ordinality.elicitation import expected_best
    >>> model = PreferenceGP().fit([[0, 1], [1, 2], [2, 3]])
    >>> top, bottom = expected_best(model, [[0, 1], [2, 3]])
    >>> bool(top > bottom)
    True
    """
    return _by_batches(believed(model), pairs, best_of_two)


def uncertainty(model: Any, pairs: Any, *, judge: Any = None) -> np.ndarray:
    """Uncertainty of each answer: ``4 p (1 - p) * variance / (variance + noise**2)``.

    p is the probability that the first item is preferred, so that the first factor is 1 where
    p is a half. The second is the share of the uncertainty that more answers can remove;
    without it, a tie that is known for certain would be asked again and again.

    Parameters
    ----------
    model : PreferenceGP
        Fitted.
    pairs : array-like of int, shape (m, 2)
        The two items of each question, by number.
    judge : label, default=None
        Who is asked, if the model has several; None is one with the median noise.

    Returns
    -------
    uncertainty : ndarray of shape (m,)
        From 0 to 1.

    Examples
    --------
    >>> from ordinality import PreferenceGP
    >>> from ordinality.elicitation import uncertainty
    >>> model = PreferenceGP(5).fit([[0, 1], [0, 2], [1, 2], [0, 1], [0, 2]])
    >>> known, open_ = uncertainty(model, [[0, 2], [3, 4]])
    >>> bool(known < open_)
    True
    """
    model = believed(model)
    likelihood = answer_likelihood(model, judge)
    return _by_batches(model, pairs, lambda *known: answer_uncertainty(likelihood, *known))


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
    model = believed(model)
    likelihood, pairs = answer_likelihood(model, judge), _checked(numbers_of(model, pairs))
    n = len(model.utility()[0])
    drawn = np.arange(n)
    if n > _ITEMS:
        drawn = np.random.default_rng(random_state).choice(n, _ITEMS, replace=False)
    items = np.union1d(drawn, pairs)
    place, among = np.searchsorted(items, pairs), np.searchsorted(items, drawn)
    share = len(drawn) * (len(drawn) - 1) / (n * (n - 1))
    points = points_of(model, items)
    return order_of(fisher_information, likelihood, points, place, among) / share


def believed(model: Any) -> Any:
    """The snapshot of a model that can make one; refuse what has no joint posterior."""
    if not (hasattr(model, "posterior") and hasattr(model, "utility")):
        raise TypeError(
            f"model is a {type(model).__name__}, which has no joint posterior of utilities; "
            "pass a fitted PreferenceGP, or a snapshot of one."
        )
    if isinstance(model, Snapshot):
        return model
    check_is_fitted(model)
    small = hasattr(model, "snapshot") and len(model.utility()[0]) <= _DENSE
    return model.snapshot() if small else model


def answer_likelihood(model: Any, judge: Any = None) -> Symmetric:
    """Likelihood of the answers of a judge; one who is not known has the median noise."""
    if isinstance(model, Snapshot):
        return model.likelihood(judge)
    noise, steps, judges = model.noise_, model.steps_, model.judges_
    known = [] if judges is None else judges.tolist()
    if judge in known:
        noise, steps = noise[known.index(judge)], steps[known.index(judge)]
    elif known:
        noise, steps = np.median(noise), np.median(steps, axis=0)
    gaps = np.diff(steps, prepend=0.0)
    return Symmetric.of(gaps, ties=model.ties, sigma=float(noise), link=model.link)


def points_of(model: Any, items: np.ndarray) -> PointPosteriors:
    """Posteriors of the utilities of items at each ratio; of other models there is one."""
    if isinstance(model, Snapshot):
        return model.points(items)
    mean, cov = model.posterior(items)
    return PointPosteriors(np.ones(1), np.ones(1), mean[None], cov[None])


def seen_by(points: PointPosteriors, place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of what answers to pairs see at each ratio, both (G, m)."""
    i, j = place.T
    gap = points.mean[:, i] - points.mean[:, j]
    variance = difference_variance(points.cov, i, j)
    return points.slope[:, None] * gap, points.slope[:, None] ** 2 * variance


def difference_variance(cov: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Variance of the difference of i and j, which rounding must not make negative."""
    own = np.diagonal(cov, axis1=-2, axis2=-1)
    both = cov[..., i, j] + cov[..., j, i]
    return np.maximum(own[..., i] + own[..., j] - both, 0.0)


def _by_batches(model: Any, pairs: Any, value: Callable[..., np.ndarray]) -> np.ndarray:
    """``value(points, place)`` of many pairs, with the covariances of some at once."""
    pairs = _checked(numbers_of(model, pairs))
    out = np.empty(len(pairs))
    for batch in _slices(len(pairs), _PAIRS):
        which, place = np.unique(pairs[batch], return_inverse=True)
        out[batch] = value(points_of(model, which), place.reshape(-1, 2))
    return out


def numbers_of(model: Any, items: Any) -> Any:
    """Numbers of items that are given by name, if the model has names."""
    return model.item_numbers(items) if hasattr(model, "item_numbers") else items


def _checked(pairs: Any) -> np.ndarray:
    pairs = np.asarray(pairs)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(f"pairs has shape {pairs.shape}; wanted (m, 2), two items a row.")
    return pairs


# ---------------------------------------------------------------- values over all ratios


OfAnswer = Callable[[Symmetric, np.ndarray, np.ndarray], np.ndarray]  # moments of one ratio


def information_of(
    gain: OfAnswer, likelihood: Symmetric, points: PointPosteriors, place: np.ndarray
) -> np.ndarray:
    """Bits about the utilities and the ratio together."""
    mean, variance = seen_by(points, place)
    within = _averaged(lambda *known: gain(likelihood, *known), points.weights, mean, variance)
    proba = _answer_probas(likelihood, mean, variance)
    each = points.weights @ _bits(proba)
    return within + np.maximum(_bits(np.tensordot(points.weights, proba, 1)) - each, 0.0)


def best_of_two(points: PointPosteriors, place: np.ndarray) -> np.ndarray:
    """Expected utility of the better item of each pair."""
    i, j = place.T
    variance = difference_variance(points.cov, i, j)
    each = (points.mean[:, i], points.mean[:, j], variance)
    return _averaged(expected_max, points.weights, *each)


def answer_uncertainty(
    likelihood: Symmetric, points: PointPosteriors, place: np.ndarray
) -> np.ndarray:
    """See `uncertainty`."""
    mean, variance = seen_by(points, place)
    total = variance + likelihood.noise**2
    p = points.weights @ ndtr(mean / np.sqrt(total))
    return 4.0 * p * (1.0 - p) * (points.weights @ (variance / total))


def order_of(
    fisher: OfAnswer,
    likelihood: Symmetric,
    points: PointPosteriors,
    place: np.ndarray,
    among: Any = slice(None),
) -> np.ndarray:
    """Bits about the order of all pairs of ``among``, through the utilities and the ratio."""

    def laplacian(mean: np.ndarray, cov: np.ndarray) -> np.ndarray:
        across = cov[among]
        L = _laplacian(mean[among], across[:, among])
        return difference_variance(across.T @ L @ across, *place.T)

    mean, cov = points.mean[:, among], points.cov[:, among][:, :, among]
    order = np.argsort(-(points.weights @ mean), kind="stable")
    i, j = order[np.column_stack(np.triu_indices(len(order), 1))].T
    variance = difference_variance(cov, i, j)
    gap = mean[:, i] - mean[:, j]
    apart = variance > _SAME * np.diagonal(cov, axis1=1, axis2=2).max()
    right = np.where(apart, ndtr(gap / np.sqrt(np.where(apart, variance, 1.0))), 0.5)
    return _with_ratio(fisher, likelihood, points, place, laplacian, right)


def top_of(
    fisher: OfAnswer, likelihood: Symmetric, points: PointPosteriors, place: np.ndarray, k: int
) -> np.ndarray:
    """Bits about which items are the k best, through the utilities and the ratio."""
    n = points.mean.shape[1]
    first = np.zeros(n, dtype=bool)
    first[np.argsort(-(points.weights @ points.mean), kind="stable")[:k]] = True
    right = np.empty((len(points.weights), n))

    def diagonal(mean: np.ndarray, cov: np.ndarray) -> np.ndarray:
        z, spread, C = _from_the_border(mean, cov, k)
        p = ndtr(z)
        D = np.exp(-(z**2)) / (2.0 * np.pi * spread**2 * p * (1.0 - p))
        return difference_variance(C.T @ (D[:, None] * C), *place.T)

    for g, (mean, cov) in enumerate(zip(points.mean, points.cov, strict=True)):
        p = ndtr(_from_the_border(mean, cov, k)[0]) if points.slope[g] else np.full(n, k / n)
        right[g] = np.where(first, p, 1.0 - p)
    return _with_ratio(fisher, likelihood, points, place, diagonal, right)


def _from_the_border(mean: np.ndarray, cov: np.ndarray, k: int) -> tuple[np.ndarray, ...]:
    """Distance of each item from the k-th best, in its standard deviation; that; covariance.

    Comparisons leave a shift of all utilities open, so they are taken less their mean.
    """
    border = np.mean(np.sort(mean)[::-1][k - 1 : k + 1])
    C = cov - cov.mean(axis=0)
    spread = np.sqrt(np.maximum(np.diagonal(C) - C.mean(axis=1), np.finfo(float).tiny))
    return np.clip((mean - border) / spread, -_FAR, _FAR), spread, C


def _with_ratio(
    fisher: OfAnswer,
    likelihood: Symmetric,
    points: PointPosteriors,
    place: np.ndarray,
    form: Callable[[np.ndarray, np.ndarray], np.ndarray],
    right: np.ndarray,
) -> np.ndarray:
    """Bits about events, of which ``right`` has the probabilities at each ratio, (G, B).

    ``form(mean, cov)`` is the sum over events of the squared move of their z, times W, that an
    answer of unit slope makes.
    """
    mean, variance = seen_by(points, place)
    value, w = np.zeros(len(place)), points.weights
    for g in np.flatnonzero((w > _LIGHT) & (points.slope > 0.0)):
        informative = fisher(likelihood, mean[g], variance[g])
        squared = points.slope[g] ** 2 * form(points.mean[g], points.cov[g])
        value += w[g] * informative * squared
    if len(w) > 1:
        p = w @ right
        heavy = np.where(w >= _UNLIKELY, w, 0.0)
        moved = heavy[:, None] * (right - p) / np.sqrt(np.maximum(p * (1.0 - p), _SURE))
        proba = _answer_probas(likelihood, mean, variance)
        mixed = np.tensordot(w, proba, 1)
        apart = proba - mixed  # (G, m, K)
        squared = np.einsum("gmk,gh,hmk->mk", apart, moved @ moved.T, apart, optimize=True)
        value += np.sum(squared / np.maximum(mixed, _RARE), axis=1)
    return value / (2.0 * np.log(2.0))


def _averaged(value: Callable[..., np.ndarray], w: np.ndarray, *each: np.ndarray) -> np.ndarray:
    """Average over ratios of a value of the moments at each."""
    rows = zip(*each, strict=True)
    return np.sum([weight * value(*row) for weight, row in zip(w, rows, strict=True)], axis=0)


def _answer_probas(likelihood: Symmetric, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Probability of each answer to each pair at each ratio, (G, m, K)."""
    proba = _mean_answer_proba(likelihood, mean.ravel(), variance.ravel())
    return proba.reshape(*mean.shape, -1)


# ---------------------------------------------------------------- values at one ratio


def exact_gain(likelihood: Symmetric, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Expected information by quadrature, in bits."""
    # The entropy is analytic within about 2.5 noises of the line, so a lattice of a quarter is
    # off by exp(-2 pi 2.5 / 0.25), less than 1e-27, where the Gaussian is as smooth.
    return _gain(likelihood, mean, variance, step=0.25, nodes=32)


def rough_gain(likelihood: Symmetric, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """The same to about 1e-4 bits in a fifth of the time, with normal for logistic noise."""
    return _gain(with_normal_noise(likelihood), mean, variance, step=0.9, nodes=6)


def with_normal_noise(likelihood: Symmetric) -> Symmetric:
    """The likelihood with normal in place of logistic noise."""
    if likelihood.link == "probit":
        return likelihood
    # 1.7: the usual ratio of the widths of the two.
    return replace(likelihood, noise=1.7 * likelihood.noise, link="probit")


def closed_gain(likelihood: Symmetric, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Expected information for normal noise and two answers (Houlsby et al., 2011, eq. 3)."""
    m, v = mean / likelihood.noise, variance / likelihood.noise**2
    p = ndtr(m / np.sqrt(1.0 + v))
    expected = np.sqrt(_C2 / (v + _C2)) * np.exp(-0.5 * m**2 / (v + _C2))
    return np.maximum(_bits(np.stack([p, 1.0 - p], axis=-1)) - expected, 0.0)


def expected_max(left: np.ndarray, right: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """E max of two utilities, from their means and the variance of their difference."""
    # `tiny` only avoids 0 / 0: at variance zero the result is the larger mean.
    s = np.sqrt(np.maximum(variance, np.finfo(float).tiny))
    z = np.clip((left - right) / s, -40.0, 40.0)  # beyond, ndtr is 0 or 1 in all digits
    density = np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)
    return left * ndtr(z) + right * ndtr(-z) + s * density


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


def _gain(
    likelihood: Symmetric, mean: np.ndarray, variance: np.ndarray, step: float, nodes: int
) -> np.ndarray:
    gain = np.empty(len(mean))
    wide = np.sqrt(variance) > _NARROW * likelihood.noise
    rules = _on_lattice(likelihood, step), _hermite(likelihood, nodes)
    for which, rule in zip((wide, ~wide), rules, strict=True):
        m, v = mean[which], variance[which]
        part = np.empty(len(m))
        for rows in _slices(len(m), _ROWS):
            before = _bits(_mean_answer_proba(likelihood, m[rows], v[rows]))
            part[rows] = before - rule(m[rows], v[rows])
        gain[which] = part
    return np.maximum(gain, 0.0)


Rule = Callable[[np.ndarray, np.ndarray], np.ndarray]  # of mean and variance


def _on_lattice(likelihood: Symmetric, step: float) -> Rule:
    """E H[p(y | d)] by the trapezium rule, on nodes near the thresholds, the same for all.

    Far from the thresholds the entropy vanishes, and with it the terms that are left out.
    """
    reach = _REACH[likelihood.link]
    near = [
        np.arange(np.floor((t - reach) / step), np.ceil((t + reach) / step) + 1)
        for t in likelihood.thresholds / likelihood.noise
    ]
    x = np.unique(np.concatenate(near)) * step * likelihood.noise
    entropy = _bits(_answer_proba(likelihood, x))
    weighted = entropy * step * likelihood.noise / np.sqrt(2.0 * np.pi)

    def rule(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
        z = (x - mean[:, None]) / np.sqrt(variance)[:, None]
        return np.exp(-0.5 * z**2) @ weighted / np.sqrt(variance)

    return rule


def _hermite(likelihood: Symmetric, count: int) -> Rule:
    x, w = _HERMITE[count]

    def rule(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
        d = mean[:, None] + np.sqrt(variance)[:, None] * x
        return _bits(_answer_proba(likelihood, d)) @ (w / w.sum())

    return rule


def _slices(n: int, size: int) -> list[slice]:
    return [slice(i, i + size) for i in range(0, n, size)]


def _bits(proba: np.ndarray) -> np.ndarray:
    """Entropy along the last axis."""
    return entr(proba).sum(axis=-1) / np.log(2.0)


def _answer_proba(likelihood: Symmetric, d: np.ndarray) -> np.ndarray:
    """Probability of each answer at known differences."""
    below = ndtr if likelihood.link == "probit" else expit
    z = (likelihood.thresholds - d[..., None]) / likelihood.noise
    return np.diff(below(z), axis=-1, prepend=0.0, append=1.0)


def _mean_answer_proba(
    likelihood: Symmetric, mean: np.ndarray, variance: np.ndarray
) -> np.ndarray:
    """Probability of each answer at differences ~ N(mean, variance)."""
    if likelihood.link == "logit":
        # By quadrature: beside the entropy of known differences, which is exact, the closed
        # form would leave an error of 1e-5 bits.
        n, K = len(mean), likelihood.n_levels
        moments = np.repeat(mean, K), np.repeat(variance, K)
        jet = likelihood.log_expected(np.tile(np.arange(K), n), *moments, np.ones(n * K))
        return np.exp(jet.value).reshape(n, K)
    total = np.sqrt(likelihood.noise**2 + variance)[:, None]
    z = (likelihood.thresholds - mean[:, None]) / total
    return np.diff(ndtr(z), axis=-1, prepend=0.0, append=1.0)
