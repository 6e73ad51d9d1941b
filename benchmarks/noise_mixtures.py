"""Mixtures of normals for the noises of `OrdinalGP`: the tables in `ordinality._numerics`.

    python benchmarks/noise_mixtures.py [NAME ...]

Each is a minimax fit of the relative error of both tails of the distribution function, by
Lawson's reweighted least squares from starts that do not depend on chance. Prints the table
(means, standard deviations, weights), and its largest errors: relative of the tails, absolute
of the distribution function, and relative of the density.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.optimize import least_squares
from scipy.special import log_ndtr, logsumexp

_ROUNDS = 60
_LOG_SQRT_2PI = 0.9189385332046727


@dataclass(frozen=True)
class Noise:
    """A distribution, how many normals stand for it, and how far its tails are fitted."""

    distribution: stats.rv_continuous
    count: int
    lowest: float
    highest: float  # 0 for a symmetric distribution
    start: Callable[[int], tuple[np.ndarray, np.ndarray, np.ndarray]]

    @property
    def symmetric(self) -> bool:
        return self.highest == 0.0

    @property
    def grids(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the lower and where the upper tail is compared."""
        far = -np.geomspace(4.0, -self.lowest, 150)[::-1]
        if self.symmetric:
            return np.concatenate([far, np.linspace(-4.0, 0.0, 150)[1:]]), np.zeros(0)
        near = np.linspace(-4.0, 0.6, 150)[1:]
        return np.concatenate([far, near]), np.linspace(-1.2, self.highest, 140)


def _scales(low: float, high: float, power: float) -> Callable[[int], tuple]:
    """Starts for a symmetric noise with tails like a power of the distance."""

    def start(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        sd = np.geomspace(low, high, count)
        return np.zeros(count), np.log(sd), -power * np.log(sd)

    return start


def _skewed(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Starts for the Gumbel distribution: half of the parts for its long tail."""
    tail = count - count // 2
    mean = np.concatenate([-np.geomspace(9.0, 0.8, tail), np.linspace(-0.3, 0.9, count // 2)])
    sd = np.concatenate([np.geomspace(3.5, 0.9, tail), np.geomspace(0.8, 0.3, count // 2)])
    return mean, np.log(sd), mean - np.exp(mean) + np.log(sd) - 0.3 * sd**2


NOISES = {
    "logistic": Noise(stats.logistic, 8, -30.0, 0.0, _scales(1.0, 6.0, 4.0)),
    "gumbel": Noise(stats.gumbel_l, 12, -20.0, 2.5, _skewed),
    "student": Noise(stats.t(4), 10, -60.0, 0.0, _scales(0.6, 25.0, 4.0)),
}


def tails(z: np.ndarray, parts: np.ndarray, sign: float) -> tuple[np.ndarray, np.ndarray]:
    """Log of the lower (sign 1) or upper (-1) tail, and its Jacobian in the parts."""
    mean, log_sd, log_weight = parts
    log_weight = log_weight - logsumexp(log_weight)
    u = sign * (z[:, None] - mean) / np.exp(log_sd)
    terms = log_weight + log_ndtr(u)
    value = logsumexp(terms, axis=1)
    share = np.exp(terms - value[:, None])
    hazard = share * np.exp(-0.5 * u**2 - _LOG_SQRT_2PI - log_ndtr(u))
    jacobian = [-sign * hazard / np.exp(log_sd), -hazard * u, share - np.exp(log_weight)]
    return value, np.hstack(jacobian)


def fitted(noise: Noise) -> np.ndarray:
    """Means, log standard deviations and log weights, (3, M), in order of width."""
    below, above = noise.grids
    target = np.concatenate([noise.distribution.logcdf(below), noise.distribution.logsf(above)])
    free = slice(noise.count if noise.symmetric else 0, None)
    start = np.concatenate(noise.start(noise.count))
    weights, best, least = np.ones(len(target)), start, np.inf

    def compared(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        parts = np.concatenate([np.zeros(3 * noise.count - len(x)), x]).reshape(3, -1)
        (lower, by_lower), (upper, by_upper) = tails(below, parts, 1), tails(above, parts, -1)
        error = np.concatenate([lower, upper]) - target
        return error, np.vstack([by_lower, by_upper])[:, free]

    x = start[free]
    for step in range(_ROUNDS):
        root = np.sqrt(weights)
        x = least_squares(
            lambda x, root=root: root * compared(x)[0],
            x,
            lambda x, root=root: root[:, None] * compared(x)[1],
            x_scale="jac", max_nfev=40 if step else 400, xtol=1e-14, ftol=1e-14, gtol=1e-14,
        ).x  # fmt: skip
        error = np.abs(compared(x)[0])
        if error.max() < least:
            least, best = error.max(), x
        weights *= error / error.max() + 1e-2
        weights /= weights.mean()
    parts = np.concatenate([np.zeros(3 * noise.count - len(best)), best]).reshape(3, -1)
    parts[2] -= logsumexp(parts[2])
    return parts[:, np.argsort(parts[1])]


def errors(noise: Noise, parts: np.ndarray) -> dict[str, float]:
    """Largest errors on grids ten times as fine."""
    true, (mean, log_sd, log_weight) = noise.distribution, parts
    below = np.linspace(noise.lowest, 0.0 if noise.symmetric else 0.6, 4000)
    above = np.linspace(-1.2, noise.highest, 0 if noise.symmetric else 2000)
    everywhere = np.linspace(noise.lowest, noise.highest, 4000)
    u = (everywhere[:, None] - mean) / np.exp(log_sd)
    log_pdf = logsumexp(log_weight - log_sd - 0.5 * u**2 - _LOG_SQRT_2PI, axis=1)
    found = {
        "lower tail": np.expm1(tails(below, parts, 1)[0] - true.logcdf(below)),
        "upper tail": np.expm1(tails(above, parts, -1)[0] - true.logsf(above)),
        "absolute": np.exp(tails(everywhere, parts, 1)[0]) - true.cdf(everywhere),
        "density": np.expm1(log_pdf - true.logpdf(everywhere)),
    }
    return {name: float(np.max(np.abs(e))) for name, e in found.items() if len(e)}


def main(names: list[str]) -> None:
    for name in names or NOISES:
        parts = fitted(NOISES[name])
        report = ", ".join(f"{k} {v:.1e}" for k, v in errors(NOISES[name], parts).items())
        print(f"{name}: {report}")
        for row in (parts[0], np.exp(parts[1]), np.exp(parts[2])):
            print("    [" + ", ".join(f"{value:.9g}" for value in row) + "],")


if __name__ == "__main__":
    main(sys.argv[1:])
