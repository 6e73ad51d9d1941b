"""Active learning of label rankings: which two labels to compare next, and for which input.

A question is a row i of a pool and two labels a, b; its answer sees the difference of their
utilities there, d ~ N(m, v). It tells

    information   H[E p(y | d)] - E H[p(y | d)] about the utilities, as `gains` has it;
    prediction    the information about the answer to another question, as a mean over the pairs
                  of labels of the rows of the pool;
    order         the same about which of the two labels is the better there, without noise.

The covariance of two differences c, in whatever rows, gives the second to second order,
``c**2 F F' / 2`` nats, F the Fisher information of an answer (see `row_questions`). Summed over
all pairs of labels of a row it is a quadratic form with the Laplacian of a graph whose edges
have the weights F', so that all questions of the pool are valued by a few products of matrices.

Chu & Ghahramani (2005, ICML), section 2.4: "select from the data pool the sample with the
highest expected information gain". Brinker (2004), "Active learning of label ranking
functions", ICML, asks for the pair of labels that a support vector machine is least sure of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import entr
from sklearn.utils.validation import check_is_fitted

from ..estimators.fitting import take_rows
from ..gp.likelihoods import Symmetric
from .gains import exact_gain, fisher_information, rough_fisher_information, rough_gain
from .row_questions import as_rows, check_batch, check_strategy, places, selected

__all__ = ["LabelPool", "likelihood_of", "next_label_pair"]

_VALUES = 1000  # utilities, rows times labels, whose joint covariance is computed
_SCORED = 5000  # rows that are looked at one by one


@dataclass(frozen=True)
class LabelPool:
    """Rows, the joint posterior of the utilities of the labels there, and what answers see."""

    mean: np.ndarray  # (q, L)
    cov: np.ndarray  # (q, L, q, L)
    targets: np.ndarray  # (t,), places of rows that stand for the pool
    likelihood: Symmetric

    def seen(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of the difference of each pair of labels of each row, (q, P)."""
        every = np.arange(len(self.mean))
        return _differences(self.mean, self.cov[every, :, every])

    def fisher(self) -> np.ndarray:
        """Fisher information of the answer to each question, (q, P)."""
        m, v = self.seen()
        return fisher_information(self.likelihood, m.ravel(), v.ravel()).reshape(m.shape)

    def after(self, row: int, pair: int) -> LabelPool:
        """The pool with the covariance that is expected after the answer to a question."""
        a, b = (labels[pair] for labels in np.triu_indices(self.mean.shape[1], 1))
        c = self.cov[:, :, row, a] - self.cov[:, :, row, b]
        told = self.fisher()[row, pair] * c[:, :, None, None] * c
        return replace(self, cov=self.cov - told)

    def information(self) -> np.ndarray:
        """Bits that each answer tells about the utilities, (q, P)."""
        m, v = self.seen()
        return exact_gain(self.likelihood, m.ravel(), v.ravel()).reshape(m.shape)

    def uncertainty(self) -> np.ndarray:
        """Entropy of each answer in bits, (q, P)."""
        m, v = self.seen()
        proba = self.likelihood.proba(m.ravel(), v.ravel())
        return entr(proba).sum(axis=1).reshape(m.shape) / np.log(2.0)

    def prediction(self) -> np.ndarray:
        """Bits that each answer tells about another answer, as a mean over targets, (q, P)."""
        return self._told(self.fisher()[self.targets])

    def order(self) -> np.ndarray:
        """Bits about which of two labels is the better at a row, as a mean, (q, P)."""
        m, v = (x[self.targets] for x in self.seen())
        exact = replace(self.likelihood, thresholds=np.zeros(1), noise=0.0, link="probit")
        # A variance below the rounding of the largest is none, and must not divide.
        v = np.maximum(v.ravel(), max(np.finfo(float).eps * v.max(), 1e-200))
        return self._told(rough_fisher_information(exact, m.ravel(), v).reshape(m.shape))

    def _told(self, known: np.ndarray) -> np.ndarray:
        """Mean bits about what has such Fisher informations at the targets, (t, P)."""
        (q, L), t = self.mean.shape, self.targets
        W = np.zeros((len(t), L, L))
        W[:, *np.triu_indices(L, 1)] = -known
        W += W.transpose(0, 2, 1)
        W[:, range(L), range(L)] = -W.sum(axis=2)
        C = self.cov[t].reshape(len(t), L, q * L)
        half = np.matmul(W, C).reshape(-1, q, L)  # (t L, q, L)
        across = C.reshape(-1, q, L)
        form = np.matmul(across.transpose(1, 2, 0), half.transpose(1, 0, 2))  # (q, L, L)
        squared = _differences(self.mean, form)[1]
        return self.fisher() * squared / (2.0 * np.log(2.0) * known.size)


_CRITERIA: dict[str, Callable[[LabelPool], np.ndarray]] = {
    "order": LabelPool.order,
    "prediction": LabelPool.prediction,
    "information": LabelPool.information,
    "uncertainty": LabelPool.uncertainty,
}


