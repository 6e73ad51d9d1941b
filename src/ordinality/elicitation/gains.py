"""What the answer to a pair is worth, before it is known.

With the difference of two utilities ``d ~ N(mean, variance)`` and an answer y to it,

    information   H[E p(y | d)] - E H[p(y | d)], in bits: entropy that only asking removes;
    best          E max(f_left, f_right): utility of the better one, if it were chosen;
    uncertainty   how open the answer is, times the share of it that is not the judge's noise.

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

from ..gp.likelihoods import Symmetric

__all__ = ["answers_of", "best_of", "closed_gain", "exact_gain", "openness", "rough_gain"]
__all__ += ["check_model", "expected_best", "information_gain", "moments", "uncertainty"]

_C2 = np.pi * np.log(2.0) / 2.0  # of a Gaussian with the height and curvature of the entropy
_HERMITE = {count: np.polynomial.hermite_e.hermegauss(count) for count in (6, 32)}
_NARROW = 0.7  # standard deviation over noise up to which 32 Hermite nodes reach 1e-13
# The entropy of an answer is below 1e-16 that far beyond the last threshold, in noises.
_REACH = {"probit": 9.0, "logit": 42.0}
_ROWS = 4096  # pairs at once: their values at all nodes stay in the cache
_PAIRS = 500  # pairs whose items' joint covariance is worked out at once


def information_gain(
    model: Any, pairs: Any, *, method: str = "exact", judge: Any = None
) -> np.ndarray:
    """Bits that the answer to each pair is expected to tell about the utilities.

    Parameters
    ----------
    model : PreferenceGP
        Fitted.
    pairs : array-like of int, shape (m, 2)
        Numbers of the two items of each question.
    method : {"exact", "closed"}, default="exact"
        By quadrature, to rounding; or in closed form, off by up to 0.003 bits, for normal
        noise and answers without ties or grades.
    judge : label, default=None
        Who is asked, if the model has several; None is one with the median noise.

    Returns
    -------
    gain : ndarray of shape (m,)

    Examples
    --------
    >>> from ordinality import PreferenceGP
    >>> from ordinality.elicitation import information_gain
    >>> model = PreferenceGP(5).fit([[0, 1], [0, 2], [1, 2], [0, 1], [0, 2]])
    >>> known, open_ = information_gain(model, [[0, 2], [3, 4]])
    >>> bool(known < open_)  # of items 3 and 4 nothing is known yet
    True
    """
    likelihood = answers_of(model, judge)
    if method not in ("exact", "closed"):
        raise ValueError(f"method is {method!r}; it must be 'exact' or 'closed'.")
    if method == "closed" and not (likelihood.n_levels == 2 and likelihood.link == "probit"):
        raise ValueError(
            f"the closed form is for normal noise and two answers, but the model has "
            f"{likelihood.n_levels} answers and link={likelihood.link!r}; use method='exact'."
        )
    gain = exact_gain if method == "exact" else closed_gain
    mean, variance = moments(model, pairs)[2:]
    return gain(likelihood, mean, variance)


def expected_best(model: Any, pairs: Any) -> np.ndarray:
    """Expected utility of the better of the two items of each pair.

    Asking where it is largest looks for the best item rather than for the whole order.

    Parameters
    ----------
    model : PreferenceGP
        Fitted.
    pairs : array-like of int, shape (m, 2)

    Returns
    -------
    utility : ndarray of shape (m,)

    Examples
    --------
    >>> from ordinality import PreferenceGP
    >>> from ordinality.elicitation import expected_best
    >>> model = PreferenceGP().fit([[0, 1], [1, 2], [2, 3]])
    >>> top, bottom = expected_best(model, [[0, 1], [2, 3]])
    >>> bool(top > bottom)
    True
    """
    left, right, _, variance = moments(model, pairs)
    return best_of(left, right, variance)


def uncertainty(model: Any, pairs: Any, *, judge: Any = None) -> np.ndarray:
    """How open each question is: ``4 p (1 - p) * variance / (variance + noise**2)``.

    p is the probability that the first item is felt to be the better one, so the first factor
    is 1 where p is a half. The second is the share of the doubt that more answers could
    remove; without it, a tie that is known for certain would be asked for ever.

    Parameters
    ----------
    model : PreferenceGP
        Fitted.
    pairs : array-like of int, shape (m, 2)
    judge : label, default=None
        As for `information_gain`.

    Returns
    -------
    openness : ndarray of shape (m,), in [0, 1]

    Examples
    --------
    >>> from ordinality import PreferenceGP
    >>> from ordinality.elicitation import uncertainty
    >>> model = PreferenceGP(5).fit([[0, 1], [0, 2], [1, 2], [0, 1], [0, 2]])
    >>> known, open_ = uncertainty(model, [[0, 2], [3, 4]])
    >>> bool(known < open_)
    True
    """
    mean, variance = moments(model, pairs)[2:]
    return openness(answers_of(model, judge), mean, variance)


# What is asked of a model


def check_model(model: Any) -> None:
    """Refuse what has no joint posterior of utilities."""
    if not (hasattr(model, "posterior") and hasattr(model, "utility")):
        raise TypeError(
            f"model is a {type(model).__name__}, which has no joint posterior of utilities; "
            "pass a fitted PreferenceGP."
        )
    check_is_fitted(model)


def answers_of(model: Any, judge: Any = None) -> Symmetric:
    """How a judge answers; None is one with the median noise and steps."""
    check_model(model)
    noise, steps, judges = model.noise_, model.steps_, model.judges_
    if judges is None and judge is not None:
        raise ValueError(f"judge is {judge!r}, but the model was fitted without judges.")
    if judges is not None and judge is None:
        noise, steps = np.median(noise), np.median(steps, axis=0)
    elif judges is not None:
        known = judges.tolist()
        if judge not in known:
            raise ValueError(f"there is no judge {judge!r}; the model was fitted to {known}.")
        noise, steps = noise[known.index(judge)], steps[known.index(judge)]
    gaps = np.diff(steps, prepend=0.0)
    return Symmetric.of(gaps, ties=model.ties, sigma=float(noise), link=model.link)


def moments(model: Any, pairs: Any) -> tuple[np.ndarray, ...]:
    """Means of both items of pairs, and mean and variance of their difference."""
    check_model(model)
    pairs = np.asarray(pairs)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(f"pairs has shape {pairs.shape}; wanted (m, 2), two items a row.")
    out = np.empty((4, len(pairs)))
    for batch in _slices(len(pairs), _PAIRS):
        which, place = np.unique(pairs[batch], return_inverse=True)
        i, j = place.reshape(-1, 2).T
        mean, cov = model.posterior(which)
        variance = cov[i, i] + cov[j, j] - cov[i, j] - cov[j, i]
        out[:, batch] = mean[i], mean[j], mean[i] - mean[j], np.maximum(variance, 0.0)
    return tuple(out)


# Functions of moments


def exact_gain(likelihood: Symmetric, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Expected information by quadrature, in bits."""
    # The entropy is analytic within about 2.5 noises of the line, so a lattice of a quarter is
    # off by exp(-2 pi 2.5 / 0.25), less than 1e-27, where the Gaussian is as smooth.
    return _gain(likelihood, mean, variance, step=0.25, nodes=32)


