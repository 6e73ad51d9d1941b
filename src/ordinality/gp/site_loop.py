"""Fixed-point iteration of Gaussian sites, and what every engine returns.

EP and variational inference are one fixed-point iteration with two rules for the sites. Plain
iteration cycles on smooth kernels with small noise (7 % of hard problems) and mixing alone is
slow; Anderson acceleration, which extrapolates from the last few steps by least squares,
solves both problems.

Walker & Ni (2011), "Anderson acceleration for fixed-point iterations".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from .._numerics import JET
from .likelihoods import Jet

__all__ = ["Approximation", "FixedPoint", "iterate"]

_DEPTH = 5  # steps remembered; more gained nothing on 150 hard problems


@dataclass(frozen=True)
class Approximation:
    """A Gaussian approximation of the posterior, its evidence and the gradient of that.

    ``start`` restarts the same engine on a nearby problem; ``d_kernel``, ``d_likelihood`` and
    ``d_variance`` are the gradients of ``log_evidence`` in the prior covariance, in the
    likelihood's ``theta``, and in a variance added to what each likelihood is asked about.
    """

    tau: np.ndarray  # (n,) site precisions
    nu: np.ndarray  # (n,) site shifts
    mean: np.ndarray  # (n,) posterior mean of h
    var: np.ndarray  # (n,) posterior variance of h
    alpha: np.ndarray  # (n,) K^-1 mean
    cavity_mean: np.ndarray  # (n,) moments of h_i with one copy of observation i left out
    cavity_var: np.ndarray
    log_evidence: float
    d_kernel: Any  # as the form of the prior has it; None where it was not wanted
    d_likelihood: np.ndarray
    jet: Jet  # of the likelihood, from which the sites were made
    start: np.ndarray
    n_iter: int
    converged: bool
    residual: float
    d_variance: np.ndarray | None = None  # (n,)

    @classmethod
    def of_nothing(cls) -> Approximation:
        """The approximation without observations: the prior."""
        none = np.zeros(0)
        return cls(
            none, none, none, none, none, none, none, 0.0, None, none, Jet(np.zeros((JET, 0))),
            none, 0, True, 0.0,
        )  # fmt: skip

    def light(self) -> Approximation:
        """The same without its gradients."""
        return replace(self, d_kernel=None, d_variance=None)


class _State(Protocol):
    """What a rule finds at some sites: where they should move, and how far that is."""

    @property
    def proposal(self) -> np.ndarray: ...
    @property
    def residual(self) -> float: ...


State = TypeVar("State", bound=_State)


@dataclass(frozen=True)
class FixedPoint(Generic[State]):
    """Where the iteration stopped: the best state seen, its sites, and whether it converged."""

    state: State
    x: np.ndarray
    n_iter: int
    converged: bool


def iterate(
    update: Callable[[np.ndarray], State],
    x: np.ndarray,
    *,
    ceiling: np.ndarray,
    copies: np.ndarray,
    mixing: float,
    tol: float,
    max_iter: int,
) -> FixedPoint[State]:
    """Iterate ``x <- update(x).proposal`` until the residual is below ``tol``.

    ``x`` holds precisions, then shifts. A precision extrapolated outside (0, ``ceiling``) takes
    the plain step, of length ``mixing``; ``copies`` are the weights of sites in least squares.
    """
    memory: list[tuple[np.ndarray, np.ndarray]] = []
    count = np.sqrt(np.concatenate([copies, copies]))[:, None]
    best: FixedPoint[State] | None = None
    for n_iter in range(1, max_iter + 1):
        state = update(x)
        if best is None or state.residual < best.state.residual:
            best = FixedPoint(state, x, n_iter, state.residual < tol)
        if best.converged:
            break
        memory = [*memory[-_DEPTH:], (x, state.proposal - x)]
        x = _accelerate(memory, count, mixing, ceiling)
    assert best is not None  # max_iter >= 1
    # A state shares its working memory with later ones, so the best is computed once more.
    state = best.state if state is best.state else update(best.x)
    return FixedPoint(state, best.x, n_iter, best.converged)


def _accelerate(
    memory: list[tuple[np.ndarray, np.ndarray]],
    count: np.ndarray,
    mixing: float,
    ceiling: np.ndarray,
) -> np.ndarray:
    """Next sites from the remembered (sites, step) pairs, the newest last."""
    x, step = memory[-1]
    plain = x + mixing * step
    if len(memory) == 1:
        return plain
    d_x = np.stack([x - old for old, _ in memory[:-1]], axis=1)
    d_step = np.stack([step - old for _, old in memory[:-1]], axis=1)
    # Singular values below 1e-10 of the largest come from steps that differ in their last
    # digits only; they are left out, because rounding must not be extrapolated.
    gamma = np.linalg.lstsq(count * d_step, count[:, 0] * step, rcond=1e-10)[0]
    extrapolated = plain - (d_x + mixing * d_step) @ gamma
    tau = extrapolated[: len(ceiling)]
    outside = (tau < 0.0) | (tau > ceiling) | ~np.isfinite(tau)
    return np.where(np.concatenate([outside, outside]), plain, extrapolated)
