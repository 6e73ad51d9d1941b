"""What the tests of the support vector machines share: small problems, and another solver."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import clarabel
import numpy as np
import pytest
from scipy import sparse

from ordinality.svm.kernel_rows import KernelRows
from ordinality.svm.solver import solve
from ordinality.svm.terms import FORMULATIONS, comparisons

KERNELS = ("rbf", "linear", "poly")


@dataclass(frozen=True)
class Machine:
    """Kernel matrix, ranks and costs; for comparisons the kernel of pairs and no ranks."""

    formulation: str
    K: np.ndarray
    y: np.ndarray | None
    n_levels: int
    cost: np.ndarray

    @property
    def terms(self):
        if self.formulation == "comparisons":
            return comparisons(self.cost)
        return FORMULATIONS[self.formulation](self.y, self.n_levels, self.cost)

    @property
    def rows(self):
        return KernelRows.of_matrix(self.K)

    def solved(self, **options):
        return solve(self.terms, self.rows, **{"tol": 1e-9, **options})

    def at_cost(self, factor):
        return replace(self, cost=factor * self.cost)


def kernel(name, X, Z):
    if name == "rbf":
        return np.exp(-0.5 * ((X[:, None] - Z) ** 2).sum(axis=2))
    product = X @ Z.T
    return product if name == "linear" else (1 + product / X.shape[1]) ** 3


def ordinal(n, n_levels, seed=0, d=2, noise=0.5):
    """Rows, and ranks cut at equal frequencies from a nonlinear function of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    f = X @ rng.normal(size=d) + np.sin(2 * X[:, 0]) + noise * rng.normal(size=n)
    return X, np.searchsorted(np.quantile(f, np.arange(1, n_levels) / n_levels), f)


def random_machine(formulation, seed):
    """Any kernel, cost and noise; weights, duplicate rows, empty ranks."""
    rng = np.random.default_rng(seed)
    n, n_levels = int(rng.integers(5, 41)), int(rng.integers(2, 7))
    X, y = ordinal(n, n_levels, seed, d=int(rng.integers(1, 4)), noise=rng.choice([0.1, 2]))
    if rng.random() < 0.5:  # equal inputs with different ranks
        X[: n // 3] = X[-(n // 3) :]
    if rng.random() < 0.3 and n_levels > 2:
        y[y == rng.integers(1, n_levels - 1)] = 0
    weights = rng.choice([1, 0.3, 2.5], n) if rng.random() < 0.5 else np.ones(n)
    if rng.random() < 0.2:
        weights[rng.integers(n)] = 0.0
    cost = np.exp(rng.uniform(np.log(0.05), np.log(50))) * weights
    K = kernel(KERNELS[seed % 3], X, X)
    if formulation == "comparisons":
        v, u = rng.permuted(np.tile(np.arange(n), (n, 1)), axis=1)[:, :2].T
        K = K[np.ix_(v, v)] - K[np.ix_(v, u)] - K[np.ix_(u, v)] + K[np.ix_(u, u)]
        y = None
    if (
        formulation == "sum-of-margins"
    ):  # for a smaller C no solution, for a much larger one no width
        ends = min(weights[y == 0].sum(), weights[y == n_levels - 1].sum())
        cost = rng.uniform(1.02, 1.5) / ends * weights
    return Machine(formulation, K, y, n_levels, cost)


# ---------------------------------------------------------------- the other solver


def hinges(machine):
    """Rows ``(i, node, sign)``, margin, push and order, straight from the definitions."""
    k, y = machine.n_levels, machine.y
    if machine.formulation == "comparisons":
        return [(i, None, 1.0) for i in range(len(machine.cost))], 1.0, [], False
    if machine.formulation == "sum-of-margins":  # nodes a_1, b_1, a_2, b_2, ...
        below = [(i, 2 * r, -1.0) for i, r in enumerate(y) if r < k - 1]
        above = [(i, 2 * r - 1, 1.0) for i, r in enumerate(y) if r > 0]
        return below + above, 0.0, [1.0, -1.0] * (k - 1), True
    found = []
    for i, r in enumerate(y):
        for j in range(k - 1):
            if machine.formulation == "implicit" or j in (r - 1, r):
                found.append((i, j, 1.0 if r > j else -1.0))
    return found, 1.0, [0.0] * (k - 1), machine.formulation == "explicit"


def features(K):
    """Inputs whose products are the kernel."""
    values, vectors = np.linalg.eigh(K)
    keep = values > 1e-14 * values[-1]
    return vectors[:, keep] * np.sqrt(values[keep])


def by_interior_point(machine, within_ball=False):
    """Minimise the primal over ``(w, b, slack)`` with Clarabel.

    ``within_ball``: with ``|w| <= 1`` instead of ``|w|^2 / 2`` in the objective.
    """
    Phi, (found, margin, push, ordered) = features(machine.K), hinges(machine)
    r, J, m = Phi.shape[1], len(push), len(found)
    A, at = np.zeros((m, r + J + m)), np.arange(m)
    for e, (i, node, sign) in enumerate(found):
        A[e, :r] = -sign * Phi[i]
        if node is not None:
            A[e, r + node] = sign
    A[at, r + J + at] = -1.0
    slack = np.hstack([np.zeros((m, r + J)), -np.eye(m)])
    order = np.zeros((max(J - 1, 0) if ordered else 0, r + J + m))
    for j in range(len(order)):
        order[j, r + j], order[j, r + j + 1] = 1.0, -1.0
    ball = np.vstack([np.zeros((1, r + J + m)), -np.eye(r, r + J + m)])
    parts, bounds = [A, slack, order], [np.full(m, -margin), np.zeros(m + len(order))]
    cones = [clarabel.NonnegativeConeT(2 * m + len(order))]
    if within_ball:
        parts, bounds = [*parts, ball], [*bounds, np.eye(1, r + 1)[0]]
        cones.append(clarabel.SecondOrderConeT(r + 1))
    P = sparse.diags([0.0 if within_ball else 1.0] * r + [0.0] * (J + m), format="csc")
    q = np.concatenate([np.zeros(r), push, [machine.cost[i] for i, _, _ in found]])
    found = clarabel.DefaultSolver(
        P, q, sparse.csc_matrix(np.vstack(parts)), np.concatenate(bounds), cones, _settings()
    ).solve()
    assert str(found.status) in ("Solved", "AlmostSolved"), found.status
    w, b = np.array(found.x[:r]), np.array(found.x[r : r + J])
    return SimpleNamespace(objective=found.obj_val, scores=Phi @ w, thresholds=b)


def _settings():
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    return settings


@pytest.fixture(scope="session")
def toolbox():
    return SimpleNamespace(
        Machine=Machine, kernel=kernel, ordinal=ordinal, random_machine=random_machine,
        by_interior_point=by_interior_point, features=features, hinges=hinges,
    )  # fmt: skip