def rough_gain(likelihood: Symmetric, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """The same to some 1e-4 bits at a fifth of the price, with normal for logistic noise."""
    if likelihood.link == "logit":  # 1.7: the usual ratio of the widths of the two
        normal = replace(likelihood, noise=1.7 * likelihood.noise, link="probit")
        return rough_gain(normal, mean, variance)
    return _gain(likelihood, mean, variance, step=0.9, nodes=6)


def closed_gain(likelihood: Symmetric, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Expected information for normal noise and two answers (Houlsby et al., 2011, eq. 3)."""
    m, v = mean / likelihood.noise, variance / likelihood.noise**2
    p = ndtr(m / np.sqrt(1.0 + v))
    expected = np.sqrt(_C2 / (v + _C2)) * np.exp(-0.5 * m**2 / (v + _C2))
    return np.maximum(_bits(np.stack([p, 1.0 - p], axis=-1)) - expected, 0.0)


def best_of(left: np.ndarray, right: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """E max of two utilities, from their means and the variance of their difference."""
    # Nothing is known better than to rounding; at variance zero the larger mean is left.
    s = np.sqrt(np.maximum(variance, np.finfo(float).tiny))
    z = np.clip((left - right) / s, -40.0, 40.0)  # beyond, one of them wins in all digits
    density = np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)
    return left * ndtr(z) + right * ndtr(-z) + s * density


def openness(likelihood: Symmetric, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """See `uncertainty`."""
    total = variance + likelihood.noise**2
    p = ndtr(mean / np.sqrt(total))
    return 4.0 * p * (1.0 - p) * variance / total


def _gain(
    likelihood: Symmetric, mean: np.ndarray, variance: np.ndarray, step: float, nodes: int
) -> np.ndarray:
    gain = np.empty(len(mean))
    wide = np.sqrt(variance) > _NARROW * likelihood.noise
    for which, rule in ((wide, _on_lattice(likelihood, step)), (~wide, _hermite(nodes))):
        m, v = mean[which], variance[which]
        part = np.empty(len(m))
        for rows in _slices(len(m), _ROWS):
            before = _bits(_predicted(likelihood, m[rows], v[rows]))
            part[rows] = before - rule(likelihood, m[rows], v[rows])
        gain[which] = part
    return np.maximum(gain, 0.0)


Rule = Callable[[Symmetric, np.ndarray, np.ndarray], np.ndarray]


def _on_lattice(likelihood: Symmetric, step: float) -> Rule:
    """E H[p(y | d)] by the trapezium rule: the entropy is at the same nodes for all pairs.

    It vanishes away from the thresholds, and so do the terms that are left out there.
    """
    reach = _REACH[likelihood.link]
    near = [
        np.arange(np.floor((t - reach) / step), np.ceil((t + reach) / step) + 1)
        for t in likelihood.thresholds / likelihood.noise
    ]
    x = np.unique(np.concatenate(near)) * step * likelihood.noise
    weighted = _bits(_felt(likelihood, x)) * step * likelihood.noise / np.sqrt(2.0 * np.pi)

    def rule(_: Symmetric, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
        z = (x - mean[:, None]) / np.sqrt(variance)[:, None]
        return np.exp(-0.5 * z**2) @ weighted / np.sqrt(variance)

    return rule


def _hermite(count: int) -> Rule:
    x, w = _HERMITE[count]

    def rule(likelihood: Symmetric, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
        d = mean[:, None] + np.sqrt(variance)[:, None] * x
        return _bits(_felt(likelihood, d)) @ (w / w.sum())

    return rule


def _slices(n: int, size: int) -> list[slice]:
    return [slice(i, i + size) for i in range(0, n, size)]  # none of nothing


def _bits(proba: np.ndarray) -> np.ndarray:
    """Entropy along the last axis."""
    return entr(proba).sum(axis=-1) / np.log(2.0)


def _felt(likelihood: Symmetric, d: np.ndarray) -> np.ndarray:
    """Probability of each answer at known differences; their absolute error is rounding."""
    below = ndtr if likelihood.link == "probit" else expit
    z = (likelihood.thresholds - d[..., None]) / likelihood.noise
    return np.diff(below(z), axis=-1, prepend=0.0, append=1.0)


def _predicted(likelihood: Symmetric, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Probability of each answer at differences ~ N(mean, variance)."""
    if likelihood.link == "logit":
        return likelihood.proba(mean, variance)
    z = (likelihood.thresholds - mean[:, None]) / np.sqrt(likelihood.noise**2 + variance)[
        :, None
    ]
    return np.diff(ndtr(z), axis=-1, prepend=0.0, append=1.0)