def next_label_pair(
    model: Any,
    X_pool: Any,
    strategy: str = "order",
    *,
    batch: int = 1,
    candidates: Any = None,
    exclude: Sequence[tuple[Any, Any, Any]] | None = None,
    random_state: Any = None,
) -> list[tuple[int, Any, Any]]:
    """Choose the two labels to compare next, and the row of a pool to compare them for.

    Parameters
    ----------
    model : LabelRankingGP
        Fitted to the answers so far, most easily with ``graph="edges"`` and `labels`; kernel
        and noise are held.
    X_pool : array-like of shape (n, d)
        Rows that may be asked about; they also stand for those that the model is to rank
        labels for.
    strategy : {"order", "prediction", "information", "uncertainty"}, default="order"
        "order" asks the question whose answer tells most about which of two labels is the
        better, over all pairs of labels of all rows; "prediction" the one whose answer tells
        most about the answers to all others; "information" the one whose answer tells most
        about the utilities, wherever that is; "uncertainty" the one whose answer is least
        certain, be it for noise.
    batch : int, default=1
        Number of different questions to choose before the next answer.
    candidates : array-like of int, shape (q,), default=None
        Positions of rows that may be asked about; None is all.
    exclude : list of (row, label, label), default=None
        Questions that must not be asked, such as those that have answers; the labels either
        way round.
    random_state : int, Generator or None, default=None
        Draws rows, out of more than 1000 / L for L labels; None is different every time.

    Returns
    -------
    questions : list of (row, label, label)
        Position in `X_pool` and two of ``classes_``, best first.

    Examples
    --------
    >>> from ordinality import LabelRankingGP
    >>> from ordinality.elicitation import next_label_pair
    >>> X = [[-2.0], [-1.0], [1.0], [2.0]]
    >>> answers = [[("tea", "milk")], [("tea", "milk")], [], []]    # (better, worse), by row
    >>> model = LabelRankingGP(graph="edges", labels=["milk", "tea"]).fit(X, answers)
    >>> asked = [(0, "milk", "tea"), (1, "milk", "tea")]
    >>> [(row, a, b)] = next_label_pair(model, X, exclude=asked)
    >>> row in (2, 3), a, b
    (True, 'milk', 'tea')
    """
    _check_model(model)
    check_strategy(strategy, _CRITERIA)
    X, L, likelihood = as_rows(X_pool), len(model.classes_), likelihood_of(model)
    allowed = _allowed(len(X), model.classes_, candidates, exclude)
    check_batch(batch, int(allowed.sum()), "questions")
    rng = np.random.default_rng(random_state)
    rows, targets = selected(
        allowed.max(axis=1), max(_VALUES // L, 2), batch, lambda: _score(model, X, rng), rng
    )
    mean, cov = model.posterior(take_rows(X, rows))
    pool = LabelPool(mean, cov, targets, likelihood)
    open_ = allowed[rows]
    taken: list[tuple[int, int]] = []
    for _ in range(batch):
        if taken:
            pool = pool.after(*taken[-1])
        value = np.where(open_, _CRITERIA[strategy](pool), -np.inf)
        row, pair = np.unravel_index(np.argmax(value), value.shape)
        open_[row, pair] = False
        taken.append((int(row), int(pair)))
    names, (a, b) = model.classes_.tolist(), np.triu_indices(L, 1)
    return [(int(rows[i]), names[a[k]], names[b[k]]) for i, k in taken]


def likelihood_of(model: Any) -> Symmetric:
    """Likelihood of an answer of a fitted model."""
    steps = [model.tie_width_] if model.ties else []
    return Symmetric.of(steps, ties=model.ties, sigma=model.noise_, link=model.link)


def _differences(mean: np.ndarray, cov: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of the difference of each pair of labels, (q, P), by (q, L, L)."""
    a, b = np.triu_indices(mean.shape[1], 1)
    own = np.diagonal(cov, axis1=1, axis2=2)
    variance = own[:, a] + own[:, b] - cov[:, a, b] - cov[:, b, a]
    return mean[:, a] - mean[:, b], np.maximum(variance, 0.0)


def _allowed(n: int, classes: np.ndarray, candidates: Any, exclude: Any) -> np.ndarray:
    """Which pairs of labels of which rows may be asked, (n, P)."""
    L = len(classes)
    number = {label: k for k, label in enumerate(classes.tolist())}
    allowed = np.zeros((n, L, L), dtype=bool)
    allowed[slice(None) if candidates is None else places(candidates, n)] = True
    for question in () if exclude is None else exclude:
        try:
            row, one, other = question
            i, a, b = int(row), number[one], number[other]
        except (TypeError, ValueError, KeyError):
            i = -1
        if not 0 <= i < n:
            raise ValueError(
                f"exclude holds {question!r}; wanted (row, label, label), a row from 0 to "
                f"{n - 1} and two of the labels {classes.tolist()}."
            )
        allowed[i, a, b] = allowed[i, b, a] = False
    return allowed[:, *np.triu_indices(L, 1)]


def _check_model(model: Any) -> None:
    if not (hasattr(model, "predict_pairs_proba") and hasattr(model, "posterior")):
        raise TypeError(
            f"model is a {type(model).__name__}, which has no posterior of utilities of "
            "labels; pass a fitted LabelRankingGP."
        )
    check_is_fitted(model)


def _score(model: Any, X: Any, rng: np.random.Generator) -> np.ndarray:
    """A rough value of the best question of each row by itself, of many rows only some."""
    n, score = len(X), np.full(len(X), -1.0)
    some = np.arange(n) if n <= _SCORED else np.sort(rng.choice(n, _SCORED, replace=False))
    m, v = _differences(*model.posterior(take_rows(X, some), joint=False))
    gain = rough_gain(likelihood_of(model), m.ravel(), v.ravel())
    score[some] = gain.reshape(m.shape).max(axis=1)
    return score
