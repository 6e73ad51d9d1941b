"""Marginal effects and adjusted predictions of the columns of a table, with standard errors.

Both ask what a model would predict for the same rows if one column were different, and average
over the rows. They describe the model, not what causes what. The averages are linear in the
probabilities, so their standard errors follow from any of three sources: the covariance of
coefficients (the delta method), draws from the posterior of a Gaussian process, or refits to
rows drawn with replacement (the bootstrap). The rows themselves are held. The members of a
stack learn from the same rows, and their errors are taken to go together: the standard error of
the average is then the average of theirs.

Friedman (2001), "Greedy function approximation: a gradient boosting machine", section 8.2, for
partial dependence; Greene (2012), "Econometric Analysis", section 17.3, for average effects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, overload

import numpy as np
from scipy.special import ndtri

from ordinality.estimators import OrdinalStack

from .bootstrap import Refits, averaged, centred
from .model_inputs import (
    column,
    column_number,
    final,
    level_proba,
    names_in,
    repeated,
    sampled,
    transformed,
    with_column,
)

__all__ = ["Effect", "Effects", "effects"]

MAX_VALUES = 8  # a number with at most so many distinct values is shown at each of them
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)  # at which other numbers are shown
DRAWS = 200  # of a posterior: a standard error is then right to 5 %

# Half the width of differences that stand for slopes, in standard deviations of a column. They
# are off by its square, and by the rounding of what is differenced over it: 1e-12 for
# probabilities, 1e-5 for draws of a function, whose covariance is known to half of the digits.
_SMALL = {"delta": 1e-4, "posterior": 0.01, "members": 0.01, "bootstrap": 0.01, None: 1e-4}

# Weight that the members of a stack with standard errors must have together, to stand for all.
_KNOWN = 0.5

_MOST = {True: 10_000, False: 300}  # rows to average over, by the delta method and without

_OF_REFITS = 0.9  # share of the work, where there are any

Progress = Callable[[str, float], Any]


@dataclass(frozen=True)
class Effect:
    """Predictions with one column set to each of several values, and from a low to a high one.

    Parameters
    ----------
    column : str
        The column.
    values : tuple
        What it was set to: quantiles of a number, or the categories of text.
    proba : ndarray of shape (V, K)
        Average probability of every level at each value, columns in order of level: adjusted
        predictions, also called partial dependence.
    change : ndarray of shape (K,)
        Average change of the levels' probabilities, the marginal effect.
    between : tuple of two str
        What the change is from and to, in words.
    proba_se : ndarray of shape (V, K) or None
        Standard errors of ``proba``; None where there are none.
    change_se : ndarray of shape (K,) or None
        Standard errors of ``change``.
    rise_se : ndarray of shape (K - 1,) or None
        Standard errors of `rise`.
    expected_se : float or None
        Standard error of `expected`.
    comparisons : int, default=1
        Pairs of values among which the change is the largest: all pairs of the categories of
        text. Intervals of the change are widened for the choice (Bonferroni).

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality.inspect import Effect
    >>> proba = np.array([[0.7, 0.3], [0.25, 0.75]])
    >>> effect = Effect("temp", ("cold", "warm"), proba, proba[1] - proba[0], ("cold", "warm"),
    ...                 change_se=np.array([0.1, 0.1]))
    >>> round(effect.strength, 2)
    0.45
    >>> effect.interval().round(2)  # of the change of each level's probability
    array([[-0.65, -0.25],
           [ 0.25,  0.65]])
    """

    column: str
    values: tuple[Any, ...]
    proba: np.ndarray
    change: np.ndarray
    between: tuple[str, str]
    proba_se: np.ndarray | None = None
    change_se: np.ndarray | None = None
    rise_se: np.ndarray | None = None
    expected_se: float | None = None
    comparisons: int = 1

    @property
    def above(self) -> np.ndarray:
        """Probability of a level above each threshold, (V, K - 1)."""
        return np.asarray(1.0 - np.cumsum(self.proba, axis=1)[:, :-1])

    @property
    def rise(self) -> np.ndarray:
        """Change of the probability of a level above each threshold, (K - 1,)."""
        return np.asarray(-np.cumsum(self.change)[:-1])

    @property
    def expected(self) -> float:
        """Change of the expected level, levels counted 1, 2, ..."""
        return float(self.change @ np.arange(len(self.change)))

    @property
    def strength(self) -> float:
        """Half the sum of absolute changes: the probability that moves."""
        return float(0.5 * np.abs(self.change).sum())

    def interval(self, of: str = "change", coverage: float = 0.95) -> np.ndarray:
        """Confidence interval by the normal approximation.

        Parameters
        ----------
        of : {"change", "rise", "expected", "proba"}, default="change"
            Which estimate.
        coverage : float, default=0.95
            Probability that the interval holds the true value.

        Returns
        -------
        interval : ndarray of the estimate's shape, with a last axis of two
            Lower and upper ends; NaN where there are no standard errors. Probabilities are kept
            between 0 and 1.
        """
        if of not in ("change", "rise", "expected", "proba"):
            raise ValueError(
                f"of={of!r} is not known; choose 'change', 'rise', 'expected' or 'proba'."
            )
        if not 0 < coverage < 1:
            raise ValueError(f"coverage={coverage!r} must lie between 0 and 1, such as 0.95.")
        value, se = np.asarray(getattr(self, of)), getattr(self, f"{of}_se")
        if se is None:
            return np.full((*value.shape, 2), np.nan)
        tail = (1.0 - coverage) / (1 if of == "proba" else self.comparisons)
        ends = value[..., None] + np.multiply.outer(
            se, ndtri(1.0 - tail / 2) * np.array([-1, 1])
        )
        return np.clip(ends, 0.0, 1.0) if of == "proba" else ends

    def as_dict(self) -> dict[str, Any]:
        """Convert to values that JSON can hold, rounded to four decimals.

        Returns
        -------
        dict
            What `from_dict` reads.
        """
        known = {name: getattr(self, name) for name in _ERRORS}
        return {
            "column": self.column,
            "values": list(self.values),
            "above": self.above.round(4).tolist(),
            "change": self.change.round(4).tolist(),
            "between": list(self.between),
            "comparisons": self.comparisons,
            **{k: None if v is None else np.round(v, 4).tolist() for k, v in known.items()},
        }

    @classmethod
    def from_dict(cls, known: dict[str, Any]) -> Effect:
        """Read back what `as_dict` gave.

        Parameters
        ----------
        known : dict
            From `as_dict`.

        Returns
        -------
        Effect
            The same up to rounding.
        """
        above = np.array(known["above"])
        edge = np.ones((len(above), 1))
        reached = np.hstack([edge, above, 0 * edge])  # probability of this level or higher
        errors: dict[str, Any] = {
            name: None if known[name] is None else np.array(known[name]) for name in _ERRORS
        }
        return cls(
            known["column"],
            tuple(known["values"]),
            reached[:, :-1] - reached[:, 1:],
            np.array(known["change"]),
            (known["between"][0], known["between"][1]),
            comparisons=known["comparisons"],
            **errors,
        )


_ERRORS = ("proba_se", "change_se", "rise_se", "expected_se")


@dataclass(frozen=True)
class Effects(Sequence[Effect]):
    """The effects of several columns, the strongest first; prints as a table.

    Parameters
    ----------
    effects : tuple of Effect
        One for each column.
    levels : tuple
        Labels in order, lowest first.
    source : {"delta", "posterior", "members", "bootstrap"} or None
        Where the standard errors come from.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality import OrdinalGP
    >>> from ordinality.inspect import effects
    >>> X = np.linspace(-2, 2, 40)[:, None]
    >>> model = OrdinalGP().fit(X, np.digitize(X[:, 0], [-0.6, 0.7]))
    >>> found = effects(model, X)
    >>> found.source, found[0].column, bool(found[0].expected > 0)
    ('posterior', 'feature 1', True)
    """

    effects: tuple[Effect, ...]
    levels: tuple[Any, ...]
    source: str | None

    @overload
    def __getitem__(self, at: int) -> Effect: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Effect, ...]: ...
    def __getitem__(self, at: int | slice) -> Effect | tuple[Effect, ...]:
        return self.effects[at]

    def __len__(self) -> int:
        return len(self.effects)

    def rows(self, coverage: float = 0.95) -> Iterator[dict[str, Any]]:
        """Rows of a table: the change of each level's probability, then of the expected level.

        Parameters
        ----------
        coverage : float, default=0.95
            Probability that an interval holds the true value.

        Yields
        ------
        dict
            ``column``, ``from``, ``to``, ``level`` (None for the expected level), ``change``,
            ``se``, ``lower`` and ``upper``; NaN where there is no standard error.
        """
        for one in self.effects:
            ends = np.vstack([one.interval(of, coverage) for of in ("change", "expected")])
            change, se = np.append(one.change, one.expected), np.full(len(ends), np.nan)
            if one.change_se is not None and one.expected_se is not None:
                se = np.append(one.change_se, one.expected_se)
            for k, level in enumerate((*self.levels, None)):
                yield {
                    "column": one.column, "from": one.between[0], "to": one.between[1],
                    "level": level, "change": float(change[k]), "se": float(se[k]),
                    "lower": float(ends[k, 0]), "upper": float(ends[k, 1]),
                }  # fmt: skip

    def __str__(self) -> str:
        lines = [f"{'column':<20} {'level':<14} {'change':>9} {'95% interval':>20}"]
        for row in self.rows():
            level = "expected level" if row["level"] is None else str(row["level"])
            ends = f"{row['lower']:+.3f} to {row['upper']:+.3f}"
            known = ends if np.isfinite(row["lower"]) else ""
            lines.append(
                f"{row['column']:<20.20} {level:<14.14} {row['change']:>+9.3f} {known:>20}"
            )
        return "\n".join(lines)


def effects(
    model: Any,
    X: Any,
    columns: Iterable[str | int] | str | None = None,
    *,
    y: Any = None,
    sample_weight: Any = None,
    step: str = "sd",
    values: Mapping[str | int, Sequence[Any]] | None = None,
    n_refits: int = 50,
    refits_path: Any = None,
    max_rows: int | str | None = "auto",
    seed: int = 0,
    progress: Progress = lambda what, share: None,
) -> Effects:
    """Average marginal effects and adjusted predictions of columns, with standard errors.

    Standard errors come from the covariance of the coefficients of an `OrdinalRegression`, from
    the posterior of a Gaussian process, and for all other models from refits to rows drawn with
    replacement, which need the labels ``y``. Without these there are none, except for an
    `OrdinalStack`: it has the average of those of its members, if members with half of the
    weight or more know theirs.

    Parameters
    ----------
    model : classifier or Pipeline
        Fitted; with probabilities of ordered levels.
    X : array-like, pandas or polars DataFrame of shape (n, d)
        Rows to average over. For refits, the rows that the model was fitted to.
    columns : str or iterable of str or int, optional
        Which columns, by name or place; by default all.
    y : array-like of shape (n,), optional
        Labels, for refits.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows, for refits.
    step : {"sd", "unit", "slope"}, default="sd"
        What the change of a number is from and to: one standard deviation or one unit about
        each row's own value, or the slope there, per unit. Numbers with two values, such as 0
        and 1, go from the lower to the higher. A model with steps, such as trees, has no slope.
    values : mapping of column to sequence, optional
        Values at which adjusted predictions are wanted; by default quantiles of a number, and
        the eight commonest values of text.
    n_refits : int, default=50
        Number of refits.
    refits_path : str or Path, optional
        File to which each refit is written as soon as it is done, and from which the refits
        that are done are read. An interrupted call goes on where it was.
    max_rows : "auto", int or None, default="auto"
        Of more rows a random sample is averaged over; None for all. "auto": 10,000 with the
        delta method, else 300, because draws from a posterior cost the cube of rows times
        values.
    seed : int, default=0
        Seed of the sample, the draws and the refits.
    progress : callable, optional
        Called as ``progress(what, share)`` before every step, with the share of the work that
        is done.

    Returns
    -------
    Effects
        A sequence of `Effect`, the strongest first.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality import OrdinalBoost
    >>> from ordinality.inspect import effects
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 2))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=80), [-0.5, 0.5])
    >>> model = OrdinalBoost(learner="stump", n_estimators=20).fit(X, y)
    >>> found = effects(model, X, y=y, n_refits=5)
    >>> found.source, found[0].column
    ('bootstrap', 'feature 1')
    """
    if step not in ("sd", "unit", "slope"):
        raise ValueError(f"step={step!r} is not known; choose one of ['sd', 'unit', 'slope'].")
    refits_asked: Any = n_refits
    if not isinstance(refits_asked, Integral):
        raise ValueError(f"n_refits={n_refits!r} must be a whole number, such as 50.")
    if hasattr(X, "toarray"):
        raise TypeError(
            "X is sparse, but effects set columns of a dense table; pass X[:1000].toarray(), "
            "or as many rows as memory holds."
        )
    source, names = _source(model, y), names_in(model, X)
    most = _most_rows(max_rows, source)
    if not np.shape(X)[0]:
        raise ValueError("X has no rows, and effects are averages over rows; pass some.")
    chosen = range(len(names)) if columns is None else columns
    chosen = [chosen] if isinstance(chosen, str) else chosen
    wanted = {column_number(names, name): given for name, given in (values or {}).items()}
    rows = sampled(X, most, seed)
    plans = [
        _plan(X, rows, names[j], j, step, _SMALL[source], wanted.get(j))
        for j in (column_number(names, name) for name in chosen)
    ]
    roots: list[Any] = [None] * len(plans)
    if source == "bootstrap":
        refits = Refits(model, X, y, sample_weight, n_refits, seed, refits_path)
        roots = refits.roots(
            [(plan.table, plan.size) for plan in plans],
            lambda what, share: progress(what, _OF_REFITS * share),
        )
    found, begun = [], _OF_REFITS if source == "bootstrap" else 0.0
    for k, plan in enumerate(plans):
        progress(plan.column, begun + (1.0 - begun) * k / len(plans))
        proba = averaged(level_proba(model, plan.table)[None], plan.size)[0]
        if source in (None, "bootstrap"):
            found.append(plan.effect(proba, roots[k]))
        else:
            found.append(_with_errors(model, plan, plan.table, proba, seed))
    found.sort(key=lambda effect: -effect.strength)
    return Effects(tuple(found), tuple(np.asarray(final(model).levels_).tolist()), source)


def _most_rows(asked: Any, source: str | None) -> int | None:
    """How many rows to average over; None for all."""
    if isinstance(asked, str) and asked == "auto":
        return _MOST[source == "delta"]
    if asked is None or (isinstance(asked, Integral) and int(asked) > 0):
        return None if asked is None else int(asked)
    raise ValueError(
        f"max_rows={asked!r} must be a whole number above 0, 'auto', or None for all."
    )


@dataclass(frozen=True)
class _Plan:
    """Rows with a column set to several values, then to two between which the change is."""

    column: str
    values: tuple[Any, ...]
    table: Any  # size times the rows
    size: int
    between: tuple[str, str] | None  # None: the values of lowest and highest expected level
    width: float = 1.0  # of the change, that it is divided by

    def effect(self, proba: np.ndarray, root: np.ndarray | None) -> Effect:
        """The effect, from average probabilities (size, K) and a root of their covariance."""
        V, K = len(self.values), proba.shape[1]
        low, high, between, pairs = V, V + 1, self.between, 1
        if between is None:
            expected = proba[:V] @ np.arange(K)
            low, high = int(expected.argmin()), int(expected.argmax())
            between, pairs = (str(self.values[low]), str(self.values[high])), V * (V - 1) // 2

        def change(p: np.ndarray) -> np.ndarray:
            return np.asarray((p[..., high, :] - p[..., low, :]) / self.width)

        whole = Effect(self.column, self.values, proba[:V], change(proba), between)
        whole = replace(whole, comparisons=max(pairs, 1))
        if root is None:
            return whole
        moved = change(root)
        return replace(
            whole,
            proba_se=_norm(root[:, :V]),
            change_se=_norm(moved),
            rise_se=_norm(np.cumsum(moved, axis=-1)[..., :-1]),
            expected_se=float(_norm(moved @ np.arange(K))),
        )


def _norm(root: np.ndarray) -> np.ndarray:
    return np.sqrt(np.sum(root**2, axis=0))


def _plan(X: Any, rows: Any, name: str, j: int, step: str, small: float, given: Any) -> _Plan:
    """What is asked about column j, whose values are those of X."""
    cells = column(X, j)
    if cells.dtype != np.float64:
        values = _categories(cells) if given is None else list(given)
        return _Plan(name, tuple(values), repeated(rows, {j: values}), len(values), None)
    known = cells[np.isfinite(cells)]
    if not len(known):  # a column of missing values, whatever is put there
        known = np.zeros(1)
    distinct = np.unique(known)
    few = len(distinct) <= MAX_VALUES
    values = distinct.tolist() if few else np.unique(np.quantile(known, QUANTILES)).tolist()
    values = values if given is None else _numbers(name, given)
    own, width = column(rows, j), 1.0
    if len(distinct) == 2:
        ends = [np.full(len(own), value) for value in distinct]
        between = (f"{distinct[0]:g}", f"{distinct[1]:g}")
    else:
        sd = float(known.std())
        half = {"sd": sd / 2, "unit": 0.5, "slope": small * sd}[step]
        ends, between = [own - half, own + half], _WORDS[step]
        width = 2.0 * half if step == "slope" and half > 0 else 1.0
    settings = [np.full(len(own), value) for value in values] + ends
    table = with_column(
        repeated(rows, {j: [0.0] * len(settings)}), j, np.concatenate(settings).tolist()
    )
    return _Plan(name, tuple(values), table, len(settings), between, width)


def _numbers(name: str, given: Any) -> list[float]:
    """Values of a column of numbers."""
    try:
        return [float(value) for value in given]
    except (TypeError, ValueError):
        raise ValueError(
            f"values of {name!r} are {given!r}, but the column holds numbers; list numbers."
        ) from None


_WORDS = {
    "sd": ("half a standard deviation below", "half a standard deviation above"),
    "unit": ("half a unit below", "half a unit above"),
    "slope": ("slope", "per unit"),
}


def _categories(cells: np.ndarray) -> list[Any]:
    """The commonest values of a column that holds no numbers, sorted."""
    counts = Counter(cell for cell in cells if cell is not None and cell == cell)
    return sorted(value for value, _ in counts.most_common(MAX_VALUES))


def _source(model: Any, y: Any) -> str | None:
    """Where standard errors come from."""
    own = final(model)
    if hasattr(own, "average_proba_root") and own.has_covariance:
        return "delta"
    if hasattr(own, "sample_level_proba") and own.kernel_.inputs != "gram":
        return "posterior"
    if y is None and sum(weight for weight, _ in _known_members(own)) >= _KNOWN:
        return "members"
    return None if y is None else "bootstrap"


def _known_members(own: Any) -> list[tuple[float, Any]]:
    """Weights and members of a stack that know their standard errors; none of other models."""
    if not isinstance(own, OrdinalStack):
        return []
    every = zip(own.weights_.tolist(), own.estimators_, strict=True)
    return [(weight, one) for weight, one in every if _source(one, None) is not None]


def _with_errors(model: Any, plan: _Plan, rows: Any, proba: np.ndarray, seed: int) -> Effect:
    """The effect, with the standard errors that a model or the members of a stack know."""
    own, source, rows = final(model), _source(model, None), transformed(model, rows)
    if source == "delta":
        return plan.effect(proba, own.average_proba_root(rows, plan.size))
    if source == "posterior":
        draws = own.sample_level_proba(rows, DRAWS, seed)
        return plan.effect(proba, centred(averaged(draws, plan.size)))
    weights, members = zip(*_known_members(own), strict=True)
    parts = [_with_errors(one, plan, rows, proba, seed) for one in members]
    if any(one.change_se is None for one in parts):
        return plan.effect(proba, None)
    errors: dict[str, Any] = {
        name: np.average([getattr(one, name) for one in parts], axis=0, weights=weights)
        for name in _ERRORS
    }
    return replace(parts[0], **errors)
