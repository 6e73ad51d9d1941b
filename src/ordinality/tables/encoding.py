"""Encoding of tables as matrices: one-hot categories, medians for missing numbers.

The transformers are scikit-learn's, so that model files need no type of this package. The
columns of the matrix are fixed before fitting: the categories are stated, and the columns whose
missing cells are marked. So every fold of a cross-validation has the same columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from .columns import (
    LISTED,
    MANY_CATEGORIES,
    MOSTLY,
    Column,
    Table,
    TableError,
    column,
    counted,
    is_text,
    listed,
    numbers,
    parsed,
    words,
)

if TYPE_CHECKING:
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import OneHotEncoder

__all__ = [
    "Unseen",
    "feature_names",
    "frame_of",
    "make_encoder",
    "regression_encoder",
    "rows_and_unseen",
    "rows_for",
    "sources",
    "unseen_sentences",
]

# The parts of an encoder, by name.
NUMBERS, MARKS, PAIRS, CATEGORIES = "numbers", "missing", "pairs", "categories"
GROUPS, NUMBERED = "groups", "numbered groups"  # labels of groups, kept as they are
READ = (NUMBERS, PAIRS, CATEGORIES, GROUPS, NUMBERED)  # each column is in one of them

NO_GROUP = -1e100  # label of rows without one; finite, for models take no other


def make_encoder(columns: Sequence[Column]) -> ColumnTransformer:
    """Transformer of columns into numbers, not fitted.

    Missing numbers are replaced by the median, and one more column marks them. Text of two
    values becomes one column, which is 1 for the second; of more values, a column for each,
    missing included.
    """
    # Here, not above: a program that only reads a table need not wait for scikit-learn.
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import MissingIndicator, SimpleImputer

    plain = [c.name for c in columns if not c.categories]
    marked = [c.name for c in columns if c.missing and not c.categories]
    pairs = {c.name: c.categories for c in columns if len(c.categories) == 2}
    more = {c.name: c.categories for c in columns if len(c.categories) > 2}
    # An unknown category is encoded as a rare one, without a warning.
    rare = {"max_categories": MANY_CATEGORIES, "handle_unknown": "infrequent_if_exist"}
    parts: list[tuple[str, Any, list[str]]] = [
        (NUMBERS, SimpleImputer(strategy="median", keep_empty_features=True), plain),
        (MARKS, MissingIndicator(features="all"), marked),
        (PAIRS, _one_hot(pairs, drop="first", handle_unknown="ignore"), [*pairs]),
        (CATEGORIES, _one_hot(more, **rare), [*more]),
    ]
    return ColumnTransformer([part for part in parts if part[2]], sparse_threshold=0)


def regression_encoder(
    encoder: ColumnTransformer, groups: Sequence[str] = ()
) -> ColumnTransformer:
    """The encoder for a model with intercepts, not fitted.

    The first category of each column is the reference, which has no column, so that no column
    of the matrix is the sum of others. Columns that group the rows are not encoded and come
    last.
    """
    from sklearn.base import clone
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer

    parts = []
    for part, transformer, names in encoder.transformers:
        at = [i for i, name in enumerate(names) if name not in groups]
        transformer = clone(transformer)
        if part == CATEGORIES:
            transformer.set_params(drop="first")
        if part in (PAIRS, CATEGORIES):
            transformer.set_params(categories=[transformer.categories[i] for i in at])
        parts.append((part, transformer, [names[i] for i in at]))
    plain = {
        name for part, _, names in encoder.transformers if part == NUMBERS for name in names
    }
    numbered = [name for name in groups if name in plain]
    # A missing label becomes one that no group has.
    fill = {"strategy": "constant", "keep_empty_features": True}
    text = SimpleImputer(missing_values=None, fill_value="", **fill)
    parts.append((GROUPS, text, [name for name in groups if name not in plain]))
    parts.append((NUMBERED, SimpleImputer(fill_value=NO_GROUP, **fill), numbered))
    return ColumnTransformer([part for part in parts if part[2]], sparse_threshold=0)


def _one_hot(columns: Mapping[str, list[str | None]], **settings: Any) -> OneHotEncoder:
    from sklearn.preprocessing import OneHotEncoder

    categories = [np.array(each, dtype=object) for each in columns.values()]
    return OneHotEncoder(categories=categories, sparse_output=False, **settings)


def frame_of(columns: Sequence[Column], like: nw.DataFrame[Any]) -> Any:
    """Columns as a frame of pandas if `like` is one, else of polars."""
    cells = {c.name: np.asarray(c.cells) for c in columns}
    if like.implementation.is_pandas_like():
        import pandas

        # Text stays as objects: pandas' own type would turn None into NaN, another category.
        return pandas.DataFrame({n: pandas.Series(c, dtype=c.dtype) for n, c in cells.items()})
    import polars

    return polars.DataFrame(
        {
            name: polars.Series(name, c.tolist(), dtype=polars.String)
            if c.dtype == object
            else polars.Series(name, c, nan_to_null=True)
            for name, c in cells.items()
        }
    )


# ---------------------------------------------------------------- names


def feature_names(encoder: ColumnTransformer) -> list[str]:
    """Name of each column of the matrix, from the names and categories of the table.

    Parameters
    ----------
    encoder : ColumnTransformer
        The encoder of a `Task`, fitted.

    Returns
    -------
    list of str
        ``"age"``, ``"age missing"``, ``"temp = warm"``, ``"city = other"`` for all rare cities.

    Examples
    --------
    >>> import narwhals, polars
    >>> from ordinality.tables import Table, feature_names, features_and_target
    >>> frame = polars.DataFrame(
    ...     {"age": [30, None, 50, 60], "temp": ["cold", "warm"] * 2, "y": [1, 2, 1, 2]}
    ... )
    >>> task = features_and_target(Table(narwhals.from_native(frame)), "y")
    >>> feature_names(task.encoder.fit(task.frame))
    ['age', 'age missing', 'temp = warm']
    """
    return [name for _, name in _matrix_columns(encoder)]


def sources(encoder: ColumnTransformer) -> list[str]:
    """The column of the table that each column of the matrix comes from.

    Parameters
    ----------
    encoder : ColumnTransformer
        The encoder of a `Task`, fitted.

    Returns
    -------
    list of str
        A column of the table for each column of the matrix.

    Examples
    --------
    >>> import narwhals, polars
    >>> from ordinality.tables import Table, features_and_target, sources
    >>> frame = polars.DataFrame({"dish": ["a", "b", "c"] * 2, "y": [1, 2, 1, 2, 1, 1]})
    >>> task = features_and_target(Table(narwhals.from_native(frame)), "y")
    >>> sources(task.encoder.fit(task.frame))
    ['dish', 'dish', 'dish']
    """
    return [source for source, _ in _matrix_columns(encoder)]


def _matrix_columns(encoder: ColumnTransformer) -> Iterator[tuple[str, str]]:
    """Column of the table, and name, of each column of the matrix."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(encoder)
    for part, transformer, columns in encoder.transformers_:
        if part in (NUMBERS, GROUPS, NUMBERED):
            yield from ((name, name) for name in columns)
        elif part == MARKS:
            yield from ((name, f"{name} missing") for name in columns)
        elif part == PAIRS:
            known = zip(columns, transformer.categories_, strict=True)
            yield from ((name, _name(name, cells[1])) for name, cells in known)
        elif part == CATEGORIES:
            for name, kept in zip(columns, _kept(transformer), strict=True):
                yield from ((name, _name(name, cell)) for cell in kept)


