"""Printed tables as text, and the same as numbers.

A line is a set followed by mean and spread for each column, in the order of the paper's
columns, so that it can be held against the page.
"""

from __future__ import annotations

from collections.abc import Sequence

from ordinality.experiments.values import Published

__all__ = ["read"]

Key = tuple[str, str, str]  # set, method, metric


def read(
    text: str, columns: Sequence[tuple[str, str]], *, suffix: str = "", spread: bool = True
) -> dict[Key, Published]:
    """Published numbers by set, method and metric.

    Parameters
    ----------
    text : str
        A line for each set: its name, then a pair of numbers for each column. A dash is no
        number. Behind a mean, "*" is the paper's star and "b" its bold type; a text without
        any "b" is of a paper whose bold type is not known.
    columns : list of (method, metric)
    suffix : str
        Put behind the name of each set.
    spread : bool
        False: the paper prints means alone, one number for each column.

    Examples
    --------
    >>> found = read("boston 24.9* 2.0  24.5b 1.9", [("map", "zero_one"), ("ep", "zero_one")])
    >>> found["boston", "map", "zero_one"]
    Published(mean=24.9, spread=2.0, printed=('24.9', '2.0'), star=True, bold=False)
    """
    found: dict[Key, Published] = {}
    width = 2 if spread else 1
    lines = [line.split() for line in text.strip().splitlines()]
    has_bold = any(cell.endswith("b") for _, *cells in lines for cell in cells)
    for name, *cells in lines:
        if len(cells) != width * len(columns):
            raise ValueError(
                f"the line of {name} has {len(cells)} numbers; {len(columns)} columns want "
                f"{width * len(columns)}."
            )
        for i, (method, metric) in enumerate(columns):
            mean, *more = cells[width * i : width * (i + 1)]
            if mean != "-":
                printed = (mean.rstrip("*b"), *more)
                found[name + suffix, method, metric] = Published(
                    float(printed[0]),
                    float(more[0]) if more else None,
                    printed,
                    star="*" in mean,
                    bold=mean.endswith("b") if has_bold else None,
                )
    return found
