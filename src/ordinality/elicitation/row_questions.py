"""Active learning of ordered labels: which rows of a pool to label next.

Write f for the latent function, f_i ~ N(m_i, v_i) for its value at row i, c_ij for covariances,
and p_k(m_i) for the probability of level k there. The label y_i tells

    information   H[E p(y | f_i)] - E H[p(y | f_i)] about the latent function;
    prediction    the information I(y_i; y_j) about the label of another row j, as a mean over
                  the rows of the pool.

The first is large where f is unknown, also at rows that resemble no others, and so it looks for
outliers. The second is by how much the log score over the pool is expected to fall. To second
order in the covariance it needs no joint distribution of labels:

    I(y_i; y_j) = c_ij**2 F_i F_j / 2 nats,    F_i = sum over k of (d p_k / d m_i)**2 / p_k,

since p(y_i, y_j) = p(y_i) p(y_j) (1 + c_ij s_i s_j + ...), s the slope of log p in m, which has
variance F. The share of the variance at row i that its label is expected to remove is
``a_i = v_i F_i``, from 0 to 1: with the correlation r_ij the information is
``r_ij**2 a_i a_j / 2``.

A batch is chosen greedily. After each row the covariance is the one that is expected after its
label, whatever it will be, ``C - F_i c_i c_i'``. So the next row is not a copy of it.

MacKay (1992), "Information-based objective functions for active data selection"; Houlsby,
Huszár, Ghahramani & Lengyel (2011), "Bayesian active learning for classification and preference
learning", for the first; Bickford Smith, Kirsch, Farquhar, Gal, Foster & Rainforth (2023),
"Prediction-oriented Bayesian active learning", for the second.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import entr
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from ..estimators.fitting import take_rows
from .questions import preselected

__all__ = [
    "QUADRATURE",
    "LabelQuadrature",
    "RowPool",
    "as_rows",
    "check_batch",
    "check_strategy",
    "next_row",
    "places",
    "selected",
]

_ROWS = 1000  # whose joint covariance is computed
_BLOCK = 2000  # rows that are looked at at once: bounds the memory
_RARE = 1e-12  # levels less likely add nothing, and their quotient is only rounding


@dataclass(frozen=True)
class LabelQuadrature:
    """What the labels of rows tell, from their probabilities at nodes of standard normals.

    The trapezium rule: levels are analytic functions of f within about two noises of the line,
    so that the error is about exp(-4 pi noise / (step sd)), sd the deviation of f. Of the step
    1/4 it was below 1e-8 bits for a noise of 0.3 sd, 2e-6 for 0.2, 0.013 for 0.1; and 0.1 for
    0.02, where a label is all but a cut.
    """

    nodes: np.ndarray  # (g,), equally spaced

    @property
    def weights(self) -> np.ndarray:
        """Of the nodes."""
        w = np.exp(-0.5 * self.nodes**2)
        return w / w.sum()

    def proba(self, model: Any, X: Any, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """Probabilities of the levels at the nodes, (q, g, K)."""
        deviation = np.sqrt(np.maximum(variance, 0.0))  # of rows known but for rounding
        return model.level_proba_given(X, mean[:, None] + deviation[:, None] * self.nodes)

    def uncertainty(self, proba: np.ndarray) -> np.ndarray:
        """Entropy of the label, in bits."""
        return _bits(np.einsum("igk,g->ik", proba, self.weights))

    def information(self, proba: np.ndarray) -> np.ndarray:
        """Bits that the label tells about the latent function."""
        return np.maximum(self.uncertainty(proba) - _bits(proba) @ self.weights, 0.0)

    def share(self, proba: np.ndarray) -> np.ndarray:
        """Share of the variance that the label is expected to remove: v F."""
        mean = np.einsum("igk,g->ik", proba, self.weights)
        # Stein: the covariance of f and p_k is v d p_k / d m.
        slope = np.einsum("igk,g->ik", proba, self.weights * self.nodes)
        return np.sum(slope**2 / np.maximum(mean, _RARE), axis=1)


# Beyond six deviations there is 2e-9 of the weight.
QUADRATURE = LabelQuadrature(np.linspace(-6.0, 6.0, 49))
_ROUGH = LabelQuadrature(np.linspace(-4.0, 4.0, 25))  # to preselect


@dataclass(frozen=True)
class RowPool:
    """Rows, the joint posterior of the latent function there, and what their labels tell."""

    model: Any
    X: Any  # (q, d)
    mean: np.ndarray  # (q,)
    cov: np.ndarray  # (q, q)
    targets: np.ndarray  # (t,), places of rows that stand for the pool
    proba: np.ndarray  # (q, g, K), see `LabelQuadrature`

    @classmethod
    def of(cls, model: Any, X: Any, targets: np.ndarray) -> RowPool:
        """From a fitted model."""
        mean, cov = model.posterior(X)
        return cls(
            model, X, mean, cov, targets, QUADRATURE.proba(model, X, mean, np.diagonal(cov))
        )

    def after(self, i: int) -> RowPool:
        """The pool with the covariance that is expected after the label of row i."""
        if self.cov[i, i] <= 0.0:
            return self
        known = QUADRATURE.share(self.proba[i : i + 1])[0] / self.cov[i, i]
        cov = self.cov - known * np.outer(self.cov[i], self.cov[i])
        proba = QUADRATURE.proba(self.model, self.X, self.mean, np.diagonal(cov))
        return replace(self, cov=cov, proba=proba)

    def prediction(self) -> np.ndarray:
        """Bits that each label tells about the label of another row, as a mean over targets."""
        a, t, own = QUADRATURE.share(self.proba), self.targets, np.diagonal(self.cov)
        # A variance below the rounding of the largest is none, and must not divide.
        root = np.sqrt(np.maximum(own, max(np.finfo(float).eps * own.max(), 1e-200)))
        r = self.cov[:, t] / root[:, None] / root[t]
        return a * (r**2 @ a[t]) / (2.0 * np.log(2.0) * len(t))


_CRITERIA: dict[str, Callable[[RowPool], np.ndarray]] = {
    "prediction": RowPool.prediction,
    "information": lambda pool: QUADRATURE.information(pool.proba),
    "uncertainty": lambda pool: QUADRATURE.uncertainty(pool.proba),
}


def next_row(
    model: Any,
    X_pool: Any,
    strategy: str = "prediction",
    *,
    batch: int = 1,
    candidates: Any = None,
    exclude: Any = None,
    random_state: Any = None,
) -> np.ndarray:
    """Choose the row, or the rows, of a pool to label next.

    Parameters
    ----------
    model : OrdinalGP or LeastSquaresOrdinalGP
        Fitted to the rows that have labels; kernel, noise and thresholds are held.
    X_pool : array-like of shape (n, d)
        Rows that may be labelled; they also stand for those that the model is to predict.
    strategy : {"prediction", "information", "uncertainty"}, default="prediction"
        "prediction" asks for the label that tells most about the labels of the other rows of
        the pool; "information" for the one that tells most about the latent function, wherever
        that is; "uncertainty" for the one that is least certain, be it for noise.
    batch : int, default=1
        Number of different rows to choose before the next label.
    candidates : array-like of int, shape (q,), default=None
        Positions of rows that may be chosen; None is all. The others still count as rows to
        predict.
    exclude : array-like of int, shape (e,), default=None
        Positions of rows that must not be chosen, such as those that have labels.
    random_state : int, Generator or None, default=None
        Draws rows out of more than 1000; None is different every time.

    Returns
    -------
    rows : ndarray of int, shape (batch,)
        Positions in `X_pool`, best first.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality import OrdinalGP
    >>> from ordinality.elicitation import next_row
    >>> X = np.linspace(0, 10, 41)[:, None]
    >>> y = np.digitize(np.sin(X[:, 0]), [-0.4, 0.4])
    >>> model = OrdinalGP().fit(X[:20], y[:20])        # nothing beyond 5 has a label
    >>> bool(X[next_row(model, X)[0], 0] > 5)
    True
    >>> next_row(model, X, batch=3, exclude=np.arange(20)).shape
    (3,)
    """
    _check_model(model)
    check_strategy(strategy, _CRITERIA)
    X, n = as_rows(X_pool), len(X_pool)
    allowed = np.zeros(n, dtype=bool)
    allowed[slice(None) if candidates is None else places(candidates, n)] = True
    if exclude is not None:
        allowed[places(exclude, n, "exclude")] = False
    check_batch(batch, int(allowed.sum()), "rows")
    rng = np.random.default_rng(random_state)
    rows, targets = selected(allowed, _ROWS, batch, lambda: _score(model, X, strategy), rng)
    pool = RowPool.of(model, take_rows(X, rows), targets)
    taken: list[int] = []
    for _ in range(batch):
        if taken:
            pool = pool.after(taken[-1])
        value = np.where(allowed[rows], _CRITERIA[strategy](pool), -np.inf)
        value[taken] = -np.inf
        taken.append(int(np.argmax(value)))
    return rows[taken]


def selected(
    allowed: np.ndarray,
    most: int,
    batch: int,
    score: Callable[[], np.ndarray],
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a pool to look at, and the places among them of those that stand for the pool.

    Of more than ``most`` rows half are drawn to stand for the pool, and about as many are
    candidates: half of them by the score, half drawn.
    """
    n = len(allowed)
    if n <= most:
        return np.arange(n), np.arange(n)
    targets = rng.choice(n, most // 2, replace=False)
    free = np.flatnonzero(allowed)
    few = free[preselected(score()[free], max(most // 2, batch), rng)]
    rows = np.union1d(targets, few)
    return rows, np.searchsorted(rows, np.sort(targets))


def as_rows(X: Any) -> Any:
    """A pool of which rows can be taken: a list as an array, an array or a frame as it is."""
    return X if hasattr(X, "shape") else np.asarray(X)


def check_strategy(strategy: Any, known: Any) -> None:
    """Refuse a strategy that there is not."""
    if strategy not in known:
        raise ValueError(f"strategy is {strategy!r}; it must be one of {list(known)}.")


def check_batch(batch: Any, count: int, what: str) -> None:
    """Refuse a batch that is no number, or larger than what there is to choose from."""
    if not (isinstance(batch, int | np.integer) and batch >= 1):
        raise ValueError(f"batch is {batch!r}; it must be a whole number, 1 or more.")
    if batch > count:
        raise ValueError(
            f"batch is {batch}, but there are {count} {what} to choose from; ask for fewer, "
            f"allow more candidates, or exclude fewer {what}."
        )


def places(given: Any, n: int, name: str = "candidates") -> np.ndarray:
    """Positions of rows, as they were given."""
    found = np.asarray(given)
    if not found.size:
        return np.zeros(0, dtype=np.intp)
    if found.ndim != 1 or found.dtype.kind not in "iu" or found.min() < 0 or found.max() >= n:
        raise ValueError(
            f"{name} must hold positions of rows, whole numbers from 0 to {n - 1}, in one "
            f"dimension; it has shape {found.shape} and type {found.dtype}."
        )
    return found.astype(np.intp)


def _check_model(model: Any) -> None:
    if not (hasattr(model, "level_proba_given") and hasattr(model, "posterior")):
        raise TypeError(
            f"model is a {type(model).__name__}, which has no posterior of a latent function; "
            "pass a fitted OrdinalGP or LeastSquaresOrdinalGP."
        )
    check_is_fitted(model)


def _score(model: Any, X: Any, strategy: str) -> np.ndarray:
    """A rough value of each row of a large pool by itself, block by block."""
    value = _ROUGH.uncertainty if strategy == "uncertainty" else _ROUGH.information
    score = np.empty(len(X))
    for block in gen_batches(len(score), _BLOCK):
        some = take_rows(X, np.arange(block.start, block.stop))
        score[block] = value(_ROUGH.proba(model, some, *model.posterior(some, joint=False)))
    return score


def _bits(proba: np.ndarray) -> np.ndarray:
    """Entropy along the last axis."""
    return entr(proba).sum(axis=-1) / np.log(2.0)
