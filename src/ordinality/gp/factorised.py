"""Expectation propagation for utilities of items with an independent rest of each item.

The posterior is approximated by a Gaussian of the inducing values e times a Gaussian of every
rest r_j (`posterior.inducing_items`). An answer has a Gaussian site on what it sees of e,
``q_i = a_i' P e``, and one on each rest that it sees. These *parts* x of an answer enter
``h = sum a_x x`` with coefficients a_x. With cavities N(m_x, v_x) of its parts, an answer's h
has the cavity ``N(sum a_x m_x, sum a_x^2 v_x)``; if d1 and d2 are the derivatives in its mean
of the log probability of the answer, a part has tilted moments ``m_x + a_x v_x d1`` and
``v_x + a_x^2 v_x^2 d2``, and its new site is what turns the cavity into these.

Between items there are only messages: n items with m answers cost O(n M^2 + m M) and no n x n
matrix. For given sites on h the means are those of the joint Gaussian; variances lack what goes
round the loops of the graph of answers, and are exact on a graph without loops.

What answers have said about e and the rests is a matrix and three vectors (`ItemBelief`), which
add up over answers: a belief is also where further answers start from.

Herbrich, Minka & Graepel (2006), "TrueSkill: a Bayesian skill rating system"; Weiss & Freeman
(2001), "Correctness of belief propagation in Gaussian graphical models of arbitrary topology".
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .likelihoods import Jet, Likelihood
from .posterior.inducing_items import InducingItems, ItemGradient
from .site_loop import iterate
from .stream import Belief

__all__ = ["FactorisedApproximation", "ItemBelief", "factorised_ep"]


@dataclass(frozen=True, eq=False)
class ItemBelief(Belief):
    """What answers have said: about the whitened values, and about the rest of each item."""

    precision: np.ndarray  # (n,), of the sites of each rest
    potential: np.ndarray  # (n,), shift of the sites of each rest

    @classmethod
    def before(cls, prior: InducingItems) -> ItemBelief:
        """That of no answers."""
        none, n = Belief.none(prior.basis), len(prior.X)
        return cls(none.basis, none.gram, none.shift, np.zeros(n), np.zeros(n))

    def rests(self, prior: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means and variances of the rests, from their prior variances."""
        variance = prior / (1.0 + prior * self.precision)
        return variance * self.potential, variance

    def log_partition(self, prior: np.ndarray) -> float:
        """Half the log determinants of the precisions, relative to the prior."""
        return self.half_log_det + 0.5 * float(np.sum(np.log1p(prior * self.precision)))


@dataclass(frozen=True, eq=False)
class FactorisedApproximation:
    """A factorised posterior, its evidence and how it was reached."""

    belief: ItemBelief
    log_evidence: float  # of the answers, given what was believed before them
    d_prior: ItemGradient | None
    d_rest: np.ndarray  # (n,), gradient in the prior variances of the rests
    d_likelihood: np.ndarray
    start: np.ndarray
    n_iter: int
    converged: bool
    residual: float

    def light(self) -> FactorisedApproximation:
        """The same without what only its gradient needs."""
        return replace(self, d_prior=None)


def factorised_ep(
    prior: InducingItems,
    likelihood: Likelihood,
    y: np.ndarray,
    *,
    weights: np.ndarray,
    before: ItemBelief | None = None,
    start: np.ndarray | None = None,
    tol: float = 1e-6,
    max_iter: int = 200,
) -> FactorisedApproximation:
    """Match the moments of every answer's parts until the sites settle.

    ``before`` is what earlier answers have said. ``tol`` bounds the dimensionless gap of sites
    and tilted moments, as in `ordinality.gp.ep`.
    """
    before = ItemBelief.before(prior) if before is None else before
    rule = _Parts.of(prior, likelihood, y, weights, before)
    start = np.zeros(2 * rule.a.size) if start is None else start
    found = iterate(
        rule.update, start, ceiling=rule.ceiling, copies=np.tile(rule.copies, len(rule.a)),
        mixing=1.0, tol=tol, max_iter=max_iter,
    )  # fmt: skip
    return rule.approximation(found.state, found.x, found.n_iter, found.converged)


@dataclass(frozen=True, eq=False)
class _State:
    """Posterior and cavities under some sites, and where the sites should move."""

    belief: ItemBelief
    tau: np.ndarray  # (1 + w, m), of one copy
    alpha: np.ndarray
    m: np.ndarray  # cavity means of the parts
    v: np.ndarray  # and variances
    jet: Jet
    proposal: np.ndarray
    residual: float


