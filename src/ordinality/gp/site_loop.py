"""The loop that settles Gaussian sites, and what every engine returns.

EP and variational inference are one fixed-point iteration with two rules for the sites. Plain
iteration cycles on smooth kernels with small noise (7 % of hard problems) and mixing alone is
slow; Anderson acceleration, which extrapolates from the last few steps by least squares,
settles both.

Walker & Ni (2011), "Anderson acceleration for fixed-point iterations".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from .likelihoods import Jet

__all__ = ["Approximation", "Settled", "settle"]


_DEPTH = 5  # steps remembered; more gained nothing on 150 hard problems


@dataclass(frozen=True)
class Approximation:
    """A Gaussian approximation of the posterior, its evidence and the gradient of that.

    ``start`` restarts the same engine on a nearby problem; ``d_kernel`` and ``d_likelihood``
    are the gradients of ``log_evidence`` in the prior covariance and in the likelihood's
    ``theta``.
    """

    tau: np.ndarray  # (n,) site precisions
    nu: np.ndarray  # (n,) site shifts
    mean: np.ndarray  # (n,) posterior mean of h
    var: np.ndarray  # (n,) posterior variance of h
    alpha: np.ndarray  # (n,) K^-1 mean
    cavity_mean: np.ndarray  # (n,) moments of h_i with one copy of observation i left out
    cavity_var: np.ndarray
    log_evidence: float
    d_kernel: np.ndarray | None
    d_likelihood: np.ndarray
    jet: Jet  # the view of the likelihood from which the sites were made
    start: np.ndarray
    n_iter: int
    converged: bool
    residual: float


class _State(Protocol):
    """One visit of the loop: where the rule wants the sites, and how far they are from it."""

    @property
    def proposal(self) -> np.ndarray: ...
    @property
    def residual(self) -> float: ...


State = TypeVar("State", bound=_State)


@dataclass(frozen=True)
class Settled(Generic[State]):
    """Where the loop stopped: the best state seen and how it got there."""

    state: State
    x: np.ndarray
    n_iter: int
    converged: bool


def settle(
    visit: Callable[[np.ndarray], State],
    x: np.ndarray,
    *,
    ceiling: np.ndarray,
    copies: np.ndarray,
    mixing: float,
    tol: float,
    max_iter: int,
) -> Settled[State]:
    """Iterate ``x <- visit(x).proposal`` with Anderson acceleration until the residual is
    small.
    """
    memory: list[tuple[np.ndarray, np.ndarray]] = []
    count = np.sqrt(np.concatenate([copies, copies]))[:, None]
    best: Settled[State] | None = None
    for n_iter in range(1, max_iter + 1):
        state = visit(x)
        if best is None or state.residual < best.state.residual:
            best = Settled(state, x, n_iter, state.residual < tol)
        if best.converged:
            break
        memory = [*memory[-_DEPTH:], (x, state.proposal - x)]
        x = _accelerate(memory, count, mixing, ceiling)
    assert best is not None  # max_iter >= 1
    # A state shares its working memory with later ones, so the best is visited once more.
    state = best.state if state is best.state else visit(best.x)
    return Settled(state, best.x, n_iter, best.converged)


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
    gamma = np.linalg.lstsq(count * d_step, count[:, 0] * step, rcond=1e-10)[0]
    bold = plain - (d_x + mixing * d_step) @ gamma
    n = len(ceiling)
    outside = (bold[:n] < 0.0) | (bold[:n] > ceiling) | ~np.isfinite(bold[:n])
    return np.where(np.concatenate([outside, outside]), plain, bold)
