"""Labels and ranks, thresholds and their free parameters, scores and levels.

A model sees ranks 0..K-1; a person sees labels such as ``"low" < "mid" < "high"``. `Order`
holds the list that joins them, lowest first, and where it came from. Nothing here warns:
`Order.guessed` reports that strings were only sorted, and the estimator warns.

The K-1 thresholds must increase. Written as the first one and the logarithms of the gaps
(Chu & Ghahramani, 2005) they are unconstrained, as an optimiser needs them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Order",
    "as_labels",
    "check_thresholds",
    "codes_in_order",
    "free_to_thresholds",
    "order_of",
    "rank_from_scores",
    "resolve",
    "thresholds_to_free",
]

Array = NDArray[Any]
Floats = NDArray[np.float64]
Ranks = NDArray[np.int64]


@dataclass(frozen=True, eq=False)  # == on arrays has no single truth value
class Order:
    """Labels in order, lowest first.

    Parameters
    ----------
    levels : ndarray of shape (K,)
        The distinct labels.
    source : {"stated", "carried", "sorted", "coded"}
        Whether the caller listed them, the labels brought them along (an ordered pandas
        Categorical, a polars Enum), they are the distinct labels sorted, or they are codes of
        levels that the caller listed (see `codes_in_order`).

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality.levels import Order
    >>> order = Order(np.array(["low", "mid", "high"]), "stated")
    >>> order.encode(["high", "low"])
    array([2, 0])
    >>> order.decode([2, 0]).tolist()
    ['high', 'low']
    """

    levels: Array
    source: Literal["stated", "carried", "sorted", "coded"]

    @property
    def n_levels(self) -> int:
        """Number of levels, K."""
        return int(self.levels.size)

    @property
    def guessed(self) -> bool:
        """Whether the order is only alphabetical, which is worth a warning."""
        return self.source == "sorted" and _is_text(self.levels)

    @property
    def classes(self) -> Array:
        """The labels as scikit-learn lists them: sorted."""
        return self.levels[self.columns]

    @property
    def columns(self) -> NDArray[np.intp]:
        """Index that takes columns in order of level to columns in order of `classes`."""
        return np.argsort(self.levels)

    def encode(self, y: Any) -> Ranks:
        """Turn labels into ranks; a label outside the order is an error.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels, as for `resolve`.

        Returns
        -------
        ndarray of shape (n,)
            Ranks 0..K-1.
        """
        labels = as_labels(y)
        if _is_text(labels) != _is_text(self.levels):
            raise self._unknown(labels, labels[0])
        columns = self.columns
        # A label above all others is searched to K; clipped, it fails the comparison below.
        at = np.searchsorted(self.levels, labels, sorter=columns).clip(max=self.n_levels - 1)
        ranks: Ranks = columns[at]
        extra = labels[self.levels[ranks] != labels]
        if extra.size:
            raise self._unknown(labels, extra[0])
        return ranks

    def decode(self, ranks: ArrayLike) -> Array:
        """Turn ranks into labels, the inverse of `encode`.

        Parameters
        ----------
        ranks : array-like of int
            Ranks 0..K-1, of any shape.

        Returns
        -------
        ndarray of the same shape
            Labels.
        """
        return self.levels[np.asarray(ranks, dtype=np.int64)]

    def _unknown(self, labels: Array, found: Any) -> ValueError:
        codes = set(labels.tolist()) if labels.dtype.kind in "iu" else set()
        every, text = set(range(self.n_levels)), _is_text(self.levels)
        numbered = codes == every and self.n_levels > 2  # 0 and 1 alone may be anything
        if numbered or (codes and codes <= every and text):
            advice = _about_codes(sorted(every - codes))
        elif text != _is_text(labels):
            advice = "levels and labels must be of one kind, all text or all numbers."
        else:
            advice = "add it to `levels` at its place in the order, or drop those rows."
        return ValueError(
            f"y contains {found.item()!r}, which is not one of the declared levels "
            f"{self.levels.tolist()}; {advice}"
        )


def _about_codes(missing: list[int]) -> str:
    absent = ", ".join(map(str, missing))
    wanted = f" They can be decoded only if all occur, but y lacks {absent}." if missing else ""
    return (
        "it looks like a code for a label: some scikit-learn tools (voting, bagging, stacking, "
        "cross_val_predict with method='predict_proba') number the labels alphabetically "
        f"before fit.{wanted} Number the labels by level yourself, 0 for the lowest, and leave "
        "`levels` out; for out-of-fold probabilities use "
        "ordinality.metrics.cross_val_level_proba, which does not recode labels."
    )


def resolve(y: Any, levels: Any = None) -> Order:
    """Find the order of the labels to learn from.

    Parameters
    ----------
    y : array-like of shape (n,)
        Integers, integral floats, booleans or strings; NumPy, pandas, polars or a list.
    levels : array-like of shape (K,), default=None
        The labels, lowest first. By default the order that `y` carries, else its distinct
        labels sorted. Declared levels that `y` does not hold keep their place.

    Returns
    -------
    Order
        At least two levels, of which `y` holds at least two.

    Examples
    --------
    >>> from ordinality.levels import resolve
    >>> resolve([3, 1, 5, 1]).levels
    array([1, 3, 5])
    >>> resolve(["mid", "low"], levels=["low", "mid", "high"]).n_levels
    3
    >>> resolve(["mid", "low"]).guessed
    True
    """
    order = order_of(y, levels=levels)
    seen = order.decode(np.unique(order.encode(y)))
    if seen.size < 2:
        raise ValueError(
            f"y contains only one class, {seen[0].item()!r}; fitting needs rows of at least "
            "two levels."
        )
    return order


def order_of(*labels: Any, levels: Any = None) -> Order:
    """Order of one or more sets of labels taken together, by the rule of `resolve`.

    Unlike `resolve` it accepts labels of one level only, as a test set may hold.

    Parameters
    ----------
    *labels : array-like of shape (n,)
        Sets of labels, such as true and predicted ones.
    levels : array-like of shape (K,), default=None
        The labels, lowest first.

    Returns
    -------
    Order
        The stated levels, else the order that one of the sets carries, else all distinct
        labels sorted.

    Examples
    --------
    >>> from ordinality.levels import order_of
    >>> order_of([1, 1], [4, 2]).levels
    array([1, 2, 4])
    """
    if levels is not None:
        return Order(_distinct(levels), "stated")
    for y in labels:
        carried = _read(y)[1]
        if carried is not None:
            return Order(as_labels(carried, "the list of categories of y"), "carried")
    # Concatenated as objects: NumPy would turn numbers beside text into text.
    parts = [np.unique(as_labels(y)).astype(object) for y in labels]
    values = np.unique(as_labels(np.concatenate(parts)))
    if values.dtype.kind == "f" and np.any(values % 1):
        raise ValueError(
            "Unknown label type: continuous; ordered levels are wanted, but y contains "
            f"{values[values % 1 != 0][0]}; cut y into levels first, for instance with "
            "numpy.digitize, or, if its values are the levels, list them in `levels`."
        )
    return Order(values, "sorted")


def codes_in_order(y: ArrayLike, levels: Any) -> Ranks | None:
    """Recognise labels that a scikit-learn tool has replaced by codes.

    Such tools number the labels by their place among the sorted labels that occur. The codes
    can be read back if all K occur: then no level was missing when they were assigned.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels or codes.
    levels : array-like of shape (K,)
        The labels, lowest first.

    Returns
    -------
    ndarray of shape (K,) or None
        The codes 0..K-1 in order of level if `y` holds codes of text `levels`, else None.

    Examples
    --------
    >>> from ordinality.levels import codes_in_order
    >>> codes_in_order([2, 0, 1, 0], ["low", "mid", "high"])  # sorted: high, low, mid
    array([1, 2, 0])
    >>> codes_in_order([1, 0], ["low", "mid", "high"]) is None
    True
    """
    codes, stated = np.asarray(y), _distinct(levels)
    if codes.dtype.kind not in "iu" or not _is_text(stated):
        return None
    if not np.array_equal(np.unique(codes), np.arange(stated.size)):
        return None
    return np.argsort(np.argsort(stated))


def as_labels(values: Any, name: str = "y") -> Array:
    """Turn labels into a one-dimensional array of numbers, booleans or strings.

    Parameters
    ----------
    values : array-like of shape (n,)
        Labels, as for `resolve`. Anything else is an error: other shapes, missing labels, text
        mixed with numbers.
    name : str, default="y"
        What error messages call them.

    Returns
    -------
    ndarray of shape (n,)
        The labels.

    Examples
    --------
    >>> from ordinality.levels import as_labels
    >>> as_labels(["low", "high"]).dtype.kind
    'U'
    """
    array = _read(values)[0]
    if array.ndim != 1:
        raise ValueError(
            f"{name} must be one-dimensional, one label per entry, but it has shape "
            f"{array.shape}; pass a list or a single column."
        )
    if array.size == 0:
        raise ValueError(f"{name} is empty; at least one label is needed.")
    if array.dtype.kind in "OT":
        array = _typed(array, name)
    if array.dtype.kind not in "biufU":
        raise ValueError(
            f"{name} holds values of type {array.dtype}; labels must be numbers or text, so "
            "convert them first."
        )
    if array.dtype.kind == "f" and not np.all(np.isfinite(array)):
        raise _not_a_label(array, int(np.argmin(np.isfinite(array))), name)
    return array


def _read(values: Any) -> tuple[Array, Any]:
    """Labels as an array, and the order they carry (None where they carry none)."""
    if isinstance(values, np.ndarray):
        return values, None
    if isinstance(values, list | tuple):
        # As objects: np.asarray(["low", nan]) would make the missing label the text "nan".
        return np.array(values, dtype=object), None
    import narwhals as nw

    series = nw.from_native(values, series_only=True, pass_through=True)
    dtype = getattr(series, "dtype", None)
    # narwhals reads a Series, and shows an ordered pandas Categorical as an Enum; a bare
    # pandas Categorical or Index passes through with the dtype of pandas.
    ordered = isinstance(dtype, nw.Enum) or getattr(dtype, "ordered", False)
    array = series.to_numpy() if isinstance(series, nw.Series) else np.asarray(values)
    return array, list(getattr(dtype, "categories", ())) if ordered else None


def _typed(array: Array, name: str) -> Array:
    """Array of objects, all text or all numbers, as an array of that type."""
    for i, value in enumerate(array):
        is_number = isinstance(value, Real | np.bool_) and not isnan(value)
        if not (is_number or isinstance(value, str)):
            raise _not_a_label(array, i, name)
    is_text = np.array([isinstance(value, str) for value in array])
    if is_text.any() and not is_text.all():
        raise ValueError(
            f"{name} mixes text and numbers, such as {array[is_text][0]!r} and "
            f"{array[~is_text][0]!r}; write all labels as one or the other."
        )
    return np.array(array.tolist())


def _not_a_label(array: Array, at: int, name: str) -> ValueError:
    return ValueError(
        f"{name} contains {array[at]} at position {at}; a label must be text or a finite "
        "number: drop entries without a label, and write labels of other kinds as text."
    )


def _distinct(levels: Any) -> Array:
    """Declared levels: two or more, none twice."""
    values = as_labels(levels, "levels")
    distinct, counts = np.unique(values, return_counts=True)
    if distinct.size < values.size:
        raise ValueError(
            f"levels lists {distinct[counts > 1][0].item()!r} more than once; list every label "
            "once, lowest first."
        )
    if values.size < 2:
        raise ValueError(
            f"levels lists only one class, {values[0].item()!r}; an order needs at least two."
        )
    return values


def _is_text(labels: Array) -> bool:
    return labels.dtype.kind == "U"


def check_thresholds(thresholds: ArrayLike, n_levels: int) -> Floats:
    """Check that thresholds are finite, increase, and are as many as they must be.

    Parameters
    ----------
    thresholds : array-like of shape (K-1,)
        Thresholds between neighbouring levels.
    n_levels : int
        Number of levels, K.

    Returns
    -------
    ndarray of shape (K-1,)
        The thresholds as floats.

    Examples
    --------
    >>> from ordinality.levels import check_thresholds
    >>> check_thresholds([-1, 2], n_levels=3)
    array([-1.,  2.])
    """
    values = np.asarray(thresholds, dtype=np.float64)
    if values.shape != (n_levels - 1,):
        raise ValueError(
            f"thresholds has shape {values.shape}, but {n_levels} levels are divided by "
            f"{n_levels - 1} thresholds, shape {(n_levels - 1,)}."
        )
    if not np.all(np.isfinite(values)):
        raise ValueError(
            f"thresholds must be finite, but they are {values.tolist()}; the outer two, minus "
            "and plus infinity, are implied, so leave them out."
        )
    if np.any(np.diff(values) <= 0):
        raise ValueError(
            f"thresholds must increase, but they are {values.tolist()}; sort them, and "
            "move those that are equal apart."
        )
    return values


def thresholds_to_free(thresholds: ArrayLike) -> Floats:
    """Turn increasing thresholds into as many unconstrained parameters.

    Parameters
    ----------
    thresholds : array-like of shape (K-1,)
        Increasing thresholds.

    Returns
    -------
    ndarray of shape (K-1,)
        The first threshold and the logarithms of the gaps.

    Examples
    --------
    >>> from ordinality.levels import thresholds_to_free
    >>> thresholds_to_free([-1.0, 0.0, 1.0])
    array([-1.,  0.,  0.])
    """
    values = check_thresholds(thresholds, np.size(thresholds) + 1)
    return np.concatenate([values[:1], np.log(np.diff(values))])


def free_to_thresholds(free: ArrayLike) -> Floats:
    """Turn unconstrained parameters into thresholds, the inverse of `thresholds_to_free`.

    Parameters
    ----------
    free : array-like of shape (K-1,)
        The first threshold and the logarithms of the gaps.

    Returns
    -------
    ndarray of shape (K-1,)
        Increasing thresholds.

    Examples
    --------
    >>> from ordinality.levels import free_to_thresholds
    >>> free_to_thresholds([-1.0, 0.0, 0.0])
    array([-1.,  0.,  1.])
    """
    values = np.asarray(free, dtype=np.float64)
    return np.cumsum(np.concatenate([values[:1], np.exp(values[1:])]))


def rank_from_scores(scores: ArrayLike, thresholds: ArrayLike) -> Ranks:
    """Find the rank ``k`` with ``thresholds[k-1] < score <= thresholds[k]``.

    Parameters
    ----------
    scores : array-like
        Scores, of any shape.
    thresholds : array-like of shape (K-1,)
        Thresholds, none below the one before it.

    Returns
    -------
    ndarray of the same shape as `scores`
        Ranks 0..K-1.

    Examples
    --------
    >>> from ordinality.levels import rank_from_scores
    >>> rank_from_scores([-3.0, 0.0, 0.1, 9.0], thresholds=[0.0, 1.0])
    array([0, 0, 1, 2])
    """
    return np.searchsorted(np.asarray(thresholds), np.asarray(scores), side="left")
