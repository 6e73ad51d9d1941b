"""Inference for a fitted cumulative link model: covariances, intervals, tests, residuals.

Everything that the likelihood decides is computed on the scaled columns of the fit, and taken
to the units of the columns given by one matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.linalg import cho_solve
from scipy.stats import chi2, norm

from .group_effects import averaged_density, averaged_probabilities
from .links import LINKS, Link
from .newton import damped_cholesky, maximise
from .regression import Regression, inverse_information
from .rows import Rows
from .structures import threshold_structure

__all__ = [
    "TestResult",
    "UnitParameters",
    "brant_test",
    "intervals_of_probabilities",
    "likelihood_ratio",
    "mean_slopes",
    "null_log_likelihood",
    "profile_interval",
    "residual_bounds",
    "sandwich",
    "score_test",
    "survey_covariance",
]

_BLOCK = 1 << 20  # numbers of an array of derivatives
_FAR = 1e3  # standard errors after which a profile that is still flat is taken as unbounded


@dataclass(frozen=True)
class TestResult:
    """A statistic that is chi-squared under the hypothesis."""

    statistic: float
    df: int
    p_value: float

    @classmethod
    def of(cls, statistic: float, df: int) -> TestResult:
        """With its p-value."""
        return cls(float(statistic), int(df), float(chi2.sf(max(statistic, 0.0), df)))


def null_log_likelihood(rows: Rows) -> float:
    """Log-likelihood of thresholds alone (and a known offset)."""
    if rows.structure.flexible and not np.any(rows.offset):
        counts = np.bincount(rows.y, rows.weights)
        counts = counts[counts > 0]
        return float(counts @ np.log(counts / counts.sum()))
    none = replace(rows, X=rows.X[:, :0], N=rows.N[:, :0], Z=rows.Z[:, :0])
    return float(maximise(none).evaluation.value)


# ---------------------------------------------------------------- covariance and intervals


def sandwich(fit: Regression, groups: np.ndarray | None = None) -> np.ndarray:
    """``V (sum g g') V`` over rows, or over sums within groups 0, 1, ... of the rows as given.

    The gradient g of a row has its weight: a weight is that of one row drawn with unequal
    probability, not a number of copies.
    """
    size = len(fit.maximum.vector)
    if groups is None:
        meat = np.zeros((size, size))
        for _, g in fit.rows.scores(fit.maximum.vector):
            meat += g.T @ g
    else:
        sums = _score_sums(fit, groups)
        meat = sums.T @ sums
    return _between(fit, meat)


def survey_covariance(fit: Regression, units: np.ndarray, strata: np.ndarray) -> np.ndarray:
    """The sandwich of a sample of units (0, 1, ...) that were drawn within strata.

    Sums of a unit are taken from the mean of its stratum, and those of a stratum of m units
    count m / (m - 1) times (Binder 1983). `strata` has the stratum of each unit, all of two
    units or more.
    """
    sums, m = _score_sums(fit, units), np.bincount(strata)
    means = np.zeros((len(m), sums.shape[1]))
    np.add.at(means, strata, sums / m[strata, None])
    sums = (sums - means[strata]) * np.sqrt(m / (m - 1))[strata, None]
    return _between(fit, sums.T @ sums)


def _score_sums(fit: Regression, codes: np.ndarray) -> np.ndarray:
    """Gradients summed within groups 0, 1, ... of the rows as given."""
    codes = codes[fit.order]
    sums = np.zeros((codes.max() + 1, len(fit.maximum.vector)))
    for at, g in fit.rows.scores(fit.maximum.vector):
        np.add.at(sums, codes[at], g)
    return sums


def _between(fit: Regression, meat: np.ndarray) -> np.ndarray:
    """``V meat V`` in the units of the columns given."""
    inverse, _ = inverse_information(
        fit.maximum.evaluation.information, separated=fit.separation is not None
    )
    units = fit.units
    found = np.asarray(units @ np.asarray(units @ inverse @ meat @ inverse).T)
    assert fit.covariance is not None
    lost = np.isnan(np.diagonal(fit.covariance))  # no finite estimate
    found[lost] = found[:, lost] = np.nan
    return 0.5 * (found + found.T)


def profile_interval(fit: Regression, j: int, level: float) -> tuple[float, float]:
    """Where twice the profile of parameter j falls by a chi-squared quantile."""
    a = np.asarray(fit.units.getrow(j).toarray()).ravel()
    along = cho_solve(damped_cholesky(fit.maximum.evaluation.information)[0], a)
    sd = float(np.sqrt(a @ along))
    along /= a @ along  # moves the parameter by one and the others as they follow
    wanted = float(np.sqrt(chi2.ppf(level, 1)))
    ends = [_profile_end(fit, a, along, sd, wanted, sign) for sign in (-1.0, 1.0)]
    return ends[0], ends[1]


def _profile_end(
    fit: Regression, a: np.ndarray, along: np.ndarray, sd: float, wanted: float, sign: float
) -> float:
    """Solve for the signed root of the likelihood ratio, by Newton inside a bracket."""
    rows, top = fit.rows, fit.maximum.evaluation.value
    centre = vector = fit.maximum.vector
    t = 0.0  # distance from the estimate
    near, far = 0.0, np.inf
    # In a separated direction the curvature says nothing about where the profile falls; one
    # unit of the latent value does.
    unit = float(np.linalg.norm(a))
    separated = sd > 1e3 * unit
    step, limit = (unit, 50 * unit) if separated else (wanted * sd, _FAR * sd)
    for _ in range(100):
        start = _inside(rows, vector, sign * step * along)
        if start is None:
            return sign * np.inf
        found = maximise(rows, start=start, constraint=a, tol=1e-12)
        vector, t = found.vector, abs(float(a @ (found.vector - centre)))
        root = float(np.sqrt(max(2 * (top - found.evaluation.value), 0.0)))
        if abs(root - wanted) < 1e-9:
            break
        near, far = (t, far) if root < wanted else (near, t)
        if far == np.inf and t > limit:
            return sign * np.inf
        slope = abs(float(found.evaluation.gradient @ a) / float(a @ a)) / max(root, 1e-300)
        step = (wanted - root) / slope if slope > 0 else np.inf
        if not near < t + step < far or step > 2 * t:
            step = (0.5 * (near + far) if far < np.inf else 2 * t) - t
        if far - near < 1e-12 * max(t, 1.0):
            break
    return float(a @ centre) + sign * t


def _inside(rows: Rows, vector: np.ndarray, move: np.ndarray) -> np.ndarray | None:
    """The vector after a move, shortened until the likelihood is defined there."""
    for _ in range(40):
        if rows.value(vector + move) > -np.inf:
            return vector + move
        move = 0.5 * move
    return None


# ---------------------------------------------------------------- tests


def _moved(fit: Regression, columns: Sequence[int]) -> tuple[Rows, np.ndarray]:
    """The model with some location columns nominal, and the same fit as its parameters."""
    rows, shift = fit.rows, fit.rows.structure.shift
    if shift is None:
        raise ValueError(
            "thresholds that are symmetric about zero cannot take nominal effects."
        )
    at = np.asarray(columns)
    left = np.setdiff1d(np.arange(rows.X.shape[1]), at)
    moved = rows.X[:, at]
    moved = moved.toarray() if sparse.issparse(moved) else moved
    p = rows.parts(fit.maximum.vector)
    A = np.vstack([p.A, -p.beta[at][:, None] * shift])
    larger = replace(rows, X=rows.X[:, left], N=np.hstack([rows.N, moved]))
    return larger, np.concatenate([A.ravel(), p.beta[left], p.zeta])


def _scaled_more(fit: Regression, columns: Sequence[int]) -> tuple[Rows, np.ndarray]:
    """The model with scale effects of some location columns, and the same fit in it."""
    rows, at = fit.rows, np.asarray(columns)
    more = rows.X[:, at]
    more = more.toarray() if sparse.issparse(more) else more
    if np.any(rows.offset):
        # Not centred: beside a known offset the origin of a scale effect matters.
        more = more + (fit.location.centre / fit.location.spread)[at]
    larger = replace(rows, Z=np.hstack([rows.Z, more]))
    return larger, np.append(fit.maximum.vector, np.zeros(len(at)))


def likelihood_ratio(
    fit: Regression, columns: Sequence[int], kind: Literal["nominal", "scale"]
) -> TestResult:
    """Test of nominal, or of scale, effects of location columns against none."""
    larger, start = (_moved if kind == "nominal" else _scaled_more)(fit, columns)
    found = maximise(larger, start=start)
    gain = found.evaluation.value - fit.maximum.evaluation.value
    return TestResult.of(2 * gain, len(found.vector) - len(fit.maximum.vector))


def score_test(fit: Regression, columns: Sequence[int]) -> TestResult:
    """The test of nominal effects from the gradient of the larger model, without its fit."""
    larger, at = _moved(fit, columns)
    now = larger.evaluate(at)
    assert now is not None
    step = np.linalg.lstsq(now.information, now.gradient, rcond=None)[0]
    return TestResult.of(float(now.gradient @ step), len(at) - len(fit.maximum.vector))


def brant_test(fit: Regression, groups: Sequence[Sequence[int]]) -> list[TestResult] | None:
    """Wald tests that the slopes of the K-1 binary logits agree; None if one has no maximum.

    Brant (1990). Nominal columns keep their place in every binary model.
    """
    rows = fit.rows
    X = rows.X.toarray() if sparse.issparse(rows.X) else rows.X
    X = np.hstack([X, rows.N])
    slopes, p, inverses = [], [], []
    design = np.column_stack([np.ones(len(X)), X])
    for k in range(rows.n_levels - 1):
        binary = Rows(
            LINKS["logit"], threshold_structure("flexible", 2), X, X[:, :0], X[:, :0],
            (rows.y > k).astype(np.int64), rows.weights, rows.offset,
        )  # fmt: skip
        found = maximise(binary)
        deviations = np.diagonal(np.linalg.pinv(found.evaluation.information))
        if not found.converged or np.any(deviations > 1e6):
            return None
        above = LINKS["logit"].cdf(design @ np.append(-found.vector[0], found.vector[1:])
                                   + rows.offset)  # fmt: skip
        weight = rows.weights * above * (1 - above)
        slopes.append(found.vector[1:])
        p.append(above)
        inverses.append(np.linalg.inv(design.T @ (weight[:, None] * design)))
    return _brant(np.array(slopes), p, inverses, design, rows.weights, groups)


def _brant(
    slopes: np.ndarray,
    p: list[np.ndarray],
    inverses: list[np.ndarray],
    design: np.ndarray,
    weights: np.ndarray,
    groups: Sequence[Sequence[int]],
) -> list[TestResult]:
    """Wald statistics of the differences to the first binary model."""
    m, d = slopes.shape
    V = np.empty((m, d, m, d))
    for k in range(m):
        for i in range(k + 1):
            w = weights * (p[k] - p[k] * p[i])  # P(y > k and y > i) with k the higher
            block = inverses[k] @ (design.T @ (w[:, None] * design)) @ inverses[i]
            V[k, :, i, :], V[i, :, k, :] = block[1:, 1:], block[1:, 1:].T
    results = []
    for group in groups:
        at = np.asarray(group)
        gaps = (slopes[1:, at] - slopes[0, at]).ravel()
        W = V[:, at][:, :, :, at]
        D = W[1:, :, 1:] - W[:1, :, 1:] - W[1:, :, :1] + W[:1, :, :1]
        size = (m - 1) * len(at)
        results.append(TestResult.of(gaps @ np.linalg.solve(D.reshape(size, size), gaps), size))
    return results


# ---------------------------------------------------------------- probabilities


@dataclass(frozen=True, eq=False)
class UnitParameters:
    """Parameters in the units of columns, for rows of these columns."""

    link: Link
    J: np.ndarray  # (K-1, q)
    A: np.ndarray  # (1+p, q)
    beta: np.ndarray
    zeta: np.ndarray

    def cuts(
        self, X: Any, N: np.ndarray, Z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Standardised thresholds T (n, K-1), the noise s (n,), and M = (1, N)."""
        M = np.column_stack([np.ones(X.shape[0]), N])
        s = np.exp(Z @ self.zeta)
        centre = X @ self.beta
        return (M @ (self.A @ self.J.T) - centre[:, None]) / s[:, None], s, M

    def slopes(self, X: Any, N: np.ndarray, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Probabilities (n, K) and their derivatives in the parameters, (n, K, parameters)."""
        X = X.toarray() if sparse.issparse(X) else X
        T, s, M = self.cuts(X, N, Z)
        dC = self.link.pdf(T)[:, :, None] * self._cut_slopes(X, Z, T, s, M)
        edges = _edges(T)
        P = self.link.probability(edges[:, :-1], edges[:, 1:], edges[:, 1:] - edges[:, :-1])
        return P, _of_levels(dC)

    def averaged_slopes(
        self, X: Any, N: np.ndarray, mean: np.ndarray, var: np.ndarray, d_var: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """As `slopes`, averaged over effects ~ N(mean, var) of the rows.

        ``d_var`` (n, q) are the slopes of the variances in q more parameters, which come last.
        """
        X = X.toarray() if sparse.issparse(X) else X
        Z = np.empty((len(var), 0))
        T, s, M = self.cuts(X, N, Z)
        T = T - mean[:, None]
        f, in_var = averaged_density(self.link, T, var)
        fixed = f[:, :, None] * self._cut_slopes(X, Z, T, s, M)
        P = averaged_probabilities(self.link, _edges(T), var)
        return P, _of_levels(
            np.concatenate([fixed, in_var[:, :, None] * d_var[:, None]], axis=2)
        )

    def _cut_slopes(
        self, X: np.ndarray, Z: np.ndarray, T: np.ndarray, s: np.ndarray, M: np.ndarray
    ) -> np.ndarray:
        """Derivatives of the standardised thresholds in the parameters."""
        n, m = T.shape
        in_thresholds = np.einsum("nj,ka->nkja", M / s[:, None], self.J).reshape(n, m, -1)
        in_location = np.broadcast_to((-X / s[:, None])[:, None], (n, m, X.shape[1]))
        in_scale = -T[:, :, None] * Z[:, None]
        return np.concatenate([in_thresholds, in_location, in_scale], axis=2)


def _edges(T: np.ndarray) -> np.ndarray:
    """Thresholds with the infinite ones, (n, K + 1)."""
    return np.column_stack([np.full(len(T), -np.inf), T, np.full(len(T), np.inf)])


def _of_levels(dC: np.ndarray) -> np.ndarray:
    """Derivatives of the probabilities of levels from those of the cumulative ones."""
    pad = np.zeros((len(dC), 1, dC.shape[2]))
    return np.diff(np.concatenate([pad, dC, pad], axis=1), axis=1)


def intervals_of_probabilities(
    slopes: Callable[..., tuple[np.ndarray, np.ndarray]],
    covariance: np.ndarray,
    columns: Sequence[Any],
    K: int,
    *,
    level: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Probabilities, standard errors and limits by the delta method on the logit scale.

    ``slopes`` gives probabilities and derivatives of rows of the columns.
    """
    n = columns[0].shape[0]
    step = max(1, _BLOCK // (K * max(len(covariance), 1)))
    P, se = np.empty((n, K)), np.empty((n, K))
    for a in range(0, n, step):
        at = slice(a, a + step)
        P[at], dP = slopes(*(column[at] for column in columns))
        se[at] = np.sqrt(np.maximum(np.einsum("nkp,nkp->nk", dP @ covariance, dP), 0.0))
    z = norm.ppf(0.5 + 0.5 * level)
    inside = (P > 0) & (P < 1)
    Q = np.where(inside, P, 0.5)
    centre, reach = np.log(Q) - np.log1p(-Q), z * se / (Q * (1 - Q))
    sigma = LINKS["logit"].cdf
    lower = np.where(inside, sigma(centre - reach), P)
    upper = np.where(inside, sigma(centre + reach), P)
    return P, se, lower, upper


def mean_slopes(
    slopes: Callable[..., tuple[np.ndarray, np.ndarray]],
    columns: Sequence[Any],
    shape: tuple[int, int, int],
) -> np.ndarray:
    """Derivatives of the mean probabilities of equal blocks of rows: blocks, K, parameters.

    ``slopes`` gives probabilities and derivatives of rows of the columns.
    """
    size, K, parameters = shape
    step, m = max(1, _BLOCK // (K * max(parameters, 1))), columns[0].shape[0] // size
    total = np.zeros(shape)
    for block in range(size):
        for a in range(block * m, (block + 1) * m, step):
            at = slice(a, min(a + step, (block + 1) * m))
            total[block] += slopes(*(column[at] for column in columns))[1].sum(axis=0)
    return total / m


def residual_bounds(fit: Regression) -> tuple[np.ndarray, np.ndarray]:
    """F at the lower and at the upper end of each row, in the order of the rows given."""
    rows, p = fit.rows, fit.rows.parts(fit.maximum.vector)
    lower, upper = np.empty(len(rows.y)), np.empty(len(rows.y))
    for block in rows.blocks:
        u, l, _, _ = rows.ends(block, p)  # noqa: E741
        lower[fit.order[block.part]] = rows.link.cdf(l)
        upper[fit.order[block.part]] = rows.link.cdf(u)
    return lower, upper