def _kept(transformer: OneHotEncoder) -> Iterator[list[Any]]:
    """Categories that have their own column, then the name of the rare ones together."""
    rare = transformer.infrequent_categories_
    for cells, few in zip(transformer.categories_, rare, strict=True):
        together = set() if few is None else set(few.tolist())
        kept = [cell for cell in cells if cell not in together]
        # A category of the table may have that name.
        rest = ["other" if "other" not in kept else "any other"] if together else []
        yield [*kept, *rest][0 if transformer.drop is None else 1 :]


def _name(name: str, category: str | None) -> str:
    return f"{name} missing" if category is None else f"{name} = {category}"


# ---------------------------------------------------------------- new rows


def rows_for(encoder: ColumnTransformer, table: Table) -> tuple[Any, tuple[str, ...]]:
    """The rows of a new table for a fitted encoder, or a pipeline with it.

    Parameters
    ----------
    encoder : ColumnTransformer
        The encoder of a `Task`, fitted.
    table : Table
        The new rows; other columns are ignored.

    Returns
    -------
    frame : DataFrame of pandas or polars
        The columns that the encoder was fitted on, with the types it was fitted on.
    notes : tuple of str
        What was guessed when the table was read, and what was not seen in training, as
        sentences.

    Raises
    ------
    TableError
        If a column does not exist, or does not hold numbers and did in training.

    Examples
    --------
    >>> import narwhals, polars
    >>> from ordinality.tables import Table, features_and_target, rows_for
    >>> train = polars.DataFrame({"city": ["Bern", "Rome", "Riga"] * 2, "y": [1, 2, 3] * 2})
    >>> task = features_and_target(Table(narwhals.from_native(train)), "y")
    >>> encoder = task.encoder.fit(task.frame)
    >>> new = Table(narwhals.from_native(polars.DataFrame({"city": ["Rome", "Oslo"]})))
    >>> frame, notes = rows_for(encoder, new)
    >>> notes
    ("city: 1 row holds 'Oslo', not seen in training; encoded as none of the known.",)
    >>> encoder.transform(frame)
    array([[0., 0., 1.],
           [0., 0., 0.]])
    """
    frame, unseen = rows_and_unseen(encoder, table)
    return frame, (*table.notes, *unseen_sentences(unseen))