@dataclass(frozen=True, eq=False)
class _Parts:
    """The rule for the sites of all parts, kept dimensionless as in `ordinality.gp.ep`.

    Row 0 of an array over parts is what the answers see of e, the others are rests.
    """

    prior: InducingItems
    likelihood: Likelihood
    y: np.ndarray
    copies: np.ndarray
    power: np.ndarray | None
    a: np.ndarray  # (1 + w, m), coefficients
    noise: np.ndarray  # (m,)
    before: ItemBelief

    @classmethod
    def of(
        cls, prior: InducingItems, likelihood: Likelihood, y: np.ndarray, weights: np.ndarray,
        before: ItemBelief,
    ) -> _Parts:  # fmt: skip
        power = np.minimum(weights, 1.0) if np.any(weights < 1.0) else None
        a = np.vstack([np.ones(len(y)), prior.design.value.T])
        noise = np.broadcast_to(np.asarray(likelihood.noise, dtype=float), len(y))
        copies = np.maximum(weights, 1.0)
        return cls(prior, likelihood, y, copies, power, a, noise, before)

    @property
    def ceiling(self) -> np.ndarray:
        """Largest dimensionless precisions."""
        return (self.a**2 * (self.likelihood.max_precision * self.noise**2)).ravel()

    def sites(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Precisions and shifts of the parts, of one copy."""
        tau, nu = x.reshape(2, *self.a.shape)
        return tau / self.noise**2, nu / self.noise

    def belief(self, tau: np.ndarray, nu: np.ndarray) -> ItemBelief:
        """What the sites say, and what was believed before."""
        prior, old, c = self.prior, self.before, self.copies
        where, n = prior.design.index.T.ravel(), len(old.precision)
        return ItemBelief(
            old.basis,
            old.gram + prior.gram(c * tau[0]),
            old.shift + prior.pull(c * nu[0]),
            old.precision + np.bincount(where, (c * tau[1:]).ravel(), n),
            old.potential + np.bincount(where, (c * nu[1:]).ravel(), n),
        )

    def update(self, x: np.ndarray) -> _State:
        """Condition on the sites, leave each answer out in turn, match moments."""
        tau, nu = self.sites(x)
        belief = self.belief(tau, nu)
        mean, var = self._marginals(belief)
        alpha = nu - tau * mean
        # Less than a site takes away is left by rounding alone, next to far sharper sites.
        v = var / np.maximum(1.0 - tau * var, np.finfo(float).eps)
        m = mean - v * alpha
        blur = self.a**2 * v
        total = blur.sum(axis=0)
        jet = self.likelihood.log_expected(self.y, np.sum(self.a * m, 0), total, self.power)
        d1, d2 = self.a * jet.d1, self.a**2 * jet.d2
        width2 = self.noise**2 + total
        by_mean = np.sqrt(width2) * np.abs(alpha - d1)
        by_var = width2 * np.abs(tau * (1.0 - tau * var) + d2)
        # 1 + a^2 v d2 of one part, from that of h, which is free of cancellation.
        shrink = jet.shrink - (total - blur) * jet.d2
        proposal = np.stack(
            [self.noise**2 * -d2 / shrink, self.noise * (d1 - m * d2) / shrink]
        ).ravel()
        residual = float(max(by_mean.max(), by_var.max()))
        return _State(belief, tau, alpha, m, v, jet, proposal, residual)

    def _marginals(self, belief: ItemBelief) -> tuple[np.ndarray, np.ndarray]:
        """Posterior means and variances of the parts."""
        prior, design = self.prior, self.prior.design
        rest, spread = belief.rests(prior.residual)
        mean = np.vstack([prior.see(belief.mean), rest[design.index.T]])
        return mean, np.vstack([prior.norms(belief.factor), spread[design.index.T]])

    def approximation(
        self, s: _State, x: np.ndarray, n_iter: int, converged: bool
    ) -> FactorisedApproximation:
        """The result, with the evidence and what its gradient needs."""
        c, own, old, new = self.copies, self.prior.residual, self.before, s.belief
        terms = s.jet.value + np.sum(0.5 * np.log1p(s.tau * s.v) - 0.5 * s.alpha * s.m, axis=0)
        value = float(c @ terms) - new.log_partition(own) + old.log_partition(own)
        value += 0.5 * float(old.shift @ (new.mean - old.mean))
        value += 0.5 * float(old.potential @ (new.rests(own)[0] - old.rests(own)[0]))
        share = 1.0 / (1.0 + own * new.precision)
        d_rest = 0.5 * ((new.potential * share) ** 2 - new.precision * share)
        gradient = ItemGradient(self.prior, new.factor, new.mean, c * s.tau[0], c * s.alpha[0])
        return FactorisedApproximation(
            new, value, gradient, d_rest, self.likelihood.pull(self.y, s.jet, c), s.proposal,
            n_iter, converged, s.residual,
        )  # fmt: skip