# Column, what is odd about cells ("words", "missing" or how new ones are encoded), the cell ->
# number of rows. Those of several tables add up.
Unseen = Counter[tuple[str, str, str | None]]


def rows_and_unseen(encoder: ColumnTransformer, table: Table) -> tuple[Any, Unseen]:
    """As `rows_for`, with the cells that were not seen in training counted."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(encoder)
    parts = {part: (transformer, used) for part, transformer, used in encoder.transformers_}
    marked = set(parts[MARKS][1]) if MARKS in parts else set()
    unseen: Unseen = Counter()
    found: dict[str, Column] = {}
    for part, (transformer, names) in parts.items():
        for i, name in enumerate(names if part in READ else ()):
            series = column(table, name)
            if part in (NUMBERS, NUMBERED):
                known = name in marked or part == NUMBERED
                found[name] = _new_numbers(series, known, unseen)
            elif part == GROUPS:
                found[name] = Column(name, np.array(words(series), dtype=object), [], 0, [])
            else:
                found[name] = _new_words(series, transformer, i, unseen)
    order = [name for name in encoder.feature_names_in_ if name in found]
    return frame_of([found[name] for name in order], table.frame), unseen


def unseen_sentences(unseen: Unseen) -> list[str]:
    """What was not seen in training, in words."""
    groups: dict[tuple[str, str], dict[str | None, int]] = {}
    for (name, how, cell), count in unseen.items():
        groups.setdefault((name, how), {})[cell] = count
    return [said for (name, how), cells in groups.items() for said in _said(name, how, cells)]


def _said(name: str, how: str, cells: dict[str | None, int]) -> Iterator[str]:
    rows = counted(sum(cells.values()), "row")
    if how == "words":
        odd = listed([repr(cell) for cell in cells])
        yield f"{name}: {rows} without a number ({odd}), read as missing."
        return
    if how == "missing":
        yield (
            f"{name}: {rows} without a value, which no training row was; replaced by the "
            "median of training."
        )
        return
    for cell, count in list(cells.items())[:LISTED]:
        hold = "row holds" if count == 1 else "rows hold"
        what = "no value" if cell is None else repr(cell)
        yield f"{name}: {count:,} {hold} {what}, not seen in training; encoded as {how}."
    if len(cells) > LISTED:
        rest = counted(sum(list(cells.values())[LISTED:]), "row")
        yield (
            f"{name}: {rest} with {len(cells) - LISTED} other values not seen in training; "
            f"encoded as {how}."
        )


def _new_numbers(series: nw.Series[Any], marked: bool, unseen: Unseen) -> Column:
    name = series.name
    if series.dtype.is_numeric() or series.dtype == nw.Boolean:
        values = numbers(series)
    elif is_text(series.dtype) or series.null_count() == len(series):
        values, odd = parsed(words(series))
        _refuse_words(name, odd, len(values))
        unseen.update((name, "words", cell) for cell in odd.values())
    else:
        raise TableError(
            f"{name} holds {series.dtype} values, but numbers in training; write numbers there."
        )
    missing = int(np.isnan(values).sum())
    if missing and not marked:
        unseen[name, "missing", None] += missing
    return Column(name, values, [], missing, [])


def _refuse_words(name: str, odd: dict[int, str], rows: int) -> None:
    if len(odd) > (1 - MOSTLY) * rows:
        row, cell = next(iter(odd.items()))
        raise TableError(
            f"{name} holds {cell!r} in row {row + 1}, but numbers in training; write a number "
            "there or leave the cell empty."
        )


def _new_words(
    series: nw.Series[Any], transformer: OneHotEncoder, i: int, unseen: Unseen
) -> Column:
    """Cells of the i-th column of an encoder; those not seen as ones it treats alike."""
    known = transformer.categories_[i].tolist()
    grouped = transformer.max_categories is not None
    rare = transformer.infrequent_categories_[i] if grouped else None
    cells = words(series)
    seen = set(known)
    new = {c: n for c, n in Counter(cells).items() if c not in seen}
    # Without a column for the rare, an unknown category is zero in all, as the reference is.
    reference = transformer.drop is not None and rare is None
    place = "none of the known" if rare is None else "one of the rare"
    unseen.update(
        {(series.name, repr(known[0]) if reference else place, c): n for c, n in new.items()}
    )
    if transformer.drop is not None:  # where the encoder warns of unknown ones
        like = known[0] if rare is None else rare[0]
        cells = [like if cell in new else cell for cell in cells]
    return Column(series.name, np.array(cells, dtype=object), list(known), 0, [])
